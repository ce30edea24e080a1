/* See range.h. */
#include "record/range.h"

#include <errno.h>
#include <time.h>

#include "base/log.h"
#include "base/range_name.h"
#include "record/clock.h"
#include "record/nvtx_watch.h"
#include "record/state.h"
#include "record/subscriber.h"

#include "base/poison.h"

#define SWITCH_SECONDS 1 /* that a thread waits for another to switch the kinds, at most */

/* ---- Settings ---- */

static void warn_of_useless(const struct mp_config *config, bool scheduled)
{
    if (scheduled && config->capture.choice != MP_CAPTURE_AUTO)
        mp_log_warn("MINIPROF_CAPTURE has no effect beside MINIPROF_SCHEDULE");
    if (!scheduled && *config->step && !*config->slow_step)
        mp_log_warn("MINIPROF_STEP has no effect without MINIPROF_SCHEDULE or MINIPROF_SLOW_STEP");
}

static uint32_t ranges_wanted(const struct mp_config_choice *end)
{
    if (end->choice == MP_CAPTURE_END_STOP)
        return 1;
    return end->choice == MP_CAPTURE_END_REPEAT_N ? mp_repeat_number(end->text) : 0;
}

void range_configure(struct recorder *recorder)
{
    const struct mp_config *config = &recorder->config;
    struct ranges *ranges = &recorder->ranges;
    uint32_t mode = config->capture.choice;
    bool whole = mode == MP_CAPTURE_AUTO || mode == MP_CAPTURE_ALL;
    pthread_condattr_t attributes;

    ranges->scheduled = *config->schedule && mp_schedule_parse(config->schedule, &ranges->schedule);
    warn_of_useless(config, ranges->scheduled);
    ranges->by_nvtx = ranges->scheduled ? *config->step != '\0' : mode == MP_CAPTURE_NVTX;
    ranges->by_profiler = !ranges->by_nvtx && (ranges->scheduled ||
                                               (mode != MP_CAPTURE_OFF && !recorder->flight.whole));
    ranges->at_once = whole && !ranges->scheduled;
    ranges->lazy = mp_config_waits(config);
    ranges->most = ranges_wanted(&config->capture_end);
    pthread_mutex_init(&ranges->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ranges->switched, &attributes);
    pthread_condattr_destroy(&attributes);
    if (ranges->by_nvtx || recorder->flight.by_step)
        nvtx_watch_open(&(struct nvtx_watch_calls){
            .name = ranges->by_nvtx && !ranges->scheduled ? config->capture.text : config->step,
            .begin = ranges->by_nvtx ? range_nvtx_begin : NULL,
            .end = ranges->by_nvtx ? range_nvtx_end : NULL,
            .lasted = recorder->flight.by_step ? flight_step : NULL,
            .recorder = recorder,
        });
}

/* ---- Switching the kinds ---- */

static bool is_wanted(const struct ranges *ranges)
{
    return !ranges->over && (!ranges->lazy || ranges->open || ranges->warm);
}

static void switch_kinds(struct recorder *recorder, bool on, bool over)
{
    if (on && attach_now(recorder))
        activity_enable(recorder);
    else if (!on)
        activity_disable(recorder);
    if (over) {
        activity_retire(recorder);
        if (recorder->ranges.by_nvtx)
            nvtx_watch_close();
    }
}

static struct timespec patience(void)
{
    struct timespec limit;

    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += SWITCH_SECONDS;
    return limit;
}

/* Under the lock: waits until no other thread switches; false when one does for too long. It may
 * hold what that thread needs. */
static bool may_switch(struct ranges *ranges, const struct timespec *limit)
{
    int error = 0;

    while (ranges->switching && !error)
        error = pthread_cond_timedwait(&ranges->switched, &ranges->lock, limit);
    return !ranges->switching;
}

/* Under the lock, which is left meanwhile. */
static void begin_switching(struct ranges *ranges)
{
    ranges->switching = true;
    pthread_mutex_unlock(&ranges->lock);
}

