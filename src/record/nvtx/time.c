/* Converts counts of the time stamp counter to times of the clock. A time lies on a straight line
 * between two pairs of both; nothing is extrapolated.
 */
#include "record/nvtx/time.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/settings/config.h"

#include "base/poison.h"

/* The largest change of the clock's rate between two drains that is accepted. NTP steers by 500 ppm
 * each way. A larger change comes from the counter, or from a daemon that corrects fast: then the
 * clock is read instead. */
#define RATE_CHANGE 1e-3
/* In addition: how far a pair may be off if it was interrupted in all tries. */
#define SLACK_NS 10000u

/* ---- The counter ---- */

#ifdef __x86_64__

/* CPUID 0x80000007, EDX bit 8: invariant TSC (Intel SDM vol. 3, 17.17.1; AMD APM vol. 3, E.4.6). */
static bool rate_is_constant(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

static bool kernel_uses_it(void)
{
    char name[8] = "";
    int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                    O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    ssize_t bytes = read(file, name, sizeof(name) - 1);
    close(file);
    return bytes == 4 && memcmp(name, "tsc\n", 4) == 0;
}

bool nvtx_counter_is_usable(void)
{
    return strcmp(mp_clock_name(), "monotonic") == 0 && rate_is_constant() && kernel_uses_it() &&
           !(__rdtsc() >> 62); /* room for the bit of stamps, for some decades */
}

/* Reads the counter after all earlier instructions and before all later ones. */
static uint64_t read_counter(void)
{
    _mm_lfence();
    uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}

#else

bool nvtx_counter_is_usable(void)
{
    return false;
}

static uint64_t read_counter(void)
{
    return 0;
}

#endif

struct nvtx_pair nvtx_pair_take(void)
{
    struct nvtx_pair best = {.window = UINT64_MAX};

    for (int tries = 0; tries < 6; tries++) {
        const uint64_t before = read_counter();
        const uint64_t ns = mp_clock_now();
        const uint64_t window = read_counter() - before;

        if (window < best.window)
            best = (struct nvtx_pair){.ticks = before + window / 2, .ns = ns, .window = window};
    }
    return best;
}

/* ---- Times ---- */

/* ns from one pair to the other. */
static double slope_of(const struct nvtx_pair *from, const struct nvtx_pair *to)
{
    return (double)(to->ns - from->ns) / (double)(to->ticks - from->ticks);
}

static bool time_is_before(const struct nvtx_pair *one, const struct nvtx_pair *other)
{
    return one->ticks < other->ticks && one->ns <= other->ns;
}

static enum nvtx_time_state measure(struct nvtx_time *time, const struct nvtx_pair *pair)
{
    if (!time->base.ns || !time_is_before(&time->base, pair)) {
        time->base = *pair;
        return NVTX_TIME_MEASURES;
    }
    if (pair->ns - time->base.ns < mp_time_limit_ns(MP_TIME_NVTX_RATE))
        return NVTX_TIME_MEASURES;
    time->rate = slope_of(&time->base, pair);
    time->slope = time->rate;
    time->slope_before = time->rate;
    time->base = *pair;
    time->last = *pair;
    time->now = *pair;
    return NVTX_TIME_GOOD;
}

static enum nvtx_time_state give_up(struct nvtx_time *time, const struct nvtx_pair *pair)
{
    time->last = time->now;
    time->now = *pair;
    time->is_broken = true;
    return NVTX_TIME_BROKEN;
}

enum nvtx_time_state nvtx_time_add(struct nvtx_time *time, const struct nvtx_pair *pair)
{
    if (time->is_broken)
        return NVTX_TIME_BROKEN;
    if (time->rate == 0)
        return measure(time, pair);
    if (!time_is_before(&time->now, pair))
        return give_up(time, pair);
    double elapsed = (double)(pair->ns - time->now.ns);
    double off = (double)(pair->ticks - time->now.ticks) * time->rate - elapsed;
    off = off < 0 ? -off : off;
    if (off > elapsed * RATE_CHANGE + SLACK_NS)
        return give_up(time, pair);
    off += (double)(pair->window > time->now.window ? pair->window : time->now.window) *
           time->rate / 2;
    time->off_ns = (uint64_t)off;
    time->slope_before = time->slope;
    time->last = time->now;
    time->now = *pair;
    time->slope = slope_of(&time->last, &time->now);
    if (pair->ns - time->base.ns >= mp_time_limit_ns(MP_TIME_NVTX_RATE)) {
        time->rate = slope_of(&time->base, pair);
        time->base = *pair;
    }
    return NVTX_TIME_GOOD;
}

static uint64_t time_of_broken(struct nvtx_time *time, uint64_t ticks)
{
    const double room = (double)(time->now.ns - time->last.ns);
    double after = ticks > time->last.ticks ? (double)(ticks - time->last.ticks) * time->rate : 0;

    time->inexact++;
    return time->last.ns + (uint64_t)(after < room ? after : room);
}

uint64_t nvtx_time_of(struct nvtx_time *time, uint64_t stamp)
{
    if (stamp & NVTX_STAMP_IS_CLOCK)
        return stamp & ~NVTX_STAMP_IS_CLOCK;
    if (time->is_broken)
        return time_of_broken(time, stamp);
    if (time->off_ns > NVTX_TIME_EXACT_NS)
        time->inexact++;
    if (stamp < time->last.ticks)
        return time->last.ns - (uint64_t)((double)(time->last.ticks - stamp) * time->slope_before);
    return time->last.ns + (uint64_t)((double)(stamp - time->last.ticks) * time->slope);
}
