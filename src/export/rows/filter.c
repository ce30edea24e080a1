/* Capture ranges and devices: what belongs to those that were chosen.
 *
 * Work of the GPU belongs to the capture range in which it was launched and to the device of its
 * stream. A call that launched work belongs to the devices of that work. Other rows of the host
 * belong to the devices on which their thread launched something; without threads, to all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "export/rows/build.h"
#include "profile/reading.h"

#include "base/poison.h"

/* ---- Capture ranges ---- */

static bool has(const struct capture_range *range, const struct export_source *source,
                const struct export_row *row)
{
    return source->table->by_launch ? range_has_work(range, row->correlation, row->start)
                                    : range_has_call(range, row->start);
}

static bool has_begun(const struct capture_range *range, const struct export_source *source,
                      const struct export_row *row)
{
    return source->table->by_launch && row->correlation && range->begin_correlation
               ? range->begin_correlation <= row->correlation
               : range->begin_time <= row->start;
}

/* The capture ranges are in the order of their begins. */
static const struct capture_range *find_range(struct export_rows *rows,
                                              const struct export_source *source,
                                              const struct export_row *row)
{
    const struct capture_range *ranges = rows->ranges.items.items;
    size_t count = ranges_count(&rows->ranges);

    if (rows->last_range < count && has(&ranges[rows->last_range], source, row))
        return &ranges[rows->last_range];
    size_t low = MP_SEARCH(0, count, i, has_begun(&ranges[i], source, row));
    if (!low || !has(&ranges[low - 1], source, row))
        return NULL;
    rows->last_range = low - 1;
    return &ranges[low - 1];
}

bool export_filter_range(struct export_rows *rows, const struct export_source *source,
                         struct export_row *row)
{
    if (rows->range) {
        row->capture_range = rows->range->id;
        return has(rows->range, source, row);
    }
    const struct capture_range *range = find_range(rows, source, row);
    row->capture_range = range ? range->id : 0;
    return true;
}

/* ---- Devices ---- */

static bool is_chosen(const struct export_rows *rows, uint64_t device)
{
    return device < 64 && rows->options.devices >> device & 1;
}

bool export_filter_device(const struct export_rows *rows, const struct export_source *source,
                          const struct export_row *row, const struct export_lane *lane)
{
    if (!rows->by_device)
        return true;
    if (source->table->stream)
        return row->place && is_chosen(rows, row->place->device);
    if (source->table->table == MP_TABLE_memory)
        return is_chosen(rows, export_row_memory(row).device);
    if (source->table->table == MP_TABLE_pool)
        return is_chosen(rows, export_row_pool(row).device);
    if (source->table->table == MP_TABLE_unified) {
        const struct mp_row_unified unified = export_row_unified(row);

        return is_chosen(rows, unified.source) || is_chosen(rows, unified.target);
    }
    uint32_t launched =
        row->correlation ? mp_map_get(&rows->launched, row->correlation) : MP_MAP_ABSENT;
    if (launched != MP_MAP_ABSENT)
        return launched;
    return !lane || lane->wanted;
}

/* Whether the trace knows the device. */
static bool is_known(const struct export_rows *rows, uint64_t device)
{
    const struct definition_device *found = dense_at(&rows->definitions.devices, device);

    if (found && found->defined)
        return true;
    for (size_t i = 0; i < rows->definitions.streams.count; i++) {
        const struct definition_stream *stream = dense_at(&rows->definitions.streams, i);
        if (stream->defined && stream->device == device)
            return true;
    }
    return false;
}

static enum mp_status complain_of_device(const struct export_rows *rows, uint64_t device,
                                         struct mp_error *error)
{
    char text[128] = "";
    size_t used = 0;

    for (uint64_t i = 0; i < 64 && used < sizeof text; i++)
        if (is_known(rows, i))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64,
                                     used ? ", " : "", i);
    return mp_error_set(error, MP_ERR_ARGUMENT, "there is no device %" PRIu64 "; the trace has: %s",
                        device, *text ? text : "none");
}

static enum mp_status note_launch(struct export_rows *rows, uint64_t correlation, uint64_t row)
{
    const struct definition_stream *stream = dense_at(&rows->definitions.streams, row);
    bool chosen = stream && stream->defined && is_chosen(rows, stream->device);
    uint32_t known = mp_map_get(&rows->launched, correlation);

    if (!correlation || known == true || (known == false && !chosen))
        return MP_OK;
    return mp_map_put(&rows->launched, correlation, chosen);
}

static enum mp_status take_work(void *context, const struct mp_batch *batch)
{
    const struct activity_table *table = activity_of(batch->table->id);
    const uint64_t *streams = activity_column(batch->columns, table->stream);
    const uint64_t *correlations = activity_column(batch->columns, table->correlation);

    for (uint32_t row = 0; row < batch->rows; row++)
        MP_TRY(note_launch(context, correlations[row], streams[row]));
    return MP_OK;
}

/* Finds out which launches were for a chosen device. */
static enum mp_status read_work(struct export_rows *rows, struct mp_error *error)
{
    struct reading_table tables[ACTIVITY_KINDS];
    struct reading reading = {
        .trace = rows->trace, .what = "the launches", .context = rows, .tables = tables};
    size_t count;
    const struct export_source *sources = export_sources(&count);

    for (size_t i = 0; i < count; i++) {
        const struct activity_table *table = sources[i].table;

        if (table->by_launch && sources[i].activity != DEPS_KINDS)
            tables[reading.table_count++] = (struct reading_table){
                table->table, activity_mask(table->stream) | activity_mask(table->correlation),
                .take = take_work};
    }
    return reading_run(&reading, error);
}

static enum mp_status take_call(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    struct export_rows *rows = context;
    struct export_lane *lane;

    if (!call.correlation[row] || mp_map_get(&rows->launched, call.correlation[row]) != true)
        return MP_OK;
    MP_TRY(export_thread(rows, call.thread[row], &lane));
    if (lane)
        lane->wanted = true;
    return MP_OK;
}

/* Finds out which threads made these launches. */
static enum mp_status read_calls(struct export_rows *rows, struct mp_error *error)
{
    static const struct reading_table tables[] = {
        {MP_TABLE_call, MP_MASK(call, thread, correlation), .take_row = take_call},
    };
    const struct reading reading = {
        .trace = rows->trace, .what = "the calls", .context = rows, READING_TABLES(tables)};

    return reading_run(&reading, error);
}

enum mp_status export_filter_load(struct export_rows *rows, struct mp_error *error)
{
    rows->by_device = rows->options.devices != 0;
    if (!rows->by_device)
        return MP_OK;
    for (uint64_t i = 0; i < 64; i++) {
        if (is_chosen(rows, i) && !is_known(rows, i))
            return complain_of_device(rows, i, error);
    }
    MP_TRY(read_work(rows, error));
    return read_calls(rows, error);
}
