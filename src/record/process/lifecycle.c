/* How a recording ends: the last flush on a separate thread, then the end of the file, each with
 * a time limit.
 */
#include "record/process/lifecycle.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/process.h"
#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/core/thread.h"
#include "record/cupti/flush.h"
#include "record/nvtx/nvtx.h"
#include "record/process/recorder.h"
#include "record/process/signals.h"

#include "base/poison.h"

/* ---- Waiting with a limit ---- */

static void announce(struct ending *ending, bool *what)
{
    pthread_mutex_lock(&ending->lock);
    *what = true;
    pthread_cond_broadcast(&ending->changed);
    pthread_mutex_unlock(&ending->lock);
}

/* Waits until it happens; false if that takes more than `ns`. */
static bool await(struct ending *ending, const bool *what, uint64_t ns)
{
    struct timespec limit = mp_monotonic_in(ns);
    int error = 0;

    pthread_mutex_lock(&ending->lock);
    while (!*what && !error)
        error = pthread_cond_timedwait(&ending->changed, &ending->lock, &limit);
    bool happened = *what;
    pthread_mutex_unlock(&ending->lock);
    return happened;
}

/* As await, in a signal handler, for what the flusher does if it runs, else the writer. The calling
 * thread may hold a lock that the other one needs, and never gives it back. So this also ends when
 * the other one has waited for a while without a break. */
static bool await_in_handler(struct ending *ending, const bool *what, uint64_t ns)
{
    const uint64_t look = mp_time_limit_ns(MP_TIME_STUCK_LOOK);
    const uint64_t begin = mp_monotonic_ns();
    uint64_t moved = begin;

    while (!await(ending, what, look)) {
        uint64_t now = mp_monotonic_ns();
        pid_t flusher = what == &ending->flushed ? atomic_load(&ending->flusher) : 0;

        if (!thread_waits(flusher ? flusher : atomic_load(&ending->writer)))
            moved = now;
        if (now - begin >= ns || now - moved >= mp_time_limit_ns(MP_TIME_STUCK))
            return false;
    }
    return true;
}

/* ---- The last flush ---- */

/* A driver before CUDA 12.5 waits without a limit. This thread may hang: it does nothing but this
 * flush. */
static void synchronize(const struct driver_api *driver, CUcontext context)
{
    CUcontext popped;

    if (!driver->push_context || !driver->pop_context || !driver->synchronize ||
        driver->push_context(context) != CUDA_SUCCESS)
        return;
    driver->synchronize();
    driver->pop_context(&popped);
}

static void await_contexts(struct recorder *recorder)
{
    CUcontext items[MAX_CONTEXTS_HELD];

    if (atomic_load(&recorder->gpu.cupti_state.callbacks_taken))
        attach_find_contexts(&recorder->gpu);
    uint32_t count = contexts_copy(&recorder->gpu.cuda.contexts, items);
    if (contexts_can_be_watched(&recorder->gpu.driver))
        atomic_store(&recorder->gpu.cuda.busy_at_end,
                     !contexts_become_idle(&recorder->gpu, items, count,
                                           mp_time_limit_ns(MP_TIME_LAST_IDLE)));
    else if (atomic_load(&recorder->gpu.cuda.stream_captures) == 0)
        for (uint32_t i = 0; i < count; i++)
            synchronize(&recorder->gpu.driver, items[i]);
}

/* From here on nothing is taken. */
static void stop_taking(struct recorder *recorder)
{
    /* Before the last flush asks the contexts: these calls are not the application's. */
    work_put(&recorder->gpu.core.work,
             &(struct work){.kind = WORK_LAST, .time = atomic_load(&recorder->ending.end_time)});
    mp_nvtx_set_recording(false);
    waits_stop(&recorder->waits);
    if (recorder->stacks.gaps.period)
        gaps_stop(&recorder->stacks);
}

/* A CUPTI that never asked for a buffer has nothing to give. It may not even be initialised, and a
 * flush then deadlocks (seen in wprof). */
static bool has_records(const struct recorder *recorder)
{
    return atomic_load(&recorder->gpu.pool.requested) != 0;
}

static void *last_flush_main(void *argument)
{
    struct recorder *recorder = argument;

    atomic_store(&recorder->ending.flusher, mp_thread_id());
    stop_taking(recorder);
    if (has_records(recorder)) {
        earlier_end(&recorder->gpu);
        await_contexts(recorder);
        sampling_finish(&recorder->sampling);
        recorder->gpu.cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
        flush_count_drops(&recorder->gpu);
        activity_claim_drops(&recorder->gpu);
    }
    announce(&recorder->ending, &recorder->ending.flushed);
    work_wake(&recorder->gpu.core.work); /* the writer, if it is the one that waits */
    return NULL;
}

static bool start_last_flush(struct recorder *recorder)
{
    pthread_t thread;

    return thread_start(&recorder->gpu.core.threads, &thread, 0, last_flush_main, recorder) ==
           MP_OK;
}

/* Waits for the last flush and takes what comes meanwhile. */
static bool await_taking(struct recorder *recorder)
{
    int64_t limit = mp_monotonic_ms() + mp_time_limit_ms(MP_TIME_LAST_FLUSH);
    struct ending *ending = &recorder->ending;

    while (mp_monotonic_ms() < limit && !await(ending, &ending->flushed, 0) &&
           !atomic_load(&ending->abandoned))
        recording_take_next(&recorder->recording);
    return await(ending, &ending->flushed, 0);
}

