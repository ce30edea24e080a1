/* Which of CUPTI's callbacks are on: those of calls whose parameters or times the recorder needs.
 *
 * Always on: cuProfilerStart and Stop, stream captures, creation and destruction of contexts, the
 * end of cuInit; with MINIPROF_METRICS launches too. While something is recorded: the dozen driver
 * calls that make or await dependencies (api_set.c lists them), each of which becomes a row of
 * `sync`. These callbacks also see calls made through the runtime. They cost 150 ns at these calls
 * and nothing elsewhere; CUPTI's own kind SYNCHRONIZATION would cost 165 ns at every call of the
 * process.
 *
 * The callbacks run on the application's threads, inside their CUDA calls (process/callbacks.h).
 */
#ifndef MP_RECORD_CUPTI_SUBSCRIBER_H
#define MP_RECORD_CUPTI_SUBSCRIBER_H

#include <cupti.h>
#include <stdbool.h>

#include "base/status.h"
#include "record/cupti/client_name.h"

/* CUPTI_CB_DOMAIN_STATE and CUPTI_CBID_STATE_FATAL_ERROR: not in all headers. */
#define SUBSCRIBER_STATE       6
#define SUBSCRIBER_FATAL_ERROR 1

struct gpu;

/* Becomes CUPTI's subscriber, whose callbacks go to attach.calls. MP_ERR_UNSUPPORTED if another
 * client is the subscriber. *error has its name if that can be known, and *other when it has CUPTI:
 * CLIENT_STAYS only if CUPTI's activities may be used beside it. */
enum mp_status subscriber_open(struct gpu *gpu, enum client_habit *other, struct mp_error *error);

/* No longer, where a step after subscriber_open has failed. */
void subscriber_close(struct gpu *gpu);

/* The callbacks that are always on. */
void subscriber_watch_base(struct gpu *gpu);

/* Nothing more is recorded: switches off the callbacks of launches and graphs. */
void subscriber_watch_ends(struct gpu *gpu);

/* The callbacks behind rows of `sync`, and behind rows of `call` where CUPTI's API records cannot
 * be used. */
void subscriber_watch_syncs(struct gpu *gpu, bool on);
void subscriber_watch_calls(struct gpu *gpu, bool on);

/* EXIT of cuLaunchKernelEx: switches its callback off, when it is of no use (overlaps.h) and makes
 * no rows of `call`. Application threads, in callbacks. */
void subscriber_overlap_leaves(struct gpu *gpu, CUpti_CallbackId cbid);

/* From now on that callback stays; if it has gone, it comes back. Any thread. */
void subscriber_keep_overlaps(struct gpu *gpu);

#endif
