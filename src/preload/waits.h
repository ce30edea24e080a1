/* Waits of host threads: libminiprof_preload.so comes before libc's functions that wait and
 * that wake, and tells the recorder of waits longer than MP_WAIT_MIN_NS (base/preload.h).
 *
 *     functions                        file
 *     pthread_cond_*, sem_*            conditions.c
 *     pthread_mutex_*, _rwlock_*       locks.c
 *     pthread_join, _barrier_wait      threads.c
 *     poll, epoll_wait, select         polls.c
 *     read, write, eventfd, pipe ...   files.c
 *     nanosleep, usleep                threads.c
 *     syscall, of which SYS_futex      syscall.c
 *
 * Rules for all of them:
 *   - While the recorder does not ask, they call the function behind them at once, and cost a
 *     comparison. A forked child is not asked.
 *   - They call the function behind them, by the same name, once (preload/next.h). Only where that
 *     is libc's, a lock that is free is taken by libc's function that tries: nothing is timed then.
 *   - They take no lock, allocate nothing, keep errno and have no state of the thread. So they may
 *     run in signal handlers and are cancelled as the functions behind them are.
 */
#ifndef MP_PRELOAD_WAITS_H
#define MP_PRELOAD_WAITS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/preload.h"
#include "preload/next.h"
#include "preload/objects.h"

/* What a lock that is taken needs: apart, so that one that is free needs no frame on the stack. */
#define WAITS_APART __attribute__((noinline))

/* Whether the recorder asks for waits. */
static inline bool waits_asked(void)
{
    return atomic_load_explicit(&miniprof_preload.waited, memory_order_acquire) != NULL;
}

/* Whether a call from this address is the recorder's own or CUPTI's. */
bool waits_left_alone(const void *caller);

/* Whether a call that waits is to be reported. */
static inline bool waits_wanted(const void *caller)
{
    return waits_asked() && !waits_left_alone(caller);
}

/* This thread is about to wake who waits for the object. */
static inline void waits_wake(const void *object)
{
    if (waits_asked())
        objects_wake((uint64_t)(uintptr_t)object);
}

struct waiting {
    uint64_t begin;
    uint64_t object;
    struct waited_object *place;
    enum mp_preload_wait_kind kind;
};

/* Around a call that waits. `woken`: it waited for a waker, and that one came. */
void waits_begin(struct waiting *waiting, enum mp_preload_wait_kind kind, const void *object);
void waits_end(struct waiting *waiting, bool woken);

/* Instead of waits_end when the thread is cancelled: a cleanup handler. */
void waits_abandon(void *waiting);

/* Tells the recorder. `stamp`: of the waker, 0 for none; one from before `begin` does not count. */
void waits_tell(enum mp_preload_wait_kind kind, uint64_t object, uint64_t begin, uint64_t end,
                uint64_t stamp);

/* glibc's own. pthread_cleanup_push of C leaves the thread a pointer into this frame, which dangles
 * once a signal handler has left the wait by siglongjmp. These two siglongjmp knows of: it runs the
 * handler. */
void _pthread_cleanup_push(struct _pthread_cleanup_buffer *buffer, void (*handler)(void *data),
                           void *data);
void _pthread_cleanup_pop(struct _pthread_cleanup_buffer *buffer, int run);

/* `result` = CALL, a cancellation point. When it is cancelled or left by siglongjmp, `waiting`
 * leaves the table. */
#define WAITS_CANCELLABLE(waiting, result, CALL)                                                   \
    do {                                                                                           \
        struct _pthread_cleanup_buffer buffer;                                                     \
                                                                                                   \
        LIBC(_pthread_cleanup_push)(&buffer, waits_abandon, waiting);                              \
        (result) = (CALL);                                                                         \
        LIBC(_pthread_cleanup_pop)(&buffer, 0);                                                    \
    } while (0)

#endif
