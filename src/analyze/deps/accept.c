/* Whether an edge of the graph is believed: shared by link.c and nodes.c, which both add edges that
 * a clock or a damaged trace may contradict.
 */
#include "analyze/deps/link.h"

#include "base/poison.h"

bool deps_accept(struct deps *deps, uint32_t activity, uint32_t awaited, uint64_t *refused)
{
    const struct deps_activity *by = &deps->activities[activity];
    const struct deps_activity *on = &deps->activities[awaited];
    int64_t distance = deps_distance(by, on->end);

    if (distance < -DEPS_TOLERANCE_NS || on->begin > by->begin || activity == awaited) {
        (*refused)++;
        return false;
    }
    if (distance < 0)
        deps->counts.clamped++;
    return true;
}
