/* When an NVTX call was made: the threads store what is quick to read, and the writer converts it
 * to times.
 *
 * Reading the clock takes a thread 16 to 37 ns; reading the processor's time stamp counter (TSC)
 * takes 7 ns. A push and a pop read two stamps. So a record holds a stamp: a count of the TSC or,
 * where the TSC cannot be used, the clock's nanoseconds. One bit tells which.
 *
 *     clock, ns                              o now
 *          |                       . - '           each drain reads both (a pair): o
 *          |          o  . - '  ^                  in between the clock is taken as a straight line
 *          |      . '  last     | a stamp          between two pairs
 *          | o '
 *          +--------------------------------> TSC
 *
 * A drain leaves stamps later than its own pair to the next drain. So no time is extrapolated
 * beyond the last pair, and the times of a thread never go backwards.
 *
 * Error of one pair: half of its window, the time that reading it took. The window is 27 ns on a
 * Xeon, so the error is 14 ns.
 *
 * Error between pairs: if the clock's rate changes once by r in the time T between two drains, the
 * clock is off the line by T * r / 4 at most. That is 11 ns for 0.5 ppm and 90 ms. NTP daemons
 * change the rate of a settled clock by less. While a daemon corrects a clock (500 ppm), the 90 ms
 * in which the correction begins or ends are off by up to 11 us.
 *
 * The distance between a pair and where the previous rate predicts it bounds the error of the
 * stamps before that pair. If it exceeds NVTX_TIME_EXACT_NS, these stamps are counted.
 *
 * The TSC is used if all of these hold:
 *   - Linux itself keeps its clock with the TSC (clocksource tsc), which it does only where the
 *     counters of all processors agree;
 *   - the processor says that the TSC runs at one rate in all its states;
 *   - the recorder's clock is CLOCK_MONOTONIC (the software GPU has a virtual one);
 *   - no NVTX range is a capture range, since marks carry times of the clock.
 *
 * The first drains measure the TSC's rate; until then the threads read the clock. If clock and TSC
 * drift apart later (a machine that was moved or slept), the threads read the clock for good.
 */
#ifndef MP_RECORD_NVTX_TIME_H
#define MP_RECORD_NVTX_TIME_H

#include "record/core/clock.h"
#include "record/nvtx/state.h"

#define NVTX_STAMP_IS_CLOCK (UINT64_C(1) << 63)

#define NVTX_TIME_EXACT_NS 1000u

/* Now, as a stamp. Any thread; no system call but where the clock needs one. */
static inline uint64_t nvtx_stamp(void)
{
#ifdef __x86_64__
    /* Without a fence, which would double the cost: the counter may be read while earlier loads are
     * still under way. */
    if (__builtin_expect(atomic_load_explicit(&nvtx_state()->counter, memory_order_relaxed) ==
                             NVTX_COUNTER_USED,
                         1))
        return __builtin_ia32_rdtsc();
#endif
    return mp_clock_now() | NVTX_STAMP_IS_CLOCK;
}

/* Whether the TSC can be used here, see above. Reads a file of /sys. */
bool nvtx_counter_is_usable(void) NVTX_HIDDEN;

/* Both clocks, read together. */
struct nvtx_pair {
    uint64_t ticks;
    uint64_t ns;
    uint64_t window; /* ticks that reading both took; the error is half of it */
};

/* The best of a few tries. */
struct nvtx_pair nvtx_pair_take(void) NVTX_HIDDEN;

/* mp_nvtx_drain when counter and clock are at `pair`. */
void nvtx_drain_at(const struct mp_nvtx_sink *sink, const struct nvtx_pair *pair) NVTX_HIDDEN;

/* The writer's. All zeroes: no pair yet. */
struct nvtx_time {
    struct nvtx_pair last, now; /* the last two pairs */
    struct nvtx_pair base;      /* where the present measuring of the rate began */
    double rate;                /* ns a tick; 0: not measured yet */
    double slope;               /* the same between `last` and `now` */
    double slope_before;        /* and before `last` */
    uint64_t off_ns;            /* `now` from its predicted place, plus half the windows */
    bool is_broken;             /* clock and TSC have drifted apart, as seen at `now` */
    uint64_t inexact; /* times handed over that may be off by more than NVTX_TIME_EXACT_NS */
};

enum nvtx_time_state { NVTX_TIME_MEASURES, NVTX_TIME_GOOD, NVTX_TIME_BROKEN };

/* The next pair. BROKEN is final. */
enum nvtx_time_state nvtx_time_add(struct nvtx_time *time,
                                   const struct nvtx_pair *pair) NVTX_HIDDEN;

/* Whether the stamp is later than the last pair, so that it must wait for the next pair. */
static inline bool nvtx_time_is_later(const struct nvtx_time *time, uint64_t stamp)
{
    return !(stamp & NVTX_STAMP_IS_CLOCK) && stamp > time->now.ticks && !time->is_broken;
}

/* The clock's time of a stamp that is not later than the last pair. Between GOOD pairs it lies on
 * the line. When BROKEN, it is what the last good rate predicts, limited to the interval in which
 * the break happened. */
uint64_t nvtx_time_of(struct nvtx_time *time, uint64_t stamp) NVTX_HIDDEN;

#endif
