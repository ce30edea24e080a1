/* Whose lines a finding is about: the callers of the calls and the work that the rule changed in
 * its replay. Waits and calls weigh what they take, work its time, host code its length.
 */
#include <stdlib.h>

#include "analyze/advise/build.h"
#include "model/stacks/where.h"

#include "base/poison.h"

static uint64_t weight_of(const struct advise *advise, uint32_t index)
{
    const struct deps_activity *activity = &advise->deps->activities[index];
    unsigned edits = advise->edits[index];
    uint64_t weight = 0;

    if (index < advise->deps->host_count && (edits & DEPS_EDIT_NO_HOST))
        weight = advise_host_before(advise, index);
    if (edits & ~(unsigned)DEPS_EDIT_NO_HOST)
        weight += activity->end - activity->begin;
    return weight;
}

/* The frame of the program's own code that is behind an activity; 0: unknown. */
static uint32_t frame_of(const struct advise *advise, uint32_t index)
{
    const struct call_stacks *stacks = &advise->advice->stacks;
    const struct deps_activity *activity = &advise->deps->activities[index];
    uint32_t stack;

    if (index >= advise->deps->host_count && activity->launch != DEPS_NONE)
        activity = &advise->deps->activities[activity->launch];
    stack = call_stacks_of_call(stacks, activity->correlation);
    return stack ? call_stacks_link(stacks, call_stacks_own(stacks, stack))->frame : 0;
}

/* The frame with the greatest weight, which it loses; 0: none is left. */
static uint32_t take_most(uint64_t *weights, size_t count, uint64_t *weight)
{
    size_t most = 0;

    for (size_t i = 1; i < count; i++)
        if (weights[i] > (most ? weights[most] : 0))
            most = i;
    *weight = weights[most];
    weights[most] = 0;
    return (uint32_t)most;
}

enum mp_status advise_find_callers(struct advise *advise, struct advise_finding *finding)
{
    const struct call_stacks *stacks = &advise->advice->stacks;
    size_t count = stacks->frames.count;
    uint64_t *weights = call_stacks_has_any(stacks) ? calloc(count + 1, sizeof *weights) : NULL;
    uint64_t all = 0;
    uint64_t weight;

    if (!weights)
        return call_stacks_has_any(stacks) ? MP_ERR_MEMORY : MP_OK;
    for (uint32_t i = 0; i < advise->deps->count; i++) {
        uint32_t frame = advise->edits[i] && advise_counts(advise, i) ? frame_of(advise, i) : 0;

        weight = advise->edits[i] && advise_counts(advise, i) ? weight_of(advise, i) : 0;
        all += weight;
        if (frame < count)
            weights[frame] += frame ? weight : 0;
    }
    while (finding->caller_count < ADVISE_CALLERS) {
        const struct stack_frame *frame =
            dense_at(&stacks->frames, take_most(weights, count, &weight));

        if (!weight || !frame)
            break;
        finding->callers[finding->caller_count++] =
            (struct advise_caller){*frame, 100 * (double)weight / (double)all};
    }
    free(weights);
    return MP_OK;
}
