/* Whether CUDA has started, the contexts that exist now, which are synchronised before the last
 * flush, and what their modules may do. Each function may run on any thread.
 */
#ifndef MP_RECORD_CUPTI_CONTEXTS_H
#define MP_RECORD_CUPTI_CONTEXTS_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_CONTEXTS_HELD 64u

struct driver_api;
struct gpu;

struct context_list {
    pthread_mutex_t lock; /* of all below */
    CUcontext items[MAX_CONTEXTS_HELD];
    uint32_t count;
};

struct earlier_work {
    _Atomic bool mixed;   /* work of the last range may still run */
    pthread_mutex_t lock; /* of the next three; not held across calls into the driver */
    CUcontext context;
    CUevent event;  /* NULL: there is none */
    bool forgotten; /* `context` was destroyed since the event was last taken */
};

/* CUDA is initialised: CUPTI has reported it, or attach.c has found it out. */
void contexts_cuda_is_ready(struct gpu *gpu);

/* A context exists. */
void contexts_hold(struct gpu *gpu, CUcontext context);

/* How many there are. */
uint32_t contexts_count(struct context_list *contexts);

/* Copies them; how many there are. */
uint32_t contexts_copy(struct context_list *contexts, CUcontext items[MAX_CONTEXTS_HELD]);

/* Forgets all of them. Any thread. */
void contexts_forget_all(struct context_list *contexts);

/* Whether a stream capture may be under way, which an event of ours would break. CUPTI's callbacks
 * or the preloaded library report begin and end; without them: true. Any thread. */
bool contexts_may_be_captured(const struct gpu *gpu);

/* CUPTI's callbacks, before and after a call that begins a capture; the thread that calls. The
 * first one also does contexts_await_breakers. */
void contexts_capture_begins(struct gpu *gpu);
void contexts_capture_began(struct gpu *gpu);

/* Waits until no call of ours is under way that would break the capture that this thread begins,
 * and has counted. Such a call takes microseconds; the wait has the limit MP_TIME_CAPTURE_WAIT. */
void contexts_await_breakers(const struct gpu *gpu);

/* It is about to be destroyed. */
void contexts_forget(struct context_list *contexts, CUcontext context);

/* Whether the driver can tell when a context is idle without waiting for it: it has
 * cuCtxRecordEvent, which came with CUDA 12.5. */
bool contexts_can_be_watched(const struct driver_api *driver);

/* Waits until all work given to the contexts so far is done, at most `limit` ns for each (0: only
 * looks). Does not block their streams. Also false if the driver cannot tell, if a capture is known
 * to be under way, and after an error of the program's work. Our calls do not count as the
 * program's. */
bool contexts_become_idle(struct gpu *gpu, const CUcontext *items, uint32_t count, uint64_t limit);

/* The same for the calling thread's current context; false if there is none, or if
 * contexts_may_be_captured. */
bool contexts_current_becomes_idle(struct gpu *gpu, uint64_t limit);

/* An event that completes with all work given to the current context so far, and that context.
 * NULL where contexts_become_idle cannot tell. The caller owns the event until it
 * or the context is destroyed. */
CUevent contexts_watch_current(struct gpu *gpu, CUcontext *context);

/* ---- Work from before ----
 *
 * Work that was launched before a capture range and still runs in it. It is not in the range's
 * trace, so the GPU looks idle while it runs. CUPTI tells of it only if its kinds were on when it
 * was launched, and if it ends (capture_note_earlier). So at the begin of a range we record an
 * event after all work that the context has so far. At the end we ask whether it is complete. If
 * not, we keep it for the next range.
 *
 * Work of the previous range is in the trace. So we record no event while some of it may still run.
 */

/* A range begins on this thread, in its current context. */
void earlier_begin(struct gpu *gpu);

/* The range, or the process, ends: tells the writer if the work from before still runs. Any thread.
 */
void earlier_end(struct gpu *gpu);

/* The context is about to be destroyed, and its events with it. */
void earlier_forget(struct gpu *gpu, CUcontext context);

/* ---- Device code that launches kernels ----
 *
 * That is CUDA dynamic parallelism. CUPTI reports no
 * such kernel, so their number is not known. But we can see whether a module may launch kernels: a
 * linked cubin names the device runtime's launch function only if one of its kernels calls it. Seen
 * with nvcc 12.8 and 13.0. A program that merely links cudadevrt lacks the name.
 */

/* Whether an ELF image of device code has kernels that launch kernels. It is read within `bytes`;
 * what is no ELF image has none. */
bool device_code_launches(const void *cubin, size_t bytes);

/* A module was loaded: CUPTI's CUpti_ModuleResourceData. Counts it in `launchers`, if it launches.
 * Any thread. */
void device_code_loaded(_Atomic uint64_t *launchers, const void *descriptor);

/* CUPTI comes late, so modules may be loaded already: looks into the program's own file instead,
 * where nvlink leaves the linked code uncompressed. Shared libraries are not looked into. */
void device_code_find(_Atomic uint64_t *launchers);

#endif
