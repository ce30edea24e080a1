/* Where capture ranges begin and end: profiler calls, NVTX ranges, time, triggers. It posts marks;
 * the writer interprets them.
 */
#include "record/process/range.h"

#include <time.h>

#include "base/log.h"
#include "base/settings/config.h"
#include "base/settings/forms.h"
#include "record/core/clock.h"
#include "record/nvtx/watch.h"
#include "record/process/recorder.h"

#include "base/poison.h"

/* ---- Marks ---- */

/* The correlation id of a call made now; 0 if there is none. */
static uint32_t correlation_now(struct recorder *recorder)
{
    struct call_log *log = call_log_mine(&recorder->gpu.core.logs);
    int version;

    if (!log || log->busy || !recorder->gpu.driver.get_version)
        return 0;
    log->correlation = 0;
    log->busy = true;
    log->asking = true;
    recorder->gpu.driver.get_version(&version);
    log->asking = false;
    log->busy = false;
    return log->correlation;
}

void range_note_call(struct recorder *recorder, uint32_t correlation)
{
    struct call_log *log = call_log_mine(&recorder->gpu.core.logs);

    if (log && log->asking)
        log->correlation = correlation;
}

static void post(struct recorder *recorder, enum work_kind kind, uint8_t reason, uint64_t time,
                 uint32_t correlation)
{
    work_put(
        &recorder->gpu.core.work,
        &(struct work){.kind = kind, .reason = reason, .correlation = correlation, .time = time});
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

/* Under the lock: opens a range, if one may begin. */
static enum range_answer open_range(struct recorder *recorder, uint8_t reason)
{
    struct ranges *ranges = &recorder->ranges;
    bool anew = reason == MP_capture_reason_profiler_api && !ranges->anew &&
                recorder->gpu.core.config.capture.choice == MP_CAPTURE_AUTO;
    enum range_answer answer = may_begin(ranges, reason, anew);
    int64_t now = mp_monotonic_ms();

    if (answer != RANGE_DONE)
        return answer;
    if (anew)
        ranges->begun = ranges->ended = 0;
    ranges->anew |= anew;
    ranges->open = true;
    atomic_store(&recorder->gpu.core.paused, false);
    ranges->lingers = false;
    bool quick = ranges->begun && now - ranges->opened_at < mp_time_limit_ms(MP_TIME_RANGE_QUICK);
    ranges->quick = quick ? ranges->quick + 1 : 0;
    ranges->opened_at = now;
    ranges->begun++;
    return RANGE_DONE;
}

/* Whether the clock is to be registered again at an edge of a range, at `time`: no work is under
 * way that could lose its times. */
static bool renews_clock(struct recorder *recorder, uint64_t time)
{
    struct clock_renewal *renewal = &recorder->gpu.clock_renewal;

    return !pthread_equal(pthread_self(), recorder->writer) &&
           recording_slows_cupti(&recorder->recording) &&
           contexts_count(&recorder->gpu.cuda.contexts) == 1 &&
           clock_renewal_is_old(renewal, time) &&
           contexts_current_becomes_idle(&recorder->gpu, 0) && clock_renewal_ask(renewal, time);
}

/* Posts the mark of the range `number`, which was opened. `correlation`: of the call that begins
 * it; 0 if there is none. */
static void begin_opened(struct recorder *recorder, uint64_t number, uint8_t reason,
                         uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;

    range_settle(recorder);
    if (renews_clock(recorder, mp_clock_now()))
        range_leave(recorder, number, true);
    earlier_begin(&recorder->gpu);
    if (!correlation)
        correlation = correlation_now(recorder);
    pthread_mutex_lock(&ranges->lock);
    /* The time is read last, so that the work above is not in the range. */
    if (ranges->open && ranges->begun == number) {
        post(recorder, WORK_START, reason, mp_clock_now(), correlation);
        ranges->posted = true;
    }
    pthread_cond_broadcast(&ranges->changed);
    pthread_mutex_unlock(&ranges->lock);
}

static enum range_answer range_begin(struct recorder *recorder, uint8_t reason,
                                     uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;

    pthread_mutex_lock(&ranges->lock);
    enum range_answer answer = open_range(recorder, reason);
    uint64_t number = ranges->begun;
    pthread_mutex_unlock(&ranges->lock);
    if (answer == RANGE_DONE)
        begin_opened(recorder, number, reason, correlation);
    else
        (void)mp_clock_now(); /* the software GPU's clock counts its readings: all modes make the
                                 same number */
    return answer;
}

/* Under the lock: whether no thread is in an NVTX range, and none has entered one since `met` was
 * read. Otherwise that thread found the capture range open, or the step begun, and will end it. */
static bool is_left(const struct ranges *ranges, uint64_t met)
{
    return !ranges->by_nvtx || (!nvtx_watch_is_inside() && atomic_load(&ranges->met) == met);
}

/* Under the lock: whether the open range may end. */
static enum range_answer may_end(const struct recorder *recorder, uint8_t reason, uint64_t met)
{
    const struct ranges *ranges = &recorder->ranges;

    if (!ranges->open)
        return ranges->over ? RANGE_IS_OVER : RANGE_IS_CLOSED;
    /* A Stop without a Start. */
    if (reason == MP_capture_reason_profiler_api && !ranges->anew &&
        recorder->gpu.core.config.capture.choice == MP_CAPTURE_AUTO)
        return RANGE_NOT_NOW;
    if (reason == MP_capture_reason_nvtx && !is_left(ranges, met))
        return RANGE_NOT_NOW;
    return RANGE_DONE;
}

/* Under the lock: closes the open range. What other threads launch from now on is outside. */
static void end_range(struct recorder *recorder, uint8_t reason, uint64_t time,
                      uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;

    if (ranges->posted)
        post(recorder, WORK_STOP, reason, time, correlation);
    ranges->open = false;
    ranges->posted = false;
    atomic_store(&recorder->gpu.core.paused, false);
    ranges->ended++;
    ranges->over |= ranges->max && ranges->ended >= ranges->max;
    ranges->closed_at = mp_monotonic_ms();
    /* Without callbacks there are no ids that tell what was launched between ranges. */
    ranges->lingers = ranges->quick >= RANGE_QUICK_ROW && !ranges->over &&
                      !atomic_load(&recorder->gpu.cupti_state.callbacks_taken);
}

static bool lingers(struct ranges *ranges)
{
    pthread_mutex_lock(&ranges->lock);
    bool answer = ranges->lingers;
    pthread_mutex_unlock(&ranges->lock);
    return answer;
}

/* Has the range `closed`, which ended at `time`, flushed and the kinds switched. 0: no range was
 * closed. False when CUPTI does not answer. */
static bool leave(struct recorder *recorder, uint64_t closed, uint64_t time)
{
    bool idle = closed && !pthread_equal(pthread_self(), recorder->writer) &&
                contexts_current_becomes_idle(&recorder->gpu, mp_time_limit_ns(MP_TIME_RANGE_IDLE));

    if (closed)
        atomic_store(&recorder->gpu.cuda.earlier.mixed,
                     !idle || contexts_count(&recorder->gpu.cuda.contexts) != 1);
    if (lingers(&recorder->ranges))
        return true;
    return range_leave(recorder, closed, closed && renews_clock(recorder, time));
}

static enum range_answer range_end(struct recorder *recorder, uint8_t reason, uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;
    uint64_t now = mp_clock_now();
    uint64_t met = atomic_load(&ranges->met);

    /* Counted before the id is asked for, and compared afterwards: what others launch meanwhile has
     * later ids. */
    pthread_mutex_lock(&ranges->lock);
    enum range_answer answer = may_end(recorder, reason, met);
    pthread_mutex_unlock(&ranges->lock);
    if (answer == RANGE_DONE)
        earlier_end(&recorder->gpu);
    if (!correlation && answer == RANGE_DONE)
        correlation = correlation_now(recorder);
    pthread_mutex_lock(&ranges->lock);
    if (answer == RANGE_DONE)
        answer = may_end(recorder, reason, met);
    if (answer == RANGE_DONE)
        end_range(recorder, reason, now, correlation);
    uint64_t number = ranges->begun;
    pthread_mutex_unlock(&ranges->lock);
    if (answer != RANGE_DONE)
        return answer;
    return leave(recorder, number, now) ? RANGE_DONE : RANGE_LATE;
}

/* ---- Pauses ---- */

/* Posts a mark that the user did not ask for, if range `number` is still open, and paused or not.
 */
static bool post_pause(struct recorder *recorder, uint64_t number, bool pauses)
{
    struct ranges *ranges = &recorder->ranges;
    uint32_t correlation = correlation_now(recorder);

    pthread_mutex_lock(&ranges->lock);
    bool may = ranges->open && ranges->posted && ranges->begun == number &&
               !core_is_paused(&recorder->gpu.core);
    if (may) {
        post(recorder, pauses ? WORK_STOP : WORK_START, MP_capture_reason_baseline, mp_clock_now(),
             correlation);
        atomic_store(&recorder->gpu.core.paused, pauses);
        ranges->begun += !pauses;
    }
    pthread_mutex_unlock(&ranges->lock);
    return may;
}

/* The number of the open range, if the writer knows of it and it is paused, or not; else 0. */
static uint64_t open_number(struct recorder *recorder, bool paused)
{
    struct ranges *ranges = &recorder->ranges;

    pthread_mutex_lock(&ranges->lock);
    uint64_t number = ranges->open && ranges->posted && !ranges->over &&
                              core_is_paused(&recorder->gpu.core) == paused
                          ? ranges->begun
                          : 0;
    pthread_mutex_unlock(&ranges->lock);
    return number;
}

bool range_pause(struct recorder *recorder, bool *late)
{
    uint64_t number = open_number(recorder, false);

    if (!number || !post_pause(recorder, number, true))
        return false;
    *late = !range_leave(recorder, number, false);
    return true;
}

bool range_resume(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;
    uint64_t number = open_number(recorder, true);

    if (!number)
        return false;
    pthread_mutex_lock(&ranges->lock);
    atomic_store(&recorder->gpu.core.paused, false);
    pthread_mutex_unlock(&ranges->lock);
    range_settle(recorder);
    return post_pause(recorder, number, false);
}

/* ---- Steps ---- */

static bool is_kept(enum mp_step_phase phase)
{
    return phase == MP_STEP_ACTIVE || phase == MP_STEP_LAST;
}

/* Under the lock: the next step begins. Whether a range begins with it: not a second time in a
 * cycle whose range has ended early. */
static bool open_step(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;
    enum mp_step_phase phase = mp_schedule_phase(&ranges->schedule, ranges->steps);

    ranges->in_step = true;
    ranges->warm = phase == MP_STEP_WARMUP;
    if (!is_kept(phase) ||
        (ranges->steps &&
         mp_schedule_phase(&ranges->schedule, ranges->steps - 1) == MP_STEP_ACTIVE))
        return false;
    return open_range(recorder, MP_capture_reason_schedule) == RANGE_DONE;
}

static void begin_step(struct recorder *recorder, uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;

    pthread_mutex_lock(&ranges->lock);
    bool begins = ranges->ready && !ranges->in_step;
    bool opened = begins && open_step(recorder);
    uint64_t number = ranges->begun;
    pthread_mutex_unlock(&ranges->lock);
    if (opened)
        begin_opened(recorder, number, MP_capture_reason_schedule, correlation);
    else if (begins)
        range_settle(recorder);
}

/* Under the lock: whether the step is over for all threads, and its phase. */
static bool may_end_step(const struct ranges *ranges, uint64_t met, enum mp_step_phase *phase)
{
    *phase = mp_schedule_phase(&ranges->schedule, ranges->steps);
    return ranges->in_step && is_left(ranges, met);
}

/* Under the lock: ends the step. The last step of a cycle also ends the range, if it is still open.
 * Answers that range's number, 0 if no range ended. */
static uint64_t close_step(struct recorder *recorder, uint64_t time, uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;
    enum mp_step_phase phase = mp_schedule_phase(&ranges->schedule, ranges->steps++);
    enum mp_step_phase next = mp_schedule_phase(&ranges->schedule, ranges->steps);
    bool ends = phase == MP_STEP_LAST && ranges->open;

    ranges->in_step = false;
    /* The kinds stay on between two steps that need them. */
    ranges->warm = (phase == MP_STEP_WARMUP || phase == MP_STEP_LAST) &&
                   (next == MP_STEP_WARMUP || is_kept(next));
    if (ends)
        end_range(recorder, MP_capture_reason_schedule, time, correlation);
    ranges->over |= next == MP_STEP_OVER && !ranges->open;
    return ends ? ranges->begun : 0;
}

static void end_step(struct recorder *recorder, uint32_t correlation)
{
    struct ranges *ranges = &recorder->ranges;
    uint64_t met = atomic_load(&ranges->met);
    uint64_t now = 0;
    enum mp_step_phase phase;
    uint64_t closed = 0;

    pthread_mutex_lock(&ranges->lock);
    bool may = may_end_step(ranges, met, &phase);
    pthread_mutex_unlock(&ranges->lock);
    if (may && phase == MP_STEP_LAST) {
        earlier_end(&recorder->gpu);
        now = mp_clock_now();
        if (!correlation)
            correlation = correlation_now(recorder);
    }
    pthread_mutex_lock(&ranges->lock);
    may = may && may_end_step(ranges, met, &phase);
    if (may)
        closed = close_step(recorder, now, correlation);
    pthread_mutex_unlock(&ranges->lock);
    if (may)
        leave(recorder, closed, now);
}

/* ---- What happens ---- */

void range_profiler_start(struct recorder *recorder, uint32_t correlation)
{
    if (!recorder->gpu.core.wanted.by_profiler)
        return;
    if (recorder->ranges.scheduled)
        begin_step(recorder, correlation);
    else
        range_begin(recorder, MP_capture_reason_profiler_api, correlation);
}

void range_profiler_stop(struct recorder *recorder, uint32_t correlation)
{
    if (!recorder->gpu.core.wanted.by_profiler)
        return;
    if (recorder->ranges.scheduled)
        end_step(recorder, correlation);
    else
        range_end(recorder, MP_capture_reason_profiler_api, correlation);
}

void range_profiler_call(struct recorder *recorder, bool begins)
{
    if (begins)
        range_profiler_start(recorder, 0);
    else
        range_profiler_stop(recorder, 0);
}

/* Waits also if the range is nested: what this thread launches next is to be recorded, while the
 * thread that came first may still be switching the kinds on. */
static void range_nvtx_begin(void *context)
{
    struct recorder *recorder = context;

    if (!core_is_recording(&recorder->gpu.core))
        return;
    atomic_fetch_add(&recorder->ranges.met, 1);
    if (recorder->ranges.scheduled)
        begin_step(recorder, 0);
    else
        range_begin(recorder, MP_capture_reason_nvtx, 0);
    range_await_posted(recorder);
}

static void range_nvtx_end(void *context)
{
    struct recorder *recorder = context;

    if (!core_is_recording(&recorder->gpu.core))
        return;
    if (recorder->ranges.scheduled)
        end_step(recorder, 0);
    else
        range_end(recorder, MP_capture_reason_nvtx, 0);
}

enum range_answer range_trigger(struct recorder *recorder, bool begins)
{
    return begins ? range_begin(recorder, MP_capture_reason_trigger, 0)
                  : range_end(recorder, MP_capture_reason_trigger, 0);
}

void range_give_up(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;

    pthread_mutex_lock(&ranges->lock);
    bool news = !ranges->over || ranges->open;
    ranges->over = true;
    ranges->open = false;
    ranges->posted = false;
    pthread_mutex_unlock(&ranges->lock);
    earlier_end(&recorder->gpu);
    if (news)
        range_leave(recorder, 0, false);
}

/* ---- Time ---- */

/* The seconds of a setting. */
static int64_t in_ms(uint32_t seconds)
{
    return (int64_t)seconds * mp_time_limit_ms(MP_TIME_SETTING_SECOND);
}

void range_go(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;

    pthread_mutex_lock(&ranges->lock);
    ranges->ready_at = mp_monotonic_ms() + in_ms(recorder->gpu.core.config.delay);
    ranges->ready = !recorder->gpu.core.config.delay;
    if (ranges->at_once && ranges->ready) {
        /* recording_open has begun this range. */
        ranges->open = true;
        ranges->posted = true;
        ranges->begun = 1;
        ranges->opened_at = mp_monotonic_ms();
    }
    pthread_mutex_unlock(&ranges->lock);
    range_settle(recorder);
    /* An NVTX range that began before CUDA did. */
    if (ranges->by_nvtx && nvtx_watch_is_inside())
        range_nvtx_begin(recorder);
}

static int sooner(int max, int64_t ms)
{
    return ms >= max ? max : ms > 0 ? (int)ms : 0;
}

/* The last of several quick ranges has ended: does what its end has left. */
static int end_lingering(struct recorder *recorder, int max)
{
    struct ranges *ranges = &recorder->ranges;
    int64_t left = 0;

    pthread_mutex_lock(&ranges->lock);
    uint64_t closed = ranges->lingers ? ranges->begun : 0;
    if (closed)
        left = ranges->closed_at + mp_time_limit_ms(MP_TIME_RANGE_QUICK) - mp_monotonic_ms();
    if (left <= 0)
        ranges->lingers = false;
    pthread_mutex_unlock(&ranges->lock);
    if (closed && left <= 0)
        range_leave(recorder, closed, false);
    return closed && left > 0 ? sooner(max, left) : max;
}

int range_tick(struct recorder *recorder, int max)
{
    struct ranges *ranges = &recorder->ranges;
    int64_t duration = in_ms(recorder->gpu.core.config.duration);
    bool begins = false;
    bool ends = false;

    if (!core_is_recording(&recorder->gpu.core))
        return max;
    max = end_lingering(recorder, max);
    if (!recorder->gpu.core.config.delay && !duration)
        return max;
    int64_t now = mp_monotonic_ms();
    pthread_mutex_lock(&ranges->lock);
    if (!ranges->ready && ranges->ready_at && now >= ranges->ready_at) {
        ranges->ready = true;
        begins = ranges->at_once;
    }
    if (!ranges->ready && ranges->ready_at)
        max = sooner(max, ranges->ready_at - now);
    if (duration && ranges->open) {
        ends = now - ranges->opened_at >= duration;
        max = sooner(max, ranges->opened_at + duration - now);
    }
    pthread_mutex_unlock(&ranges->lock);
    if (begins)
        range_begin(recorder, MP_capture_reason_duration, 0);
    if (ends)
        range_end(recorder, MP_capture_reason_duration, 0);
    return max;
}

bool range_is_open(struct recorder *recorder, uint64_t *number, bool *over)
{
    struct ranges *ranges = &recorder->ranges;

    pthread_mutex_lock(&ranges->lock);
    bool open = ranges->open;
    *number = ranges->begun;
    *over = ranges->over;
    pthread_mutex_unlock(&ranges->lock);
    return open;
}

/* ---- Settings ---- */

static void warn_of_useless(const struct mp_config *config, bool scheduled)
{
    if (scheduled && config->capture.choice != MP_CAPTURE_AUTO)
        mp_log_warn("MINIPROF_CAPTURE has no effect beside MINIPROF_SCHEDULE");
    if (!scheduled && *config->step && !*config->slow_step && !*config->baseline)
        mp_log_warn("MINIPROF_STEP has no effect without MINIPROF_SCHEDULE, MINIPROF_SLOW_STEP or "
                    "MINIPROF_BASELINE");
}

static uint32_t ranges_wanted(const struct mp_config_choice *end)
{
    if (end->choice == MP_CAPTURE_END_STOP)
        return 1;
    return end->choice == MP_CAPTURE_END_REPEAT_N ? mp_repeat_number(end->text) : 0;
}

void range_configure(struct recorder *recorder)
{
    const struct mp_config *config = &recorder->gpu.core.config;
    struct ranges *ranges = &recorder->ranges;
    uint32_t mode = config->capture.choice;

    ranges->scheduled = *config->schedule && mp_schedule_parse(config->schedule, &ranges->schedule);
    warn_of_useless(config, ranges->scheduled);
    ranges->by_nvtx = ranges->scheduled ? *config->step != '\0' : mode == MP_CAPTURE_NVTX;
    recorder->gpu.core.wanted.by_profiler =
        !ranges->by_nvtx &&
        (ranges->scheduled || (mode != MP_CAPTURE_OFF && mode != MP_CAPTURE_ALL));
    ranges->at_once = mp_config_begins_at_once(config) && !ranges->scheduled;
    recorder->gpu.core.wanted.lazy = mp_config_waits(config);
    ranges->max = ranges_wanted(&config->capture_end);
    pthread_mutex_init(&ranges->lock, NULL);
    pthread_mutex_init(&recorder->gpu.cuda.earlier.lock, NULL);
    mp_monotonic_condition(&ranges->changed);
    if (ranges->by_nvtx || recorder->flight.by_step)
        nvtx_watch_open(&(struct nvtx_watch_calls){
            .name = ranges->by_nvtx && !ranges->scheduled ? config->capture.text : config->step,
            .begin = ranges->by_nvtx ? range_nvtx_begin : NULL,
            .end = ranges->by_nvtx ? range_nvtx_end : NULL,
            .lasted = recorder->flight.by_step ? flight_step : NULL,
            .context = recorder,
        });
}
