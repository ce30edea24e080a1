/* What the windows of a solved run consist of, by name: a walk back over the equations that hold
 * with equality. It is the critical path of that run, whatever was changed in it.
 *
 * If an activity of the name gets faster by some time, no window whose begin stays gets shorter by
 * more than that on this walk: the chain of equations is still a lower bound (solve.c). So half of
 * what a name has here is the most that it gains if it is twice as fast.
 */
#include <stdlib.h>

#include "reports/deps/lookup.h"
#include "reports/replay/solve.h"

#include "base/poison.h"

struct walk {
    const struct replay *replay;
    uint64_t *by_name;
    uint64_t begin;  /* of the window */
    uint64_t moment; /* the walk is there: inside of `at`, or at its end */
    uint32_t at;     /* work, or a call; DEPS_NONE: the walk has ended */
};

static uint64_t end_of(const struct walk *walk, uint32_t at)
{
    return walk->replay->moments[deps_end_point(walk->replay->deps, at)];
}

/* The time back to `begin` is the activity's own. */
static void give(struct walk *walk, uint64_t begin)
{
    uint64_t from = begin > walk->begin ? begin : walk->begin;

    if (walk->moment > from)
        walk->by_name[walk->replay->deps->activities[walk->at].name] += walk->moment - from;
    if (walk->moment > begin)
        walk->moment = begin;
}

/* On to an activity, or to that one of a front which ends last. */
static void go_to(struct walk *walk, uint32_t reference)
{
    const struct replay *replay = walk->replay;

    while (deps_is_front(reference)) {
        const struct deps_front *front = &replay->deps->fronts->items[deps_front_index(reference)];

        reference = replay_moment_of(replay, front->left) > replay_moment_of(replay, front->right)
                        ? front->left
                        : front->right;
    }
    walk->at = reference;
    if (reference != DEPS_NONE && end_of(walk, reference) < walk->moment)
        walk->moment = end_of(walk, reference); /* in between lies a latency or host code */
}

/* From the begin of a call over the host code before it. */
static void pass_host_code(struct walk *walk, uint32_t call)
{
    const struct deps *deps = walk->replay->deps;
    bool first = call == deps->lanes[deps->activities[call].lane].first;

    walk->moment = walk->replay->moments[call];
    go_to(walk, first ? DEPS_NONE : call - 1);
}

static void step_on_thread(struct walk *walk)
{
    const struct replay *replay = walk->replay;
    uint32_t call = walk->at;
    struct replay_begin own = replay_begin_of_own(replay, call);

    if (walk->moment < end_of(walk, call)) /* inside of it: as long after its begin */
        own = (struct replay_begin){replay->moments[call], DEPS_NONE};
    give(walk, own.moment);
    if (own.on == DEPS_NONE)
        pass_host_code(walk, call);
    else
        go_to(walk, own.on);
}

static void step_on_device(struct walk *walk)
{
    const struct replay *replay = walk->replay;
    struct replay_begin begin = replay_begin_of_work(replay, walk->at);

    give(walk, begin.moment);
    if (begin.on != DEPS_NONE && !deps_is_front(begin.on) && begin.on < replay->deps->host_count)
        pass_host_code(walk, begin.on);
    else
        go_to(walk, begin.on);
}

static void follow(struct walk *walk)
{
    const struct deps *deps = walk->replay->deps;

    /* Only in a damaged trace do the equations lead round in a circle. */
    for (size_t left = (size_t)deps_point_count(deps) + 1; left && walk->at != DEPS_NONE; left--) {
        if (walk->moment <= walk->begin)
            break;
        if (walk->at < deps->host_count)
            step_on_thread(walk);
        else
            step_on_device(walk);
    }
}

/* Where the walk begins: at what the window's end is the end of. */
static struct replay_begin end_of_window(const struct replay *replay,
                                         const struct deps_window *recorded,
                                         const struct deps_window *moved, uint32_t last_work)
{
    const struct deps *deps = replay->deps;
    uint32_t thread = deps_window_thread(deps, recorded);
    uint64_t unused;

    if (thread != DEPS_NONE && moved->host_end == moved->end)
        return replay_host_end(replay, thread, recorded->host_end);
    if (last_work != DEPS_NONE)
        return (struct replay_begin){replay->moments[last_work], last_work};
    struct replay_begin work = replay_last_end(replay, recorded, &unused);
    struct replay_begin call = replay_last_return(replay, recorded);
    return call.moment > work.moment ? call : work;
}

/* Of each iteration, its work that ends last (deps_windows.of); all DEPS_NONE for other windows. */
static void find_last_work(const struct replay *replay, const struct deps_windows *windows,
                           uint32_t *last)
{
    for (size_t i = 0; i < windows->count; i++)
        last[i] = DEPS_NONE;
    for (uint32_t i = replay->deps->host_count; windows->of && i < replay->deps->count; i++) {
        size_t at = windows->of[i] == DEPS_NONE ? windows->count
                                                : replay_find_window(windows->items, windows->count,
                                                                     (uint64_t)windows->of[i] + 1);

        if (at < windows->count &&
            (last[at] == DEPS_NONE || replay->moments[i] > replay->moments[last[at]]))
            last[at] = i;
    }
}

enum mp_status replay_paths(const struct replay *replay, const struct deps_windows *windows,
                            uint64_t *by_name)
{
    struct deps_window *moved = calloc(windows->count + 1, sizeof *moved);
    uint32_t *last_work = calloc(windows->count + 1, sizeof *last_work);
    enum mp_status status = moved && last_work ? MP_OK : MP_ERR_MEMORY;

    if (!status) {
        replay_windows(replay, windows, moved);
        find_last_work(replay, windows, last_work);
    }
    for (size_t i = 0; i < windows->count && !status; i++) {
        const struct replay_begin end =
            end_of_window(replay, &windows->items[i], &moved[i], last_work[i]);
        struct walk walk = {replay, by_name, moved[i].begin, end.moment, DEPS_NONE};

        go_to(&walk, end.on);
        follow(&walk);
    }
    free(moved);
    free(last_work);
    return status;
}
