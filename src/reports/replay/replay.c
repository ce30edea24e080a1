/* What-if, and a graph that is replayed many times. */
#include "reports/replay/replay.h"

#include <stdlib.h>

#include "reports/replay/solve.h"

#include "base/poison.h"

enum mp_status deps_replay(const struct deps *deps, const struct deps_changes *changes,
                           const struct deps_windows *windows, uint64_t *lengths)
{
    struct deps_resolved resolved = {.by_name = NULL};
    struct deps_order order = {.points = NULL};
    struct replay replay = {.deps = deps, .order = &order, .changes = &resolved};
    enum mp_status status = deps_resolve(deps, changes, &resolved);

    if (!status)
        status = deps_order_new(deps, &order);
    if (!status) {
        replay.moments = malloc((deps_point_count(deps) + (size_t)1) * sizeof *replay.moments);
        status = replay.moments ? MP_OK : MP_ERR_MEMORY;
    }
    if (!status) {
        replay_run(&replay);
        status = replay_lengths(&replay, windows, lengths);
    }
    free(replay.moments);
    deps_order_free(&order);
    deps_resolved_free(&resolved);
    return status;
}

/* ---- Again and again ---- */

enum mp_status deps_less_new(size_t count, struct deps_less *less)
{
    *less = (struct deps_less){.before = calloc(count + 1, sizeof *less->before),
                               .within = calloc(count + 1, sizeof *less->within),
                               .own = calloc(count + 1, sizeof *less->own)};
    return less->before && less->within && less->own ? MP_OK : MP_ERR_MEMORY;
}

void deps_less_free(struct deps_less *less)
{
    free(less->before);
    free(less->within);
    free(less->own);
    *less = (struct deps_less){.before = NULL};
}

enum mp_status deps_replayer_init(struct deps_replayer *replayer, const struct deps *deps)
{
    struct deps_order order;
    enum mp_status status = deps_order_new(deps, &order);

    *replayer = (struct deps_replayer){.deps = deps};
    if (status)
        return status;
    replayer->points = order.points;
    replayer->point_count = order.count;
    replayer->moments = malloc((deps_point_count(deps) + (size_t)1) * sizeof *replayer->moments);
    return replayer->moments ? MP_OK : MP_ERR_MEMORY;
}

void deps_replayer_free(struct deps_replayer *replayer)
{
    free(replayer->points);
    free(replayer->moments);
    *replayer = (struct deps_replayer){.points = NULL};
}

enum mp_status deps_replayer_run(struct deps_replayer *replayer, const struct deps_edits *edits)
{
    struct deps_order order = {replayer->points, replayer->point_count};
    struct deps_resolved resolved;
    const struct replay replay = {.deps = replayer->deps,
                                  .order = &order,
                                  .changes = &resolved,
                                  .edits = edits,
                                  .less = replayer->less,
                                  .moments = replayer->moments};

    MP_TRY(deps_resolve(replayer->deps, NULL, &resolved));
    replayer->edits = edits;
    replay_run(&replay);
    deps_resolved_free(&resolved);
    return MP_OK;
}

static const struct deps_resolved unchanged = {.by_name = NULL};

struct replay replay_last(const struct deps_replayer *replayer)
{
    return (struct replay){.deps = replayer->deps,
                           .changes = &unchanged,
                           .edits = replayer->edits,
                           .less = replayer->less,
                           .moments = replayer->moments};
}

uint64_t deps_replayer_end(const struct deps_replayer *replayer, uint32_t activity)
{
    return replayer->moments[deps_end_point(replayer->deps, activity)];
}

uint64_t deps_replayer_host(const struct deps_replayer *replayer, uint32_t thread, uint64_t time,
                            bool ends)
{
    const struct replay replay = replay_last(replayer);

    return ends ? replay_end(&replay, thread, time) : replay_begin(&replay, thread, time);
}

void deps_replayer_windows(const struct deps_replayer *replayer, const struct deps_windows *windows,
                           struct deps_window *moved)
{
    const struct replay replay = replay_last(replayer);

    replay_windows(&replay, windows, moved);
}
