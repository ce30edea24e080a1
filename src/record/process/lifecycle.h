/* How a recording begins, and how it ends: by exit(3) or quick_exit(3) on any thread, by a signal,
 * or in a forked child (inject.c).
 *
 *     finish:  FINISHING -> last flush (a separate thread, 5 s) -> writer closes the file (5 s)
 *              -> INERT
 *
 * CUPTI's forced flush hangs in some versions, and a kernel may never end. So a separate thread
 * does the flush, and is left alone when it takes too long. The records of that flush are then
 * missing, and the file says so. What was written before is complete.
 *
 * exit may be called in a signal handler that interrupted a call of CUDA, or malloc. The
 * interrupted code may hold any lock and never runs again. So the exiting thread only asks the
 * writer to finish, and takes no lock but that of `ending`. It stops waiting when our thread has
 * waited for a lock for MP_TIME_STUCK. The writer then reads the buffers that CUPTI still holds.
 *
 * glibc calls exit(0) when the last thread ends, as after pthread_exit in main. Our threads count
 * there. So the writer checks whether others are left. If not, a new thread calls exit(0).
 *
 * The exit handler is registered three times: in InitializeInjection, when cuInit has finished, and
 * with the first context. Exit handlers run in reverse order. The driver registers its own handler
 * somewhere between these moments, and ours must run first. Only the first of ours that runs does
 * anything.
 */
#ifndef MP_RECORD_PROCESS_LIFECYCLE_H
#define MP_RECORD_PROCESS_LIFECYCLE_H

#include <cupti.h>
#include <stdbool.h>

#include "base/status.h"

struct recorder;

/* Registers the handler for exit. */
enum mp_status lifecycle_open(struct recorder *recorder);

/* Registers the exit handler once more, if CUDA has started or has made its first context since it
 * was last registered. Any thread. */
void lifecycle_at_exit_again(struct recorder *recorder);

/* Completes the file and waits for that, with a limit. Any thread, also in a callback. */
void lifecycle_finish(struct recorder *recorder);

/* If only our threads are left, starts a thread that calls exit(0); true if it was started. The
 * writer calls this in each round until then. */
bool lifecycle_exit_alone(struct recorder *recorder);

/* Whether the writer is to finish: a signal came, or exit was called in a signal handler. */
bool lifecycle_is_asked(const struct recorder *recorder);

/* Claims the end of the recording: whether the caller is the one that finishes it from now on. */
bool lifecycle_claim_end(struct recorder *recorder);

/* The last flush, on a separate thread with a time limit. The writer calls this once it has
 * claimed the end. CUPTI may return more than the buffers hold, so the writer empties them
 * meanwhile. */
void lifecycle_flush(struct recorder *recorder);

/* The writer has closed the file. */
void lifecycle_closed(struct recorder *recorder);

/* ---- The writer ----
 *
 * The thread that owns the file and everything in recording.h. All signals are blocked in it.
 *
 * Its rounds run when another thread hands something over, and every 100 ms at the latest. It has
 * CUPTI flushed every 100 ms, since CUPTI otherwise returns buffers only when they are full
 * (cuptiActivityFlushPeriod does not change that). It writes the file every 200 ms, so a killed
 * process loses 200 ms at most. In each round it looks whether MINIPROF_TIMEOUT is over.
 *
 * Between buffers the writer rests, if it would use more than half a core, there is room for what
 * waits, and no round begins (core/work.h).
 */

/* Starts it; recorder->recording belongs to it from then on. */
enum mp_status writer_thread_start(struct recorder *recorder);

/* Starts the flusher (cupti/flush.h). */
enum mp_status flusher_start(struct recorder *recorder);

/* ---- Entry points ----
 *
 * The four functions that libminiprof.so exports. Besides, only the tables of NCCL's plugin are
 * visible (nccl/plugin.c, exports.map).
 *
 * All may be called any number of times, from any thread, in any order. They answer 1, "fine", even
 * when recording is not possible: the application must not notice. NVTX gets the answer 0 where it
 * is not recorded, which makes its calls as cheap as without a tool.
 */

#define MP_EXPORT __attribute__((visibility("default")))

/* The driver calls this in cuInit: CUDA_INJECTION64_PATH. */
MP_EXPORT int InitializeInjection(void);

/* NVTX v2 and v3 call these at an instance's first NVTX call: NVTX_INJECTION64_PATH. */
MP_EXPORT int InitializeInjectionNvtx(void *get_export_table);
MP_EXPORT int InitializeInjectionNvtx2(void *get_export_table);
MP_EXPORT int InitializeInjectionNvtxExtension(void *module_info);

/* What CUPTI calls back. `userdata` is the recorder. Any thread of the application; does nothing
 * unless RECORDING. */
void CUPTIAPI callbacks_take(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                             const void *data);

#endif
