/* See range_switch.h. */
#include "record/range_switch.h"

#include <time.h>

#include "record/nvtx_watch.h"
#include "record/state.h"

#include "base/poison.h"

#define WAIT_SECONDS 1

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
    limit.tv_sec += WAIT_SECONDS;
    return limit;
}

/* Under the lock: waits until no other thread switches; false when one does for too long. */
static bool may_switch(struct ranges *ranges, const struct timespec *limit)
{
    int error = 0;

    while (ranges->switching && !error)
        error = pthread_cond_timedwait(&ranges->changed, &ranges->lock, limit);
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
    pthread_cond_broadcast(&ranges->changed);
}

static bool is_settled(const struct ranges *ranges)
{
    return ranges->on == is_wanted(ranges) && ranges->over == ranges->retired;
}

void range_settle(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;
    struct timespec limit = patience();

    pthread_mutex_lock(&ranges->lock);
    while (may_switch(ranges, &limit) && !is_settled(ranges)) {
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

void range_await_posted(struct recorder *recorder)
{
    struct ranges *ranges = &recorder->ranges;
    struct timespec limit = patience();
    int error = 0;

    pthread_mutex_lock(&ranges->lock);
    while (ranges->open && !ranges->posted && !error)
        error = pthread_cond_timedwait(&ranges->changed, &ranges->lock, &limit);
    pthread_mutex_unlock(&ranges->lock);
}
