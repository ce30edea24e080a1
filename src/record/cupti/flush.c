/* What the flusher does in CUPTI for the writer: it flushes complete buffers, and at times
 * registers the clock again.
 */
#include "record/cupti/flush.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/cupti/gpu.h"

#include "base/poison.h"

/* ---- The flusher: how it is asked, woken, awaited and stopped ---- */

void flusher_rest(struct flusher *flusher, uint32_t seen, const struct timespec *limit)
{
    syscall(SYS_futex, &flusher->woken, FUTEX_WAIT_PRIVATE, seen, limit, NULL, 0);
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

/* ---- Flushes ---- */

void flush_count_drops(struct gpu *gpu)
{
    struct flusher *flusher = &gpu->flusher;
    bool on = atomic_load(&gpu->core.enabled);
    size_t dropped = 0;

    if (gpu->cupti.dropped_records(NULL, 0, &dropped) == CUPTI_SUCCESS)
        atomic_fetch_add(on ? &flusher->dropped : &flusher->dropped_between, dropped);
}

static void flush(struct gpu *gpu)
{
    if (!flusher_may_flush(gpu))
        return;
    gpu->cupti.flush_all(0);
    if (atomic_load(&gpu->flusher.forced))
        gpu->cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    flush_count_drops(gpu);
}

/* Not while another client has CUPTI: this would take away its clock. And only while the kinds are
 * on: clock_then_off in quirks.def. */
bool flush_may_give_clock(struct gpu *gpu, uint64_t answers)
{
    return core_is_recording(&gpu->core) && !atomic_load(&gpu->flusher.forced) &&
           atomic_load(&gpu->core.enabled) && flusher_may_flush(gpu) && clients_hold(gpu, answers);
}

void flush_buffers(struct gpu *gpu, gpu_switch_alone *alone)
{
    uint64_t answers = clients_answers(gpu);

    flush(gpu);
    if (atomic_exchange(&gpu->flusher.gives_clock, false) && flush_may_give_clock(gpu, answers))
        alone(gpu, activity_give_clock);
}
