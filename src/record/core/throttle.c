/* Keeps the writer to half of a core. It rests between buffers while half of the buffers are free,
 * and never when a rest would lose records.
 */
#include "record/core/throttle.h"

#include <time.h>

#include "base/settings/time_limits.h"

#include "base/poison.h"

uint64_t throttle_cpu_now(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static int64_t credit(void)
{
    return (int64_t)mp_time_limit_ns(MP_TIME_THROTTLE_CREDIT);
}

void throttle_begin(struct throttle *throttle, uint64_t wall, uint64_t cpu)
{
    *throttle = (struct throttle){.begin = wall, .wall = wall, .cpu = cpu, .debt = -credit()};
}

uint64_t throttle_rest(struct throttle *throttle, uint64_t wall, uint64_t cpu,
                       enum throttle_pressure pressure)
{
    const int64_t share = (int64_t)(wall - throttle->wall) / 2;
    const int64_t longest = (int64_t)mp_time_limit_ns(MP_TIME_THROTTLE_REST);

    throttle->debt += (int64_t)(cpu - throttle->cpu) - share;
    throttle->wall = wall;
    throttle->cpu = cpu;
    if (throttle->debt < -credit())
        throttle->debt = -credit();
    if (throttle->debt > 0 && pressure == THROTTLE_PRESSED)
        throttle->free_until = wall + mp_time_limit_ns(MP_TIME_THROTTLE_FREE);
    if (throttle->debt > 0 && wall < throttle->free_until)
        throttle->debt = 0; /* the debt is forgiven, not paid later */
    if (throttle->debt <= 0 || pressure != THROTTLE_CALM)
        return 0;
    return (uint64_t)(throttle->debt * 2 < longest ? throttle->debt * 2 : longest);
}

double throttle_percent(const struct throttle *throttle, uint64_t wall, uint64_t cpu)
{
    return wall > throttle->begin ? 100.0 * (double)cpu / (double)(wall - throttle->begin) : 0;
}
