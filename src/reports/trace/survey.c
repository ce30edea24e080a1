/* What must be known of all rows before the first one is printed. */
#include "base/data/algorithms.h"
#include "profile/reading.h"
#include "reports/trace/rows.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

double trace_throughput(uint64_t bytes, uint64_t ns)
{
    return ns ? (double)bytes * 1e9 / (double)ns : 0;
}

static void take_times(struct trace_survey *survey, const struct activity_table *source,
                       const uint64_t *const *columns, uint32_t row)
{
    uint64_t start = activity_value(columns, source->start, row);
    uint64_t duration = activity_value(columns, source->duration, row);
    uint64_t bytes = activity_value(columns, source->bytes, row);
    double throughput = trace_throughput(bytes, duration);

    if ((int64_t)duration < 0)
        return;
    if (!survey->any || start < survey->first_start)
        survey->first_start = start;
    survey->any = true;
    survey->last_start = mp_max(survey->last_start, start);
    survey->duration = mp_max(survey->duration, duration);
    survey->bytes = mp_max(survey->bytes, bytes);
    if (throughput > survey->throughput)
        survey->throughput = throughput;
}

/* The pass over the rows. */
struct surveying {
    const struct trace_rows *rows;
    struct trace_survey *survey;
    bool units;
};

static enum mp_status take_row(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct activity_table *source = activity_of(batch->table->id);
    const struct surveying *pass = context;
    enum trace_kind kind = 0;

    while (trace_activity(kind) != source)
        kind++;
    if (kind == TRACE_COPY)
        pass->survey->peers |= mp_copy_columns(batch->columns).kind[row] == MP_copy_kind_PtoP;
    if (pass->units && activity_value(batch->columns, source->start, row) &&
        trace_row_wanted(pass->rows, kind, batch->columns, row))
        take_times(pass->survey, source, batch->columns, row);
    return MP_OK;
}

/* The columns that are read of a table that has rows; without `units` only the direction of
 * copies. */
static uint32_t columns_of(const struct surveying *pass, enum trace_kind kind)
{
    const struct activity_table *source = trace_activity(kind);
    uint32_t mask = kind == TRACE_COPY ? MP_MASK(copy, kind) : 0;

    if (!(pass->rows->present >> kind & 1))
        return 0;
    if (pass->units)
        mask |= activity_mask(source->start) | activity_mask(source->duration) |
                activity_mask(source->bytes);
    if (pass->units && pass->rows->range && source->by_launch)
        mask |= activity_mask(source->correlation);
    return mask;
}

enum mp_status trace_survey(struct trace_rows *rows, bool units, struct trace_survey *survey,
                            struct mp_error *error)
{
    struct surveying pass = {.rows = rows, .survey = survey, .units = units};
    struct reading_table tables[TRACE_KINDS];
    const struct reading reading = {
        .trace = rows->trace,
        .what = "the records",
        .context = &pass,
        READING_TABLES(tables),
    };

    *survey = (struct trace_survey){.any = false};
    for (enum trace_kind kind = 0; kind < TRACE_KINDS; kind++)
        tables[kind] = (struct reading_table){trace_activity(kind)->table, columns_of(&pass, kind),
                                              .take_row = take_row};
    for (size_t i = 0; i < rows->shapes.count; i++) {
        const struct trace_shape *shape = dense_at(&rows->shapes, i);
        survey->static_shared = mp_max(survey->static_shared, shape->static_shared);
        survey->dynamic_shared = mp_max(survey->dynamic_shared, shape->dynamic_shared);
    }
    if (!units && !(rows->present >> TRACE_COPY & 1))
        return MP_OK;
    return reading_run(&reading, error);
}
