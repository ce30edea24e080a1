/* Turns driver and runtime calls into log entries, inside CUPTI's callbacks.
 *
 * ENTER stores the time in the slot that CUPTI keeps with the call. EXIT puts an entry into the
 * thread's log. Stream handles become CUPTI's stream ids here, while they are valid.
 */
#ifndef MP_RECORD_CUPTI_SYNC_CALLS_H
#define MP_RECORD_CUPTI_SYNC_CALLS_H

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- Host functions ----
 *
 * Host functions of streams and graphs (cuLaunchHostFunc and others), where they are recorded from.
 *
 * The preloaded library, if it is there, puts its own function before the program's and
 * times it (preload/host_calls.h). It knows the function's address, but no id of CUPTI's. These are
 * filled in here and in graphs/origins.h, in the callbacks inside of the program's call:
 *
 *     in a stream   correlation id, context and stream, at ENTER of the call
 *     in a graph    the id of the node that the call made
 *
 * Without that library CUPTI 13.1 and later tell of host functions, in records without the
 * function's address. Older versions tell nothing.
 */

struct mp_preload;
struct api_watch;
struct gpu;

struct host_functions {
    struct mp_preload *preload; /* NULL: it is not there, or nobody wants host functions */
};

/* Looks for the library. In InitializeInjection. */
void host_functions_open(struct gpu *gpu);

/* CUPTI is set up: from now on the program's host functions are replaced. */
void host_functions_go(struct gpu *gpu);

/* How many host functions of graphs the library had no room for. */
uint64_t host_functions_lost(const struct gpu *gpu);

/* Whether CUPTI is to tell of them. */
bool host_functions_by_cupti(const struct gpu *gpu);

/* ---- Calls ---- */

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

/* EXIT of a call by which a stream waits for values in memory or writes them: a row of
 * `stream_value` for each. The memory itself is never looked at. */
void sync_calls_values(struct gpu *gpu, const struct api_watch *watch, CUpti_CallbackId cbid,
                       const CUpti_CallbackData *data);

/* Ends the polling loop that the thread is in: later queries begin another one. */
void sync_calls_end_polling(struct gpu *gpu);

/* A runtime call: a row of `call`. */
void sync_calls_runtime_call(struct gpu *gpu, CUpti_CallbackId cbid,
                             const CUpti_CallbackData *data);

#endif