static void give_up(struct recorder *recorder, const char *why)
{
    mp_log_warn("%s", why);
    atomic_fetch_add(&recorder->gpu.cupti_state.forced_exits, 1);
}

/* Begins the end; whether there is a last flush to wait for. */
static bool begin_flush(struct recorder *recorder)
{
    struct ending *ending = &recorder->ending;

    atomic_store(&recorder->gpu.cupti_state.flush_allowed, false);
    atomic_store(&ending->end_time, mp_clock_now());
    if (start_last_flush(recorder))
        return true;
    stop_taking(recorder);
    if (has_records(recorder))
        give_up(recorder, "no thread for the last flush: the last records are missing");
    return false;
}

static void give_up_late(struct recorder *recorder)
{
    char why[96];

    snprintf(why, sizeof(why), "the last flush takes over %g s: the last records are missing",
             mp_time_limit_seconds(MP_TIME_LAST_FLUSH));
    give_up(recorder, why);
}

void lifecycle_flush(struct recorder *recorder)
{
    if (begin_flush(recorder) && !await_taking(recorder) &&
        !atomic_load(&recorder->ending.abandoned))
        give_up_late(recorder);
}

/* ---- Exit ---- */

bool lifecycle_claim_end(struct recorder *recorder)
{
    int expected = PHASE_RECORDING;

    return atomic_compare_exchange_strong(&recorder->gpu.core.phase, &expected, PHASE_FINISHING);
}

void lifecycle_closed(struct recorder *recorder)
{
    atomic_store(&recorder->gpu.core.phase, PHASE_INERT);
    announce(&recorder->ending, &recorder->ending.flushed); /* or there was no last flush */
    announce(&recorder->ending, &recorder->ending.closed);
}

bool lifecycle_is_asked(const struct recorder *recorder)
{
    return atomic_load(&recorder->ending.signal) || atomic_load(&recorder->ending.in_handler);
}

static void finish_in_handler(struct recorder *recorder)
{
    struct ending *ending = &recorder->ending;

    atomic_store(&ending->in_handler, true);
    work_wake(&recorder->gpu.core.work);
    if (!await_in_handler(ending, &ending->flushed, mp_time_limit_ns(MP_TIME_LAST_FLUSH))) {
        give_up(recorder, "exit in a signal handler, which interrupted a call of CUDA: the last "
                          "records may be missing");
        atomic_store(&ending->abandoned, true);
        work_wake(&recorder->gpu.core.work);
    }
    if (!await_in_handler(ending, &ending->closed, mp_time_limit_ns(MP_TIME_FILE_CLOSE)))
        mp_log_warn("'%s' could not be completed: the code that the signal interrupted holds a "
                    "lock; what was written is readable",
                    recorder->output.path);
}

static void finish(struct recorder *recorder)
{
    struct ending *ending = &recorder->ending;
    uint64_t limit = mp_time_limit_ns(MP_TIME_FILE_CLOSE);

    if (lifecycle_claim_end(recorder)) {
        if (begin_flush(recorder) &&
            !await(ending, &ending->flushed, mp_time_limit_ns(MP_TIME_LAST_FLUSH)))
            give_up_late(recorder);
        atomic_store(&ending->stop, true);
        work_wake(&recorder->gpu.core.work);
    } else {
        limit += mp_time_limit_ns(MP_TIME_LAST_FLUSH);
    }
    if (!await(ending, &ending->closed, limit))
        mp_log_warn("'%s' could not be completed in %g s; what was written is readable",
                    recorder->output.path, mp_time_limit_seconds(MP_TIME_FILE_CLOSE));
}

void lifecycle_finish(struct recorder *recorder)
{
    int phase = core_phase(&recorder->gpu.core);

    if (phase != PHASE_RECORDING && phase != PHASE_FINISHING)
        return;
    if (signals_in_handler())
        finish_in_handler(recorder);
    else
        finish(recorder);
}

static void at_exit(void)
{
    struct recorder *recorder = mp_recorder;

    if (!core_is_of_process(&recorder->gpu.core))
        return; /* a child that was made without fork handlers */
    lifecycle_finish(recorder);
    int number = atomic_load(&recorder->ending.signal);
    if (number)
        signals_raise(number);
}

/* ---- Where no thread of the program is left ---- */

/* As glibc's last thread does. Its signals are the program's, which may wait for them in a handler
 * of its exit. */
static void *exit_main(void *unused)
{
    sigset_t none;

    (void)unused;
    sanitizer_ignore(false);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    exit(0);
}

bool lifecycle_exit_alone(struct recorder *recorder)
{
    pthread_t thread;

    return threads_are_alone(&recorder->gpu.core.threads) &&
           thread_start(&recorder->gpu.core.threads, &thread, 0, exit_main, NULL) == MP_OK;
}

/* ---- Starting ---- */

void lifecycle_at_exit_again(struct recorder *recorder)
{
    if (atomic_exchange(&recorder->gpu.cuda.exit_again, false) && atexit(at_exit) != 0)
        mp_log_debug("no room for another exit handler");
}

enum mp_status lifecycle_open(struct recorder *recorder)
{
    struct ending *ending = &recorder->ending;

    pthread_mutex_init(&recorder->gpu.cuda.contexts.lock, NULL);
    pthread_mutex_init(&ending->lock, NULL);
    if (!mp_monotonic_condition(&ending->changed))
        return MP_ERR_MEMORY;
    if (at_quick_exit(at_exit) != 0)
        mp_log_debug("no room for a handler of quick_exit");
    return atexit(at_exit) == 0 ? MP_OK : MP_ERR_MEMORY;
}
