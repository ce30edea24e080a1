/* Capture ranges and devices: what belongs to those that were chosen.
 *
 * Work of the GPU belongs to the capture range in which it was launched and to the device of its
 * stream. A call that launched work belongs to the devices of that work. Other rows of the host
 * belong to the devices on which their thread launched something; without threads, to all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/rows/build.h"
#include "profile/reading.h"

#include "base/poison.h"

/* ---- Capture ranges ---- */

static bool has(const struct capture_range *range, const struct export_source *source,
                const struct export_row *row)
{
    return source->work || source->kind == EXPORT_METRIC
               ? range_has_work(range, row->correlation, row->start)
               : range_has_call(range, row->start);
}

static bool has_begun(const struct capture_range *range, const struct export_source *source,
                      const struct export_row *row)
{
    bool by_launch = source->work || source->kind == EXPORT_METRIC;

    return by_launch && row->correlation && range->begin_correlation
               ? range->begin_correlation <= row->correlation
               : range->begin_time <= row->start;
}

/* The capture ranges are in the order of their begins. */
static const struct capture_range *find_range(struct export_rows *rows,
                                              const struct export_source *source,
                                              const struct export_row *row)
{
    const struct capture_range *ranges = rows->ranges.items.items;
    size_t low = 0;
    size_t count = ranges_count(&rows->ranges);

    if (rows->last_range < count && has(&ranges[rows->last_range], source, row))
        return &ranges[rows->last_range];
    while (count) {
        if (has_begun(&ranges[low + count / 2], source, row)) {
            low += count / 2 + 1;
            count -= count / 2 + 1;
        } else {
            count /= 2;
        }
    }
    if (!low || !has(&ranges[low - 1], source, row))
        return NULL;
    rows->last_range = low - 1;
    return &ranges[low - 1];
}

bool export_filter_range(struct export_rows *rows, const struct export_source *source,
                         struct export_row *row)
{
    const struct capture_range *range;

    if (rows->range) {
        row->capture_range = rows->range->id;
        return has(rows->range, source, row);
    }
    range = find_range(rows, source, row);
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
    const struct mp_row_unified unified = export_row_unified(row);

    uint32_t launched;

    if (!rows->by_device)
        return true;
    if (source->stream != EXPORT_NO_COLUMN)
        return row->place && is_chosen(rows, row->place->device);
    if (source->table == MP_TABLE_memory)
        return is_chosen(rows, export_row_memory(row).device);
    if (source->table == MP_TABLE_pool)
        return is_chosen(rows, export_row_pool(row).device);
    if (source->table == MP_TABLE_unified)
        return is_chosen(rows, unified.source) || is_chosen(rows, unified.target);
    launched = row->correlation ? mp_map_get(&rows->launched, row->correlation) : MP_MAP_ABSENT;
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

/* Reads the work: which launches were for a chosen device. */
static void select_work(struct mp_cursor *cursor, void *context)
{
    size_t count;
    const struct export_source *sources = export_sources(&count);

    (void)context;
    for (size_t i = 0; i < count; i++) {
        if (sources[i].work)
            mp_cursor_select(cursor, mp_table_by_id(sources[i].table),
                             1u << sources[i].stream | 1u << sources[i].correlation);
    }
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
    size_t count;
    const struct export_source *sources = export_sources(&count);

    for (size_t i = 0; i < count; i++) {
        if (sources[i].table != batch->table->id)
            continue;
        for (uint32_t row = 0; row < batch->rows; row++)
            MP_TRY(note_launch(context, batch->columns[sources[i].correlation][row],
                               batch->columns[sources[i].stream][row]));
    }
    return MP_OK;
}

/* Reads the calls: which threads made these launches. */
static void select_calls(struct mp_cursor *cursor, void *context)
{
    (void)context;
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_call),
                     MP_COLUMN_MASK(call, thread) | MP_COLUMN_MASK(call, correlation));
}

static enum mp_status take_calls(void *context, const struct mp_batch *batch)
{
    struct export_rows *rows = context;

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t correlation = batch->columns[MP_COLUMN_call_correlation][row];
        struct export_lane *lane;

        if (!correlation || mp_map_get(&rows->launched, correlation) != true)
            continue;
        MP_TRY(export_thread(rows, batch->columns[MP_COLUMN_call_thread][row], &lane));
        if (lane)
            lane->wanted = true;
    }
    return MP_OK;
}

enum mp_status export_filter_load(struct export_rows *rows, struct mp_error *error)
{
    const struct reading work = {.trace = rows->trace,
                                 .what = "the launches",
                                 .context = rows,
                                 .select = select_work,
                                 .take = take_work};
    const struct reading calls = {.trace = rows->trace,
                                  .what = "the calls",
                                  .context = rows,
                                  .select = select_calls,
                                  .take = take_calls};

    rows->by_device = rows->options.devices != 0;
    if (!rows->by_device)
        return MP_OK;
    for (uint64_t i = 0; i < 64; i++) {
        if (is_chosen(rows, i) && !is_known(rows, i))
            return complain_of_device(rows, i, error);
    }
    MP_TRY(reading_run(&work, error));
    return reading_run(&calls, error);
}
