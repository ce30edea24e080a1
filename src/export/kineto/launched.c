/* A counting sort of the device's work by the call that launched it. */
#include "export/kineto/launched.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

/* Host functions have a launch too, but they run on no stream. */
static bool is_launched(const struct deps_activity *work)
{
    return work->launch != DEPS_NONE && work->kind != DEPS_HOST_FUNCTION;
}

/* Counts what each call launched, at the call after it, and adds up. */
static void count_work(struct kineto_launched *launched)
{
    const struct deps *deps = launched->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (is_launched(&deps->activities[i]))
            launched->first[deps->activities[i].launch + 1]++;
    }
    for (uint32_t i = 0; i < deps->host_count; i++)
        launched->first[i + 1] += launched->first[i];
}

/* Puts each piece of work behind those of earlier calls; `first` moves on to the next call's. */
static void place_work(struct kineto_launched *launched)
{
    const struct deps *deps = launched->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (is_launched(&deps->activities[i]))
            launched->work[launched->first[deps->activities[i].launch]++] = i;
    }
    for (uint32_t i = deps->host_count; i > 0; i--)
        launched->first[i] = launched->first[i - 1];
    launched->first[0] = 0;
}

enum mp_status kineto_launched_build(struct kineto_launched *launched, const struct deps *deps)
{
    size_t work = deps->count - deps->host_count;

    launched->deps = deps;
    launched->first = calloc((size_t)deps->host_count + 1, sizeof *launched->first);
    launched->work = calloc(work + 1, sizeof *launched->work);
    launched->projected = calloc((size_t)deps->lane_count + 1, sizeof *launched->projected);
    if (!launched->first || !launched->work || !launched->projected)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < deps->thread_count; i++)
        MP_TRY(mp_map_put(&launched->threads, deps->lanes[i].id, i));
    count_work(launched);
    place_work(launched);
    return MP_OK;
}

void kineto_launched_free(struct kineto_launched *launched)
{
    free(launched->first);
    free(launched->work);
    free(launched->projected);
    mp_map_free(&launched->threads);
}

bool kineto_launched_any(const struct kineto_launched *launched, uint32_t call)
{
    return launched->deps && call < launched->deps->host_count &&
           launched->first[call] < launched->first[call + 1];
}

static void project(struct kineto_launched *launched, const struct deps_activity *work)
{
    struct kineto_projected *on = &launched->projected[work->lane];

    if (!on->end || work->begin < on->begin)
        on->begin = work->begin;
    if (work->end > on->end)
        on->end = work->end;
}

bool kineto_launched_project(struct kineto_launched *launched, uint64_t thread, uint64_t begin,
                             uint64_t end)
{
    const struct deps *deps = launched->deps;
    uint32_t lane = mp_map_get(&launched->threads, thread);
    uint32_t from, until;

    if (!deps || lane == MP_MAP_ABSENT || end == UINT64_MAX)
        return false;
    from = launched->first[deps_first_from(deps, &deps->lanes[lane], begin)];
    until = launched->first[deps_first_from(deps, &deps->lanes[lane], end + 1)];
    if (from == until)
        return false;
    memset(launched->projected, 0, (size_t)deps->lane_count * sizeof *launched->projected);
    for (uint32_t i = from; i < until; i++)
        project(launched, &deps->activities[launched->work[i]]);
    return true;
}
