/* How far the GPU's records are behind its launches: a CUPTI that does not keep up delivers what
 * the device did ever later, or not at all, while the calls of the program go on (ever_slower in
 * quirks.def). Nothing else tells: such a trace only ends early on the device.
 *
 *     launches   a  b  c             d  e  f  g
 *     work         A  B  C
 *                         |          |        |
 *                     work_end    oldest    newest
 *
 * What began after the end of the newest work that came has no record yet. The lag is the time from
 * the first such launch that is known to the newest one, so that a pause does not count: d waits
 * since it began, not since C ended. Where records come, but late, launches between the newest of
 * them and the newest launch are not held apart: the lag is counted from the end of that work where
 * a launch of an earlier look is still later, else from the newest launch.
 *
 * Calls come in other buffers than work, and may be 100 ms ahead: launches count from the second
 * look on after they came. That is also what keeps a process that was stopped, or a writer that got
 * no time, from looking like a lag: what waited meanwhile has come by the second look.
 *
 * Launches into a stream capture have no record. They cannot be told from others by themselves, so
 * launches made while any stream was being captured do not count. Nor do launches of graphs once
 * there are some that the device launches, or that have conditional nodes: CUPTI may have nothing
 * to tell of those.
 *
 * A kernel that runs for 5 s while others are launched behind it looks the same from here; work
 * that ends meanwhile, on whatever stream, shows that it is not CUPTI. Without any record of work
 * there is nothing to be behind: then something else is wrong.
 *
 * Times are ns of the trace's clock. Constant time and memory. The writer's alone.
 */
#ifndef MP_RECORD_CUPTI_LAG_H
#define MP_RECORD_CUPTI_LAG_H

#include <stdbool.h>
#include <stdint.h>

#define LAG_NS       UINT64_C(5000000000)  /* shorter ones a long kernel makes too */
#define LAG_AGAIN_NS UINT64_C(60000000000) /* for so long it has to be over to be said again */

struct lag {
    uint64_t work_end;  /* the newest end of work; 0: none has come */
    uint64_t oldest;    /* since when a launch waits for its record; UINT64_MAX: none does */
    uint64_t newest;    /* begin of the newest launch */
    uint64_t judged;    /* the same at the last look */
    uint64_t captured;  /* launches with correlation ids up to this may have been captured */
    bool silent_graphs; /* launches of graphs may have no record */
    uint64_t over;      /* when it was last over */
    uint64_t greatest;  /* lag of LAG_NS or more; 0: there was none */
    bool lasts;
    bool said;
};

void lag_open(struct lag *behind);

/* What was launched up to now is awaited no longer: a capture range begins, another CUPTI client
 * has the records, or work came with times of another clock. */
void lag_restart(struct lag *behind);

/* A launch that succeeded began, `graph`: of a CUDA graph; `correlation` in 64 bits. In any order.
 */
void lag_launch(struct lag *behind, bool graph, uint64_t begin, uint64_t correlation);

/* The slow part of the next: newer work than any before. */
void lag_come(struct lag *behind, uint64_t end);

/* Work on the device ended. In any order; 0 is unknown. */
static inline void lag_work(struct lag *behind, uint64_t end)
{
    if (end > behind->work_end)
        lag_come(behind, end);
}

/* After each round of the writer. The lag if it is to be said now, else 0. */
uint64_t lag_look(struct lag *behind);

#endif
