/* The times and counts of every iteration: a sweep over device work in order of begin. In between
 * nothing runs, for a cause that is found first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/text/strings.h"
#include "reports/iterations/build.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Why nothing runs on the GPU ----
 *
 * The cause is what a thread did during the gap: the thread that launched the work at the gap's
 * end.
 *
 *     thread   |launch|  |-- synchronise --|   host code   |launch k, l|
 *     GPU           |kernel|.............................................|k||l|
 *     cause                 synchronisation, waiting for host, launch-bound  between queued work
 */

struct idle {
    const struct deps *deps;
    const struct iterations *iterations;
    uint8_t *copy_names;        /* by name: a copy call that waits by contract; owned */
    iterations_take_idle *take; /* gets each stretch; NULL */
    void *context;
};

/* A time from `begin` to `end` in which nothing runs. */
struct idle_gap {
    uint64_t begin;
    uint64_t end;
    const struct deps_activity *before; /* the work that ended there; NULL: the iteration begins */
    const struct deps_activity *next;   /* that begins there; NULL: the iteration ends */
};

#define SPAN(cause_, from, to)                                                                     \
    ((struct iterations_idle_span){.cause = (cause_), .begin = (from), .end = (to)})

/* A copy waits for its work unless its name says that it does not. */
static bool is_waiting_copy(const char *name)
{
    return (mp_text_starts_with(name, "cudaMemcpy") || mp_text_starts_with(name, "cuMemcpy")) &&
           !strstr(name, "Async");
}

/* MP_ERR_MEMORY; idle_free in any case. */
static enum mp_status idle_init(struct idle *idle, const struct deps *deps,
                                const struct iterations *iterations)
{
    *idle = (struct idle){.deps = deps, .iterations = iterations};
    idle->copy_names = calloc((size_t)deps->names.count + 1, sizeof *idle->copy_names);
    if (!idle->copy_names)
        return MP_ERR_MEMORY;
    for (uint32_t id = 1; id <= deps->names.count; id++)
        idle->copy_names[id] = is_waiting_copy(mp_intern_get(&deps->names, id, NULL));
    return MP_OK;
}

static void idle_free(struct idle *idle)
{
    free(idle->copy_names);
    idle->copy_names = NULL;
}

/* Why nothing runs while a thread is in this call. */
static enum iteration_quantity cause_of(const struct idle *idle, uint32_t index)
{
    const struct deps_activity *call = &idle->deps->activities[index];

    if (call->flags & (DEPS_SYNCHRONISES | DEPS_BLOCKS | DEPS_POLLS))
        return ITERATION_IDLE_SYNC;
    if (idle->copy_names[call->name] ||
        (idle->iterations->launched[call->first_of_call] & ITERATIONS_LAUNCHED_AWAITED))
        return ITERATION_IDLE_COPY;
    return ITERATION_IDLE_LAUNCH;
}

/* A gap while its time is handed out. Of each cause the same share is what recording costs: that
 * of the path to the gap's end (docs/iterations.md, section 3). */
struct idle_split {
    const struct idle *idle;
    const struct iteration *iteration;
    const struct idle_gap *gap;
    uint64_t recording; /* ns of it */
    uint64_t *values;
};

static void deliver(const struct idle_split *split, const struct iterations_idle_span *span)
{
    const struct idle *idle = split->idle;
    struct iterations_idle_span added = *span;

    if (span->end <= span->begin)
        return;
    split->values[span->cause] += span->end - span->begin;
    added.iteration = (uint32_t)(split->iteration - idle->iterations->items);
    if (idle->take)
        idle->take(idle->context, &added);
}

/* What recording costs of the gap up to a moment. */
static uint64_t recording_until(const struct idle_split *split, uint64_t moment)
{
    const struct idle_gap *gap = split->gap;

    return mp_proportion(split->recording, moment - gap->begin, gap->end - gap->begin);
}

static void add(const struct idle_split *split, const struct iterations_idle_span *span)
{
    if (span->end <= span->begin)
        return;
    uint64_t recording = recording_until(split, span->end) - recording_until(split, span->begin);
    uint64_t rest =
        span->end - (recording < span->end - span->begin ? recording : span->end - span->begin);

    deliver(split, &SPAN(span->cause, span->begin, rest));
    deliver(split, &SPAN(ITERATION_IDLE_RECORDING, rest, span->end));
}

