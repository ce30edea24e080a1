/* What if ranks were less late? How late a rank is follows from the arrivals of an instance: how
 * long it comes after the first of those that wait for it. The run is solved again with that
 * time taken from what made it late. Something else may hold an arrival up then, so this is
 * repeated until the ranks are as late as they are to be.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/deps/deps.h"
#include "reports/deps/lookup.h"
#include "reports/job/job.h"

#include "base/poison.h"

#define MAX_ROUNDS 8
#define ENOUGH     200  /* stops when less than one part in 200 is left */
#define MAX_STEPS  4096 /* of one path: longer ones are cut short */

/* ---- What a late arrival is bound by ---- */

struct job_step {
    uint64_t ns;       /* left of it */
    uint32_t *less;    /* where its time is taken: an item of struct deps_less */
    uint32_t activity; /* whose own time it is; DEPS_NONE: of the part */
    uint32_t process;
    uint8_t part;
};

/* Times that a run is to lack; its arrays have an item by activity (struct deps_less). */
struct job_cuts {
    struct deps_less less;   /* owned arrays */
    struct job_taken *taken; /* NULL: nobody asks */
    struct job_step *steps;  /* the work; owned */
    size_t step_count, step_capacity;
};

/* What a late arrival is bound by: the chain of host code, calls, work and latencies that led to it
 * since its rank and another one were last in one transfer. From the longest of these steps the
 * lateness is taken. */
struct walk {
    const struct job *job;
    struct job_cuts *cuts;
    uint32_t other;  /* process */
    uint64_t taken;  /* ns: from steps of the path, before */
    uint32_t at;     /* device activity; DEPS_NONE: on a thread, */
    uint32_t before; /* before this piece */
    bool done;
};

static enum mp_status add_step(struct walk *walk, uint32_t *less, uint64_t ns, uint32_t activity,
                               uint32_t index, enum deps_part part)
{
    struct job_cuts *cuts = walk->cuts;
    const struct deps *deps = &walk->job->deps;
    uint64_t left = ns > *less ? ns - *less : 0;

    walk->taken += ns - left;
    if (cuts->step_count == MAX_STEPS) {
        walk->done = true;
        return MP_OK;
    }
    if (!left)
        return MP_OK;
    MP_TRY(MP_RESERVE(cuts->steps, cuts->step_count, cuts->step_capacity));
    cuts->steps[cuts->step_count++] = (struct job_step){
        left, less, activity, deps->lanes[deps->activities[index].lane].process, (uint8_t)part};
    return MP_OK;
}

/* Whether another process took part in a transfer. */
static bool is_shared(const struct walk *walk, const struct deps_activity *transfer)
{
    const struct job *job = walk->job;
    uint32_t front = transfer->front, left[64];
    size_t count = 0;

    while (front != DEPS_NONE) {
        if (deps_is_front(front)) {
            const struct deps_front *both = &job->deps.fronts->items[deps_front_index(front)];

            if (count < sizeof left / sizeof *left)
                left[count++] = both->left;
            front = both->right;
            continue;
        }
        const struct deps_activity *arrival = &job->deps.activities[front];
        if (job->deps.lanes[arrival->lane].process == walk->other)
            return true;
        front = count ? left[--count] : DEPS_NONE;
    }
    return false;
}

static enum mp_status step_on_device(struct walk *walk)
{
    const struct deps *deps = &walk->job->deps;
    struct deps_less *less = &walk->cuts->less;
    uint32_t index = walk->at, to = deps_bound_to(deps, index);
    const struct deps_activity *work = &deps->activities[index];
    uint64_t alone = deps_alone_from(deps, work);

