/* See flusher.h. */
#include "record/flusher.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/state.h"
#include "record/thread.h"

#include "base/poison.h"

#define STACK_BYTES ((size_t)1 << 20)
#define LOOK_MS     20
#define TAKE_MS     200 /* that the writer is waited for */

/* Not before CUPTI ever wanted a buffer, not beside the last flush, and not for another client. */
static bool may_flush(const struct recorder *recorder)
{
    return atomic_load(&recorder->flush_allowed) && atomic_load(&recorder->pool.requested) &&
           !atomic_load(&recorder->clients.taken);
}

static void flush(struct recorder *recorder)
{
    size_t dropped = 0;

    if (!may_flush(recorder))
        return;
    recorder->cupti.flush_all(0);
    if (atomic_load(&recorder->flusher.forced))
        recorder->cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (recorder->cupti.dropped_records(NULL, 0, &dropped) == CUPTI_SUCCESS)
        atomic_fetch_add(&recorder->flusher.dropped, dropped);
}

/* What CUPTI answered and the calls that it answered are seen together only after a round of the
 * writer. */
static void await_writer(struct recorder *recorder, uint32_t request)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t until = mp_monotonic_ms() + TAKE_MS;

    while ((int32_t)(atomic_load(&recorder->flusher.taken) - request) < 0 &&
           mp_monotonic_ms() < until && recorder_is_recording(recorder))
        nanosleep(&pause, NULL);
}

static void *flusher_main(void *argument)
{
    struct recorder *recorder = argument;
    struct flusher *flusher = &recorder->flusher;

    pthread_setname_np(pthread_self(), "miniprof-flush");
    while (!atomic_load(&flusher->stop)) {
        uint32_t asked = atomic_load(&flusher->asked);

        if (asked == atomic_load(&flusher->done)) {
            syscall(SYS_futex, &flusher->asked, FUTEX_WAIT_PRIVATE, asked, NULL, NULL, 0);
            continue;
        }
        atomic_store(&flusher->busy, true);
        flush(recorder);
        atomic_store(&flusher->done, asked);
        work_wake(&recorder->work);
        await_writer(recorder, asked);
        if (recorder_is_recording(recorder))
            clients_look(recorder, mp_monotonic_ms());
        atomic_store(&flusher->busy, false);
    }
    return NULL;
}

enum mp_status flusher_start(struct recorder *recorder)
{
    pthread_t thread;

    return thread_start(&thread, STACK_BYTES, flusher_main, recorder);
}

static void wake(struct flusher *flusher)
{
    syscall(SYS_futex, &flusher->asked, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

uint32_t flusher_ask(struct flusher *flusher)
{
    uint32_t request = atomic_fetch_add(&flusher->asked, 1) + 1;

    wake(flusher);
    return request;
}

bool flusher_is_done(struct flusher *flusher, uint32_t request)
{
    return (int32_t)(atomic_load(&flusher->done) - request) >= 0;
}

void flusher_take(struct recorder *recorder)
{
    uint32_t done = atomic_load(&recorder->flusher.done);

    recording_round(&recorder->recording);
    atomic_store(&recorder->flusher.taken, done);
}

void flusher_gather(struct recorder *recorder, int ms)
{
    struct flusher *flusher = &recorder->flusher;
    uint32_t request = flusher_ask(flusher);
    int64_t until = mp_monotonic_ms() + ms;

    while (!flusher_is_done(flusher, request) && mp_monotonic_ms() < until) {
        work_wait(&recorder->work, LOOK_MS);
        flusher_take(recorder);
    }
    flusher_take(recorder);
}

bool flusher_is_behind(const struct flusher *flusher)
{
    return atomic_load(&flusher->done) != atomic_load(&flusher->asked);
}

bool flusher_rests(const struct flusher *flusher, int ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t until = mp_monotonic_ms() + ms;

    while (atomic_load(&flusher->busy) && mp_monotonic_ms() < until)
        nanosleep(&pause, NULL);
    return !atomic_load(&flusher->busy);
}

void flusher_stop(struct flusher *flusher)
{
    atomic_store(&flusher->stop, true);
    atomic_fetch_add(&flusher->asked, 1);
    wake(flusher);
}
