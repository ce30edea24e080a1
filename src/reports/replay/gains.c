/* What changes gain, and of which run: the one without what recording costs, if that is known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/deps/lookup.h"
#include "reports/replay/solve.h"

#include "base/poison.h"

/* ---- On which basis ---- */

const char *deps_basis_text(bool without_recording)
{
    return without_recording ? "without recording" : "as recorded";
}

const char *deps_basis_key(bool without_recording)
{
    return without_recording ? "without_recording" : "as_recorded";
}

static char recording_word[] = "recording";
static const struct deps_change no_recording = {.pattern = recording_word, .kind = DEPS_SET_TO};

bool deps_change_is_of_recording(const struct deps_change *change)
{
    return strcmp(change->pattern, recording_word) == 0;
}

/* The changes of what recording costs, or all changes besides those in front. Patterns are not
 * owned. MP_ERR_MEMORY; the caller frees items. */
static enum mp_status choose_changes(const struct deps_changes *changes, bool all,
                                     const struct deps_change *first, struct deps_changes *chosen)
{
    *chosen = (struct deps_changes){.items = calloc(changes->count + 1, sizeof *chosen->items)};
    if (!chosen->items)
        return MP_ERR_MEMORY;
    if (first)
        chosen->items[chosen->count++] = *first;
    for (size_t i = 0; i < changes->count; i++) {
        if (all || deps_change_is_of_recording(&changes->items[i]))
            chosen->items[chosen->count++] = changes->items[i];
    }
    return MP_OK;
}

static enum mp_status replay_chosen(const struct deps *deps, const struct deps_changes *changes,
                                    bool all, const struct deps_change *first,
                                    const struct deps_windows *windows, uint64_t *lengths)
{
    struct deps_changes chosen;

    MP_TRY(choose_changes(changes, all, first, &chosen));
    enum mp_status status = deps_replay(deps, &chosen, windows, lengths);
    free(chosen.items);
    return status;
}

/* Takes off what windows that wait for no window ahead of them have become longer by. */
static enum mp_status take_excess(const struct deps *deps, const struct deps_windows *windows,
                                  const uint64_t *base, struct deps_what_if *what_if)
{
    uint64_t *ended = calloc((size_t)deps->thread_count + 1, sizeof *ended); /* last: of none */

    if (!ended)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < windows->count; i++) {
        const struct deps_window *window = &windows->items[i];
        uint64_t recorded = window->end - window->begin;
        uint64_t *before =
            &ended[window->thread == DEPS_NONE ? deps->thread_count : window->thread];
        uint64_t excess = window->begin >= *before && base[i] > recorded ? base[i] - recorded : 0;

        *before = mp_max(*before, window->end);
        what_if->before[i] -= excess < what_if->before[i] ? excess : what_if->before[i];
        what_if->after[i] -= excess < what_if->after[i] ? excess : what_if->after[i];
    }
    free(ended);
    return MP_OK;
}

static bool has_recording(const struct deps_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        if (deps_change_is_of_recording(&changes->items[i]))
            return true;
    return false;
}

/* Whether changes of what recording costs only make it less. */
static bool is_less(const struct deps_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        if (deps_change_is_of_recording(&changes->items[i]) &&
            deps_changed(&changes->items[i], DEPS_TOLERANCE_NS) > DEPS_TOLERANCE_NS)
            return false;
    return true;
}

static void take_recorded(const struct deps_windows *windows, uint64_t *lengths)
{
    for (size_t i = 0; i < windows->count; i++)
        lengths[i] = windows->items[i].end - windows->items[i].begin;
}

enum mp_status deps_what_if_new(const struct deps_windows *windows, struct deps_what_if *what_if)
{
    *what_if = (struct deps_what_if){
        .before = calloc(windows->count + 1, sizeof *what_if->before),
        .after = calloc(windows->count + 1, sizeof *what_if->after),
    };
    if (!what_if->before || !what_if->after)
        return MP_ERR_MEMORY;
    take_recorded(windows, what_if->before);
    return MP_OK;
}

/* Changes of recording are against the recorded run; others against the run without recording. */
static enum mp_status solve_both(const struct deps *deps, const struct deps_changes *changes,
                                 const struct deps_windows *windows, struct deps_what_if *what_if)
{
    bool asked = has_recording(changes);
    const struct deps_change *first = deps->recording.before && !asked ? &no_recording : NULL;

    what_if->without_recording = first != NULL;
    if (asked || first)
        MP_TRY(replay_chosen(deps, changes, false, first, windows, what_if->before));
    MP_TRY(replay_chosen(deps, changes, true, first, windows, what_if->after));
    if (first || (asked && is_less(changes)))
        MP_TRY(take_excess(deps, windows, what_if->before, what_if));
    if (!first)
        take_recorded(windows, what_if->before);
    return MP_OK;
}