static void end_switching(struct ranges *ranges)
{
    pthread_mutex_lock(&ranges->lock);
    ranges->switching = false;
    pthread_cond_broadcast(&ranges->switched);
}

/* Brings the kinds in line with what is wanted now, one thread at a time. */
static void settle(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;
    struct timespec limit = patience();

    pthread_mutex_lock(&ranges->lock);
    while ((ranges->on != is_wanted(ranges) || ranges->over != ranges->retired) &&
           may_switch(ranges, &limit)) {
        bool on = is_wanted(ranges);
        bool over = ranges->over;

        begin_switching(ranges);
        switch_kinds(recorder, on, over);
        end_switching(ranges);
        ranges->on = on;
        ranges->retired = over;
    }
    pthread_mutex_unlock(&ranges->lock);
}

bool range_switch(struct recorder *recorder, void (*how)(struct recorder *recorder))
{
    struct ranges *ranges = &recorder->ranges;
    struct timespec limit = patience();
    bool may;

    pthread_mutex_lock(&ranges->lock);
    may = may_switch(ranges, &limit);
    if (may) {
        begin_switching(ranges);
        how(recorder);
        end_switching(ranges);
    }
    pthread_mutex_unlock(&ranges->lock);
    return may;
}

/* ---- Marks ---- */

/* The id that CUPTI gives to a call made now; 0 if it cannot be had. */
static uint32_t correlation_now(struct recorder *recorder)
{
    struct call_log *log = call_log_mine(&recorder->logs);
    int version;

    if (!log || log->busy || !recorder->driver.get_version)
        return 0;
    log->correlation = 0;
    log->busy = true;
    log->asking = true;
    recorder->driver.get_version(&version);
    log->asking = false;
    log->busy = false;
    return log->correlation;
}

void range_note_call(struct recorder *recorder, uint32_t correlation)
{
    struct call_log *log = call_log_mine(&recorder->logs);

    if (log && log->asking)
        log->correlation = correlation;
}

static void post(struct recorder *recorder, enum work_kind kind, uint8_t reason, uint64_t time,
                 uint32_t correlation)
{
    work_put(
        &recorder->work,
        &(struct work){.kind = kind, .reason = reason, .correlation = correlation, .time = time});
}

/* Waits for the current context, unless a stream is being captured: that would break the capture.
 * Our own call must not look like one of the application's. */
static void synchronize(struct recorder *recorder)
{
    struct call_log *log = call_log_mine(&recorder->logs);

    if (!recorder->driver.synchronize || atomic_load(&recorder->stream_captures) > 0)
        return;
    if (log)
        log->busy = true;
    recorder->driver.synchronize();
    if (log)
        log->busy = false;
}

/* ---- Begin and end ---- */

/* Under the lock: whether a range may begin. */
static enum range_answer may_begin(const struct ranges *ranges, uint8_t reason, bool anew)
{
    if (ranges->over)
        return RANGE_IS_OVER;
    if (!ranges->ready && reason != MP_capture_reason_trigger)
        return RANGE_NOT_NOW;
    return ranges->open && !anew ? RANGE_IS_OPEN : RANGE_DONE;
}

/* `correlation`: of the call that begins it; 0 where none does. */
static enum range_answer begin(struct recorder *recorder, uint8_t reason, uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;
    enum range_answer answer;
    uint64_t number;
    bool anew;

    pthread_mutex_lock(&ranges->lock);
    anew = reason == MP_capture_reason_profiler_api && !ranges->anew &&
           recorder->config.capture.choice == MP_CAPTURE_AUTO;
    answer = may_begin(ranges, reason, anew);
    if (answer == RANGE_DONE) {
        if (anew)
            ranges->begun = ranges->ended = 0;
        ranges->anew |= anew;
        ranges->open = true;
        ranges->opened_at = mp_monotonic_ms();
        ranges->begun++;
    }
    number = ranges->begun;
    pthread_mutex_unlock(&ranges->lock);
    if (answer != RANGE_DONE) {
        (void)mp_clock_now(); /* the software GPU's clock counts readings: in all modes as many */
        return answer;
    }
    settle(recorder);
    if (!correlation)
        correlation = correlation_now(recorder);
    pthread_mutex_lock(&ranges->lock);
    /* Last, so that the time it took is not in the range. */
    if (ranges->open && ranges->begun == number) {
        post(recorder, WORK_START, reason, mp_clock_now(), correlation);
        ranges->posted = true;
    }
    pthread_mutex_unlock(&ranges->lock);
    return RANGE_DONE;
}

