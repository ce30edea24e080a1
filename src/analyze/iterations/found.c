/* What graph.c, kernels.c and the other ways do with an iteration that they have found: where it
 * begins, and adding it to the result.
 */
#include "analyze/iterations/build.h"
#include "base/data/reserve.h"

#include "base/poison.h"

enum mp_status iterations_add(struct iterations_finder *finder, uint64_t begin, uint64_t host_end,
                              uint32_t thread)
{
    struct iterations *result = finder->result;

    if (result->count >= DEPS_NONE)
        return MP_ERR_LIMIT;
    MP_TRY(mp_reserve((void **)&result->items, result->count, &finder->capacity,
                      sizeof *result->items));
    result->items[result->count++] = (struct iteration){
        .begin = begin, .host_end = host_end > begin ? host_end : begin, .thread = thread};
    return MP_OK;
}

uint64_t iterations_begin(const struct iterations_finder *finder, const struct deps_activity *work,
                          uint64_t floor)
{
    static const uint8_t feeds = ITERATIONS_LAUNCHED_HTOD | ITERATIONS_LAUNCHED_SET;
    const struct deps *deps = finder->deps;
    uint64_t begin = deps_launched_at(deps, work);

    if (work->launch == DEPS_NONE)
        return begin;
    for (uint32_t at = work->launch;
         at-- > deps->lanes[deps->activities[work->launch].lane].first;) {
        const struct deps_activity *piece = &deps->activities[at];
        uint8_t launched = finder->result->launched[at] & (uint8_t)~ITERATIONS_LAUNCHED_AWAITED;

        if (piece->begin < floor || (launched & (uint8_t)~feeds) ||
            (piece->flags & (DEPS_SYNCHRONISES | DEPS_BLOCKS | DEPS_POLLS)))
            break;
        if (launched)
            begin = piece->begin;
    }
    return begin;
}