enum mp_status deps_what_if(const struct deps *deps, const struct deps_changes *changes,
                            const struct deps_windows *windows, struct deps_what_if *what_if)
{
    MP_TRY(deps_what_if_new(windows, what_if));
    return solve_both(deps, changes, windows, what_if);
}

void deps_what_if_free(struct deps_what_if *what_if)
{
    free(what_if->before);
    free(what_if->after);
    *what_if = (struct deps_what_if){.before = NULL};
}

/* ---- Which activities gain most if they are twice as fast ---- */

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

MP_COMPARE(compare_gains, struct deps_gain,
           MP_ORDER(b->gain, a->gain) ?: MP_ORDER(a->name, b->name));

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
                                uint64_t before, const struct deps_gain *candidates, size_t count,
                                struct deps_gains *gains, size_t max)
{
    static const struct deps_change half = {.kind = DEPS_SCALE, .factor = 0.5};
    const struct deps_change **by_name = replay->changes->by_name;

    for (size_t i = 0; i < count; i++) {
        struct deps_gain candidate = candidates[i];
        uint64_t after;

        if (gains->count == max && candidate.gain < gains->items[max - 1].gain)
            break;
        by_name[candidate.name] = &half;
        enum mp_status status = solve_all(replay, windows, &after);
        by_name[candidate.name] = NULL;
        if (status)
            return status;
        candidate.gain = after < before ? before - after : 0;
        insert(gains->items, max, &gains->count, &candidate);
    }
    return MP_OK;
}

/* The names on the paths of the solved run, *count of them, greatest possible gain first: half of
 * the name's time there. Owned by the caller; NULL: no memory. */
static struct deps_gain *list_candidates(const struct replay *replay,
                                         const struct deps_windows *windows, size_t *count)
{
    size_t names = replay->deps->names.count + (size_t)1;
    struct deps_gain *candidates = calloc(names, sizeof *candidates);
    uint64_t *by_name = calloc(names, sizeof *by_name);
    enum mp_status status =
        candidates && by_name ? replay_paths(replay, windows, by_name) : MP_ERR_MEMORY;

    *count = 0;
    for (uint32_t name = 1; name < names && !status; name++) {
        if (by_name[name])
            candidates[(*count)++] = (struct deps_gain){
                .name = name, .critical = by_name[name], .gain = by_name[name] - by_name[name] / 2};
    }
    if (!status && *count)
        qsort(candidates, *count, sizeof *candidates, compare_gains);
    free(by_name);
    if (status)
        free(candidates);
    return status ? NULL : candidates;
}

static enum mp_status find_gains(struct replay *replay, const struct deps_windows *windows,
                                 struct deps_gains *gains, size_t max)
{
    size_t count;

    replay->moments =
        malloc((deps_point_count(replay->deps) + (size_t)1) * sizeof *replay->moments);
    if (!replay->moments)
        return MP_ERR_MEMORY;
    MP_TRY(solve_all(replay, windows, &gains->total));
    struct deps_gain *candidates = list_candidates(replay, windows, &count);
    if (!candidates)
        return MP_ERR_MEMORY;
    enum mp_status status =
        max ? try_names(replay, windows, gains->total, candidates, count, gains, max) : MP_OK;
    free(candidates);
    return status;
}

enum mp_status deps_top_gains(const struct deps *deps, const struct deps_windows *windows,
                              struct deps_gains *gains, size_t max)
{
    struct deps_resolved resolved = {.by_name = NULL};
    struct deps_order order = {.points = NULL};
    struct replay replay = {.deps = deps,
                            .order = &order,
                            .changes = &resolved,
                            .less = deps->recording.before ? &deps->recording : NULL};

    *gains = (struct deps_gains){.items = calloc(max + 1, sizeof *gains->items)};
    enum mp_status status = gains->items ? deps_resolve(deps, NULL, &resolved) : MP_ERR_MEMORY;
    if (!status)
        status = deps_order_new(deps, &order);
    if (!status)
        status = find_gains(&replay, windows, gains, max);
    free(replay.moments);
    deps_order_free(&order);
    deps_resolved_free(&resolved);
    return status;
}
