/* When to register the clock again, so that CUPTI begins its list of clock pairs anew.
 *
 * CUPTI reads the device's and the host's clock together every four seconds (every three before
 * CUDA 13), whatever is recorded. Most likely it keeps all these pairs and searches them for each
 * time of a record: ever_slower in quirks.def. Each record of device work costs CUPTI's thread 4 to
 * 5 ns more for every second that has passed, until the thread uses a whole core:
 *
 *     CPU seconds per second = records per second x 4 to 5 ns x seconds since the registration
 *
 * Registering the clock again (cuptiActivityRegisterTimestampCallback) makes CUPTI begin the list
 * anew. Its price: work that has begun by then, and that CUPTI has not read yet, gets no times.
 * Such records count as zero_timestamps: right after a flush 70 of 120,000 kernels a second, 1,200
 * of 510,000.
 *
 * So the recorder prefers a moment when no work is under way: from time to time during the
 * recording, and also where a range begins or ends. With work under way it renews only when CUPTI
 * has become too slow, or after an hour.
 *
 * Measured on H100s with CUPTI 12.8, 12.9 and 13.0 Update 1: docs/measurements.md, "CUPTI falls
 * behind". Times are ns of the trace's clock. The writer's, unless a comment says otherwise.
 */
#ifndef MP_RECORD_CUPTI_CLOCK_RENEWAL_H
#define MP_RECORD_CUPTI_CLOCK_RENEWAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Records per second x seconds at which CUPTI's thread uses a quarter to a third of a core. */
#define CLOCK_RENEWAL_RECORDS 64e6

struct clock_renewal {
    _Atomic uint64_t since; /* when the clock was registered; 0: it was not */
    _Atomic uint64_t asked; /* when a renewal was last asked for */
    uint64_t counted;       /* the newest end of work when `work` was read */
    uint64_t work;          /* records of device work at the last count */
    uint64_t seen;          /* the same at the last look */
    uint64_t begun;         /* the same when the capture range began */
};

/* The clock was registered, at `now`. Any thread. */
void clock_renewal_given(struct clock_renewal *clock_renewal, uint64_t now);

/* The clock was registered again, as asked for. Any thread. */
void clock_renewal_done(struct clock_renewal *clock_renewal);

/* A capture range begins. No renewal happens before records of its work have come: the first
 * kernels of a range are as likely to be under way as any. */
void clock_renewal_restart(struct clock_renewal *clock_renewal, uint64_t work);

/* Whether the clock is to be registered again now. Called each time that the writer has taken all
 * there is. `work`: records of device work, ever; `end`: the newest end of such work; `answered`:
 * no launch is known to wait for its record. If no record has come since the last look, no work is
 * under way, as far as the recorder can tell. */
bool clock_renewal_is_due(struct clock_renewal *clock_renewal, uint64_t now, uint64_t work,
                          uint64_t end, bool answered);

/* Whether it is worth while at `now` if no work is under way. Needed at the edges of capture
 * ranges, because every range may be too short for clock_renewal_is_due. Any thread. */
bool clock_renewal_is_old(const struct clock_renewal *clock_renewal, uint64_t now);

/* The renewal is asked for. False if it was a short time ago: then it was not possible, and is not
 * tried again at once. Any thread. */
bool clock_renewal_ask(struct clock_renewal *clock_renewal, uint64_t now);

#endif
