/* The next functions: what the program would call without this library. They are libc's, or those
 * of another library in between.
 *
 * The rule of this whole library: a function of ours calls the next function of the same name once,
 * and no other function that a library in between may have. Such a library may count or check
 * calls, or keep locks of its own. What we need besides is libc's own, which nobody else sees (but
 * for memory, which is the program's allocator's):
 *
 *     NEXT(name)        the next function of that name
 *     TRY(lock, name)   libc's `name`, if NEXT(lock) is libc's; otherwise one that returns EBUSY
 *     LIBC(name)        libc's own
 *
 * They are found without dlsym, which takes locks, may allocate memory, and so may call us. We read
 * the loader's list of libraries and their hash tables instead. So a function of ours works at any
 * moment: before our constructor, inside malloc and dlsym, and in signal handlers.
 *
 * In a process of another libc than glibc, calls are only passed on: there is no recorder.
 */
#ifndef MP_PRELOAD_NEXT_H
#define MP_PRELOAD_NEXT_H

#include <stdatomic.h>
#include <stddef.h>

#define NEXT_FUNCTIONS(X)                                                                          \
    X(pthread_cond_wait)                                                                           \
    X(pthread_cond_timedwait)                                                                      \
    X(pthread_cond_clockwait)                                                                      \
    X(pthread_cond_signal)                                                                         \
    X(pthread_cond_broadcast)                                                                      \
    X(pthread_mutex_lock)                                                                          \
    X(pthread_mutex_timedlock)                                                                     \
    X(pthread_mutex_clocklock)                                                                     \
    X(pthread_mutex_unlock)                                                                        \
    X(pthread_rwlock_rdlock)                                                                       \
    X(pthread_rwlock_timedrdlock)                                                                  \
    X(pthread_rwlock_clockrdlock)                                                                  \
    X(pthread_rwlock_wrlock)                                                                       \
    X(pthread_rwlock_timedwrlock)                                                                  \
    X(pthread_rwlock_clockwrlock)                                                                  \
    X(pthread_rwlock_unlock)                                                                       \
    X(pthread_join)                                                                                \
    X(pthread_timedjoin_np)                                                                        \
    X(pthread_clockjoin_np)                                                                        \
    X(pthread_barrier_wait)                                                                        \
    X(sem_wait)                                                                                    \
    X(sem_timedwait)                                                                               \
    X(sem_clockwait)                                                                               \
    X(sem_post)                                                                                    \
    X(poll)                                                                                        \
    X(ppoll)                                                                                       \
    X(__poll_chk)                                                                                  \
    X(__ppoll_chk)                                                                                 \
    X(epoll_wait)                                                                                  \
    X(epoll_pwait)                                                                                 \
    X(epoll_pwait2)                                                                                \
    X(epoll_ctl)                                                                                   \
    X(select)                                                                                      \
    X(pselect)                                                                                     \
    X(read)                                                                                        \
    X(__read_chk)                                                                                  \
    X(write)                                                                                       \
    X(send)                                                                                        \
    X(close)                                                                                       \
    X(close_range)                                                                                 \
    X(dup2)                                                                                        \
    X(dup3)                                                                                        \
    X(pipe)                                                                                        \
    X(pipe2)                                                                                       \
    X(socketpair)                                                                                  \
    X(eventfd)                                                                                     \
    X(eventfd_read)                                                                                \
    X(eventfd_write)                                                                               \
    X(nanosleep)                                                                                   \
    X(clock_nanosleep)                                                                             \
    X(usleep)                                                                                      \
    X(sleep)                                                                                       \
    X(syscall)                                                                                     \
    X(dlsym)

/* X(LOCK, NAME): differs from LOCK in nothing but that it fails with EBUSY where LOCK waits. */
#define NEXT_TRIES(X)                                                                              \
    X(pthread_mutex_lock, pthread_mutex_trylock)                                                   \
    X(pthread_mutex_timedlock, pthread_mutex_trylock)                                              \
    X(pthread_mutex_clocklock, pthread_mutex_trylock)                                              \
    X(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock)                                             \
    X(pthread_rwlock_wrlock, pthread_rwlock_trywrlock)                                             \
    X(sem_wait, sem_trywait)                                                                       \
    X(sem_timedwait, sem_trywait)

#define NEXT_LIBC(X)                                                                               \
    X(clock_gettime)                                                                               \
    X(dlclose)                                                                                     \
    X(dlopen)                                                                                      \
    X(dlsym)                                                                                       \
    X(gettid)                                                                                      \
    X(mmap)                                                                                        \
    X(munmap)                                                                                      \
    X(pthread_getcpuclockid)                                                                       \
    X(pthread_self)                                                                                \
    X(pthread_testcancel)                                                                          \
    X(syscall)                                                                                     \
    X(_pthread_cleanup_push)                                                                       \
    X(_pthread_cleanup_pop)

enum next_name {
#define NEXT_NAME(name) NEXT_##name,
    NEXT_FUNCTIONS(NEXT_NAME)
#undef NEXT_NAME
#define TRY_NAME(lock, name) TRY_##lock,
        NEXT_TRIES(TRY_NAME)
#undef TRY_NAME
#define LIBC_NAME(name) LIBC_##name,
            NEXT_LIBC(LIBC_NAME)
#undef LIBC_NAME
                NEXT_COUNT
};

extern void *_Atomic next_functions[NEXT_COUNT];

/* Finds it, and remembers it. If libc does not have it: next_missing. */
void *next_find(enum next_name name);

/* A stub for a function that libc lacks: pthread functions return ENOSYS, dlsym returns NULL,
 * others return -1 with errno ENOSYS. */
void *next_missing(const char *name);

/* What TRY is where it does not try. */
int next_busy(void);

static inline void *next_function(enum next_name name)
{
    void *found = atomic_load_explicit(&next_functions[name], memory_order_relaxed);

    return __builtin_expect(found != NULL, 1) ? found : next_find(name);
}

/* Such as NEXT(poll)(files, count, timeout). */
#define NEXT(name)      ((__typeof__(&name))next_function(NEXT_##name))
#define TRY(lock, name) ((__typeof__(&name))next_function(TRY_##lock))
#define LIBC(name)      ((__typeof__(&name))next_function(LIBC_##name))

/* The function of that name that a program would get without this library; NULL: none. */
void *preload_find_next(const char *name);

/* The driver's own function of that name; NULL: it has none, or is not loaded. */
void *preload_find_in_driver(const char *name);

/* What ours look like from outside. */
#define SHOWN  __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

#endif
