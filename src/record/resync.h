/* When to have CUPTI begin its list of clock pairs anew.
 *
 * CUPTI takes a pair of the device's and the host's time every four seconds (every three before
 * CUDA 13), whatever is recorded, keeps all of them, and for each time of a record goes through
 * them from the oldest on: ever_slower in quirks.def. Each record of work on the device so costs
 * its thread about 4 ns more for every second that has passed, until it has no time left:
 *
 *     seconds of CPU time a second = records a second x 4 ns x seconds since the clock was given
 *
 * Where the clock is registered again (cuptiActivityRegisterTimestampCallback), the list begins
 * anew. Work that had begun then and had not been read by CUPTI gets no times: some ten to some
 * hundred kernels, right after a flush and with 100,000 a second; counted as zero_timestamps. So it
 * is done when nothing is under way, now and then, and else only when it is needed.
 *
 * Measured on H100s with CUDA 12.8, 12.9 and 13.0 Update 1: docs/measurements.md, "CUPTI falls
 * behind". Times are ns of the trace's clock. The writer's, but for `since`.
 */
#ifndef MP_RECORD_RESYNC_H
#define MP_RECORD_RESYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RESYNC_LEAST_NS UINT64_C(60000000000)   /* not sooner, whatever it costs */
#define RESYNC_QUIET_NS UINT64_C(300000000000)  /* when nothing is under way */
#define RESYNC_MOST_NS  UINT64_C(3600000000000) /* whatever is under way */
#define RESYNC_PACE_NS  UINT64_C(1000000000)    /* that records are counted for, at least */

/* Records a second x seconds: a quarter of a core. */
#define RESYNC_RECORDS 64e6

struct resync {
    _Atomic uint64_t since; /* when the clock was given; 0: it was not */
    uint64_t counted;       /* the newest end of work when `work` was looked at, */
    uint64_t work;          /* records of work on the device, then */
    uint64_t begun;         /* and when the capture range began */
};

/* CUPTI was given the clock, at `now`. Any thread. */
void resync_given(struct resync *resync, uint64_t now);

/* A capture range begins: nothing is done before there is work in it. */
void resync_restart(struct resync *resync, uint64_t work);

/* After each round: whether the clock is to be given again now, which counts as done. `work`: so
 * many records of work on the device ever; `end`: the newest end of it; `quiet`: nothing is known
 * to be under way. */
bool resync_is_due(struct resync *resync, uint64_t now, uint64_t work, uint64_t end, bool quiet);

#endif
