/* The flusher as a thread: how it is asked, woken, awaited and stopped. Its jobs need most of the
 * recorder, so they are function pointers (jobs.h).
 */
#include "record/core/flusher.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/settings/time_limits.h"
#include "record/core/clock.h"
#include "record/core/state.h"
#include "record/core/thread.h"

#include "base/poison.h"

#define STACK_BYTES ((size_t)1 << 20)

/* Waits until woken; returns at once if that happened since `seen`. NULL: without a limit. */
static void rest(struct flusher *flusher, uint32_t seen, const struct timespec *limit)
{
    syscall(SYS_futex, &flusher->woken, FUTEX_WAIT_PRIVATE, seen, limit, NULL, 0);
}

/* The look for other clients compares calls with CUPTI's answers to them. The two belong together
 * only after a round of the writer, so the flusher waits for one here, unless a range ends
 * meanwhile. */
static void await_writer(struct recorder *recorder, uint32_t request)
{
    const struct timespec pause = mp_time_limit_timespec(MP_TIME_FLUSHER_LOOK);
    int64_t until = mp_monotonic_ms() + mp_time_limit_ms(MP_TIME_FLUSHER_ROUND);

    while ((int32_t)(atomic_load(&recorder->flusher.taken) - request) < 0 &&
           mp_monotonic_ms() < until && recorder_is_recording(recorder)) {
        uint32_t seen = atomic_load(&recorder->flusher.woken);

        recorder->jobs.serve_ranges(recorder);
        rest(&recorder->flusher, seen, &pause);
    }
}

/* Flushes, if the writer has asked for a flush. */
static void answer(struct recorder *recorder)
{
    struct flusher *flusher = &recorder->flusher;
    uint32_t asked = atomic_load(&flusher->asked);

    if (asked == atomic_load(&flusher->done))
        return;
    recorder->jobs.flush_buffers(recorder);
    atomic_store(&flusher->done, asked);
    work_wake(&recorder->work);
    await_writer(recorder, asked);
    if (recorder_is_recording(recorder))
        recorder->jobs.look_for_clients(recorder, mp_monotonic_ms());
}

static void *flusher_main(void *argument)
{
    struct recorder *recorder = argument;
    struct flusher *flusher = &recorder->flusher;

    pthread_setname_np(pthread_self(), "miniprof-flush");
    for (;;) {
        uint32_t seen = atomic_load(&flusher->woken);

        if (atomic_load(&flusher->stop))
            return NULL;
        atomic_store(&flusher->busy, true);
        recorder->jobs.serve_ranges(recorder);
        answer(recorder);
        atomic_store(&flusher->busy, false);
        rest(flusher, seen, NULL);
    }
}

enum mp_status flusher_start(struct recorder *recorder)
{
    pthread_t thread;

    return thread_start(&recorder->threads, &thread, STACK_BYTES, flusher_main, recorder);
}

void flusher_wake(struct flusher *flusher)
{
    atomic_fetch_add(&flusher->woken, 1);
    syscall(SYS_futex, &flusher->woken, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

uint32_t flusher_ask(struct flusher *flusher)
{
    uint32_t request = atomic_fetch_add(&flusher->asked, 1) + 1;

    flusher_wake(flusher);
    return request;
}

bool flusher_is_done(struct flusher *flusher, uint32_t request)
{
    return (int32_t)(atomic_load(&flusher->done) - request) >= 0;
}

bool flusher_is_behind(const struct flusher *flusher)
{
    return atomic_load(&flusher->done) != atomic_load(&flusher->asked);
}

bool flusher_rests(const struct flusher *flusher, int ms)
{
    const struct timespec pause = mp_time_limit_timespec(MP_TIME_FLUSHER_LOOK);
    int64_t until = mp_monotonic_ms() + ms;

    while (atomic_load(&flusher->busy) && mp_monotonic_ms() < until)
        nanosleep(&pause, NULL);
    return !atomic_load(&flusher->busy);
}

void flusher_stop(struct flusher *flusher)
{
    atomic_store(&flusher->stop, true);
    flusher_wake(flusher);
}