/* What the thread did from `begin` to `end`. A wait outside of CUDA is time of the host. */
static void split_by_calls(const struct idle_split *split, uint32_t thread,
                           struct iterations_idle_span gap)
{
    const struct deps *deps = split->idle->deps;
    enum iteration_quantity outside = deps->no_calls ? ITERATION_IDLE_UNKNOWN : ITERATION_IDLE_HOST;
    const struct deps_lane *lane = thread == DEPS_NONE ? NULL : &deps->lanes[thread];
    uint32_t at = lane ? iterations_call_at(deps, lane, gap.begin) : 0;

    for (; lane && at < lane->first + lane->count && gap.begin < gap.end; at++) {
        const struct deps_activity *call = &deps->activities[at];
        uint64_t from = call->begin > gap.begin ? call->begin : gap.begin;
        uint64_t to = call->end < gap.end ? call->end : gap.end;

        if (call->begin >= gap.end)
            break;
        if (to <= from)
            continue;
        add(split, &SPAN(outside, gap.begin, from));
        add(split, &SPAN(call->kind == DEPS_WAIT ? outside : cause_of(split->idle, at), from, to));
        gap.begin = to;
    }
    add(split, &SPAN(outside, gap.begin, gap.end));
}

/* Whether the work was queued when the GPU became idle. It was if its call had returned, or if the
 * same call launched the work that ran last, as in a graph launch. */
static bool was_queued(const struct deps *deps, const struct idle_gap *gap)
{
    uint32_t call = gap->next->launch;

    return iterations_call_end(deps, call) <= gap->begin ||
           (gap->before && gap->before->launch == call);
}

/* Why work that was already called for does not run yet. */
static enum iteration_quantity cause_of_start(const struct idle *idle, const struct idle_gap *gap)
{
    if (was_queued(idle->deps, gap))
        return ITERATION_IDLE_QUEUED;
    return cause_of(idle, gap->next->launch) == ITERATION_IDLE_COPY ? ITERATION_IDLE_COPY
                                                                    : ITERATION_IDLE_LAUNCH;
}

/* Adds the time of an idle gap to its causes in `values`. */
static void idle_split(const struct idle *idle, const struct iteration *iteration,
                       const struct idle_gap *gap, uint64_t *values)
{
    const struct deps *deps = idle->deps;
    const struct deps_activity *next = gap->next;
    struct idle_split split = {idle, iteration, gap, 0, values};
    uint32_t work = next ? (uint32_t)(next - deps->activities) : DEPS_NONE;
    uint32_t thread = iteration->thread;
    uint64_t launched = gap->end;

    split.recording = deps_recording_before(deps, work, thread, gap->begin, gap->end);
    if (next && next->launch != DEPS_NONE) {
        thread = iterations_thread(deps, next);
        launched = deps->activities[next->launch].begin;
        if (launched > gap->end)
            launched = gap->end;
        launched = mp_max(launched, gap->begin);
    }
    if (gap->begin < launched)
        split_by_calls(&split, thread, SPAN(ITERATION_IDLE, gap->begin, launched));
    if (launched < gap->end)
        add(&split, &SPAN(cause_of_start(idle, gap), launched, gap->end));
}

/* ---- Unions ---- */

/* The time that a set of intervals covers; they come in order of begin. */
struct cover {
    uint64_t to; /* covered up to here */
    uint64_t total;
};

static void cover(struct cover *cover, uint64_t begin, uint64_t end)
{
    begin = mp_max(begin, cover->to);
    if (end <= begin)
        return;
    cover->total += end - begin;
    cover->to = end;
}

enum cover_kind {
    COVER_ALL, /* other iterations' work too */
    COVER_OWN,
    COVER_KERNEL,
    COVER_HTOD,
    COVER_DTOH,
    COVER_COPY_OTHER,
    COVER_SET,
    COVER_COPY,   /* of all kinds */
    COVER_EITHER, /* copies and kernels */
    COVERS
};

