/* Which activities gain most if they are twice as fast. */
#include <stdlib.h>

#include "reports/replay/solve.h"

#include "base/poison.h"

/* The windows' length together, in the run that is solved now. */
static enum mp_status solve_all(const struct replay *replay, const struct deps_windows *windows,
                                uint64_t *total)
{
    uint64_t *lengths = calloc(windows->count + 1, sizeof *lengths);
    enum mp_status status = lengths ? MP_OK : MP_ERR_MEMORY;

    *total = 0;
    if (!status) {
        replay_run(replay);
        status = replay_lengths(replay, windows, lengths);
    }
    for (size_t i = 0; i < windows->count && !status; i++)
        *total += lengths[i];
    free(lengths);
    return status;
}

static int compare_gains(const void *left, const void *right)
{
    const struct deps_gain *a = left;
    const struct deps_gain *b = right;

    if (a->gain != b->gain)
        return a->gain < b->gain ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

/* Keeps the `most` greatest gains, greatest first. */
static void insert(struct deps_gain *gains, size_t max, size_t *found, const struct deps_gain *gain)
{
    size_t at;

    if (*found == max && gains[max - 1].gain >= gain->gain)
        return;
    if (*found < max)
        (*found)++;
    for (at = *found - 1; at && gains[at - 1].gain < gain->gain; at--)
        gains[at] = gains[at - 1];
    gains[at] = *gain;
}

/* Halves one name after the other. No name gains more than list_candidates estimates, so names with
 * a smaller estimate need not be tried. */
static enum mp_status try_names(struct replay *replay, const struct deps_windows *windows,
                                struct deps_gain *candidates, size_t count, struct deps_gain *gains,
                                size_t max, size_t *found)
{
    static const struct deps_change half = {.kind = DEPS_SCALE, .factor = 0.5};
    const struct deps_change **by_name = replay->changes->by_name;
    uint64_t before;

    MP_TRY(solve_all(replay, windows, &before));
    for (size_t i = 0; i < count; i++) {
        enum mp_status status;
        uint64_t after;

        if (*found == max && candidates[i].gain < gains[max - 1].gain)
            break;
        by_name[candidates[i].name] = &half;
        status = solve_all(replay, windows, &after);
        by_name[candidates[i].name] = NULL;
        if (status)
            return status;
        candidates[i].gain = after < before ? before - after : 0;
        insert(gains, max, found, &candidates[i]);
    }
    return MP_OK;
}

/* The names on the path, *count of them, greatest possible gain first: half of the name's time on
 * the path. For a call that waits, this time includes the return from the wait. */
static struct deps_gain *list_candidates(const struct deps_result *result, size_t *count)
{
    struct deps_gain *candidates = calloc(result->row_count + (size_t)1, sizeof *candidates);

    *count = 0;
    for (uint32_t name = 1; candidates && name < result->row_count; name++) {
        const struct deps_row *row = &result->rows[name];
        uint64_t on_path = row->critical + (row->waiting ? result->parts[DEPS_RETURN] : 0);

        if (on_path)
            candidates[(*count)++] = (struct deps_gain){
                .name = name, .critical = row->critical, .gain = on_path - on_path / 2};
    }
    if (candidates && *count)
        qsort(candidates, *count, sizeof *candidates, compare_gains);
    return candidates;
}

enum mp_status deps_top_gains(const struct deps *deps, const struct deps_windows *windows,
                              const struct deps_result *result, struct deps_gain *gains, size_t max,
                              size_t *found)
{
    struct deps_resolved resolved = {.by_name = NULL};
    struct deps_order order = {.points = NULL};
    struct replay replay = {.deps = deps, .order = &order, .changes = &resolved};
    size_t count;
    struct deps_gain *candidates = list_candidates(result, &count);
    enum mp_status status = deps_resolve(deps, NULL, &resolved);

    *found = 0;
    if (!status)
        status = deps_order_new(deps, &order);
    if (!status)
        replay.moments = malloc((deps_point_count(deps) + (size_t)1) * sizeof *replay.moments);
    if (!replay.moments || !candidates)
        status = MP_ERR_MEMORY;
    else if (max)
        status = try_names(&replay, windows, candidates, count, gains, max, found);
    free(replay.moments);
    free(candidates);
    deps_order_free(&order);
    deps_resolved_free(&resolved);
    return status;
}
