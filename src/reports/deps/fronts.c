/* Joins references to what must be waited for. Without fronts the activity that ends last stands
 * for all, which is enough for the critical path. Slack and replay need every activity.
 */
#include "reports/deps/fronts.h"

#include "reports/deps/build.h"

#include "base/poison.h"

uint32_t deps_best(const struct deps *deps, uint32_t reference)
{
    return deps_is_front(reference) ? deps->fronts->items[deps_front_index(reference)].best
                                    : reference;
}

static enum mp_status add_front(struct deps_fronts *fronts, const struct deps_front *front,
                                uint32_t *reference)
{
    /* The last number would read as DEPS_NONE. */
    if (fronts->count >= DEPS_FRONT_BIT - 1)
        return MP_ERR_LIMIT;
    MP_TRY(mp_reserve((void **)&fronts->items, fronts->count, &fronts->capacity, sizeof *front));
    fronts->items[fronts->count] = *front;
    *reference = (uint32_t)fronts->count++ | DEPS_FRONT_BIT;
    return MP_OK;
}

enum mp_status deps_join(struct deps *deps, uint32_t *into, uint32_t other)
{
    uint32_t left = deps_best(deps, *into);
    uint32_t right = deps_best(deps, other);
    uint32_t best;

    if (other == DEPS_NONE || other == *into)
        return MP_OK;
    if (*into == DEPS_NONE) {
        *into = other;
        return MP_OK;
    }
    best = left == right || deps_ends_later(deps, left, right) ? left : right;
    if (deps->fronts)
        return add_front(deps->fronts, &(struct deps_front){*into, other, best}, into);
    *into = best;
    return MP_OK;
}
