/* See throttle.h. */
#include "record/core/throttle.h"

#include <time.h>

#include "base/poison.h"

uint64_t duty_cpu_now(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void duty_begin(struct duty *duty, uint64_t wall, uint64_t cpu)
{
    *duty = (struct duty){.begin = wall, .wall = wall, .cpu = cpu, .debt = -DUTY_CREDIT_NS};
}

uint64_t duty_rest(struct duty *duty, uint64_t wall, uint64_t cpu, enum duty_pressure pressure)
{
    const int64_t share = (int64_t)(wall - duty->wall) / 2;

    duty->debt += (int64_t)(cpu - duty->cpu) - share;
    duty->wall = wall;
    duty->cpu = cpu;
    if (duty->debt < -DUTY_CREDIT_NS)
        duty->debt = -DUTY_CREDIT_NS;
    if (duty->debt > 0 && pressure == DUTY_PRESSED)
        duty->free_until = wall + DUTY_FREE_NS;
    if (duty->debt > 0 && wall < duty->free_until)
        duty->debt = 0; /* and nothing is paid back later */
    if (duty->debt <= 0 || pressure != DUTY_CALM)
        return 0;
    return (uint64_t)(duty->debt * 2 < DUTY_REST_MOST_NS ? duty->debt * 2 : DUTY_REST_MOST_NS);
}

double duty_percent(const struct duty *duty, uint64_t wall, uint64_t cpu)
{
    return wall > duty->begin ? 100.0 * (double)cpu / (double)(wall - duty->begin) : 0;
}
