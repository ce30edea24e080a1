/* An order of all points in which each comes after everything it depends on. It walks depth first
 * with a stack of its own, since chains are as long as a trace.
 */
#include "reports/deps/lookup.h"

#include <stdlib.h>

#include "base/data/storage.h"

#include "base/poison.h"

/* A point whose predecessors are being visited. */
struct visit {
    uint32_t point;
    uint32_t next; /* predecessor to look at */
};

struct search {
    const struct deps *deps;
    struct deps_order *order;
    uint8_t *seen; /* by point */
    struct visit *stack;
    size_t depth, capacity;
};

uint64_t deps_own_time(const struct deps *deps, const struct deps_activity *call)
{
    uint64_t from = deps_awaited_moment(deps, call);

    if (from < call->begin)
        from = call->begin;
    return call->end > from ? call->end - from : 0;
}

uint32_t deps_waker_point(const struct deps *deps, uint32_t wait)
{
    uint32_t by = deps_bound_to(deps, wait);

    return by == DEPS_NONE ? DEPS_NONE : deps_end_point(deps, by);
}

/* Predecessor number `number` of a point, as a point. DEPS_NONE with *more: it does not have this
 * one; DEPS_NONE without *more: there are no further ones. */
static uint32_t predecessor(const struct deps *deps, uint32_t point, uint32_t number, bool *more)
{
    uint32_t index;
    enum deps_point_kind kind = deps_point_kind(deps, point, &index);
    const struct deps_activity *activity = &deps->activities[index];
    uint32_t found = DEPS_NONE;

    *more = number < (kind == DEPS_POINT_WORK ? 4u : kind == DEPS_POINT_BEGIN ? 1u : 2u);
    if (!*more)
        return DEPS_NONE;
    switch (kind) {
    case DEPS_POINT_WORK:
        if (number == 0)
            return deps_has_launch(activity) ? activity->launch : DEPS_NONE;
        found = number == 1   ? activity->own_lane
                : number == 2 ? activity->front
                              : activity->overlapped;
        break;
    case DEPS_POINT_BEGIN:
        index = deps_previous_piece(deps, index);
        return index == DEPS_NONE ? DEPS_NONE : deps_end_point(deps, index);
    case DEPS_POINT_END:
        if (number == 0)
            return index;
        if (activity->bound == DEPS_WOKEN)
            return deps_waker_point(deps, index);
        found = activity->flags & DEPS_POLLS ? activity->awaited : activity->front;
        break;
    case DEPS_POINT_FRONT:
    default:
        found = number ? deps->fronts->items[index].right : deps->fronts->items[index].left;
        break;
    }
    return found == DEPS_NONE ? DEPS_NONE : deps_point(deps, found);
}

static enum mp_status order_push(struct search *search, uint32_t point)
{
    MP_TRY(MP_RESERVE(search->stack, search->depth, search->capacity));
    search->stack[search->depth++] = (struct visit){point, 0};
    search->seen[point] = 1;
    return MP_OK;
}

/* Puts a point after everything that it depends on. */
static enum mp_status settle(struct search *search, uint32_t point)
{
    if (search->seen[point])
        return MP_OK;
    MP_TRY(order_push(search, point));
    while (search->depth) {
        struct visit *top = &search->stack[search->depth - 1];
        bool more;
        uint32_t before = predecessor(search->deps, top->point, top->next++, &more);

        if (!more) {
            search->order->points[search->order->count++] = top->point;
            search->depth--;
        } else if (before != DEPS_NONE && !search->seen[before]) {
            MP_TRY(order_push(search, before));
        }
    }
    return MP_OK;
}

enum mp_status deps_order_new(const struct deps *deps, struct deps_order *order)
{
    size_t count = deps_point_count(deps);
    struct search search = {.deps = deps, .order = order};
    enum mp_status status = MP_OK;

    *order = (struct deps_order){.points = malloc((count + 1) * sizeof *order->points)};
    search.seen = calloc(count + 1, 1);
    if (!order->points || !search.seen)
        status = MP_ERR_MEMORY;
    for (uint32_t i = 0; i < count && !status; i++)
        status = settle(&search, i);
    free(search.seen);
    free(search.stack);
    if (status)
        deps_order_free(order);
    return status;
}

void deps_order_free(struct deps_order *order)
{
    free(order->points);
    *order = (struct deps_order){.points = NULL};
}
