/* When to have CUPTI begin its list of clock pairs anew.
 *
 * CUPTI takes a pair of the device's and the host's time every four seconds (every three before
 * CUDA 13), whatever is recorded. Most likely it keeps all of them, and goes through them for each
 * time of a record: ever_slower in quirks.def. Each record of work on the device costs its thread 4
 * to 5 ns more for every second that has passed, until it has no time left:
 *
 *     seconds of CPU time a second = records a second x 4 to 5 ns x seconds since it has the clock
 *
 * Where the clock is registered again (cuptiActivityRegisterTimestampCallback), that begins anew.
 * Work that had begun then and had not been read by CUPTI gets no times, counted as
 * zero_timestamps: right after a flush 70 kernels of 120,000 a second, 1,200 of 510,000. So it is
 * done when nothing is under way, now and then, where a range ends too, and else only when it is
 * needed.
 *
 * Measured on H100s with CUPTI 12.8, 12.9 and 13.0 Update 1: docs/measurements.md, "CUPTI falls
 * behind". Times are ns of the trace's clock. The writer's where nothing else is said.
 */
#ifndef MP_RECORD_CUPTI_CLOCK_RENEWAL_H
#define MP_RECORD_CUPTI_CLOCK_RENEWAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CLOCK_RENEWAL_LEAST_NS                                                                     \
    UINT64_C(60000000000) /* not sooner, whatever it costs, nor tried again */
#define CLOCK_RENEWAL_QUIET_NS UINT64_C(300000000000)  /* when nothing is under way */
#define CLOCK_RENEWAL_MOST_NS  UINT64_C(3600000000000) /* whatever is under way */
#define CLOCK_RENEWAL_PACE_NS  UINT64_C(1000000000)    /* that records are counted for, at least */

/* Records a second x seconds: a quarter to a third of a core. */
#define CLOCK_RENEWAL_RECORDS 64e6

struct clock_renewal {
    _Atomic uint64_t since; /* when CUPTI got the clock; 0: it has not */
    _Atomic uint64_t asked; /* when it was to get it again */
    uint64_t counted;       /* the newest end of work when `work` was looked at, */
    uint64_t work;          /* records of work on the device, then, */
    uint64_t seen;          /* at the last look, */
    uint64_t begun;         /* and when the capture range began */
};

/* CUPTI has got the clock, at `now`. Any thread. */
void clock_renewal_given(struct clock_renewal *clock_renewal, uint64_t now);

/* It has got it again, as was asked for. Any thread. */
void clock_renewal_done(struct clock_renewal *clock_renewal);

/* A capture range begins. Nothing is done before work of it has come: the first kernels of a range
 * are as likely to be under way as any. */
void clock_renewal_restart(struct clock_renewal *clock_renewal, uint64_t work);

/* Each time that all there is was taken in: whether CUPTI is to get the clock again now. `work`: so
 * many records of work on the device ever; `end`: the newest end of it; `answered`: no launch is
 * known to wait for its record. Where none has come since the last look either, nothing is under
 * way, as far as that can be told. */
bool clock_renewal_is_due(struct clock_renewal *clock_renewal, uint64_t now, uint64_t work,
                          uint64_t end, bool answered);

/* The same where a capture range ends at `now` whose work has been waited for: none of it is under
 * way then. Ranges may all be too short for the other. Any thread. */
bool clock_renewal_is_due_at_end(struct clock_renewal *clock_renewal, uint64_t now);

#endif