    if (work->kind == DEPS_TRANSFER && is_shared(walk, work)) {
        walk->done = true;
        return MP_OK;
    }
    MP_TRY(add_step(walk, &less->own[index], work->end - alone, index, index, DEPS_NO_PART));
    if (to == DEPS_NONE) {
        walk->done = true;
    } else if (work->bound == DEPS_LAUNCH) {
        uint64_t from = deps->activities[to].begin;

        walk->at = DEPS_NONE;
        walk->before = to;
        MP_TRY(add_step(walk, &less->before[index], work->begin > from ? work->begin - from : 0,
                        DEPS_NONE, index, DEPS_LAUNCH_LATENCY));
    } else {
        uint64_t from = deps->activities[to].end;
        bool stream = work->bound == DEPS_STREAM_ORDER;

        walk->at = to;
        if (work->overlapped == DEPS_NONE && work->kind != DEPS_TRANSFER)
            MP_TRY(add_step(walk, &less->within[index], work->begin > from ? work->begin - from : 0,
                            DEPS_NONE, index, stream ? DEPS_STREAM_GAP : DEPS_DEPENDENCY_LATENCY));
    }
    return MP_OK;
}

/* Over the host code before a piece, and over the piece before that. */
static enum mp_status step_on_thread(struct walk *walk)
{
    const struct deps *deps = &walk->job->deps;
    struct deps_less *less = &walk->cuts->less;
    uint32_t index = walk->before;

    if (index == deps->lanes[deps->activities[index].lane].first) {
        walk->done = true;
        return MP_OK;
    }
    const struct deps_activity *call = &deps->activities[index - 1];
    MP_TRY(add_step(walk, &less->before[index], deps->activities[index].begin - call->end,
                    DEPS_NONE, index, DEPS_HOST_CODE));
    walk->before = --index;
    if (call->bound == DEPS_PROGRAM_ORDER)
        return add_step(walk, &less->within[index], call->end - call->begin, index, index,
                        DEPS_NO_PART);
    MP_TRY(add_step(walk, &less->within[index],
                    call->end - (deps_awaited_moment(deps, call) < call->end
                                     ? deps_awaited_moment(deps, call)
                                     : call->end),
                    DEPS_NONE, index, DEPS_RETURN));
    walk->at = deps_bound_to(deps, index);
    if (walk->at == DEPS_NONE) {
        walk->done = true;
    } else if (deps_is_call(&deps->activities[walk->at])) { /* of the thread that woke this one */
        walk->before = walk->at;
        walk->at = DEPS_NONE;
    }
    return MP_OK;
}

/* ---- Taking time ---- */

MP_COMPARE(compare_steps, struct job_step, MP_ORDER(b->ns, a->ns) ?: MP_ORDER(a->less, b->less));

static void note_taken(const struct job *job, struct job_taken *taken, const struct job_step *step,
                       uint64_t ns)
{
    if (!taken)
        return;
    if (step->activity != DEPS_NONE)
        taken->by_name[job->deps.activities[step->activity].name] += ns;
    else
        taken->by_part[(size_t)step->process * DEPS_PARTS + step->part] += ns;
}

static void take_longest(const struct job *job, struct job_cuts *cuts, uint64_t ns)
{
    if (cuts->step_count)
        qsort(cuts->steps, cuts->step_count, sizeof *cuts->steps, compare_steps);
    for (size_t i = 0; i < cuts->step_count && ns; i++) {
        const struct job_step *step = &cuts->steps[i];
        uint64_t room = UINT32_MAX - *step->less;
        uint64_t part = step->ns < ns ? step->ns : ns;

        part = part < room ? part : room;
        *step->less += (uint32_t)part;
        ns -= part;
        note_taken(job, cuts->taken, step, part);
    }
}

/* Takes `ns` from the path that leads to an arrival, less what has been taken from it already. The
 * path is followed back to a transfer that `other` took part in, too. MP_ERR_MEMORY. */
static enum mp_status cut_path(const struct job *job, struct job_cuts *cuts, uint32_t arrival,
                               uint32_t other, uint64_t ns)
{
    struct walk walk = {.job = job, .cuts = cuts, .other = other, .at = arrival};

    cuts->step_count = 0;
    while (!walk.done)
        MP_TRY(walk.at != DEPS_NONE ? step_on_device(&walk) : step_on_thread(&walk));
    if (ns > walk.taken)
        take_longest(job, cuts, ns - walk.taken);
    return MP_OK;
}

/* ---- Which changes ---- */

static const char late_name[] = "late";