/* ---- The sweep ---- */

struct sweep {
    const struct deps *deps;
    const struct iterations *iterations;
    struct idle idle;
    uint32_t *order; /* stretches of device activities by begin; owned */
    uint32_t count;
    uint32_t next;    /* in order: the first one that begins in this iteration or later */
    uint32_t *active; /* begun before and perhaps not ended; owned */
    size_t active_count, active_capacity;
};

/* A device activity is one stretch. A kernel of NCCL that waited for its peers is two: it waits,
 * and the GPU is idle if nothing else runs, then it works. A number is that of the activity, and
 * the bit says that it is the second of two. */
#define WORKS UINT32_C(0x80000000)

static uint64_t wait_of(const struct deps *deps, uint32_t index)
{
    return deps->peers ? deps->peers[index - deps->host_count] : 0;
}

static uint64_t stretch_begin(const struct deps *deps, uint32_t stretch)
{
    uint32_t index = stretch & ~WORKS;
    uint64_t begin = deps->activities[index].begin;

    return stretch & WORKS ? begin + wait_of(deps, index) : begin;
}

static uint64_t stretch_end(const struct deps *deps, uint32_t stretch)
{
    const struct deps_activity *work = &deps->activities[stretch & ~WORKS];
    uint64_t wait = stretch & WORKS ? 0 : wait_of(deps, stretch);

    return wait ? work->begin + wait : work->end;
}

static bool stretch_begins_before(const void *context, uint32_t a, uint32_t b)
{
    return stretch_begin(context, a) < stretch_begin(context, b);
}

/* One iteration while it is swept over. */
struct window {
    const struct iteration *iteration;
    uint32_t number;
    struct cover covers[COVERS];
    struct cover reached;             /* something runs or waits for peers */
    uint64_t waits_from, waits_until; /* that kernels wait, and nothing is known to run yet */
    const struct deps_activity *last; /* that `reached` ends with; NULL */
    uint64_t *values;
};

static enum mp_status sweep_init(struct sweep *sweep)
{
    const struct deps *deps = sweep->deps;
    size_t room = (size_t)(deps->count - deps->host_count) * (deps->peers ? 2 : 1) + 1;
    uint32_t *scratch = malloc(room * sizeof *scratch);

    sweep->order = malloc(room * sizeof *sweep->order);
    if (!scratch || !sweep->order) {
        free(scratch);
        return MP_ERR_MEMORY;
    }
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        sweep->order[sweep->count++] = i;
        if (wait_of(deps, i))
            sweep->order[sweep->count++] = i | WORKS;
    }
    mp_sort(sweep->order, sweep->count, scratch, stretch_begins_before, deps);
    free(scratch);
    return idle_init(&sweep->idle, deps, sweep->iterations);
}

static void sweep_free(struct sweep *sweep)
{
    idle_free(&sweep->idle);
    free(sweep->order);
    free(sweep->active);
}

static enum cover_kind copy_cover(const struct deps *deps, const struct deps_activity *work)
{
    if (iterations_is_copy(deps, work, MP_copy_kind_HtoD))
        return COVER_HTOD;
    return iterations_is_copy(deps, work, MP_copy_kind_DtoH) ? COVER_DTOH : COVER_COPY_OTHER;
}

static void cover_own(const struct sweep *sweep, struct window *window,
                      const struct deps_activity *work, uint64_t begin, uint64_t end)
{
    cover(&window->covers[COVER_OWN], begin, end);
    if (work->kind == DEPS_SET) {
        cover(&window->covers[COVER_SET], begin, end);
        return;
    }
    cover(&window->covers[COVER_EITHER], begin, end);
    if (work->kind == DEPS_COPY) {
        cover(&window->covers[COVER_COPY], begin, end);
        cover(&window->covers[copy_cover(sweep->deps, work)], begin, end);
    } else {
        cover(&window->covers[COVER_KERNEL], begin, end);
    }
}

