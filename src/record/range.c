/* See range.h. */
#include "record/range.h"

#include "record/clock.h"
#include "record/state.h"

#include "base/poison.h"

static void post(struct recorder *recorder, enum work_kind kind, uint32_t correlation)
{
    work_put(&recorder->work,
             &(struct work){.kind = kind, .correlation = correlation, .time = mp_clock_now()});
}

void range_begin(struct recorder *recorder, uint32_t correlation)
{
    if (recorder->config.capture == MP_CAPTURE_RANGE)
        activity_enable(recorder);
    /* Last, so that the time it took is not in the range. */
    post(recorder, WORK_START, correlation);
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

void range_end(struct recorder *recorder, uint32_t correlation)
{
    /* First: what other threads launch from now on is outside. */
    post(recorder, WORK_STOP, correlation);
    synchronize(recorder);
    recorder->cupti.flush_all(0);
    if (recorder->config.capture == MP_CAPTURE_RANGE)
        activity_disable(recorder);
}
