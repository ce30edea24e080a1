/* The flusher's thread: it serves the ends of capture ranges, flushes what the writer has asked
 * for, and then looks for other CUPTI clients.
 */
#include "record/process/lifecycle.h"

#include <pthread.h>

#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/core/thread.h"
#include "record/cupti/flush.h"
#include "record/process/range.h"
#include "record/process/recorder.h"

#include "base/poison.h"

#define STACK_BYTES ((size_t)1 << 20)

/* The look for other clients compares calls with CUPTI's answers to them. The two belong together
 * only after a round of the writer, so the flusher waits for one here, unless a range ends
 * meanwhile. */
static void await_writer(struct recorder *recorder, uint32_t request)
{
    const struct timespec pause = mp_time_limit_timespec(MP_TIME_FLUSHER_LOOK);
    int64_t until = mp_monotonic_ms() + mp_time_limit_ms(MP_TIME_FLUSHER_ROUND);

    while ((int32_t)(atomic_load(&recorder->gpu.flusher.taken) - request) < 0 &&
           mp_monotonic_ms() < until && core_is_recording(&recorder->gpu.core)) {
        uint32_t seen = atomic_load(&recorder->gpu.flusher.woken);

        range_serve(recorder);
        flusher_rest(&recorder->gpu.flusher, seen, &pause);
    }
}

/* Flushes, if the writer has asked for a flush. */
static void answer(struct recorder *recorder)
{
    struct flusher *flusher = &recorder->gpu.flusher;
    uint32_t asked = atomic_load(&flusher->asked);

    if (asked == atomic_load(&flusher->done))
        return;
    flush_buffers(&recorder->gpu, range_switch);
    atomic_store(&flusher->done, asked);
    work_wake(&recorder->gpu.core.work);
    await_writer(recorder, asked);
    if (core_is_recording(&recorder->gpu.core))
        clients_look(&recorder->gpu, mp_monotonic_ms(), range_switch);
}

static void *flusher_main(void *argument)
{
    struct recorder *recorder = argument;
    struct flusher *flusher = &recorder->gpu.flusher;

    pthread_setname_np(pthread_self(), "miniprof-flush");
    for (;;) {
        uint32_t seen = atomic_load(&flusher->woken);

        if (atomic_load(&flusher->stop))
            return NULL;
        atomic_store(&flusher->busy, true);
        range_serve(recorder);
        answer(recorder);
        atomic_store(&flusher->busy, false);
        flusher_rest(flusher, seen, NULL);
    }
}

enum mp_status flusher_start(struct recorder *recorder)
{
    pthread_t thread;

    return thread_start(&recorder->gpu.core.threads, &thread, STACK_BYTES, flusher_main, recorder);
}
