/* Work that was launched before a capture range and still runs in it. It is not in the range's
 * trace, so the GPU looks idle while it runs. CUPTI tells of it only if its kinds were on when it
 * was launched, and if it ends (capture_note_earlier). So where a range begins, an event stands for
 * all that the context has been given before; where the range ends, we look whether it is complete.
 * If it is not, it stays for the next range.
 *
 * Work of the range before is in the trace. So there is no event if some of that may still run.
 */
#ifndef MP_RECORD_RANGES_EARLIER_H
#define MP_RECORD_RANGES_EARLIER_H

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct recorder;

struct earlier_work {
    _Atomic bool mixed;   /* work of the last range may have run on behind its end */
    pthread_mutex_t lock; /* of the next two; not held across calls into the driver */
    CUcontext context;
    CUevent event; /* NULL: there is none */
};

/* A range begins on this thread, in its current context. */
void earlier_begin(struct recorder *recorder);

/* The range, or the process, ends: tells the writer if the work from before still runs. Any thread.
 */
void earlier_end(struct recorder *recorder);

/* The context is about to be destroyed, and its events with it. */
void earlier_forget(struct recorder *recorder, CUcontext context);

#endif
