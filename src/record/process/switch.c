/* Who may switch CUPTI's kinds, who waits for that and how long. All waits have a limit, since
 * CUPTI may hang in the thread that switches.
 */
#include "record/process/range.h"

#include <time.h>

#include "base/log.h"
#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/cupti/flush.h"
#include "record/nvtx/watch.h"
#include "record/process/lifecycle.h"
#include "record/process/recorder.h"

#include "base/poison.h"

static bool switch_is_wanted(const struct recorder *recorder)
{
    const struct ranges *ranges = &recorder->ranges;

    return !ranges->over && !core_is_paused(&recorder->gpu.core) &&
           (!recorder->gpu.core.wanted.lazy || ranges->open || ranges->warm || ranges->lingers);
}

static void switch_kinds(struct recorder *recorder, bool on, bool over)
{
    if (on && attach_now(&recorder->gpu))
        activity_enable(&recorder->gpu, clients_enter(&recorder->gpu));
    else if (!on)
        activity_disable(&recorder->gpu, clients_leave(&recorder->gpu));
    lifecycle_at_exit_again(recorder);
    sampling_switch(&recorder->sampling, on);
    if (over) {
        activity_retire(&recorder->gpu);
        if (recorder->ranges.by_nvtx)
            nvtx_watch_close();
    }
}

/* Under the lock: for how long a thread waits for CUPTI, ns. */
static uint64_t patience(const struct ranges *ranges)
{
    return ranges->late ? 0 : mp_time_limit_ns(MP_TIME_RANGE_SWITCH);
}

/* Under the lock: waits until something changes; false at the limit. Not a cancellation point: a
 * thread that is cancelled in here would keep the lock. */
static bool await_change(struct ranges *ranges, const struct timespec *limit)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    int error = pthread_cond_timedwait(&ranges->changed, &ranges->lock, limit);
    pthread_setcancelstate(before, NULL);
    return !error;
}

/* Under the lock: waits until no other thread switches; false when one does for too long. */
static bool may_switch(struct ranges *ranges, const struct timespec *limit)
{
    while (ranges->switching && await_change(ranges, limit))
        continue;
    return !ranges->switching;
}

/* Called under the lock; leaves it until end_switching. */
static void begin_switching(struct ranges *ranges)
{
    ranges->switching = true;
    pthread_mutex_unlock(&ranges->lock);
}

static void end_switching(struct ranges *ranges)
{
    pthread_mutex_lock(&ranges->lock);
    ranges->switching = false;
    pthread_cond_broadcast(&ranges->changed);
}

static bool is_settled(const struct recorder *recorder)
{
    const struct ranges *ranges = &recorder->ranges;

    return ranges->on == switch_is_wanted(recorder) && ranges->over == ranges->retired;
}

void range_settle(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;

    pthread_mutex_lock(&ranges->lock);
    struct timespec limit = mp_monotonic_in(patience(ranges));
    while (may_switch(ranges, &limit) && !is_settled(recorder)) {
        bool on = switch_is_wanted(recorder);
        bool over = ranges->over;

        begin_switching(ranges);
        switch_kinds(recorder, on, over);
        end_switching(ranges);
        ranges->on = on;
        ranges->retired = over;
    }
    pthread_mutex_unlock(&ranges->lock);
}

bool range_switch(struct gpu *gpu, void (*how)(struct gpu *gpu))
{
    struct recorder *recorder = recorder_of(gpu);
    struct ranges *ranges = &recorder->ranges;

    pthread_mutex_lock(&ranges->lock);
    struct timespec limit = mp_monotonic_in(patience(ranges));
    bool may = may_switch(ranges, &limit);
    if (may) {
        begin_switching(ranges);
        how(gpu);
        end_switching(ranges);
    }
    pthread_mutex_unlock(&ranges->lock);
    if (may)
        range_settle(recorder); /* a thread that waited for too long has left this to us */
    return may;
}

void range_await_posted(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;
    struct timespec limit = mp_monotonic_in(mp_time_limit_ns(MP_TIME_RANGE_SWITCH));

    pthread_mutex_lock(&ranges->lock);
    while (ranges->open && !ranges->posted && await_change(ranges, &limit))
        continue;
    pthread_mutex_unlock(&ranges->lock);
}

