/* Which of CUPTI's records are on, and when.
 *
 * Always, from when CUPTI is set up (attach.h): DEVICE, CONTEXT and STREAM, with a record for each
 * one that is created. Also GRAPH_TRACE, if it is asked for: switching it on when a graph is
 * already instantiated crashes the next launch (late_graph_trace in quirks.def).
 *
 * Before all of them: graphs that the device launches by itself, where CUPTI reports them
 * (cuptiActivityEnableDeviceGraph). At graph level each launch is a record. Records of their nodes
 * need CUPTI's hardware trace, which is not used.
 *
 * While something is recorded: kernels, copies, sets, overhead, allocations; unified memory if it
 * is asked for, once the driver is ready for it. Not SYNCHRONIZATION, CUDA_EVENT, RUNTIME or
 * DRIVER: each adds 165 ns to every CUDA call of the process (api_set.h). All but CONCURRENT_KERNEL
 * cost nothing where nothing of their kind happens.
 */
#ifndef MP_RECORD_CUPTI_ACTIVITY_H
#define MP_RECORD_CUPTI_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct gpu;

/* Calls `how` while no other thread switches CUPTI's kinds. False, without the call, if another
 * thread switches for too long. Ranges decide that (range_switch of process/range.h), so whoever
 * needs it gets it from its caller. */
typedef bool gpu_switch_alone(struct gpu *gpu, void (*how)(struct gpu *gpu));

/* Sets attributes, clock, thread ids and buffer callbacks: all that must precede the first kind. On
 * failure *error says why. MP_OK also if only something optional failed. */
enum mp_status activity_prepare(struct gpu *gpu, struct mp_error *error);

/* CUPTI counts the records that it dropped since it was last asked, by whomever. Where another
 * client may have had CUPTI, what it counts until now is not ours. Before the first kind is on. */
void activity_forget_drops(struct gpu *gpu);

/* No other client had CUPTI since the kinds were switched off: what it has dropped since then is
 * ours. */
void activity_claim_drops(struct gpu *gpu);

/* Whether another client that had CUPTI has finished: at its end it sets PER_THREAD_ACTIVITY_BUFFER
 * to 0 (clients.h). Any thread. */
bool activity_other_has_left(struct gpu *gpu);

/* Another CUPTI client has the records, or had them: from now on callbacks log the calls, unless
 * they do already. That is final, since API records that are enabled late may never come
 * (quirks.def). Through range_switch. */
void activity_follow_calls(struct gpu *gpu);

/* Takes back the buffers of ours that CUPTI gave to the other client in its last flush, and has
 * them decoded. Only once that client has finished, or at the end where CUPTI does not answer: what
 * CUPTI has written to them is read up to where it is zero. Any thread. */
void activity_recover(struct gpu *gpu);

/* Registers and enables everything again, after another client. Through range_switch. */
void activity_enable_again(struct gpu *gpu);

/* Switches on the kinds of "always". `late`: CUPTI also delivers records of the devices, contexts
 * and streams that exist already. */
void activity_enable_base(struct gpu *gpu, bool late);

/* Asks for the counters of unified memory, which CUPTI allows once the driver is initialised.
 * Called at the end of cuInit and, if CUPTI refused then, at the first context. A refusal is a line
 * at level info. */
void activity_configure_unified(struct gpu *gpu);

/* The process has its second context. Any thread, also inside a callback. */
void activity_expect_peer_copies(struct gpu *gpu);

/* Switches the other kinds, the API records and the callbacks that see dependencies on or off. A
 * second call changes nothing. `again`: clients_enter, registers everything again before. `taken`:
 * clients_leave, leaves the kinds on for another client. Any thread, also inside a callback. */
void activity_enable(struct gpu *gpu, bool again);
void activity_disable(struct gpu *gpu, bool taken);

/* Registers our clock again, while records are on. Right after a flush, when
 * CUPTI has little left to read. The flusher, through range_switch. */
void activity_give_clock(struct gpu *gpu);

/* Switches off the kinds that were left on for another client, since there is none. Through
 * range_switch. */
void activity_drop(struct gpu *gpu);

/* Switches off, for good, also what is on outside of ranges. After activity_disable. */
void activity_retire(struct gpu *gpu);

/* ---- When the clock is registered again ----
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
 * under way that the recorder knows of. */
bool clock_renewal_is_due(struct clock_renewal *clock_renewal, uint64_t now, uint64_t work,
                          uint64_t end, bool answered);

/* Whether it is worth while at `now` if no work is under way. Needed at the edges of capture
 * ranges, because every range may be too short for clock_renewal_is_due. Any thread. */
bool clock_renewal_is_old(const struct clock_renewal *clock_renewal, uint64_t now);

/* The renewal is asked for. False if it was a short time ago: then it was not possible, and is not
 * tried again at once. Any thread. */
bool clock_renewal_ask(struct clock_renewal *clock_renewal, uint64_t now);

#endif