/* Up to `time` it is known now whether anything ran while kernels waited. */
static void settle_waits(const struct sweep *sweep, struct window *window, uint64_t time)
{
    const struct idle_split split = {
        .idle = &sweep->idle, .iteration = window->iteration, .values = window->values};
    uint64_t until = time < window->waits_until ? time : window->waits_until;

    if (window->waits_from >= until)
        return;
    deliver(&split, &SPAN(ITERATION_IDLE_PEER, window->waits_from, until));
    window->waits_from = until;
}

/* A kernel waits for its peers. */
static void add_wait(struct window *window, uint64_t begin, uint64_t end)
{
    uint64_t busy = window->covers[COVER_ALL].to;

    if (window->waits_from >= window->waits_until)
        window->waits_from = begin > busy ? begin : busy;
    window->waits_until = mp_max(window->waits_until, end);
}

/* Time up to `begin` that nothing reached is idle, since `work` had not begun. */
static void reach_to(const struct sweep *sweep, struct window *window,
                     const struct deps_activity *work, uint64_t begin, uint64_t end)
{
    settle_waits(sweep, window, begin);
    if (begin > window->reached.to)
        idle_split(&sweep->idle, window->iteration,
                   &(struct idle_gap){window->reached.to, begin, window->last, work},
                   window->values);
    if (end > window->reached.to)
        window->last = work;
    cover(&window->reached, begin, end);
}

static void visit(const struct sweep *sweep, struct window *window, uint32_t stretch)
{
    const struct deps *deps = sweep->deps;
    const struct deps_activity *work = &deps->activities[stretch & ~WORKS];
    const struct iteration *iteration = window->iteration;
    uint64_t begin = mp_max(stretch_begin(deps, stretch), iteration->begin);
    uint64_t end =
        stretch_end(deps, stretch) < iteration->end ? stretch_end(deps, stretch) : iteration->end;
    uint64_t device = UINT64_C(1) << sweep->iterations->device_slots[work->lane];

    if (end <= begin || (iteration->devices && !(iteration->devices & device)) ||
        work->kind == DEPS_HOST_FUNCTION) /* which leaves the GPU idle */
        return;
    reach_to(sweep, window, work, begin, end);
    if (!(stretch & WORKS) && wait_of(deps, stretch)) {
        add_wait(window, begin, end);
        return;
    }
    cover(&window->covers[COVER_ALL], begin, end);
    window->waits_from = mp_max(window->waits_from, end);
    if (sweep->iterations->of[stretch & ~WORKS] == window->number)
        cover_own(sweep, window, work, begin, end);
}

/* Iterations come in order of begin. */
static enum mp_status measure_advance(struct sweep *sweep, uint64_t begin)
{
    const struct deps *deps = sweep->deps;
    size_t kept = 0;

    for (; sweep->next < sweep->count && stretch_begin(deps, sweep->order[sweep->next]) < begin;
         sweep->next++) {
        if (stretch_end(deps, sweep->order[sweep->next]) <= begin)
            continue;
        MP_TRY(MP_RESERVE(sweep->active, sweep->active_count, sweep->active_capacity));
        sweep->active[sweep->active_count++] = sweep->order[sweep->next];
    }
    for (size_t i = 0; i < sweep->active_count; i++) {
        if (stretch_end(deps, sweep->active[i]) > begin)
            sweep->active[kept++] = sweep->active[i];
    }
    sweep->active_count = kept;
    return MP_OK;
}

/* Time that the thread spends inside calls within the host time. */
static uint64_t api_time(const struct deps *deps, const struct iteration *iteration)
{
    uint64_t total = 0;

    if (iteration->thread == DEPS_NONE)
        return 0;
    const struct deps_lane *lane = &deps->lanes[iteration->thread];
    for (uint32_t at = iterations_call_at(deps, lane, iteration->begin);
         at < lane->first + lane->count; at++) {
        const struct deps_activity *call = &deps->activities[at];
        uint64_t begin = call->begin > iteration->begin ? call->begin : iteration->begin;
        uint64_t end = call->end < iteration->host_end ? call->end : iteration->host_end;

        if (call->begin >= iteration->host_end)
            break;
        if (end > begin && call->kind != DEPS_WAIT)
            total += end - begin;
    }
    return total;
}

