/* Why nothing runs on the GPU. The cause is what a thread did during the gap: the thread that
 * launched the work at the gap's end.
 *
 *     thread   |launch|  |-- synchronise --|   host code   |launch k, l|
 *     GPU           |kernel|.............................................|k||l|
 *     cause                 synchronisation, waiting for host, launch-bound  between queued work
 */
#include <stdlib.h>
#include <string.h>

#include "reports/iterations/build.h"

#include "base/poison.h"

#define PIECE(cause_, from, to)                                                                    \
    ((struct iterations_idle_piece){.cause = (cause_), .begin = (from), .end = (to)})

static bool begins_with(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* A copy waits for its work unless its name says that it does not. */
static bool is_waiting_copy(const char *name)
{
    return (begins_with(name, "cudaMemcpy") || begins_with(name, "cuMemcpy")) &&
           !strstr(name, "Async");
}

enum mp_status iterations_idle_init(struct iterations_idle *idle, const struct deps *deps,
                                    const struct iterations *iterations)
{
    *idle = (struct iterations_idle){.deps = deps, .iterations = iterations};
    idle->copy_names = calloc((size_t)deps->names.count + 1, sizeof *idle->copy_names);
    if (!idle->copy_names)
        return MP_ERR_MEMORY;
    for (uint32_t id = 1; id <= deps->names.count; id++)
        idle->copy_names[id] = is_waiting_copy(mp_intern_get(&deps->names, id, NULL));
    return MP_OK;
}

void iterations_idle_free(struct iterations_idle *idle)
{
    free(idle->copy_names);
    idle->copy_names = NULL;
}

/* Why nothing runs while a thread is in this call. */
static enum iteration_quantity cause_of(const struct iterations_idle *idle, uint32_t index)
{
    const struct deps_activity *piece = &idle->deps->activities[index];

    if (piece->flags & (DEPS_SYNCHRONISES | DEPS_BLOCKS | DEPS_POLLS))
        return ITERATION_IDLE_SYNC;
    if (idle->copy_names[piece->name] ||
        (idle->iterations->launched[piece->first_of_call] & ITERATIONS_LAUNCHED_AWAITED))
        return ITERATION_IDLE_COPY;
    return ITERATION_IDLE_LAUNCH;
}

static void add(const struct iterations_idle *idle, const struct iteration *iteration,
                const struct iterations_idle_piece *piece, uint64_t *values)
{
    struct iterations_idle_piece added = *piece;

    if (piece->end <= piece->begin)
        return;
    values[piece->cause] += piece->end - piece->begin;
    added.iteration = (uint32_t)(iteration - idle->iterations->items);
    if (idle->take)
        idle->take(idle->context, &added);
}

/* What the thread did from `begin` to `end`. A wait outside of CUDA is time of the host. */
static void split_by_calls(const struct iterations_idle *idle, const struct iteration *iteration,
                           uint32_t thread, struct iterations_idle_piece gap, uint64_t *values)
{
    const struct deps *deps = idle->deps;
    enum iteration_quantity outside = deps->no_calls ? ITERATION_IDLE_UNKNOWN : ITERATION_IDLE_HOST;
    const struct deps_lane *lane = thread == DEPS_NONE ? NULL : &deps->lanes[thread];
    uint32_t at = lane ? iterations_piece_at(deps, lane, gap.begin) : 0;

    for (; lane && at < lane->first + lane->count && gap.begin < gap.end; at++) {
        const struct deps_activity *piece = &deps->activities[at];
        uint64_t from = piece->begin > gap.begin ? piece->begin : gap.begin;
        uint64_t to = piece->end < gap.end ? piece->end : gap.end;

        if (piece->begin >= gap.end)
            break;
        if (to <= from)
            continue;
        add(idle, iteration, &PIECE(outside, gap.begin, from), values);
        add(idle, iteration,
            &PIECE(piece->kind == DEPS_WAIT ? outside : cause_of(idle, at), from, to), values);
        gap.begin = to;
    }
    add(idle, iteration, &PIECE(outside, gap.begin, gap.end), values);
}

/* Whether the work was queued when the GPU became idle. It was if its call had returned, or if the
 * same call launched the work that ran last, as in a graph launch. */
static bool was_queued(const struct deps *deps, const struct iterations_gap *gap)
{
    uint32_t call = gap->next->launch;

    return iterations_call_end(deps, call) <= gap->begin ||
           (gap->before && gap->before->launch == call);
}

/* Why work that was already called for does not run yet. */
static enum iteration_quantity cause_of_start(const struct iterations_idle *idle,
                                              const struct iterations_gap *gap)
{
    if (was_queued(idle->deps, gap))
        return ITERATION_IDLE_QUEUED;
    return cause_of(idle, gap->next->launch) == ITERATION_IDLE_COPY ? ITERATION_IDLE_COPY
                                                                    : ITERATION_IDLE_LAUNCH;
}

void iterations_idle_split(const struct iterations_idle *idle, const struct iteration *iteration,
                           const struct iterations_gap *gap, uint64_t *values)
{
    const struct deps_activity *next = gap->next;
    uint32_t thread = iteration->thread;
    uint64_t launched = gap->end;

    if (next && next->launch != DEPS_NONE) {
        thread = iterations_thread(idle->deps, next);
        launched = idle->deps->activities[next->launch].begin;
        if (launched > gap->end)
            launched = gap->end;
        if (launched < gap->begin)
            launched = gap->begin;
    }
    if (gap->begin < launched)
        split_by_calls(idle, iteration, thread, PIECE(ITERATION_IDLE, gap->begin, launched),
                       values);
    if (launched < gap->end)
        add(idle, iteration, &PIECE(cause_of_start(idle, gap), launched, gap->end), values);
}
