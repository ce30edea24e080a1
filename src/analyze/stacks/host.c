/* Host code belongs to the function that the calls around it came from. */
#include <stdlib.h>

#include "analyze/stacks/build.h"
#include "model/stacks/where.h"

#include "base/poison.h"

#define MOST_PASSED 256u /* calls without a stack that are passed over */

/* The stack of the nearest call from `at` on, up to `end`, forwards or backwards; 0: none. */
static uint32_t nearest(const struct deps *deps, const struct call_stacks *stacks, uint32_t at,
                        uint32_t end, int step)
{
    for (uint32_t passed = 0; at != end && passed < MOST_PASSED; at += (uint32_t)step, passed++) {
        uint64_t correlation = deps->activities[at].correlation;
        uint32_t stack = correlation ? call_stacks_of_call(stacks, correlation) : 0;

        if (stack)
            return stack;
    }
    return 0;
}

uint32_t stacks_in_front_of(const struct deps *deps, const struct call_stacks *stacks,
                            const struct deps_lane *lane, uint32_t next)
{
    uint32_t earlier = nearest(deps, stacks, next - 1, lane->first - 1, -1);
    uint32_t later = nearest(deps, stacks, next, lane->first + lane->count, 1);

    return earlier && later ? call_stacks_between(stacks, earlier, later) : 0;
}

static uint32_t stack_of_step(const struct deps *deps, const struct call_stacks *stacks,
                              const struct deps_step *step)
{
    const struct deps_lane *lane;

    if (step->lane == DEPS_NONE)
        return 0;
    lane = &deps->lanes[step->lane];
    return stacks_in_front_of(deps, stacks, lane, deps_first_from(deps, lane, step->end));
}

enum mp_status stacks_each_host(const struct deps *deps, const struct call_stacks *stacks,
                                const struct deps_window *window,
                                void (*take)(void *context, uint32_t stack, uint64_t ns),
                                void *context)
{
    struct deps_steps steps;

    MP_TRY(deps_path_steps(deps, window, &steps));
    for (size_t i = 0; i < steps.count; i++) {
        const struct deps_step *step = &steps.items[i];

        if (step->activity == DEPS_NONE && step->part == DEPS_HOST_CODE)
            take(context, stack_of_step(deps, stacks, step), step->end - step->begin);
    }
    free(steps.items);
    return MP_OK;
}

static void add_to_weights(void *context, uint32_t stack, uint64_t ns)
{
    stacks_weights_of(context, stack)->host += ns;
}

enum mp_status stacks_weigh_host(struct stacks_making *making, const struct deps_window *window)
{
    return stacks_each_host(making->deps, &making->result->stacks, window, add_to_weights, making);
}
