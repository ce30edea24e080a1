/* The rows of a GPU trace or an API trace in order of time. Definitions are loaded in a first pass;
 * records are merged and printed as they are read, so memory does not grow with the trace.
 */
#include "reports/trace/records.h"

#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Everything but the records ---- */

static enum mp_status take_shapes(void *context, const struct mp_batch *batch)
{
    struct trace_rows *rows = context;
    const struct mp_shape_columns shape = mp_shape_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++) {
        enum mp_status status = dense_reach(&rows->shapes, shape.id[row]);

        if (status == MP_ERR_LIMIT)
            continue; /* definitions_take counts it */
        MP_TRY(status);
        *(struct trace_shape *)dense_at(&rows->shapes, shape.id[row]) = (struct trace_shape){
            .grid = {shape.grid_x[row], shape.grid_y[row], shape.grid_z[row]},
            .block = {shape.block_x[row], shape.block_y[row], shape.block_z[row]},
            .registers = shape.registers[row],
            .static_shared = shape.static_shared_memory[row],
            .dynamic_shared = shape.dynamic_shared_memory[row]};
    }
    return MP_OK;
}

static const struct reading_table definition_tables[] = {
    {MP_TABLE_shape,
     MP_MASK(shape, id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers,
             static_shared_memory, dynamic_shared_memory),
     .take = take_shapes},
};

static enum mp_status load_definitions(struct trace_rows *rows, struct mp_error *error)
{
    const struct reading reading = {
        .trace = rows->trace,
        .what = "the definitions",
        .context = rows,
        READING_TABLES(definition_tables),
        .quality = rows->quality,
        .definitions = &rows->definitions,
    };

    return reading_run(&reading, error);
}

static uint32_t columns_of(const struct trace_rows *rows, enum trace_kind kind)
{
    bool nodes = captured_has_any(&rows->captured);

    return trace_columns(kind) | (nodes ? activity_mask(trace_activity(kind)->node) : 0);
}

static enum mp_status open_merge(struct trace_rows *rows, struct mp_error *error)
{
    struct merge_table tables[TRACE_KINDS];
    uint32_t wanted = (rows->options->gpu ? TRACE_GPU : 0) | (rows->options->api ? TRACE_API : 0);
    size_t count = 0;

    for (unsigned kind = 0; kind < TRACE_KINDS; kind++) {
        if (!(wanted >> kind & 1))
            continue;
        rows->kinds[count] = (enum trace_kind)kind;
        tables[count++] = merge_activities(trace_activity(kind), columns_of(rows, kind));
    }
    MP_TRY(merge_open(rows->trace, tables, count, &rows->merge, error));
    for (size_t i = 0; i < count; i++)
        rows->present |= (uint32_t)(merge_promised(rows->merge, (unsigned)i) != 0)
                         << rows->kinds[i];
    if (captured_has_any(&rows->captured))
        rows->present |= TRACE_CAPTURED;
    return MP_OK;
}

enum mp_status trace_rows_open(struct trace_rows *rows, struct mp_trace *trace,
                               const struct traces_options *options, struct quality *quality,
                               struct mp_error *error)
{
    size_t limit = definitions_limit(trace);

    *rows = (struct trace_rows){.trace = trace, .options = options, .quality = quality};
    quality_init(quality, trace);
    quality->only = options->range;
    definitions_init(&rows->definitions, trace);
    dense_init(&rows->shapes, sizeof(struct trace_shape), limit);
    dense_init(&rows->places, sizeof(struct trace_place), limit);
    dense_init(&rows->devices, sizeof(const char *), limit);
    MP_TRY(ranges_open(&rows->ranges, trace, options->range, &rows->range, error));
    MP_TRY(load_definitions(rows, error));
    if (options->api)
        MP_TRY(launches_open(trace, &rows->launches, error));
    if (options->captured)
        MP_TRY(captured_load(&rows->captured, trace, error));
    return open_merge(rows, error);
}

void trace_rows_free(struct trace_rows *rows)
{
    merge_close(rows->merge);
    launches_close(rows->launches);
    nvtx_match_free(&rows->nvtx);
    ranges_free(&rows->ranges);
    captured_free(&rows->captured);
    mp_buffer_free(&rows->path);
    mp_buffer_free(&rows->number);
    mp_buffer_free(&rows->line);
    mp_arena_free(&rows->text);
    dense_free(&rows->devices);
    dense_free(&rows->places);
    dense_free(&rows->shapes);
    definitions_free(&rows->definitions);
}

/* ---- Records ---- */

bool trace_row_wanted(const struct trace_rows *rows, enum trace_kind kind,
                      const uint64_t *const *columns, uint32_t row)
{
    const struct activity_table *source = trace_activity(kind);
    uint64_t start = activity_value(columns, source->start, row);

    if (!rows->range)
        return true;
    if (!source->by_launch)
        return range_has_call(rows->range, start);
    return range_has_work(rows->range, activity_value(columns, source->correlation, row), start);
}

enum mp_status trace_rows_next(struct trace_rows *rows, struct trace_row *row)
{
    struct merge_row from;
    enum mp_status status;

    while ((status = merge_next(rows->merge, &from)) == MP_OK) {
        enum trace_kind kind = rows->kinds[from.table];
        const struct activity_table *source = trace_activity(kind);
        uint64_t duration = activity_value(from.columns, source->duration, from.row);

        *row = (struct trace_row){.kind = kind,
                                  .start = from.time,
                                  .duration = duration,
                                  .has_duration = source->duration != 0};
        bool wanted = trace_row_wanted(rows, kind, from.columns, from.row);
        if (wanted && (int64_t)duration < 0)
            rows->quality->reversed_times++;
        else if (wanted)
            return trace_describe(rows, &from, row);
        if (kind == TRACE_NVTX)
            MP_TRY(trace_describe(rows, &from, row)); /* what ends later has a name */
    }
    return status;
}

void trace_rows_finish(struct trace_rows *rows)
{
    rows->quality->unknown_times += merge_unknown_times(rows->merge);
    merge_add_damage(rows->merge, &rows->quality->damage);
}
