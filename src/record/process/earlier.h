/* Work that was launched before a capture range and still runs in it. It is not in the range's
 * trace, so the GPU looks idle while it runs. CUPTI tells of it only if its kinds were on when it
 * was launched, and if it ends (capture_note_earlier). So at the begin of a range we record an
 * event after all work that the context has so far. At the end we ask whether it is complete. If
 * not, we keep it for the next range.
 *
 * Work of the previous range is in the trace. So we record no event while some of it may still run.
 */
#ifndef MP_RECORD_RANGES_EARLIER_H
#define MP_RECORD_RANGES_EARLIER_H

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct recorder;

struct earlier_work {
    _Atomic bool mixed;   /* work of the last range may still run */
    pthread_mutex_t lock; /* of the next three; not held across calls into the driver */
    CUcontext context;
    CUevent event;  /* NULL: there is none */
    bool forgotten; /* `context` was destroyed since the event was last taken */
};

/* A range begins on this thread, in its current context. */
void earlier_begin(struct recorder *recorder);

/* The range, or the process, ends: tells the writer if the work from before still runs. Any thread.
 */
void earlier_end(struct recorder *recorder);

/* The context is about to be destroyed, and its events with it. */
void earlier_forget(struct recorder *recorder, CUcontext context);

#endif
