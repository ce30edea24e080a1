/* Turns the event graph round: from work to its launch into from a call to its work; and takes
 * fronts apart into the activities that they stand for.
 */
#include "export/perfetto/build.h"

#include <stdlib.h>

#include "base/data/storage.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

static enum mp_status list_launched(struct links *links)
{
    const struct deps *deps = links->deps;
    uint32_t *first = calloc((size_t)deps->host_count + 2, sizeof *first);

    links->launched_first = first;
    links->launched = calloc((size_t)(deps->count - deps->host_count) + 1, sizeof *links->launched);
    if (!first || !links->launched)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (deps->activities[i].launch < deps->host_count)
            first[deps->activities[i].launch + 2]++;
    }
    for (uint32_t i = 2; i <= deps->host_count + 1; i++)
        first[i] += first[i - 1];
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (deps->activities[i].launch < deps->host_count)
            links->launched[first[deps->activities[i].launch + 1]++] = i;
    }
    return MP_OK;
}

enum mp_status links_init(struct links *links, const struct deps *deps, uint64_t first)
{
    *links = (struct links){.deps = deps, .first = first, .next = first};
    if (!deps)
        return MP_OK;
    links->next = first + deps->count;
    links->front_epochs =
        calloc((deps->fronts ? deps->fronts->count : 0) + (size_t)1, sizeof *links->front_epochs);
    if (!links->front_epochs)
        return MP_ERR_MEMORY;
    return list_launched(links);
}

void links_free(struct links *links)
{
    free(links->launched_first);
    free(links->launched);
    free(links->front_epochs);
    free(links->stack);
    *links = (struct links){.deps = NULL};
}

uint64_t links_id(struct links *links, uint32_t activity)
{
    return activity == DEPS_NONE || !links->deps ? links->next++ : links->first + activity;
}

const uint32_t *links_launched(const struct links *links, uint32_t call, size_t *count)
{
    uint32_t first = links->deps->activities[call].first_of_call;

    if (first >= links->deps->host_count) {
        *count = 0;
        return links->launched;
    }
    *count = links->launched_first[first + 1] - links->launched_first[first];
    return links->launched + links->launched_first[first];
}

/* ---- Fronts ---- */

/* Keeps the last one of each stream, which came after the others. */
static void find(struct links *links, uint32_t work)
{
    const struct deps_activity *activities = links->deps->activities;
    size_t i = 0;

    while (i < links->found_count && activities[links->found[i]].lane != activities[work].lane)
        i++;
    if (i == links->found_count) {
        if (i < LINKS_MAX)
            links->found[links->found_count++] = work;
    } else if (work > links->found[i]) {
        links->found[i] = work;
    }
}

static enum mp_status push(struct links *links, size_t *depth, uint32_t reference)
{
    MP_TRY(
        mp_reserve((void **)&links->stack, *depth, &links->stack_capacity, sizeof *links->stack));
    links->stack[(*depth)++] = reference;
    return MP_OK;
}

/* Finds all activities of a reference that ended after `since`. Fronts share parts, so each is
 * entered once; in those that were entered long ago all has ended. */
static enum mp_status take_apart(struct links *links, uint32_t reference, uint64_t since)
{
    const struct deps *deps = links->deps;
    size_t depth = 0;

    links->epoch++;
    MP_TRY(push(links, &depth, reference));
    while (depth) {
        uint32_t next = links->stack[--depth];
        uint32_t front = deps_front_index(next);

        if (next == DEPS_NONE || deps->activities[deps_best(deps, next)].end <= since)
            continue;
        if (!deps_is_front(next)) {
            find(links, next);
        } else if (links->front_epochs[front] != links->epoch) {
            links->front_epochs[front] = links->epoch;
            MP_TRY(push(links, &depth, deps->fronts->items[front].right));
            MP_TRY(push(links, &depth, deps->fronts->items[front].left));
        }
    }
    return MP_OK;
}

enum mp_status links_awaited_by_call(struct links *links, uint32_t call)
{
    const struct deps *deps = links->deps;
    uint32_t first = deps->activities[call].first_of_call;
    uint32_t last = deps->activities[first].last_of_call;
    const struct deps_activity *piece = &deps->activities[last < deps->host_count ? last : first];

    links->found_count = 0;
    if (piece->kind != DEPS_CALL || piece->awaited == DEPS_NONE)
        return MP_OK;
    find(links, piece->awaited);
    return take_apart(links, piece->front, deps->activities[first].begin);
}

/* Leaves out the activity right before in the stream: no arrow is needed to see that order. */
static void leave_out(struct links *links, uint32_t work)
{
    for (size_t i = 0; i < links->found_count; i++) {
        if (links->found[i] == work)
            links->found[i] = links->found[--links->found_count];
    }
}

enum mp_status links_awaited_by_work(struct links *links, uint32_t work)
{
    const struct deps *deps = links->deps;
    const struct deps_activity *activity = &deps->activities[work];
    bool is_first = work == deps->lanes[activity->lane].first;
    bool is_inner = activity->flags & DEPS_NOT_ROOT;

    links->found_count = 0;
    if (activity->own_lane != DEPS_NONE)
        find(links, activity->own_lane);
    if (activity->other_lane != DEPS_NONE)
        find(links, activity->other_lane);
    MP_TRY(take_apart(links, activity->front, is_first || is_inner ? 0 : activity[-1].begin));
    if (!is_first)
        leave_out(links, work - 1);
    return MP_OK;
}
