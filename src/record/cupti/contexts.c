/* The contexts that exist: CUPTI's callbacks report them, or attach.c finds them. This file also
 * does what is due when CUDA starts, and when the first context is made.
 */
#include "record/cupti/contexts.h"

#include <sched.h>
#include <time.h>

#include "base/settings/time_limits.h"
#include "record/core/clock.h"
#include "record/core/state.h"
#include "record/cupti/attach.h"

#include "base/poison.h"

/* Returns how many there are then. */
static uint32_t hold_context(struct context_list *contexts, CUcontext context)
{
    uint32_t i = 0, count;

    pthread_mutex_lock(&contexts->lock);
    while (i < contexts->count && contexts->items[i] != context)
        i++;
    if (i == contexts->count && i < MAX_CONTEXTS_HELD)
        contexts->items[contexts->count++] = context;
    count = contexts->count;
    pthread_mutex_unlock(&contexts->lock);
    return count;
}

void contexts_forget(struct context_list *contexts, CUcontext context)
{
    uint32_t i;

    pthread_mutex_lock(&contexts->lock);
    for (i = 0; i < contexts->count; i++)
        if (contexts->items[i] == context)
            contexts->items[i--] = contexts->items[--contexts->count];
    pthread_mutex_unlock(&contexts->lock);
}

void contexts_forget_all(struct context_list *contexts)
{
    pthread_mutex_lock(&contexts->lock);
    contexts->count = 0;
    pthread_mutex_unlock(&contexts->lock);
}

void contexts_cuda_is_ready(struct recorder *recorder)
{
    atomic_store(&recorder->cuda.ready, true);
    recorder->jobs.at_exit_again(recorder);
    activity_configure_unified(recorder);
}

void contexts_hold(struct recorder *recorder, CUcontext context)
{
    if (hold_context(&recorder->cuda.contexts, context) > 1 &&
        !atomic_exchange(&recorder->cuda.several_contexts, true))
        activity_expect_peer_copies(recorder);
    if (atomic_exchange(&recorder->cuda.context_made, true))
        return;
    recorder->jobs.at_exit_again(recorder);
    activity_configure_unified(recorder);
}

uint32_t contexts_count(struct context_list *contexts)
{
    uint32_t count;

    pthread_mutex_lock(&contexts->lock);
    count = contexts->count;
    pthread_mutex_unlock(&contexts->lock);
    return count;
}

/* ---- Captures ---- */

static bool is_captured(const struct cuda_state *cuda)
{
    return atomic_load(&cuda->capture_begins) > 0 || atomic_load(&cuda->stream_captures) > 0 ||
           atomic_load(&cuda->captures_told) > 0;
}

bool contexts_may_be_captured(const struct recorder *recorder)
{
    bool has_callbacks =
        attach_is_done(recorder) && !atomic_load(&recorder->cupti_state.callbacks_taken);

    return (!has_callbacks && !recorder->attach.preload) || is_captured(&recorder->cuda);
}

void contexts_capture_begins(struct recorder *recorder)
{
    struct call_log *log = call_log_mine(&recorder->logs);

    if (log && !log->begins_capture) {
        log->begins_capture = true;
        atomic_fetch_add(&recorder->cuda.capture_begins, 1);
    }
    contexts_await_breakers(recorder);
}

void contexts_capture_began(struct recorder *recorder)
{
    struct call_log *log = call_log_mine(&recorder->logs);

    if (log && log->begins_capture) {
        log->begins_capture = false;
        atomic_fetch_sub(&recorder->cuda.capture_begins, 1);
    }
}

void contexts_await_breakers(const struct recorder *recorder)
{
    uint64_t until = mp_monotonic_ns() + mp_time_limit_ns(MP_TIME_CAPTURE_WAIT);

    while (atomic_load(&recorder->cuda.capture_breakers) && mp_monotonic_ns() < until)
        sched_yield();
}

/* Counted first: then either this sees the capture, or contexts_await_breakers sees this. */
static bool begin_breaking(struct recorder *recorder)
{
    atomic_fetch_add(&recorder->cuda.capture_breakers, 1);
    return !is_captured(&recorder->cuda);
}

static void end_breaking(struct recorder *recorder)
{
    atomic_fetch_sub(&recorder->cuda.capture_breakers, 1);
}

/* ---- Idle ---- */

bool contexts_can_be_watched(const struct driver_api *driver)
{
    return driver->push_context && driver->pop_context && driver->create_event &&
           driver->destroy_event && driver->query_event && driver->record_context;
}

/* Polls, since cuEventSynchronize and cuCtxSynchronize have no limit. With one it looks twice at
 * least, however late the thread gets its processor. */
