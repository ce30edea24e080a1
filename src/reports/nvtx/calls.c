/* The calls inside of NVTX ranges, sorted by correlation id, so that work on the device finds its
 * range by a search. Sums for each range are kept here too.
 */
#include "reports/nvtx/calls.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"

#include "base/poison.h"

/* ---- Calls ---- */

static bool is_less(const struct nvtx_call *a, const struct nvtx_call *b)
{
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation;
    return a->node < b->node;
}

enum mp_status nvtx_calls_add(struct nvtx_calls *calls, const struct nvtx_call *call)
{
    if (calls->count >= NVTX_NONE - 1)
        return MP_ERR_LIMIT;
    MP_TRY(mp_reserve((void **)&calls->items, calls->count, &calls->capacity, sizeof *call));
    if (calls->count && is_less(call, &calls->items[calls->count - 1]))
        calls->unordered = true;
    calls->items[calls->count++] = *call;
    return MP_OK;
}

static bool nvtx_calls_is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct nvtx_call *items = context;

    return is_less(&items[a], &items[b]);
}

enum mp_status nvtx_calls_sort(struct nvtx_calls *calls)
{
    if (calls->unordered) {
        uint32_t *scratch = reallocarray(NULL, calls->count, sizeof *scratch);

        calls->order = reallocarray(NULL, calls->count, sizeof *calls->order);
        if (!scratch || !calls->order) {
            free(scratch);
            return MP_ERR_MEMORY;
        }
        for (size_t i = 0; i < calls->count; i++)
            calls->order[i] = (uint32_t)i;
        mp_sort(calls->order, calls->count, scratch, nvtx_calls_is_before, calls->items);
        free(scratch);
    }
    for (size_t i = 1; i < calls->count; i++) {
        const struct nvtx_call *before = nvtx_calls_at(calls, i - 1);
        struct nvtx_call *call = nvtx_calls_at(calls, i);
        call->again = call->correlation == before->correlation && call->node == before->node;
    }
    return MP_OK;
}

struct nvtx_call *nvtx_calls_at(const struct nvtx_calls *calls, size_t position)
{
    return &calls->items[calls->order ? calls->order[position] : position];
}

static size_t search(const struct nvtx_calls *calls, size_t low, size_t high, uint64_t correlation)
{
    return MP_SEARCH(low, high, i, nvtx_calls_at(calls, i)->correlation < correlation);
}

size_t nvtx_calls_position(struct nvtx_calls *calls, uint64_t correlation)
{
    size_t low = calls->last_found;
    size_t step = 1;
    size_t high;

    if (low < calls->count && nvtx_calls_at(calls, low)->correlation <= correlation) {
        high = low;
        while (high < calls->count && nvtx_calls_at(calls, high)->correlation < correlation) {
            low = high;
            high = calls->count - high > step ? high + step : calls->count;
            step *= 2;
        }
    } else {
        high = low;
        low = 0;
    }
    low = search(calls, low, high, correlation);
    calls->last_found = low;
    if (low < calls->count && nvtx_calls_at(calls, low)->correlation == correlation)
        return low;
    return calls->count;
}

void nvtx_calls_free(struct nvtx_calls *calls)
{
    free(calls->items);
    free(calls->order);
    *calls = (struct nvtx_calls){.count = 0};
}

/* ---- Sums ---- */

enum mp_status nvtx_sums_init(struct nvtx_sums *sums, size_t owners)
{
    *sums = (struct nvtx_sums){.last_item = NVTX_NONE};
    return nvtx_sums_reach(sums, owners);
}

enum mp_status nvtx_sums_reach(struct nvtx_sums *sums, size_t owners)
{
    size_t room = sums->owners + sums->owners / 2;
    uint32_t *first;

    if (owners <= sums->owners)
        return MP_OK;
    if (room < owners)
        room = owners;
    first = reallocarray(sums->first, room, sizeof *first);
    if (!first)
        return MP_ERR_MEMORY;
    for (size_t i = sums->owners; i < room; i++)
        first[i] = NVTX_NONE;
    sums->first = first;
    sums->owners = room;
    return MP_OK;
}

static enum mp_status add_item(struct nvtx_sums *sums, uint32_t owner, uint32_t name, uint64_t key,
                               uint32_t *item)
{
    if (sums->count >= NVTX_NONE - 1)
        return MP_ERR_LIMIT;
    MP_TRY(MP_RESERVE(sums->items, sums->count, sums->capacity));
    *item = (uint32_t)sums->count;
    MP_TRY(mp_map_put(&sums->known, key, *item));
    sums->items[sums->count++] = (struct nvtx_sum){.name = name, .next = sums->first[owner]};
    sums->first[owner] = *item;
    return MP_OK;
}

enum mp_status nvtx_sums_add(struct nvtx_sums *sums, uint32_t owner, uint32_t name,
                             const struct tally *tally)
{
    uint64_t key = (uint64_t)owner << 32 | name;
    uint32_t item = sums->last_item;

    if (item == NVTX_NONE || key != sums->last_key) {
        item = mp_map_get(&sums->known, key);
        if (item == MP_MAP_ABSENT)
            MP_TRY(add_item(sums, owner, name, key, &item));
        sums->last_key = key;
        sums->last_item = item;
    }
    tally_merge(&sums->items[item].tally, tally);
    return MP_OK;
}

void nvtx_sums_free(struct nvtx_sums *sums)
{
    free(sums->items);
    free(sums->first);
    mp_map_free(&sums->known);
    *sums = (struct nvtx_sums){.count = 0};
}
