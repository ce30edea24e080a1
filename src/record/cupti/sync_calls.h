/* Turns driver and runtime calls into log entries, inside CUPTI's callbacks.
 *
 * ENTER stores the time in the slot that CUPTI keeps with the call. EXIT puts an entry into the
 * thread's log. Stream handles become CUPTI's stream ids here, while they are valid.
 */
#ifndef MP_RECORD_DATA_SYNC_CALLS_H
#define MP_RECORD_DATA_SYNC_CALLS_H

#include "record/cupti/gpu.h"

/* A driver call: a row of `sync` if `watch` is not NULL, and a row of `call` where those come from
 * callbacks. */
void sync_calls_driver_call(struct gpu *gpu, const struct api_watch *watch, CUpti_CallbackId cbid,
                            const CUpti_CallbackData *data);

/* ENTER of a call that puts a host function into a stream: tells the preloaded library its ids. */
void sync_calls_host_function(struct gpu *gpu, CUpti_CallbackId cbid,
                              const CUpti_CallbackData *data);

/* EXIT of a launch of a graph, in which host functions may run. */
void sync_calls_graph_launch(struct gpu *gpu, CUpti_CallbackId cbid,
                             const CUpti_CallbackData *data);

/* Ends the polling loop that the thread is in: later queries begin another one. */
void sync_calls_end_polling(struct gpu *gpu);

/* A runtime call: a row of `call`. */
void sync_calls_runtime_call(struct gpu *gpu, CUpti_CallbackId cbid,
                             const CUpti_CallbackData *data);

#endif
