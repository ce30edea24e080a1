/* See flusher.h. */
#include "record/core/flusher.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/core/clock.h"
#include "record/core/state.h"
#include "record/core/thread.h"
#include "record/cupti/activity.h"
#include "record/ranges/switch.h"

#include "base/poison.h"

#define STACK_BYTES ((size_t)1 << 20)
#define LOOK_MS     20
#define TAKE_MS     200 /* that the writer is waited for */

bool flusher_may_flush(const struct recorder *recorder)
{
    return atomic_load(&recorder->flush_allowed) && atomic_load(&recorder->pool.requested) &&
           !atomic_load(&recorder->clients.taken);
}

static void flush(struct recorder *recorder)
{
    size_t dropped = 0;

    if (!flusher_may_flush(recorder))
        return;
    recorder->cupti.flush_all(0);
    if (atomic_load(&recorder->flusher.forced))
        recorder->cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (recorder->cupti.dropped_records(NULL, 0, &dropped) == CUPTI_SUCCESS)
        atomic_fetch_add(&recorder->flusher.dropped, dropped);
}

/* Not beside another client, whose clock this would take, and only while the kinds are on: CUPTI
 * does not bear it well where they are off (clock_then_off in quirks.def). */
void flusher_give_clock(struct recorder *recorder, uint64_t answers,
                        void (*how)(struct recorder *recorder))
{
    if (!recorder_is_recording(recorder) || atomic_load(&recorder->flusher.forced) ||
        !atomic_load(&recorder->enabled) || !flusher_may_flush(recorder))
        return;
    if (clients_hold(recorder, answers))
        range_switch(recorder, how);
}

/* Until it is woken, unless it was since `seen`; NULL: without a limit. */
static void rest(struct flusher *flusher, uint32_t seen, const struct timespec *limit)
{
    syscall(SYS_futex, &flusher->woken, FUTEX_WAIT_PRIVATE, seen, limit, NULL, 0);
}

/* What CUPTI answered and the calls that it answered are seen together only after a round of the
 * writer. Who ends a range meanwhile does not wait for that. */
static void await_writer(struct recorder *recorder, uint32_t request)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t until = mp_monotonic_ms() + TAKE_MS;

    while ((int32_t)(atomic_load(&recorder->flusher.taken) - request) < 0 &&
           mp_monotonic_ms() < until && recorder_is_recording(recorder)) {
        uint32_t seen = atomic_load(&recorder->flusher.woken);

        range_serve(recorder);
        rest(&recorder->flusher, seen, &pause);
    }
}

/* What the writer has asked for, if it has. */
static void answer(struct recorder *recorder)
{
    struct flusher *flusher = &recorder->flusher;
    uint32_t asked = atomic_load(&flusher->asked);
    uint64_t answers = clients_answers(recorder);

    if (asked == atomic_load(&flusher->done))
        return;
    flush(recorder);
    if (atomic_exchange(&flusher->gives_clock, false))
        flusher_give_clock(recorder, answers, activity_give_clock);
    atomic_store(&flusher->done, asked);
    work_wake(&recorder->work);
    await_writer(recorder, asked);
    if (recorder_is_recording(recorder))
        clients_look(recorder, mp_monotonic_ms());
}

static void *flusher_main(void *argument)
{
    struct recorder *recorder = argument;
    struct flusher *flusher = &recorder->flusher;

    pthread_setname_np(pthread_self(), "miniprof-flush");
    atomic_store(&flusher->tid, gettid());
    for (;;) {
        uint32_t seen = atomic_load(&flusher->woken);

        if (atomic_load(&flusher->stop))
            return NULL;
        atomic_store(&flusher->busy, true);
        range_serve(recorder);
        answer(recorder);
        atomic_store(&flusher->busy, false);
        rest(flusher, seen, NULL);
    }
}

enum mp_status flusher_start(struct recorder *recorder)
{
    pthread_t thread;

    return thread_start(&thread, STACK_BYTES, flusher_main, recorder);
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

void flusher_take(struct recorder *recorder)
{
    uint32_t done = atomic_load(&recorder->flusher.done);

    recording_round(&recorder->recording);
    atomic_store(&recorder->flusher.taken, done);
}

void flusher_take_next(struct recorder *recorder)
{
    work_wait(&recorder->work, LOOK_MS);
    flusher_take(recorder);
}

void flusher_gather(struct recorder *recorder, int ms)
{
    struct flusher *flusher = &recorder->flusher;
    uint32_t request = flusher_ask(flusher);
    int64_t until = mp_monotonic_ms() + ms;

    while (!flusher_is_done(flusher, request) && mp_monotonic_ms() < until)
        flusher_take_next(recorder);
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
    flusher_wake(flusher);
}
