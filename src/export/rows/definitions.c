/* The first pass over a trace: definitions, which rows refer to by number, the capture ranges, and
 * what was lost.
 */
#include <stdlib.h>

#include "base/data/reserve.h"
#include "export/rows/build.h"
#include "profile/reading.h"

#include "base/poison.h"

#define CELL(table, column) (batch->columns[MP_COLUMN_##table##_##column][row])
#define PRIORITY_ZERO       0x40000000 /* added to priorities, which can be negative */

/* ---- Rows ---- */

static enum mp_status take_metric(struct export_rows *rows, const struct mp_batch *batch,
                                  uint32_t row)
{
    enum mp_status status = dense_reach(&rows->metrics, CELL(metric, id));

    if (status == MP_OK)
        *(uint64_t *)dense_at(&rows->metrics, CELL(metric, id)) = CELL(metric, name);
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

static enum mp_status take_device(struct export_rows *rows, const struct mp_batch *batch,
                                  uint32_t row)
{
    if (export_rows_device(rows, CELL(device, id)))
        return MP_OK;
    MP_TRY(mp_reserve((void **)&rows->devices, rows->device_count, &rows->device_capacity,
                      sizeof *rows->devices));
#define TAKE_CELL(table, id, name, type, unit, codec, doc) .name = CELL(table, name),
    rows->devices[rows->device_count++] = (struct mp_row_device){MP_COLUMNS_device(TAKE_CELL)};
#undef TAKE_CELL
    return MP_OK;
}

static enum mp_status take_function(struct export_rows *rows, const struct mp_batch *batch,
                                    uint32_t row)
{
    enum mp_status status = dense_reach(&rows->functions, CELL(function, id));

    if (status == MP_OK)
        *(struct export_function *)dense_at(&rows->functions, CELL(function, id)) =
            (struct export_function){.cbid = (uint32_t)CELL(function, cbid),
                                     .driver = CELL(function, api) == MP_api_driver};
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

static uint64_t priority_key(uint64_t context, uint64_t stream)
{
    return context << 32 ^ stream;
}

static enum mp_status take_row(struct export_rows *rows, const struct mp_batch *batch, uint32_t row)
{
    switch (batch->table->id) {
    case MP_TABLE_metric:
        return take_metric(rows, batch, row);
    case MP_TABLE_device:
        return take_device(rows, batch, row);
    case MP_TABLE_function:
        return take_function(rows, batch, row);
    case MP_TABLE_stream:
        return mp_map_put(&rows->contexts, CELL(stream, context),
                          (uint32_t)CELL(stream, device) & INT32_MAX);
    case MP_TABLE_context_info:
        return mp_map_put(&rows->contexts, CELL(context_info, context),
                          (uint32_t)CELL(context_info, device) & INT32_MAX);
    case MP_TABLE_stream_info:
        return mp_map_put(&rows->priorities,
                          priority_key(CELL(stream_info, context), CELL(stream_info, stream)),
                          (uint32_t)(CELL(stream_info, priority) + PRIORITY_ZERO) & INT32_MAX);
    default:
        return MP_OK;
    }
}

/* ---- The pass ---- */

static void select_definitions(struct mp_cursor *cursor, void *context)
{
    static const unsigned whole[] = {MP_TABLE_metric, MP_TABLE_device,       MP_TABLE_function,
                                     MP_TABLE_stream, MP_TABLE_context_info, MP_TABLE_stream_info};

    (void)context;
    definitions_select(cursor, true);
    shapes_select(cursor);
    quality_select(cursor);
    ranges_select(cursor);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        mp_cursor_select(cursor, mp_table_by_id(whole[i]), UINT32_MAX);
}

static enum mp_status take_definitions(void *context, const struct mp_batch *batch)
{
    struct export_rows *rows = context;

    MP_TRY(definitions_take(&rows->definitions, batch));
    MP_TRY(shapes_take(&rows->shapes, batch));
    MP_TRY(quality_take(&rows->quality, batch));
    MP_TRY(ranges_take(&rows->ranges, batch));
    for (uint32_t row = 0; row < batch->rows; row++)
        MP_TRY(take_row(rows, batch, row));
    return MP_OK;
}

enum mp_status export_definitions_load(struct export_rows *rows, struct mp_error *error)
{
    const struct reading reading = {
        .trace = rows->trace,
        .what = "the definitions",
        .context = rows,
        .select = select_definitions,
        .take = take_definitions,
        .quality = &rows->quality,
        .definitions = &rows->definitions,
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
    mp_map_free(&rows->priorities);
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

uint64_t export_rows_device_of(const struct export_rows *rows, uint64_t context)
{
    uint32_t device = mp_map_get(&rows->contexts, context);

    return device == MP_MAP_ABSENT ? 0 : device;
}

bool export_rows_priority(const struct export_rows *rows, uint64_t context, uint64_t stream,
                          int64_t *priority)
{
    uint32_t found = mp_map_get(&rows->priorities, priority_key(context, stream));

    if (found == MP_MAP_ABSENT)
        return false;
    *priority = (int64_t)found - PRIORITY_ZERO;
    return true;
}

const struct export_function *export_rows_function(const struct export_rows *rows, uint64_t id)
{
    return dense_at(&rows->functions, id);
}
