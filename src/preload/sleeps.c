/* Sleeping: waits that nobody ends. Their object is 0. */
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "preload/waits.h"

#include "base/poison.h"

static void tell(uint64_t begin)
{
    waits_tell(MP_WAIT_SLEEP, 0, begin, moments_now(), 0);
}

SHOWN int nanosleep(const struct timespec *time, struct timespec *left)
{
    uint64_t begin;
    int result;

    if (!waits_wanted(CALLER))
        return NEXT(nanosleep)(time, left);
    begin = moments_now();
    result = NEXT(nanosleep)(time, left);
    tell(begin);
    return result;
}

SHOWN int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                          struct timespec *left)
{
    uint64_t begin;
    int result;

    if (!waits_wanted(CALLER))
        return NEXT(clock_nanosleep)(clock, flags, time, left);
    begin = moments_now();
    result = NEXT(clock_nanosleep)(clock, flags, time, left);
    tell(begin);
    return result;
}

SHOWN int usleep(useconds_t us)
{
    uint64_t begin;
    int result;

    if (!waits_wanted(CALLER))
        return NEXT(usleep)(us);
    begin = moments_now();
    result = NEXT(usleep)(us);
    tell(begin);
    return result;
}

SHOWN unsigned sleep(unsigned seconds)
{
    uint64_t begin;
    unsigned result;

    if (!waits_wanted(CALLER))
        return NEXT(sleep)(seconds);
    begin = moments_now();
    result = NEXT(sleep)(seconds);
    tell(begin);
    return result;
}
