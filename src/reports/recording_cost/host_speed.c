/* How fast the host is, by its launches: built-in costs are those of one machine. */
#include <stdlib.h>

#include "profile/common/statistics.h"
#include "reports/recording_cost/build.h"

#include "base/poison.h"

#define USUAL_LAUNCH_NS 5000.0 /* median of a recorded launch where the built-in costs are from */
#define MIN_LAUNCHES    50     /* fewer do not tell */
#define MIN_SPEED       0.1
#define MAX_SPEED       1.5

static bool launches_kernel(const struct deps_activity *work)
{
    return work->kind == DEPS_KERNEL && !(work->flags & DEPS_NODE) && work->launch != DEPS_NONE;
}

/* Median time of a call that launches a kernel, ns, without what a stack takes; 0: too few. */
static enum mp_status usual_launch(const struct deps *deps, double stack, double *usual)
{
    uint64_t *times = calloc((size_t)(deps->count - deps->host_count) + 1, sizeof *times);
    size_t count = 0;

    if (!times)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *call;
        uint64_t less;

        if (!launches_kernel(&deps->activities[i]))
            continue;
        call = &deps->activities[deps->activities[i].launch];
        less = call->flags & DEPS_STACKED ? (uint64_t)stack : 0;
        times[count++] = call->end > call->begin + less ? call->end - call->begin - less : 0;
    }
    *usual = count < MIN_LAUNCHES ? 0 : (double)statistics_of(times, count).p50;
    free(times);
    return MP_OK;
}

enum mp_status recording_cost_scale_host(const struct deps *deps, struct costs *costs)
{
    double usual, speed;
    double *const on_host[] = {
        &costs->launch_in, &costs->launch_around, &costs->copy_in,  &costs->copy_around,
        &costs->call_in,   &costs->call_around,   &costs->graph_in, &costs->graph_around,
        &costs->node_in,   &costs->finish,        &costs->stack,
    };

    MP_TRY(usual_launch(deps, costs->stack, &usual));
    if (usual <= 0)
        return MP_OK;
    speed = usual / USUAL_LAUNCH_NS;
    speed = speed < MIN_SPEED ? MIN_SPEED : speed > MAX_SPEED ? MAX_SPEED : speed;
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++)
        *on_host[i] *= speed;
    return MP_OK;
}