static void fill_in(const struct sweep *sweep, struct window *window)
{
    const struct iteration *iteration = window->iteration;
    const struct cover *covers = window->covers;
    uint64_t *values = window->values;

    values[ITERATION_LATENCY] = iteration->end - iteration->begin;
    values[ITERATION_HOST] = iteration->host_end - iteration->begin;
    values[ITERATION_API] = api_time(sweep->deps, iteration);
    values[ITERATION_BUSY] = covers[COVER_OWN].total;
    values[ITERATION_KERNEL] = covers[COVER_KERNEL].total;
    values[ITERATION_HTOD] = covers[COVER_HTOD].total;
    values[ITERATION_DTOH] = covers[COVER_DTOH].total;
    values[ITERATION_COPY_OTHER] = covers[COVER_COPY_OTHER].total;
    values[ITERATION_SET] = covers[COVER_SET].total;
    values[ITERATION_OVERLAP] =
        covers[COVER_COPY].total + covers[COVER_KERNEL].total - covers[COVER_EITHER].total;
    values[ITERATION_OTHERS] = covers[COVER_ALL].total - covers[COVER_OWN].total;
    values[ITERATION_IDLE] = values[ITERATION_LATENCY] - covers[COVER_ALL].total;
    values[ITERATION_LAUNCHES] = iteration->launches;
}

static void measure(const struct sweep *sweep, uint32_t number, struct iteration_measures *measures)
{
    const struct iteration *iteration = &sweep->iterations->items[number];
    struct window window = {.iteration = iteration,
                            .number = number,
                            .reached = {.to = iteration->begin},
                            .values = measures->values};

    for (int i = 0; i < COVERS; i++)
        window.covers[i].to = iteration->begin;
    for (size_t i = 0; i < sweep->active_count; i++)
        visit(sweep, &window, sweep->active[i]);
    for (uint32_t i = sweep->next;
         i < sweep->count && stretch_begin(sweep->deps, sweep->order[i]) < iteration->end; i++)
        visit(sweep, &window, sweep->order[i]);
    settle_waits(sweep, &window, iteration->end);
    struct idle_gap gap = {window.reached.to, iteration->end, window.last, NULL};
    if (gap.begin < gap.end)
        idle_split(&sweep->idle, iteration, &gap, window.values);
    fill_in(sweep, &window);
}

static void count_work(const struct sweep *sweep, struct iteration_measures *measures)
{
    const struct deps *deps = sweep->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (sweep->iterations->of[i] == DEPS_NONE)
            continue;
        uint64_t *values = measures[sweep->iterations->of[i]].values;
        if (work->kind == DEPS_COPY) {
            values[ITERATION_COPIES] += deps->copies[work->copy].count;
            values[ITERATION_BYTES] += deps->copies[work->copy].bytes;
        } else if (work->kind != DEPS_SET && work->kind != DEPS_HOST_FUNCTION) {
            values[ITERATION_KERNELS]++;
        }
    }
}

enum mp_status iterations_measure(const struct deps *deps, const struct iterations *iterations,
                                  struct iteration_measures *measures)
{
    struct sweep sweep = {.deps = deps, .iterations = iterations};
    enum mp_status status = sweep_init(&sweep);

    for (uint32_t i = 0; i < iterations->count && !status; i++) {
        measures[i] = (struct iteration_measures){.values = {0}};
        status = measure_advance(&sweep, iterations->items[i].begin);
        if (!status)
            measure(&sweep, i, &measures[i]);
    }
    if (!status)
        count_work(&sweep, measures);
    sweep_free(&sweep);
    return status;
}

enum mp_status iterations_each_idle(const struct deps *deps, const struct iterations *iterations,
                                    iterations_take_idle *take, void *context)
{
    struct sweep sweep = {.deps = deps, .iterations = iterations};
    enum mp_status status = sweep_init(&sweep);

    sweep.idle.take = take;
    sweep.idle.context = context;
    for (uint32_t i = 0; i < iterations->count && !status; i++) {
        struct iteration_measures unused = {.values = {0}};

        status = measure_advance(&sweep, iterations->items[i].begin);
        if (!status)
            measure(&sweep, i, &unused);
    }
    sweep_free(&sweep);
    return status;
}
