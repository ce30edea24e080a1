/* Waits for other threads: pthread_join, and pthread_barrier_wait. */
#include <errno.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "preload/waits.h"

#include "base/poison.h"

/* ---- Joining ----
 *
 * The waker is the thread that ends, and its moment is the return from pthread_join. */

/* As moments_thread; 0: it has ended. */
static uint32_t id_of(pthread_t thread)
{
    clockid_t clock;

    if (LIBC(pthread_getcpuclockid)(thread, &clock) != 0)
        return 0;
    uint32_t id = (uint32_t) ~(clock >> 3);
    return id < 1u << STAMP_THREAD_BITS ? id : 0;
}

struct joining {
    uint64_t begin;
    uint32_t id;
};

static struct joining begin_join(pthread_t thread)
{
    return (struct joining){.begin = moments_now(), .id = id_of(thread)};
}

static int end_join(const struct joining *joining, pthread_t thread, int result)
{
    uint64_t end = moments_now();
    bool known = result == 0 && joining->id;

    waits_tell(MP_WAIT_JOIN, (uint64_t)thread, joining->begin, end,
               known ? moments_pack(end, joining->id) : 0);
    return result;
}

SHOWN int pthread_join(pthread_t thread, void **answer)
{
    if (!waits_wanted(CALLER))
        return NEXT(pthread_join)(thread, answer);
    struct joining joining = begin_join(thread);
    return end_join(&joining, thread, NEXT(pthread_join)(thread, answer));
}

SHOWN int pthread_timedjoin_np(pthread_t thread, void **answer, const struct timespec *limit)
{
    if (!waits_wanted(CALLER))
        return NEXT(pthread_timedjoin_np)(thread, answer, limit);
    struct joining joining = begin_join(thread);
    return end_join(&joining, thread, NEXT(pthread_timedjoin_np)(thread, answer, limit));
}

SHOWN int pthread_clockjoin_np(pthread_t thread, void **answer, clockid_t clock,
                               const struct timespec *limit)
{
    if (!waits_wanted(CALLER))
        return NEXT(pthread_clockjoin_np)(thread, answer, clock, limit);
    struct joining joining = begin_join(thread);
    return end_join(&joining, thread, NEXT(pthread_clockjoin_np)(thread, answer, clock, limit));
}

/* ---- Barriers ----
 *
 * Each thread leaves a stamp when it arrives, so the last stamp is the last arriver's, until a
 * quick thread arrives for the next round. So the last arriver, to which glibc returns
 * PTHREAD_BARRIER_SERIAL_THREAD, leaves one more, of the same moment, in a place of its own. */

static void end_barrier(const struct waiting *waiting, uint64_t last, uint64_t any)
{
    uint64_t end = moments_now();
    bool is_known = last && moments_time_of(last, end) >= waiting->begin;

    waits_tell(waiting->kind, waiting->object, waiting->begin, end, is_known ? last : any);
}

SHOWN int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    const uint64_t last = (uint64_t)(uintptr_t)barrier + 1; /* in the table, a place of its own */
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_barrier_wait)(barrier);
    waits_wake(barrier);
    waits_begin(&waiting, MP_WAIT_BARRIER, barrier);
    struct waited_object *place = objects_enter(last);
    int result = NEXT(pthread_barrier_wait)(barrier);
    if (result == PTHREAD_BARRIER_SERIAL_THREAD)
        objects_leave_stamp(last, moments_pack(waiting.begin, moments_thread()));
    uint64_t stamp = objects_leave(last, place);
    uint64_t any = objects_leave(waiting.object, waiting.place);
    if (result != PTHREAD_BARRIER_SERIAL_THREAD) /* which has not waited */
        end_barrier(&waiting, stamp, any);
    return result;
}

/* ---- Sleeps ----
 *
 * Sleeping: waits that nobody ends. Their object is 0.
 */

static void tell(uint64_t begin)
{
    waits_tell(MP_WAIT_SLEEP, 0, begin, moments_now(), 0);
}

SHOWN int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!waits_wanted(CALLER))
        return NEXT(nanosleep)(time, left);
    uint64_t begin = moments_now();
    int result = NEXT(nanosleep)(time, left);
    tell(begin);
    return result;
}

SHOWN int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                          struct timespec *left)
{
    if (!waits_wanted(CALLER))
        return NEXT(clock_nanosleep)(clock, flags, time, left);
    uint64_t begin = moments_now();
    int result = NEXT(clock_nanosleep)(clock, flags, time, left);
    tell(begin);
    return result;
}

SHOWN int usleep(useconds_t us)
{
    if (!waits_wanted(CALLER))
        return NEXT(usleep)(us);
    uint64_t begin = moments_now();
    int result = NEXT(usleep)(us);
    tell(begin);
    return result;
}

SHOWN unsigned sleep(unsigned seconds)
{
    if (!waits_wanted(CALLER))
        return NEXT(sleep)(seconds);
    uint64_t begin = moments_now();
    unsigned result = NEXT(sleep)(seconds);
    tell(begin);
    return result;
}