struct rounds {
    struct job *job;
    const struct deps_change **changes; /* by process; owned */
    uint64_t *recorded;                 /* by side: how late it is in the recorded run; owned */
    struct job_cuts cuts;
    struct deps_windows windows; /* as they lie in the present run; owned */
};

/* Whether a change is of lateness; *rank is set if it names one. */
static bool is_late(const struct deps_change *change, bool *one, uint32_t *rank)
{
    const char *pattern = change->pattern, *name = strrchr(pattern, ':');
    char *end;

    *one = name;
    if (!name)
        return !strcmp(pattern, late_name);
    if (strcmp(name + 1, late_name) != 0 || strncmp(pattern, "rank", 4) != 0)
        return false;
    *rank = (uint32_t)strtoul(pattern + 4, &end, 10);
    return end == name && end != pattern + 4;
}

static bool has_rank(const struct job *job, uint32_t rank)
{
    for (uint32_t i = 0; i < job->deps.process_count; i++) {
        if (job->deps.ranks[i] == rank)
            return true;
    }
    return false;
}

/* The changes of lateness go to `late` by process, all others to `others`. */
static enum mp_status part_changes(const struct job *job, const struct deps_changes *changes,
                                   const struct deps_change **late, struct deps_changes *others)
{
    others->items = calloc(changes->count + 1, sizeof *others->items);
    if (!others->items)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < changes->count; i++) {
        const struct deps_change *change = &changes->items[i];
        bool one;
        uint32_t rank = 0;

        if (!is_late(change, &one, &rank)) {
            others->items[others->count++] = *change;
            continue;
        }
        for (uint32_t k = 0; k < job->deps.process_count; k++) {
            if (!one || job->deps.ranks[k] == rank)
                late[k] = change;
        }
    }
    return MP_OK;
}

const struct deps_change *job_changes_unmatched(const struct deps_changes *changes,
                                                const struct job *job)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct deps_changes each = {&changes->items[i], 1, 1};
        bool one;
        uint32_t rank = 0;

        if (is_late(&changes->items[i], &one, &rank)) {
            if (one && !has_rank(job, rank))
                return &changes->items[i];
        } else if (deps_changes_unmatched(&each, &job->deps)) {
            return &changes->items[i];
        }
    }
    return NULL;
}

/* ---- How late ---- */

/* When a side arrives in the present run; UINT64_MAX: it is not known. */
static uint64_t arrival_of(const struct job *job, size_t side)
{
    uint32_t arrival = job->arrivals[side];

    return arrival == DEPS_NONE ? UINT64_MAX : job->deps.activities[arrival].end;
}

size_t job_first_side(const struct job *job, size_t instance)
{
    const struct ranks_instance *of = &job->ranks->instances[instance];
    const struct ranks_side *sides = &job->ranks->sides[of->first_side];
    size_t first = of->first_side;
    uint64_t arrived = UINT64_MAX;

    for (uint32_t i = 0; i < of->side_count; i++) {
        uint64_t own = arrival_of(job, of->first_side + i);

        if (ranks_waits(of, sides[i].rank) && own < arrived) {
            first = of->first_side + i;
            arrived = own;
        }
    }
    return first;
}

uint64_t job_lateness(const struct job *job, size_t instance, size_t first, uint32_t side)
{
    const struct ranks_instance *of = &job->ranks->instances[instance];
    uint64_t own = arrival_of(job, of->first_side + side), earliest = arrival_of(job, first);
    uint32_t rank = job->ranks->sides[of->first_side + side].rank;

    if (of->from != RANKS_NONE || own == UINT64_MAX || own <= earliest)
        return 0;
    return ranks_is_awaited(of, rank) ? own - earliest : 0;
}

static uint32_t process_of(const struct job *job, size_t side)
{
    const struct deps *deps = &job->deps;

    return deps->lanes[deps->activities[job->arrivals[side]].lane].process;
}

/* ---- Rounds ---- */