/* Under the lock: another thread has come into an NVTX range since the last one was left. Its begin
 * found the capture range open, so this one must not end. */
static bool is_inside_again(const struct ranges *ranges)
{
    return ranges->by_nvtx && nvtx_watch_is_inside();
}

/* Under the lock: whether the open range may end. */
static enum range_answer may_end(const struct recorder *recorder, uint8_t reason)
{
    const struct ranges *ranges = &recorder->ranges;

    if (!ranges->open)
        return ranges->over ? RANGE_IS_OVER : RANGE_IS_CLOSED;
    /* A Stop without a Start. */
    if (reason == MP_capture_reason_profiler_api && !ranges->anew &&
        recorder->config.capture.choice == MP_CAPTURE_AUTO)
        return RANGE_NOT_NOW;
    if (reason == MP_capture_reason_nvtx && is_inside_again(ranges))
        return RANGE_NOT_NOW;
    return RANGE_DONE;
}

static enum range_answer end(struct recorder *recorder, uint8_t reason, uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;
    uint64_t now = mp_clock_now();
    enum range_answer answer;

    if (!correlation)
        correlation = correlation_now(recorder);
    pthread_mutex_lock(&ranges->lock);
    answer = may_end(recorder, reason);
    if (answer == RANGE_DONE) {
        /* First: what other threads launch from now on is outside. */
        if (ranges->posted)
            post(recorder, WORK_STOP, reason, now, correlation);
        ranges->open = false;
        ranges->posted = false;
        ranges->ended++;
        ranges->over |= ranges->most && ranges->ended >= ranges->most;
    }
    pthread_mutex_unlock(&ranges->lock);
    if (answer != RANGE_DONE)
        return answer;
    if (!pthread_equal(pthread_self(), recorder->writer))
        synchronize(recorder);
    if (attach_is_done(recorder))
        recorder->cupti.flush_all(0);
    settle(recorder);
    return RANGE_DONE;
}

/* ---- Steps ---- */

static bool is_kept(enum mp_step_phase phase)
{
    return phase == MP_STEP_ACTIVE || phase == MP_STEP_LAST;
}

static void begin_step(struct recorder *recorder, uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;
    enum mp_step_phase phase = MP_STEP_IDLE;
    bool first = false;

    pthread_mutex_lock(&ranges->lock);
    if (ranges->ready && !ranges->in_step) {
        ranges->in_step = true;
        phase = mp_schedule_phase(&ranges->schedule, ranges->steps);
        /* Not again in a cycle whose range has ended early. */
        first = is_kept(phase) &&
                (!ranges->steps ||
                 mp_schedule_phase(&ranges->schedule, ranges->steps - 1) != MP_STEP_ACTIVE);
        ranges->warm = phase == MP_STEP_WARMUP;
    }
    pthread_mutex_unlock(&ranges->lock);
    if (first)
        begin(recorder, MP_capture_reason_schedule, correlation);
    else if (phase == MP_STEP_WARMUP)
        settle(recorder);
}

static void end_step(struct recorder *recorder, uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;
    enum mp_step_phase phase;
    enum mp_step_phase next;

    pthread_mutex_lock(&ranges->lock);
    if (!ranges->in_step || is_inside_again(ranges)) {
        pthread_mutex_unlock(&ranges->lock);
        return;
    }
    ranges->in_step = false;
    phase = mp_schedule_phase(&ranges->schedule, ranges->steps++);
    next = mp_schedule_phase(&ranges->schedule, ranges->steps);
    /* From one step to the next the kinds stay as they are. */
    ranges->warm = (phase == MP_STEP_WARMUP || phase == MP_STEP_LAST) &&
                   (next == MP_STEP_WARMUP || is_kept(next));
    pthread_mutex_unlock(&ranges->lock);
    if (phase == MP_STEP_LAST)
        end(recorder, MP_capture_reason_schedule, correlation);
    pthread_mutex_lock(&ranges->lock);
    ranges->over |= next == MP_STEP_OVER && !ranges->open;
    pthread_mutex_unlock(&ranges->lock);
    settle(recorder);
}

