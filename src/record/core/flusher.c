/* How the flusher is asked, woken, awaited and stopped. What it does is in
 * process/flusher_thread.c.
 */
#include "record/core/flusher.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/settings/time_limits.h"
#include "record/core/clock.h"

#include "base/poison.h"

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