/* Notes how late a side is at first, and returns what has to go. */
static uint64_t surplus_of(struct rounds *rounds, size_t side, uint64_t late, bool first_round)
{
    if (!late)
        return 0;
    uint32_t process = process_of(rounds->job, side);
    const struct deps_change *change = rounds->changes[process];
    if (first_round)
        rounds->recorded[side] = late;
    uint64_t wanted = deps_changed(change, rounds->recorded[side]);
    return change && late > wanted ? late - wanted : 0;
}

static enum mp_status cut_instance(struct rounds *rounds, size_t number, bool first_round,
                                   uint64_t *left)
{
    struct job *job = rounds->job;
    const struct ranks_instance *instance = &job->ranks->instances[number];
    size_t first = job_first_side(job, number);

    for (uint32_t i = 0; i < instance->side_count; i++) {
        size_t side = instance->first_side + i;
        uint64_t surplus =
            surplus_of(rounds, side, job_lateness(job, number, first, i), first_round);

        if (!surplus)
            continue;
        *left += surplus;
        MP_TRY(cut_path(job, &rounds->cuts, job->arrivals[side], process_of(job, first), surplus));
    }
    return MP_OK;
}

static void clear_cuts(struct rounds *rounds)
{
    struct deps_less *less = &rounds->cuts.less;
    size_t bytes = (size_t)rounds->job->deps.count * sizeof *less->own;

    memset(less->before, 0, bytes);
    memset(less->within, 0, bytes);
    memset(less->own, 0, bytes);
}

/* Solves the run without what was cut, and gives it to the graph. */
static enum mp_status solve_again(struct rounds *rounds)
{
    struct deps_replayer replayer;
    enum mp_status status = deps_replayer_init(&replayer, &rounds->job->deps);

    replayer.less = &rounds->cuts.less;
    if (status == MP_OK)
        status = deps_replayer_run(&replayer, NULL);
    if (status == MP_OK)
        deps_replayer_windows(&replayer, &rounds->windows, rounds->windows.items);
    if (status == MP_OK)
        status = deps_retime(&rounds->job->deps, &replayer);
    deps_replayer_free(&replayer);
    return status;
}

static enum mp_status run_rounds(struct rounds *rounds)
{
    const struct ranks *ranks = rounds->job->ranks;
    uint64_t at_first = 0;

    for (int round = 0; round < MAX_ROUNDS; round++) {
        uint64_t left = 0;

        clear_cuts(rounds);
        for (size_t i = 0; i < ranks->instance_count; i++)
            MP_TRY(cut_instance(rounds, i, round == 0, &left));
        at_first = round ? at_first : left;
        if (!left || left < at_first / ENOUGH)
            break;
        MP_TRY(solve_again(rounds));
    }
    return MP_OK;
}

/* ---- The recorded run ---- */

/* What a new run changes in the graph. */
struct saved {
    struct deps_activity *activities; /* all owned */
    struct deps_wait *waits;
    struct deps_stretch *stretches;
    struct deps_front *fronts;
    bool had_recorded; /* which a new run leaves as it is */
};

static void *copy_of(const void *items, size_t count, size_t bytes)
{
    void *copy = calloc(count + 1, bytes);

    if (!copy)
        return NULL;
    if (count)
        memcpy(copy, items, count * bytes);
    return copy;
}

static enum mp_status save_run(const struct deps *deps, struct saved *saved)
{
    *saved = (struct saved){
        .activities = copy_of(deps->activities, deps->count, sizeof *deps->activities),
        .waits = copy_of(deps->waits, deps->wait_count, sizeof *deps->waits),
        .stretches = copy_of(deps->stretches, deps->stretch_count, sizeof *deps->stretches),
        .fronts = copy_of(deps->fronts->items, deps->fronts->count, sizeof *deps->fronts->items),
        .had_recorded = deps->recorded,
    };
    return saved->activities && saved->waits && saved->stretches && saved->fronts ? MP_OK
                                                                                  : MP_ERR_MEMORY;
}

