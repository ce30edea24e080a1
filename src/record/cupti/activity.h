/* Which of CUPTI's records are on, and when.
 *
 * Always, from when CUPTI is set up (attach.h): DEVICE, CONTEXT and STREAM, a record for each of
 * them that comes into being; and GRAPH_TRACE if it is asked for, since switching it on when a
 * graph is instantiated already crashes the next launch (late_graph_trace in quirks.def).
 *
 * Before all of them: graphs that the device launches by itself, where CUPTI tells of them
 * (cuptiActivityEnableDeviceGraph). At graph level each launch is a record; of nodes there are
 * records with CUPTI's hardware trace only, which is not used.
 *
 * While something is recorded: kernels, copies, sets, overhead, allocations; unified memory if it
 * is asked for, from when the driver is ready for it. Not SYNCHRONIZATION, CUDA_EVENT, RUNTIME or
 * DRIVER: each taxes every CUDA call of the process with 165 ns (api_set.h). All but
 * CONCURRENT_KERNEL are free where nothing of their kind happens.
 */
#ifndef MP_RECORD_CUPTI_ACTIVITY_H
#define MP_RECORD_CUPTI_ACTIVITY_H

#include <stdbool.h>

#include "base/settings/config.h"
#include "record/api/api_set.h"
#include "record/api/cupti_api.h"

struct recorder;

/* Attributes, clock, thread ids and buffer callbacks: all that must precede the first kind. Answers
 * what is wrong in *error; MP_OK also when only something optional failed. */
enum mp_status activity_prepare(struct recorder *recorder, struct mp_error *error);

/* Whether another client that had CUPTI is through with it: it sets PER_THREAD_ACTIVITY_BUFFER to 0
 * at its end (clients.h). Any thread. */
bool activity_other_has_left(struct recorder *recorder);

/* Another CUPTI client has the records, or had them: from now on calls are logged in callbacks,
 * where they are not anyway. For good, since API records that are enabled late may never come
 * (quirks.def). Through range_switch. */
void activity_follow_calls(struct recorder *recorder);

/* Takes back the buffers that we had handed out and that the other client's last flush was given;
 * what is in them is decoded. Only once it is through. Any thread. */
void activity_recover(struct recorder *recorder);

/* Registers and enables everything again, after another client. Through range_switch. */
void activity_renew(struct recorder *recorder);

/* The kinds of "always". `late`: with records of the devices, contexts and streams that there are
 * already. */
void activity_enable_base(struct recorder *recorder, bool late);

/* Asks for the counters of unified memory, which CUPTI allows once the driver is initialised: at
 * the end of cuInit and, if that was refused, at the first context. A refusal is a line at level
 * info.
 */
void activity_configure_unified(struct recorder *recorder);

/* The others, the API records and the callbacks that see dependencies. Does nothing the second
 * time. Any thread, also inside a callback. */
void activity_enable(struct recorder *recorder);
void activity_disable(struct recorder *recorder);

/* Has CUPTI take our clock once more, right after a flush, when it has little left to read, where
 * records are on (clock_renewal.h). The flusher, through range_switch. */
void activity_give_clock(struct recorder *recorder);

/* Switches off what was left on for another client which there is not. Through range_switch. */
void activity_drop(struct recorder *recorder);

/* For good: what is on outside of ranges is switched off too. After activity_disable. */
void activity_retire(struct recorder *recorder);

#endif