/* ---- The end of a range ---- */

/* Under the lock: whether the flusher has done request `number`. A flush brings all records at
 * once, so the writer takes them meanwhile. */
static bool await_as_writer(struct recorder *recorder, uint64_t number)
{
    struct ranges *ranges = &recorder->ranges;
    uint64_t until = mp_monotonic_ns() + patience(ranges);

    while (ranges->left < number && mp_monotonic_ns() < until) {
        pthread_mutex_unlock(&ranges->lock);
        recording_take_next(&recorder->recording);
        pthread_mutex_lock(&ranges->lock);
    }
    return ranges->left >= number;
}

/* Under the lock: waits until the flusher has done request `number`; false when that takes too
 * long. */
static bool await_left(struct recorder *recorder, uint64_t number)
{
    struct ranges *ranges = &recorder->ranges;
    struct timespec limit = mp_monotonic_in(patience(ranges));

    if (pthread_equal(pthread_self(), recorder->writer))
        return await_as_writer(recorder, number);
    while (ranges->left < number && await_change(ranges, &limit))
        continue;
    return ranges->left >= number;
}

bool range_leave(struct recorder *recorder, uint64_t closed, bool renews)
{
    struct ranges *ranges = &recorder->ranges;
    bool done = true;
    bool say = false;

    pthread_mutex_lock(&ranges->lock);
    /* At the end of the process there is the last flush. */
    if (core_is_recording(&recorder->gpu.core) && (closed || !is_settled(recorder))) {
        uint64_t number = ++ranges->leaves;

        ranges->flushes |= closed != 0;
        if (renews)
            ranges->renews = closed;
        flusher_wake(&recorder->gpu.flusher);
        done = await_left(recorder, number) || !core_is_recording(&recorder->gpu.core);
        say = !done && !ranges->late_said;
        ranges->late |= !done;
        ranges->late_said |= say;
    }
    pthread_mutex_unlock(&ranges->lock);
    if (say)
        mp_log_warn("CUPTI has not answered for %g s at the end of a capture range: the program "
                    "goes on, the range's last records come later or are missing",
                    mp_time_limit_seconds(MP_TIME_RANGE_SWITCH));
    return done;
}

/* What range_leave has asked for. */
struct leaves {
    uint64_t number;
    bool flushes, renews;
};

/* Whether there is a request. */
static bool take_leaves(struct ranges *ranges, struct leaves *leaves)
{
    pthread_mutex_lock(&ranges->lock);
    bool asked = ranges->left < ranges->leaves;
    *leaves = (struct leaves){ranges->leaves, ranges->flushes, ranges->renews != 0};
    ranges->flushes = false;
    pthread_mutex_unlock(&ranges->lock);
    return asked;
}

/* While this thread switches: a thread that begins another range waits for it. */
static void give_clock(struct gpu *gpu)
{
    struct ranges *ranges = &recorder_of(gpu)->ranges;

    pthread_mutex_lock(&ranges->lock);
    bool between = !ranges->over && ranges->begun == ranges->renews && !ranges->posted;
    ranges->renews = 0;
    pthread_mutex_unlock(&ranges->lock);
    if (between)
        activity_give_clock(gpu);
}

/* Has CUPTI deliver what was launched. */
static void bring_out(struct recorder *recorder, bool renews)
{
    uint64_t answers = clients_answers(&recorder->gpu);

    if (flusher_may_flush(&recorder->gpu)) {
        recorder->gpu.cupti.flush_all(0);
        flush_count_drops(&recorder->gpu);
    }
    if (renews && flush_may_give_clock(&recorder->gpu, answers))
        range_switch(&recorder->gpu, give_clock);
}

void range_serve(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;
    struct leaves leaves;

    if (!take_leaves(ranges, &leaves))
        return;
    if (leaves.flushes && core_is_recording(&recorder->gpu.core))
        bring_out(recorder, leaves.renews);
    if (core_is_recording(&recorder->gpu.core))
        range_settle(recorder);
    pthread_mutex_lock(&ranges->lock);
    ranges->left = leaves.number;
    ranges->late = false;
    pthread_cond_broadcast(&ranges->changed);
    pthread_mutex_unlock(&ranges->lock);
    work_wake(&recorder->gpu.core.work);
}