/* Gives the graph the recorded run back, and binds it as it was. */
static enum mp_status restore_run(struct deps *deps, const struct saved *saved)
{
    memcpy(deps->activities, saved->activities, deps->count * sizeof *deps->activities);
    if (deps->wait_count)
        memcpy(deps->waits, saved->waits, deps->wait_count * sizeof *deps->waits);
    if (deps->stretch_count)
        memcpy(deps->stretches, saved->stretches, deps->stretch_count * sizeof *deps->stretches);
    if (deps->fronts->count)
        memcpy(deps->fronts->items, saved->fronts,
               deps->fronts->count * sizeof *deps->fronts->items);
    if (!saved->had_recorded) {
        free(deps->recorded);
        deps->recorded = NULL;
    }
    return deps_bind(deps);
}

static void saved_free(struct saved *saved)
{
    free(saved->activities);
    free(saved->waits);
    free(saved->stretches);
    free(saved->fronts);
}

/* Solves the run with less lateness, then `lengths` with the other changes. */
static enum mp_status replay_less_late(struct rounds *rounds, const struct deps_changes *others,
                                       uint64_t *lengths)
{
    struct deps *deps = &rounds->job->deps;
    struct saved saved;
    enum mp_status status = save_run(deps, &saved), restored;

    if (status == MP_OK) {
        status = run_rounds(rounds);
        if (status == MP_OK)
            status = deps_replay(deps, others, &rounds->windows, lengths);
        restored = restore_run(deps, &saved);
        status = status ? status : restored;
    }
    saved_free(&saved);
    return status;
}

/* ---- All of it ---- */

static enum mp_status rounds_init(struct rounds *rounds, const struct deps_windows *windows)
{
    const struct job *job = rounds->job;

    rounds->recorded = calloc(job->ranks->side_count + 1, sizeof *rounds->recorded);
    rounds->windows.items = calloc(windows->count + 1, sizeof *windows->items);
    MP_TRY(deps_less_new(job->deps.count, &rounds->cuts.less));
    if (!rounds->recorded || !rounds->windows.items)
        return MP_ERR_MEMORY;
    memcpy(rounds->windows.items, windows->items, windows->count * sizeof *windows->items);
    rounds->windows.count = windows->count;
    rounds->windows.of = windows->of;
    return MP_OK;
}

static void rounds_free(struct rounds *rounds)
{
    free(rounds->changes);
    free(rounds->recorded);
    deps_less_free(&rounds->cuts.less);
    free(rounds->cuts.steps);
    free(rounds->windows.items); /* `of` is the caller's */
}

static enum mp_status taken_init(const struct job *job, struct job_taken *taken)
{
    size_t processes = (size_t)job->deps.process_count + 1;

    *taken = (struct job_taken){
        .by_name = calloc((size_t)job->deps.names.count + 1, sizeof *taken->by_name),
        .by_part = calloc(processes * DEPS_PARTS, sizeof *taken->by_part),
    };
    return taken->by_name && taken->by_part ? MP_OK : MP_ERR_MEMORY;
}

void job_taken_free(struct job_taken *taken)
{
    free(taken->by_name);
    free(taken->by_part);
    *taken = (struct job_taken){.by_name = NULL};
}

static bool changes_any(const struct rounds *rounds)
{
    for (uint32_t i = 0; i < rounds->job->deps.process_count; i++) {
        if (rounds->changes[i])
            return true;
    }
    return false;
}

enum mp_status job_replay(struct job *job, const struct deps_changes *changes,
                          const struct deps_windows *windows, uint64_t *lengths,
                          struct job_taken *taken)
{
    struct rounds rounds = {.job = job, .cuts = {.taken = taken}};
    struct deps_changes others = {.items = NULL};
    enum mp_status status = taken ? taken_init(job, taken) : MP_OK;

    rounds.changes =
        calloc((size_t)job->deps.process_count + 1, sizeof(const struct deps_change *));
    if (!rounds.changes)
        status = MP_ERR_MEMORY;
    if (status == MP_OK)
        status = part_changes(job, changes, rounds.changes, &others);
    if (status == MP_OK)
        status = rounds_init(&rounds, windows);
    if (status == MP_OK)
        status = changes_any(&rounds) ? replay_less_late(&rounds, &others, lengths)
                                      : deps_replay(&job->deps, &others, windows, lengths);
    free(others.items); /* the patterns are those of `changes` */
    rounds_free(&rounds);
    return status;
}
