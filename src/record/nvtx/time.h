/* When an NVTX call was made: the threads keep what is quick to read, the writer makes times of it.
 *
 * Reading the clock takes a thread 16 to 37 ns, reading the processor's time stamp counter (TSC) 7:
 * a push and a pop read two. So records hold a stamp, which is a count of the TSC or, where that
 * cannot be used, the clock's nanoseconds; a bit tells which.
 *
 *     clock, ns                              o now
 *          |                       . - '           each drain reads both (a pair): o
 *          |          o  . - '  ^                  in between the clock is taken as a straight line
 *          |      . '  last     | a stamp          between two pairs
 *          | o '
 *          +--------------------------------> TSC
 *
 * A drain leaves what is later than its own pair to the next one, so nothing is ever told beyond
 * the last pair, and the times of a thread never go backwards.
 *
 * Error. A pair is good to half of its window, the time that reading it took: 27 ns on a Xeon, so
 * 14 ns. Between pairs the clock is off the line by T * r / 4 at most when its rate changes once,
 * by r, in the time T between two drains: 11 ns for 0.5 ppm and 90 ms. NTP daemons change the rate
 * of a clock that they have by less; one that is being set right (500 ppm) moves 11 us in the 90 ms
 * in which that begins or ends. How far a pair lies from where the rate before would have it bounds
 * the error of the stamps before it; where that is more than NVTX_TIME_EXACT_NS they are counted.
 *
 * The TSC is used when Linux itself keeps its clock with it, which it does only where the counters
 * of all processors go together (clocksource tsc), when the processor says that it runs at one rate
 * in all its states, when the recorder's clock is CLOCK_MONOTONIC (the software GPU has a virtual
 * one), and when no NVTX range is a capture range, whose marks are of the clock. Its rate is
 * measured by the first drains; until then, and for good once the two do not go together any more
 * (a machine that was moved or slept), the clock is read.
 */
#ifndef MP_RECORD_NVTX_TIME_H
#define MP_RECORD_NVTX_TIME_H

#include "record/core/clock.h"
#include "record/nvtx/state.h"

#define NVTX_STAMP_IS_CLOCK (UINT64_C(1) << 63)

#define NVTX_TIME_RATE_NS  UINT64_C(50000000) /* the rate is measured over so long at least */
#define NVTX_TIME_EXACT_NS 1000u

/* Now, as a stamp. Any thread; no system call but where the clock needs one. */
static inline uint64_t nvtx_stamp(void)
{
#ifdef __x86_64__
    /* Without a fence, which would cost as much again: the counter may be read while loads before
     * it are still under way. */
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
    uint64_t window; /* ticks that reading both took: they belong together within half of it */
};

/* The best of a few tries. */
struct nvtx_pair nvtx_pair_take(void) NVTX_HIDDEN;

/* The writer's. All zeroes: no pair yet. */
struct nvtx_time {
    struct nvtx_pair last, now; /* the last two pairs */
    struct nvtx_pair base;      /* where the present measuring of the rate began */
    double rate;                /* ns a tick; 0: not measured yet */
    double slope;               /* the same between `last` and `now` */
    double slope_before;        /* and before `last` */
    uint64_t off_ns;            /* `now` from where the rate would have it, and half the windows */
    bool is_broken;   /* the two do not go together any more: `now` is when that was seen */
    uint64_t inexact; /* times told that may be off by more than NVTX_TIME_EXACT_NS */
};

enum nvtx_time_state { NVTX_TIME_MEASURES, NVTX_TIME_GOOD, NVTX_TIME_BROKEN };

/* The next pair. BROKEN is final. */
enum nvtx_time_state nvtx_time_add(struct nvtx_time *time,
                                   const struct nvtx_pair *pair) NVTX_HIDDEN;

/* Whether the stamp is later than the last pair, so that the next one has to be awaited. */
static inline bool nvtx_time_is_later(const struct nvtx_time *time, uint64_t stamp)
{
    return !(stamp & NVTX_STAMP_IS_CLOCK) && stamp > time->now.ticks && !time->is_broken;
}

/* The clock's time of a stamp that is not later. Between GOOD pairs it is on the line. When BROKEN,
 * a stamp is put where the rate would have it, within the moments between which that happened. */
uint64_t nvtx_time_of(struct nvtx_time *time, uint64_t stamp) NVTX_HIDDEN;

#endif