/* ---- What happens ---- */

void range_profiler_start(struct recorder *recorder, uint32_t correlation)
{
    if (!recorder->ranges.by_profiler)
        return;
    if (recorder->ranges.scheduled)
        begin_step(recorder, correlation);
    else
        begin(recorder, MP_capture_reason_profiler_api, correlation);
}

void range_profiler_stop(struct recorder *recorder, uint32_t correlation)
{
    if (!recorder->ranges.by_profiler)
        return;
    if (recorder->ranges.scheduled)
        end_step(recorder, correlation);
    else
        end(recorder, MP_capture_reason_profiler_api, correlation);
}

void range_nvtx_begin(struct recorder *recorder)
{
    if (!recorder_is_recording(recorder))
        return;
    if (recorder->ranges.scheduled)
        begin_step(recorder, 0);
    else
        begin(recorder, MP_capture_reason_nvtx, 0);
}

void range_nvtx_end(struct recorder *recorder)
{
    if (!recorder_is_recording(recorder))
        return;
    if (recorder->ranges.scheduled)
        end_step(recorder, 0);
    else
        end(recorder, MP_capture_reason_nvtx, 0);
}

enum range_answer range_trigger(struct recorder *recorder, bool begins)
{
    return begins ? begin(recorder, MP_capture_reason_trigger, 0)
                  : end(recorder, MP_capture_reason_trigger, 0);
}

/* ---- Time ---- */

void range_go(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;

    pthread_mutex_lock(&ranges->lock);
    ranges->ready_at = mp_monotonic_ms() + (int64_t)recorder->config.delay * 1000;
    ranges->ready = !recorder->config.delay;
    if (ranges->at_once && ranges->ready) {
        /* recording_open has begun it. */
        ranges->open = true;
        ranges->posted = true;
        ranges->begun = 1;
        ranges->opened_at = mp_monotonic_ms();
    }
    pthread_mutex_unlock(&ranges->lock);
    settle(recorder);
    /* Begun before CUDA was. */
    if (ranges->by_nvtx && nvtx_watch_is_inside())
        range_nvtx_begin(recorder);
}

static int sooner(int most, int64_t ms)
{
    return ms >= most ? most : ms > 0 ? (int)ms : 0;
}

int range_tick(struct recorder *recorder, int most)
{
    struct ranges *ranges = &recorder->ranges;
    int64_t duration = (int64_t)recorder->config.duration * 1000;
    int64_t now;
    bool begins = false;
    bool ends = false;

    if ((!recorder->config.delay && !duration) || !recorder_is_recording(recorder))
        return most;
    now = mp_monotonic_ms();
    pthread_mutex_lock(&ranges->lock);
    if (!ranges->ready && ranges->ready_at && now >= ranges->ready_at) {
        ranges->ready = true;
        begins = ranges->at_once;
    }
    if (!ranges->ready && ranges->ready_at)
        most = sooner(most, ranges->ready_at - now);
    if (duration && ranges->open) {
        ends = now - ranges->opened_at >= duration;
        most = sooner(most, ranges->opened_at + duration - now);
    }
    pthread_mutex_unlock(&ranges->lock);
    if (begins)
        begin(recorder, MP_capture_reason_duration, 0);
    if (ends)
        end(recorder, MP_capture_reason_duration, 0);
    return most;
}

bool range_is_open(struct recorder *recorder, uint64_t *number, bool *over)
{
    struct ranges *ranges = &recorder->ranges;
    bool open;

    pthread_mutex_lock(&ranges->lock);
    open = ranges->open;
    *number = ranges->begun;
    *over = ranges->over;
    pthread_mutex_unlock(&ranges->lock);
    return open;
}
