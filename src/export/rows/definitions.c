/* The first pass over a trace: definitions, which rows refer to by number, the capture ranges, and
 * what was lost.
 */
#include <stdlib.h>

#include "base/data/storage.h"
#include "export/rows/build.h"
#include "profile/reading.h"

#include "base/poison.h"

/* ---- Rows ---- */

static enum mp_status take_metric(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_metric_columns metric = mp_metric_columns(batch->columns);
    struct export_rows *rows = context;
    enum mp_status status = dense_reach(&rows->metrics, metric.id[row]);

    if (status == MP_OK)
        *(uint64_t *)dense_at(&rows->metrics, metric.id[row]) = metric.name[row];
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

static enum mp_status take_device(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_device_columns device = mp_device_columns(batch->columns);
    struct export_rows *rows = context;

    if (export_rows_device(rows, device.id[row]))
        return MP_OK;
    MP_TRY(MP_RESERVE(rows->devices, rows->device_count, rows->device_capacity));
#define VALUE(table, id, name, type, unit, codec, doc) .name = device.name[row],
    rows->devices[rows->device_count++] = (struct mp_row_device){MP_COLUMNS_device(VALUE)};
#undef VALUE
    return MP_OK;
}

static enum mp_status take_function(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_function_columns function = mp_function_columns(batch->columns);
    struct export_rows *rows = context;
    enum mp_status status = dense_reach(&rows->functions, function.id[row]);

    if (status == MP_OK)
        *(struct export_function *)dense_at(&rows->functions, function.id[row]) =
            (struct export_function){.cbid = (uint32_t)function.cbid[row],
                                     .driver = function.api[row] == MP_api_driver};
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

static enum mp_status put_context(struct export_rows *rows, uint64_t context, uint64_t device)
{
    return mp_map_put(&rows->contexts, context, (uint32_t)device & INT32_MAX);
}

static enum mp_status take_stream(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_stream_columns stream = mp_stream_columns(batch->columns);

    return put_context(context, stream.context[row], stream.device[row]);
}

static enum mp_status take_context(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_context_info_columns info = mp_context_info_columns(batch->columns);

    return put_context(context, info.context[row], info.device[row]);
}

/* ---- The pass ---- */

enum mp_status export_definitions_load(struct export_rows *rows, struct mp_error *error)
{
    static const struct reading_table tables[] = {
        {MP_TABLE_metric, MP_ALL_COLUMNS, .take_row = take_metric},
        {MP_TABLE_device, MP_ALL_COLUMNS, .take_row = take_device},
        {MP_TABLE_function, MP_ALL_COLUMNS, .take_row = take_function},
        {MP_TABLE_stream, MP_ALL_COLUMNS, .take_row = take_stream},
        {MP_TABLE_context_info, MP_ALL_COLUMNS, .take_row = take_context},
    };
    const struct reading reading = {
        .trace = rows->trace,
        .what = "the definitions",
        .context = rows,
        READING_TABLES(tables),
        .definitions = &rows->definitions,
        .kept = DEFINITIONS_ALL,
        .shapes = &rows->shapes,
        .ranges = &rows->ranges,
        .quality = &rows->quality,
    };
    size_t limit = definitions_limit(rows->trace);

    definitions_init(&rows->definitions, rows->trace);
    shapes_init(&rows->shapes, rows->trace);
    quality_init(&rows->quality, rows->trace);
    rows->quality.only = rows->options.range;
    ranges_init(&rows->ranges, rows->trace);
    dense_init(&rows->metrics, sizeof(uint64_t), limit);
    dense_init(&rows->functions, sizeof(struct export_function), limit);
    MP_TRY(reading_run(&reading, error));
    rows->earlier = rows->quality.damage;
    return ranges_choose(&rows->ranges, rows->options.range, &rows->range, error);
}

void export_definitions_free(struct export_rows *rows)
{
    free(rows->devices);
    mp_map_free(&rows->contexts);
    dense_free(&rows->functions);
    dense_free(&rows->metrics);
    ranges_free(&rows->ranges);
    quality_free(&rows->quality);
    shapes_free(&rows->shapes);
    definitions_free(&rows->definitions);
}

/* ---- Questions ---- */

const struct mp_row_device *export_rows_devices(const struct export_rows *rows, size_t *count)
{
    *count = rows->device_count;
    return rows->devices;
}

const struct mp_row_device *export_rows_device(const struct export_rows *rows, uint64_t ordinal)
{
    for (size_t i = 0; i < rows->device_count; i++) {
        if (rows->devices[i].id == ordinal)
            return &rows->devices[i];
    }
    return NULL;
}

const struct device_limits *export_rows_limits(const struct export_rows *rows, uint64_t ordinal)
{
    return shapes_device(&rows->shapes, ordinal);
}

bool export_rows_usable(const struct export_rows *rows, const struct export_place *place,
                        struct device_limits *limits)
{
    return shapes_limits(&rows->shapes, &rows->definitions.contexts, place->device, place->context,
                         limits);
}

struct mp_row_sync export_rows_sync(const struct export_rows *rows, const struct export_row *row)
{
    struct mp_row_sync sync = export_row_sync(row);

    sync.context = contexts_owner(&rows->definitions.contexts, sync.context, sync.stream);
    return sync;
}

uint64_t export_rows_device_of(const struct export_rows *rows, uint64_t context)
{
    uint32_t device = mp_map_get(&rows->contexts, context);

    return device == MP_MAP_ABSENT ? 0 : device;
}

bool export_rows_priority(const struct export_rows *rows, uint64_t context, uint64_t stream,
                          int64_t *priority)
{
    const struct stream_description *found =
        contexts_stream(&rows->definitions.contexts, context, stream);

    if (found)
        *priority = found->priority;
    return found;
}

const struct export_function *export_rows_function(const struct export_rows *rows, uint64_t id)
{
    return dense_at(&rows->functions, id);
}
