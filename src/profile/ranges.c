/* Collects the capture ranges and says which rows belong to one. Work on the device belongs to the
 * range in which it was launched, so correlation ids decide where both are known.
 */
#include "profile/ranges.h"
#include "base/text/units.h"
#include "profile/definitions.h"

#include <inttypes.h>

#include "base/data/algorithms.h"
#include "trace/schema.h"

#include "base/poison.h"

void ranges_init(struct capture_ranges *ranges, const struct mp_trace *trace)
{
    size_t limit = definitions_limit(trace);

    *ranges = (struct capture_ranges){.by_id = {.slots = NULL}};
    dense_init(&ranges->items, sizeof(struct capture_range),
               limit < UINT32_MAX ? limit : UINT32_MAX);
}

void ranges_free(struct capture_ranges *ranges)
{
    dense_free(&ranges->items);
    mp_map_free(&ranges->by_id);
}

void ranges_columns(uint32_t *masks)
{
    masks[MP_INDEX_capture] |= MP_MASK(capture, range, kind, time, correlation, reason);
}

/* The range with this id, made if it is new; NULL in *range when there are more than the file can
 * justify. */
static enum mp_status reach_range(struct capture_ranges *ranges, uint64_t id,
                                  struct capture_range **range)
{
    uint32_t index = mp_map_get(&ranges->by_id, id);
    enum mp_status status;

    *range = NULL;
    if (index == MP_MAP_ABSENT) {
        index = (uint32_t)ranges->items.count;
        status = dense_reach(&ranges->items, index);
        if (status == MP_ERR_LIMIT)
            return MP_OK;
        MP_TRY(status);
        MP_TRY(mp_map_put(&ranges->by_id, id, index));
        *(struct capture_range *)dense_at(&ranges->items, index) =
            (struct capture_range){.id = id, .end_time = UINT64_MAX};
    }
    *range = dense_at(&ranges->items, index);
    return MP_OK;
}

/* The end of the process lies after all launches. The id in its row is only the last one that the
 * recorder saw, which may be the last kernel's own. */
static uint64_t end_correlation(uint64_t correlation, uint64_t reason)
{
    return reason == MP_capture_reason_end_of_process ? UINT64_MAX : correlation;
}

enum mp_status ranges_take(struct capture_ranges *ranges, const struct mp_batch *batch)
{
    const struct mp_capture_columns capture = mp_capture_columns(batch->columns);

    if (batch->table->id != MP_TABLE_capture)
        return MP_OK;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t kind = capture.kind[row];
        uint64_t time = capture.time[row];
        uint64_t correlation = capture.correlation[row];
        struct capture_range *range;

        MP_TRY(reach_range(ranges, capture.range[row], &range));
        if (range && kind == MP_capture_kind_begin) {
            range->begin_time = time;
            range->begin_correlation = correlation;
            range->goes_on = capture.reason[row] == MP_capture_reason_baseline;
        } else if (range && kind == MP_capture_kind_end) {
            range->end_time = time;
            range->end_correlation = end_correlation(correlation, capture.reason[row]);
        }
    }
    return MP_OK;
}

enum mp_status ranges_load(struct capture_ranges *ranges, struct mp_trace *trace,
                           struct mp_error *error)
{
    uint32_t masks[MP_TABLE_COUNT] = {0};
    struct mp_cursor *cursor;
    struct mp_batch batch;
    enum mp_status status;

    ranges_columns(masks);
    MP_TRY(mp_cursor_open(trace, &cursor, error));
    cursor_select_only(cursor, MP_TABLE_capture, masks[MP_INDEX_capture]);
    while ((status = mp_cursor_next(cursor, &batch)) == MP_OK) {
        status = ranges_take(ranges, &batch);
        if (status)
            break;
    }
    mp_cursor_close(cursor);
    return status == MP_END ? MP_OK
                            : mp_error_set(error, status, "cannot read the capture ranges: %s",
                                           mp_status_name(status));
}

size_t ranges_count(const struct capture_ranges *ranges)
{
    return ranges->items.count;
}

bool ranges_have_pauses(const struct capture_ranges *ranges)
{
    for (size_t i = 1; i < ranges_count(ranges); i++) {
        const struct capture_range *range = dense_at(&ranges->items, i);

        if (range->goes_on)
            return true;
    }
    return false;
}

size_t ranges_begun(const struct capture_ranges *ranges, uint64_t time)
{
    const struct capture_range *items = ranges->items.items;

    return MP_SEARCH(0, ranges_count(ranges), i, items[i].begin_time <= time);
}

const struct capture_range *ranges_at(const struct capture_ranges *ranges, uint64_t time)
{
    const struct capture_range *items = ranges->items.items;
    size_t begun = ranges_begun(ranges, time);

    return begun && time <= items[begun - 1].end_time ? &items[begun - 1] : NULL;
}

const struct capture_range *ranges_find(const struct capture_ranges *ranges, uint64_t id)
{
    uint32_t index = mp_map_get(&ranges->by_id, id);

    return index == MP_MAP_ABSENT ? NULL : dense_at(&ranges->items, index);
}

enum mp_status ranges_choose(const struct capture_ranges *ranges, uint64_t id,
                             const struct capture_range **range, struct mp_error *error)
{
    *range = id ? ranges_find(ranges, id) : NULL;
    if (*range || !id)
        return MP_OK;
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "there is no capture range %" PRIu64 "; the trace has %s", id,
                        mp_count(ranges_count(ranges)).text);
}

enum mp_status ranges_open(struct capture_ranges *ranges, struct mp_trace *trace, uint64_t id,
                           const struct capture_range **range, struct mp_error *error)
{
    ranges_init(ranges, trace);
    MP_TRY(ranges_load(ranges, trace, error));
    return ranges_choose(ranges, id, range, error);
}
