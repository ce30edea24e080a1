/* Host code on the critical path belongs to the function that the calls around it came from. */
#include <stdlib.h>

#include "analyze/stacks/build.h"
#include "model/stacks/where.h"

#include "base/poison.h"

/* The call that comes after step i: of work, the one that launched it. DEPS_NONE. */
static uint32_t call_after(const struct deps *deps, const struct deps_steps *steps, size_t i)
{
    while (++i < steps->count) {
        uint32_t index = steps->items[i].activity;

        if (index != DEPS_NONE)
            return deps_is_call(&deps->activities[index]) ? index : deps->activities[index].launch;
    }
    return DEPS_NONE;
}

/* The stack of the host code in a step that ends with the call `later`; 0: unknown. */
static uint32_t stack_of_step(const struct stacks_making *making, const struct deps_steps *steps,
                              size_t i, uint32_t later)
{
    const struct deps *deps = making->deps;
    const struct call_stacks *stacks = &making->result->stacks;
    uint32_t earlier;

    earlier =
        deps_call_before(deps, &deps->lanes[deps->activities[later].lane], steps->items[i].end, 0);
    if (earlier == DEPS_NONE)
        return 0;
    return call_stacks_between(stacks,
                               call_stacks_of_call(stacks, deps->activities[earlier].correlation),
                               call_stacks_of_call(stacks, deps->activities[later].correlation));
}

static void add_host(void *context, uint32_t stack, uint64_t ns)
{
    stacks_weights_of(context, stack)->host += ns;
}

/* Samples in it divide it. */
static void weigh_step(struct stacks_making *making, const struct deps_steps *steps, size_t i)
{
    const struct deps *deps = making->deps;
    const struct deps_step *step = &steps->items[i];
    uint32_t later = call_after(deps, steps, i);
    uint64_t left = step->end - step->begin;
    uint32_t stack = 0;

    if (later != DEPS_NONE) {
        left = host_samples_share(&making->samples, deps->lanes[deps->activities[later].lane].id,
                                  step->begin, step->end, add_host, making);
        stack = stack_of_step(making, steps, i, later);
    }
    add_host(making, stack, left);
}

enum mp_status stacks_weigh_host(struct stacks_making *making, const struct deps_window *window)
{
    struct deps_steps steps;

    MP_TRY(deps_path_steps(making->deps, window, &steps));
    for (size_t i = 0; i < steps.count; i++) {
        const struct deps_step *step = &steps.items[i];

        if (step->activity == DEPS_NONE && step->part == DEPS_HOST_CODE)
            weigh_step(making, &steps, i);
    }
    free(steps.items);
    return MP_OK;
}
