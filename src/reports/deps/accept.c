/* Whether an edge of the graph is believed: shared by link.c and nodes.c, which both add edges that
 * a clock or a damaged trace may contradict, or that programmatic dependent launch lets overlap.
 */
#include "reports/deps/link.h"

#include "base/poison.h"

bool deps_accept(struct deps *deps, uint32_t activity, uint32_t awaited)
{
    const struct deps_activity *by = &deps->activities[activity];
    const struct deps_activity *on = &deps->activities[awaited];
    int64_t distance = deps_distance(by, on->end);

    deps->counts.dependencies++;
    if (distance < -DEPS_TOLERANCE_NS || on->begin > by->begin || activity == awaited) {
        deps->counts.contradicted++;
        return false;
    }
    if (distance < 0)
        deps->counts.clamped++;
    return true;
}

enum deps_order_kind deps_order_after(struct deps *deps, uint32_t activity, uint32_t awaited)
{
    struct deps_activity *by = &deps->activities[activity];
    const struct deps_activity *on = &deps->activities[awaited];

    deps->counts.dependencies++;
    if (on->begin > by->begin || activity == awaited) {
        deps->counts.contradicted++;
        return DEPS_ORDER_REFUSED;
    }
    if (on->end <= by->begin)
        return DEPS_ORDER_ENDED;
    deps->counts.overlapping++;
    if (by->overlapped == DEPS_NONE || deps_ends_later(deps, awaited, by->overlapped))
        by->overlapped = awaited;
    return DEPS_ORDER_OVERLAPS;
}
