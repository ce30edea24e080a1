/* Keeps the writer to half of a core. It rests between buffers while half of the buffers are free,
 * and never when a rest would lose records.
 */
#include "record/core/throttle.h"

#include <time.h>

#include "base/poison.h"

uint64_t throttle_cpu_now(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void throttle_begin(struct throttle *throttle, uint64_t wall, uint64_t cpu)
{
    *throttle =
        (struct throttle){.begin = wall, .wall = wall, .cpu = cpu, .debt = -THROTTLE_CREDIT_NS};
}

uint64_t throttle_rest(struct throttle *throttle, uint64_t wall, uint64_t cpu,
                       enum throttle_pressure pressure)
{
    const int64_t share = (int64_t)(wall - throttle->wall) / 2;

    throttle->debt += (int64_t)(cpu - throttle->cpu) - share;
    throttle->wall = wall;
    throttle->cpu = cpu;
    if (throttle->debt < -THROTTLE_CREDIT_NS)
        throttle->debt = -THROTTLE_CREDIT_NS;
    if (throttle->debt > 0 && pressure == THROTTLE_PRESSED)
        throttle->free_until = wall + THROTTLE_FREE_NS;
    if (throttle->debt > 0 && wall < throttle->free_until)
        throttle->debt = 0; /* the debt is forgiven, not paid later */
    if (throttle->debt <= 0 || pressure != THROTTLE_CALM)
        return 0;
    return (uint64_t)(throttle->debt * 2 < THROTTLE_REST_MOST_NS ? throttle->debt * 2
                                                                 : THROTTLE_REST_MOST_NS);
}

double throttle_percent(const struct throttle *throttle, uint64_t wall, uint64_t cpu)
{
    return wall > throttle->begin ? 100.0 * (double)cpu / (double)(wall - throttle->begin) : 0;
}
