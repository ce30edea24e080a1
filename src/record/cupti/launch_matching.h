/* Launches of kernels whose records never come, so that a loss is noticed that CUPTI does not
 * count.
 *
 * Calls and kernels have the same correlation id, and come in any order. A window of ids, one byte
 * each, notes which of the two has come. What leaves the window as a launch alone is unanswered.
 * Ids of all calls are counted by one counter, so the window lasts for more than a second of
 * launches at the rate of a fast host. A record that comes later still makes up for it.
 *
 * Only kernels count that are launched one by one. Graphs may have no kernel, copies of 0 bytes
 * have no record.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_CUPTI_LAUNCH_MATCHING_H
#define MP_RECORD_CUPTI_LAUNCH_MATCHING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"

#define MATCHING_WINDOW   (UINT32_C(1) << 19) /* ids; 512 KiB, touched as they come */
#define MATCHING_KEPT_IDS 65536u              /* unanswered ones that a late record may answer */

/* The launch with this id is unanswered (1), or was and is answered now (-1). */
typedef void matching_report(void *context, uint64_t correlation, int change);

struct launch_matching {
    uint8_t *notes;       /* NULL: no memory, nothing is noted */
    uint64_t from, until; /* ids in the window */
    struct mp_map missing;
    matching_report *report;
    void *context;
};

void matching_open(struct launch_matching *matching, matching_report *report, void *context);
void matching_close(struct launch_matching *matching);

/* Forgets everything without a word. */
void matching_restart(struct launch_matching *matching);

/* A launch of one kernel that has succeeded; the record of work. Ids in 64 bits. */
void matching_launch(struct launch_matching *matching, uint64_t correlation);
void matching_record(struct launch_matching *matching, uint64_t correlation);

/* All records have come. */
void matching_end(struct launch_matching *matching);

/* ---- Lag ----
 *
 * How much later than its launches the GPU's records come. A CUPTI that cannot keep up delivers
 * device records later and later, or not at all, while the program's calls go on (ever_slower in
 * quirks.def). Nothing else shows this: the device part of such a trace merely ends early.
 *
 *     launches   a  b  c             d  e  f  g
 *     work         A  B  C
 *                         |          |        |
 *                     work_end    oldest    newest
 *
 * A launch that began after the end of the newest known work has no record yet. The lag is the time
 * from the oldest such launch to the newest one. So a pause does not count: d has waited since d
 * began, not since C ended.
 *
 * If records come, but late, the recorder keeps no list of the launches between the newest record
 * and the newest launch. The lag then counts from the end of the newest work, if a launch of an
 * earlier look is still later than that. Otherwise it counts from the newest launch.
 *
 * Calls come in other buffers than work and may be 100 ms ahead, so a launch counts from the second
 * look after it came. This also keeps a process that was stopped, or a writer that got no CPU time,
 * from looking like a lag: what was waiting has come by the second look.
 *
 * Launches into a stream capture have no record and look like any other launch. So launches made
 * while any stream was being captured do not count. Launches of graphs stop counting once a graph
 * exists that the device may launch, or that has conditional nodes: CUPTI may deliver no record for
 * those.
 *
 * A kernel that runs for 5 s while launches queue up after it looks the same as a lag. If other
 * work ends meanwhile, on any stream, CUPTI is not the cause. Without any record of work there is
 * no lag: then something else is wrong.
 *
 * Times are ns of the trace's clock. Constant time and memory. The writer's alone.
 */

struct lag {
    uint64_t work_end;  /* the newest end of work; 0: none has come */
    uint64_t oldest;    /* begin of the oldest launch without a record; UINT64_MAX: none */
    uint64_t newest;    /* begin of the newest launch */
    uint64_t judged;    /* `newest` at the last look */
    uint64_t captured;  /* launches with correlation ids up to this may have been captured */
    bool silent_graphs; /* launches of graphs may have no record */
    uint64_t over;      /* when the last lag ended */
    uint64_t max;       /* largest lag of MP_TIME_LAG or more; 0: there was none */
    bool lasts;
    bool said;
};

void lag_open(struct lag *behind);

/* The launches up to now no longer wait for records: a capture range begins, another CUPTI client
 * has the records, or work came with times of another clock. */
void lag_restart(struct lag *behind);

/* A launch that succeeded, and when it began. `graph`: of a CUDA graph; `correlation` in 64 bits.
 * In any order. */
void lag_launch(struct lag *behind, bool graph, uint64_t begin, uint64_t correlation);

/* The slow part of lag_work: newer work than any before. */
void lag_come(struct lag *behind, uint64_t end);

/* Work on the device ended at `end`; 0 is unknown. In any order. */
static inline void lag_work(struct lag *behind, uint64_t end)
{
    if (end > behind->work_end)
        lag_come(behind, end);
}

/* After each round of the writer. Answers the lag if it is to be said now, else 0. */
uint64_t lag_look(struct lag *behind);

#endif
