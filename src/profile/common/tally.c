/* Count, sum, min and max of durations by id. This is the inner loop of every summary, so
 * ids index an array and no name is touched.
 */
#include "profile/common/tally.h"

#include <stdlib.h>

#include "base/data/storage.h"

#include "base/poison.h"

void tallies_init(struct tallies *tallies, size_t limit)
{
    *tallies = (struct tallies){.beyond = 0};
    dense_init(&tallies->items, sizeof(struct tally), limit);
}

void tallies_free(struct tallies *tallies)
{
    dense_free(&tallies->items);
}

static void tally_doubtful(struct tallies *tallies, struct tally *tally,
                           const struct tally_rows *rows, uint32_t row)
{
    uint64_t duration = rows->durations[row];
    uint64_t calls = rows->batches ? rows->batches[row] : 1;

    if (!rows->starts[row])
        tallies->unknown_times++;
    else if ((int64_t)duration < 0)
        tallies->reversed_times++;
    else if (calls <= 1)
        tally_add(tally, duration); /* begins and ends in the same nanosecond, or is of a range */
    else {
        struct tally batch = tally_of(duration, calls);
        tally_merge(tally, &batch);
    }
}

static void add_all(struct tallies *tallies, const struct tally_rows *rows)
{
    struct tally *items = tallies->items.items;
    const uint64_t limit = tallies->items.count;

    for (uint32_t i = 0; i < rows->count; i++) {
        uint64_t id = rows->ids[i] < limit ? rows->ids[i] : 0;
        uint64_t duration = rows->durations[i];

        if (__builtin_expect(!rows->starts[i] || (int64_t)duration <= 0 || rows->batches, 0))
            tally_doubtful(tallies, &items[id], rows, i);
        else
            tally_add(&items[id], duration);
    }
}

static void add_range(struct tallies *tallies, const struct tally_rows *rows,
                      const struct capture_range *range)
{
    struct tally *items = tallies->items.items;
    const uint64_t limit = tallies->items.count;

    for (uint32_t i = 0; i < rows->count; i++) {
        uint64_t id = rows->ids[i] < limit ? rows->ids[i] : 0;
        uint64_t start = rows->starts[i];
        bool inside = rows->correlations ? range_has_work(range, rows->correlations[i], start)
                                         : range_has_call(range, start);
        if (inside)
            tally_doubtful(tallies, &items[id], rows, i);
    }
}

/* Grows the items up to the largest id of the rows, or to the limit. */
static enum mp_status reach_ids(struct tallies *tallies, const struct tally_rows *rows)
{
    uint64_t max = 0;

    for (uint32_t i = 0; i < rows->count; i++)
        max = rows->ids[i] > max ? rows->ids[i] : max;
    enum mp_status status = dense_reach(&tallies->items, max);
    if (status != MP_ERR_LIMIT)
        return status;
    MP_TRY(dense_reach(&tallies->items, 0));
    for (uint32_t i = 0; i < rows->count; i++) {
        if (dense_reach(&tallies->items, rows->ids[i]) == MP_ERR_LIMIT)
            tallies->beyond++;
    }
    return MP_OK;
}

enum mp_status tallies_add(struct tallies *tallies, const struct tally_rows *rows,
                           const struct capture_range *range)
{
    MP_TRY(reach_ids(tallies, rows));
    if (range)
        add_range(tallies, rows, range);
    else
        add_all(tallies, rows);
    return MP_OK;
}

/* ---- By device and id ---- */

#define SLOT_SHIFT 48 /* ids stay far below: definitions_limit */

uint32_t summary_slot(struct summary_slots *slots, uint64_t device)
{
    if (!slots->count)
        slots->devices[slots->count++] = UINT64_MAX;
    for (uint32_t slot = 0; slot < slots->count; slot++) {
        if (slots->devices[slot] == device)
            return slot;
    }
    if (slots->count == SUMMARY_MAX_DEVICES)
        return 0;
    slots->devices[slots->count] = device;
    return slots->count++;
}

static enum mp_status add_device_pair(struct summary_pairs *pairs, uint32_t slot, uint64_t id)
{
    MP_TRY(MP_RESERVE(pairs->items, pairs->count, pairs->capacity));
    pairs->items[pairs->count++] = (struct summary_pair){id, slot};
    return MP_OK;
}

enum mp_status summary_pair(struct summary_pairs *pairs, uint32_t slot, uint64_t id, uint64_t limit,
                            uint64_t *pair)
{
    if (!pairs->count)
        MP_TRY(add_device_pair(pairs, 0, 0));
    if (id >= limit || id >> SLOT_SHIFT || pairs->count >= UINT32_MAX - 1) {
        pairs->beyond++;
        id = 0;
    }
    uint64_t key = (uint64_t)slot << SLOT_SHIFT | id;
    uint32_t known = mp_map_get(&pairs->by_key, key);
    if (known == MP_MAP_ABSENT) {
        known = (uint32_t)pairs->count;
        MP_TRY(mp_map_put(&pairs->by_key, key, known));
        MP_TRY(add_device_pair(pairs, slot, id));
    }
    *pair = known;
    return MP_OK;
}

void summary_pairs_free(struct summary_pairs *pairs)
{
    mp_map_free(&pairs->by_key);
    free(pairs->items);
    *pairs = (struct summary_pairs){.count = 0};
}
