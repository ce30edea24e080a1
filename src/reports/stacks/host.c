/* Host code belongs to the function that the calls around it came from. */
#include <stdlib.h>

#include "profile/stacks/where.h"
#include "reports/stacks/build.h"

#include "base/poison.h"

#define MAX_PASSED 256u /* calls without a stack that are passed over */

/* The stack of the nearest call from `at` on, up to `end`, forwards or backwards; 0: none. */
static uint32_t nearest(const struct stacks_host *host, uint32_t at, uint32_t end, int step)
{
    for (uint32_t passed = 0; at != end && passed < MAX_PASSED; at += (uint32_t)step, passed++) {
        uint64_t correlation = host->deps->activities[at].correlation;
        uint32_t stack = correlation ? call_stacks_of_call(host->stacks, correlation) : 0;

        if (stack)
            return stack;
    }
    return 0;
}

void stacks_in_front_of(const struct stacks_host *host, const struct deps_lane *lane, uint32_t next,
                        uint64_t begin, uint64_t end)
{
    uint32_t earlier = nearest(host, next - 1, lane->first - 1, -1);
    uint32_t later = nearest(host, next, lane->first + lane->count, 1);
    uint32_t stack = earlier && later ? call_stacks_between(host->stacks, earlier, later) : 0;
    uint64_t left =
        host_samples_share(host->samples, lane->id, begin, end, host->take, host->context);

    if (left)
        host->take(host->context, stack, left);
}

enum mp_status stacks_each_host(const struct stacks_host *host, const struct deps_window *window)
{
    const struct deps *deps = host->deps;
    struct deps_steps steps;

    MP_TRY(deps_path_steps(deps, window, &steps));
    for (size_t i = 0; i < steps.count; i++) {
        const struct deps_step *step = &steps.items[i];
        const struct deps_lane *lane = step->lane == DEPS_NONE ? NULL : &deps->lanes[step->lane];

        if (step->activity != DEPS_NONE || step->part != DEPS_HOST_CODE)
            continue;
        if (lane)
            stacks_in_front_of(host, lane, deps_first_from(deps, lane, step->end), step->begin,
                               step->end);
        else
            host->take(host->context, 0, step->end - step->begin);
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
    const struct stacks_host host = {making->deps, &making->result->stacks, &making->samples,
                                     add_to_weights, making};

    return stacks_each_host(&host, window);
}
