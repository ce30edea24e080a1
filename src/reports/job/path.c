/* What a late arrival is bound by: the chain of host code, calls, work and latencies that led to it
 * since its rank and another one were last in one transfer. From the longest of these steps the
 * lateness is taken.
 */
#include <stdlib.h>

#include "base/data/reserve.h"
#include "reports/job/inside.h"

#include "base/poison.h"

#define MAX_STEPS 4096 /* of one path: longer ones are cut short */

struct job_step {
    uint64_t ns;       /* left of it */
    uint32_t *less;    /* where its time is taken: an item of struct deps_less */
    uint32_t activity; /* whose own time it is; DEPS_NONE: of the part */
    uint32_t process;
    uint8_t part;
};

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
    MP_TRY(mp_reserve((void **)&cuts->steps, cuts->step_count, &cuts->step_capacity,
                      sizeof *cuts->steps));
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
        const struct deps_activity *arrival;

        if (deps_is_front(front)) {
            const struct deps_front *both = &job->deps.fronts->items[deps_front_index(front)];

            if (count < sizeof left / sizeof *left)
                left[count++] = both->left;
            front = both->right;
            continue;
        }
        arrival = &job->deps.activities[front];
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
    uint32_t piece = walk->before;
    const struct deps_activity *call;

    if (piece == deps->lanes[deps->activities[piece].lane].first) {
        walk->done = true;
        return MP_OK;
    }
    call = &deps->activities[piece - 1];
    MP_TRY(add_step(walk, &less->before[piece], deps->activities[piece].begin - call->end,
                    DEPS_NONE, piece, DEPS_HOST_CODE));
    walk->before = --piece;
    if (call->bound == DEPS_PROGRAM_ORDER)
        return add_step(walk, &less->within[piece], call->end - call->begin, piece, piece,
                        DEPS_NO_PART);
    MP_TRY(add_step(walk, &less->within[piece],
                    call->end - (deps_awaited_moment(deps, call) < call->end
                                     ? deps_awaited_moment(deps, call)
                                     : call->end),
                    DEPS_NONE, piece, DEPS_RETURN));
    walk->at = deps_bound_to(deps, piece);
    if (walk->at == DEPS_NONE) {
        walk->done = true;
    } else if (deps_is_call(&deps->activities[walk->at])) { /* of the thread that woke this one */
        walk->before = walk->at;
        walk->at = DEPS_NONE;
    }
    return MP_OK;
}

/* ---- Taking time ---- */

static int compare_steps(const void *left, const void *right)
{
    const struct job_step *a = left;
    const struct job_step *b = right;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return (a->less > b->less) - (a->less < b->less);
}

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

enum mp_status job_cut_path(const struct job *job, struct job_cuts *cuts, uint32_t arrival,
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
