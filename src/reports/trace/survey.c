/* What must be known of all rows before the first one is printed. */
#include "profile/reading.h"
#include "reports/trace/rows.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

double trace_throughput(uint64_t bytes, uint64_t ns)
{
    return ns ? (double)bytes * 1e9 / (double)ns : 0;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void trace_survey_take_row(struct trace_survey *survey, const struct trace_source *source,
                                  const uint64_t *const *columns, uint32_t row)
{
    bool interval = source->duration != TRACE_NO_COLUMN;
    uint64_t start = columns[source->start][row];
    uint64_t duration = interval ? columns[source->duration][row] : 0;

    if ((int64_t)duration < 0)
        return;
    if (!survey->any || start < survey->first_start)
        survey->first_start = start;
    survey->any = true;
    survey->last_start = greater(survey->last_start, start);
    survey->duration = greater(survey->duration, duration);
    if (source->bytes == TRACE_NO_COLUMN)
        return;
    uint64_t bytes = columns[source->bytes][row];
    double throughput = trace_throughput(bytes, duration);
    survey->bytes = greater(survey->bytes, bytes);
    if (throughput > survey->throughput)
        survey->throughput = throughput;
}

/* The pass over the rows. */
struct surveying {
    const struct trace_rows *rows;
    struct trace_survey *survey;
    bool units;
};

static enum mp_status trace_survey_take_batch(void *context, const struct mp_batch *batch)
{
    const struct mp_copy_columns copy = mp_copy_columns(batch->columns);
    const struct surveying *pass = context;
    const struct trace_rows *rows = pass->rows;
    struct trace_survey *survey = pass->survey;
    unsigned kind = 0;

    while (trace_sources[kind].table != batch->table->id)
        kind++;
    for (uint32_t row = 0; row < batch->rows; row++) {
        if (kind == TRACE_COPY)
            survey->peers |= copy.kind[row] == MP_copy_kind_PtoP;
        if (pass->units && batch->columns[trace_sources[kind].start][row] &&
            trace_row_wanted(rows, (enum trace_kind)kind, batch->columns, row))
            trace_survey_take_row(survey, &trace_sources[kind], batch->columns, row);
    }
    return MP_OK;
}

/* Selects the columns of the printed tables that have rows; without `units` only the direction of
 * copies. */
static void trace_survey_select_columns(struct mp_cursor *cursor, void *context)
{
    const struct surveying *pass = context;
    const struct trace_rows *rows = pass->rows;
    bool units = pass->units;

    for (unsigned kind = 0; kind < TRACE_KINDS; kind++) {
        const struct trace_source *source = &trace_sources[kind];
        uint32_t mask = kind == TRACE_COPY ? MP_MASK(copy, kind) : 0;

        if (!(rows->present >> kind & 1))
            continue;
        if (units)
            mask |= 1u << source->start;
        if (units && source->duration != TRACE_NO_COLUMN)
            mask |= 1u << source->duration;
        if (units && source->bytes != TRACE_NO_COLUMN)
            mask |= 1u << source->bytes;
        if (units && rows->range && source->correlation != TRACE_NO_COLUMN)
            mask |= 1u << source->correlation;
        mp_cursor_select(cursor, mp_table_by_id(source->table), mask);
    }
}

enum mp_status trace_survey(struct trace_rows *rows, bool units, struct trace_survey *survey,
                            struct mp_error *error)
{
    struct surveying pass = {.rows = rows, .survey = survey, .units = units};
    const struct reading reading = {
        .trace = rows->trace,
        .what = "the records",
        .context = &pass,
        .select = trace_survey_select_columns,
        .take = trace_survey_take_batch,
    };

    *survey = (struct trace_survey){.any = false};
    for (size_t i = 0; i < rows->shapes.count; i++) {
        const struct trace_shape *shape = dense_at(&rows->shapes, i);
        survey->static_shared = greater(survey->static_shared, shape->static_shared);
        survey->dynamic_shared = greater(survey->dynamic_shared, shape->dynamic_shared);
    }
    if (!units && !(rows->present >> TRACE_COPY & 1))
        return MP_OK;
    return reading_run(&reading, error);
}
