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

#include <stdbool.h>

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

/* Registers our clock again, while records are on (clock_renewal.h). Right after a flush, when
 * CUPTI has little left to read. The flusher, through range_switch. */
void activity_give_clock(struct gpu *gpu);

/* Switches off the kinds that were left on for another client, since there is none. Through
 * range_switch. */
void activity_drop(struct gpu *gpu);

/* Switches off, for good, also what is on outside of ranges. After activity_disable. */
void activity_retire(struct gpu *gpu);

#endif