static bool event_completes(const struct driver_api *driver, CUevent event, uint64_t limit)
{
    const struct timespec pause = mp_time_limit_timespec(MP_TIME_IDLE_LOOK);
    uint64_t until = mp_monotonic_ns() + limit;
    CUresult result = driver->query_event(event);

    for (bool goes_on = limit > 0; goes_on && result == CUDA_ERROR_NOT_READY;
         goes_on = mp_monotonic_ns() < until) {
        nanosleep(&pause, NULL);
        result = driver->query_event(event);
    }
    return result == CUDA_SUCCESS;
}

/* What a thread was in before it calls the driver for the recorder. */
struct own_calls {
    struct call_log *log;
    bool busy;
    int cancel;
    CUresult relaxed; /* CUDA_SUCCESS: the capture mode is to be put back */
    CUstreamCaptureMode mode;
};

/* Callbacks of this thread's calls are not the program's from here on. A thread that is cancelled
 * while it sleeps would stay so. While any thread captures in global mode, cuEventQuery breaks the
 * capture unless the calling thread's mode is relaxed. */
static struct own_calls begin_own_calls(struct recorder *recorder)
{
    struct own_calls calls = {.log = call_log_mine(&recorder->logs),
                              .relaxed = CUDA_ERROR_NOT_SUPPORTED,
                              .mode = CU_STREAM_CAPTURE_MODE_RELAXED};

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &calls.cancel);
    calls.busy = calls.log && calls.log->busy;
    if (calls.log)
        calls.log->busy = true;
    if (recorder->driver.exchange_capture_mode)
        calls.relaxed = recorder->driver.exchange_capture_mode(&calls.mode);
    return calls;
}

static void end_own_calls(const struct recorder *recorder, struct own_calls *calls)
{
    if (calls->relaxed == CUDA_SUCCESS)
        recorder->driver.exchange_capture_mode(&calls->mode);
    if (calls->log)
        calls->log->busy = calls->busy;
    pthread_setcancelstate(calls->cancel, NULL);
}

/* An event stands for all that the context, which is current, has been given so far, in all of its
 * streams. NULL if there can be none. */
static CUevent watch(struct recorder *recorder, CUcontext context)
{
    const struct driver_api *driver = &recorder->driver;
    CUevent event;
    bool recorded;

    if (driver->create_event(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return NULL;
    recorded = begin_breaking(recorder) && driver->record_context(context, event) == CUDA_SUCCESS;
    end_breaking(recorder);
    if (recorded)
        return event;
    driver->destroy_event(event);
    return NULL;
}

/* The driver destroys an event that has not completed without waiting for it. */
static bool becomes_idle(struct recorder *recorder, CUcontext context, uint64_t limit)
{
    const struct driver_api *driver = &recorder->driver;
    CUcontext popped;
    CUevent event;
    bool idle = false;

    if (driver->push_context(context) != CUDA_SUCCESS)
        return false;
    event = watch(recorder, context);
    if (event) {
        idle = event_completes(driver, event, limit);
        driver->destroy_event(event);
    }
    driver->pop_context(&popped);
    return idle;
}

bool contexts_become_idle(struct recorder *recorder, const CUcontext *items, uint32_t count,
                          uint64_t limit)
{
    struct own_calls calls = begin_own_calls(recorder);
    bool idle = contexts_can_be_watched(&recorder->driver);

    for (uint32_t i = 0; idle && i < count; i++)
        idle = becomes_idle(recorder, items[i], limit);
    end_own_calls(recorder, &calls);
    return idle;
}

CUevent contexts_watch_current(struct recorder *recorder, CUcontext *context)
{
    const struct driver_api *driver = &recorder->driver;
    struct own_calls calls;
    CUevent event = NULL;

    *context = NULL;
    if (!contexts_can_be_watched(driver) || contexts_may_be_captured(recorder))
        return NULL;
    calls = begin_own_calls(recorder);
    if (driver->get_current && driver->get_current(context) == CUDA_SUCCESS && *context)
        event = watch(recorder, *context);
    end_own_calls(recorder, &calls);
    return event;
}

bool contexts_watched_is_idle(struct recorder *recorder, CUcontext context, CUevent event)
{
    const struct driver_api *driver = &recorder->driver;
    struct own_calls calls = begin_own_calls(recorder);
    CUcontext popped;
    bool idle = true;

    if (driver->push_context(context) == CUDA_SUCCESS) {
        idle = driver->query_event(event) != CUDA_ERROR_NOT_READY;
        if (idle)
            driver->destroy_event(event);
        driver->pop_context(&popped);
    }
    end_own_calls(recorder, &calls);
    return idle;
}

bool contexts_current_becomes_idle(struct recorder *recorder, uint64_t limit)
{
    CUcontext context = NULL;

    if (recorder->driver.get_current && !contexts_may_be_captured(recorder))
        recorder->driver.get_current(&context);
    return context && contexts_become_idle(recorder, &context, 1, limit);
}
