/* counted.c: stands in front of each function that libminiprof_preload.so stands in front of, and
 * passes all calls on. It counts those that a thread makes between counted_begin and counted_end,
 * which prints the counts, or counted_end_driver, which prints those of the driver's functions. It
 * is part of a program, linked to it, or in LD_PRELOAD, for any libc.
 *
 * Arguments are integers and pointers, seven at most (syscall), so one kind of function can stand
 * in front of all. Other headers would declare them otherwise.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#define FUNCTIONS(X)                                                                               \
    X(pthread_cond_wait)                                                                           \
    X(pthread_cond_timedwait)                                                                      \
    X(pthread_cond_clockwait)                                                                      \
    X(pthread_cond_signal)                                                                         \
    X(pthread_cond_broadcast)                                                                      \
    X(pthread_mutex_lock)                                                                          \
    X(pthread_mutex_trylock)                                                                       \
    X(pthread_mutex_timedlock)                                                                     \
    X(pthread_mutex_clocklock)                                                                     \
    X(pthread_mutex_unlock)                                                                        \
    X(pthread_rwlock_rdlock)                                                                       \
    X(pthread_rwlock_tryrdlock)                                                                    \
    X(pthread_rwlock_timedrdlock)                                                                  \
    X(pthread_rwlock_clockrdlock)                                                                  \
    X(pthread_rwlock_wrlock)                                                                       \
    X(pthread_rwlock_trywrlock)                                                                    \
    X(pthread_rwlock_timedwrlock)                                                                  \
    X(pthread_rwlock_clockwrlock)                                                                  \
    X(pthread_rwlock_unlock)                                                                       \
    X(pthread_join)                                                                                \
    X(pthread_timedjoin_np)                                                                        \
    X(pthread_clockjoin_np)                                                                        \
    X(pthread_barrier_wait)                                                                        \
    X(pthread_create)                                                                              \
    X(pthread_getcpuclockid)                                                                       \
    X(pthread_self)                                                                                \
    X(pthread_testcancel)                                                                          \
    X(_pthread_cleanup_push)                                                                       \
    X(_pthread_cleanup_pop)                                                                        \
    X(sem_wait)                                                                                    \
    X(sem_trywait)                                                                                 \
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
    X(sleep)                                                                                       \
    X(gettid)                                                                                      \
    X(syscall)                                                                                     \
    X(cuGetProcAddress)                                                                            \
    X(cuGetProcAddress_v2)                                                                         \
    X(cuProfilerStart)                                                                             \
    X(cuProfilerStop)                                                                              \
    X(cuStreamBeginCapture)                                                                        \
    X(cuStreamBeginCapture_ptsz)                                                                   \
    X(cuStreamBeginCapture_v2)                                                                     \
    X(cuStreamBeginCapture_v2_ptsz)                                                                \
    X(cuStreamBeginCaptureToGraph)                                                                 \
    X(cuStreamBeginCaptureToGraph_ptsz)                                                            \
    X(cuStreamEndCapture)                                                                          \
    X(cuStreamEndCapture_ptsz)                                                                     \
    X(cuStreamIsCapturing)                                                                         \
    X(cuStreamIsCapturing_ptsz)                                                                    \
    X(cuGraphCreate)                                                                               \
    X(cuGraphLaunch)                                                                               \
    X(cuGraphLaunch_ptsz)                                                                          \
    X(cuMemcpyAsync)                                                                               \
    X(cuMemcpyAsync_ptsz)                                                                          \
    X(cuMemcpyHtoDAsync_v2)                                                                        \
    X(cuMemcpyHtoDAsync_v2_ptsz)                                                                   \
    X(cuMemcpyDtoHAsync_v2)                                                                        \
    X(cuMemcpyDtoHAsync_v2_ptsz)                                                                   \
    X(cuMemcpyDtoDAsync_v2)                                                                        \
    X(cuMemcpyDtoDAsync_v2_ptsz)                                                                   \
    X(cuMemsetD8Async)                                                                             \
    X(cuMemsetD8Async_ptsz)                                                                        \
    X(cuMemsetD32Async)                                                                            \
    X(cuMemsetD32Async_ptsz)                                                                       \
    X(cuStreamSynchronize)                                                                         \
    X(cuStreamSynchronize_ptsz)                                                                    \
    X(cuCtxSynchronize)                                                                            \
    X(cuCtxSynchronize_v2)                                                                         \
    X(cuEventSynchronize)                                                                          \
    X(cuMemcpy)                                                                                    \
    X(cuMemcpy_ptds)                                                                               \
    X(cuMemcpyHtoD_v2)                                                                             \
    X(cuMemcpyHtoD_v2_ptds)                                                                        \
    X(cuMemcpyDtoH_v2)                                                                             \
    X(cuMemcpyDtoH_v2_ptds)                                                                        \
    X(cuStreamQuery)                                                                               \
    X(cuStreamQuery_ptsz)                                                                          \
    X(cuEventQuery)                                                                                \
    X(cuLaunchHostFunc)                                                                            \
    X(cuLaunchHostFunc_ptsz)                                                                       \
    X(cuStreamAddCallback)                                                                         \
    X(cuStreamAddCallback_ptsz)                                                                    \
    X(cuGraphAddHostNode)                                                                          \
    X(cuGraphHostNodeSetParams)                                                                    \
    X(cuGraphExecHostNodeSetParams)                                                                \
    X(cuGraphHostNodeGetParams)                                                                    \
    X(cuGraphAddNode)                                                                              \
    X(cuGraphAddNode_v2)                                                                           \
    X(cuGraphNodeSetParams)                                                                        \
    X(cuGraphExecNodeSetParams)                                                                    \
    X(cuGraphNodeGetParams)

void counted_begin(void);
void counted_end(void);
void counted_end_driver(void);

typedef long function(long a, long b, long c, long d, long e, long f, long g);

enum {
#define NUMBER(name) NUMBER_##name,
    FUNCTIONS(NUMBER) NUMBER_usleep,
    NUMBER_dlsym,
    COUNT
};

static const char *const names[COUNT] = {
#define NAME(name) #name,
    FUNCTIONS(NAME) "usleep", "dlsym"};

static __thread int counting;
static __thread unsigned counts[COUNT];

/* glibc's dlsym, by a function that nobody stands in front of. musl has none such, and there its
 * dlsym is called as it is. */
static void *find(const char *name)
{
#ifdef __GLIBC__
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *(*real)(void *, const char *) = NULL;

    for (int i = 0; i < 3 && !real; i++)
        *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return real(RTLD_NEXT, name);
#else
    return dlsym(RTLD_NEXT, name);
#endif
}

static function *count(unsigned number)
{
    static void *known[COUNT];
    function *real;

    counts[number] += counting;
    if (!known[number])
        known[number] = find(names[number]);
    *(void **)&real = known[number];
    return real;
}

#define STAND_IN_AS(linkage, own_name, name)                                                       \
    linkage long own_name(long a, long b, long c, long d, long e, long f, long g)                  \
    {                                                                                              \
        return count(NUMBER_##name)(a, b, c, d, e, f, g);                                          \
    }
#define STAND_IN(name)                                                                             \
    function name;                                                                                 \
    STAND_IN_AS(, name, name)
FUNCTIONS(STAND_IN)

/* One whose address glibc's loader has to ask for. It can do so in a library only. */
#if defined(__GLIBC__) && defined(IN_LIBRARY)
STAND_IN_AS(static, chosen_usleep, usleep)

static function *choose(void)
{
    return chosen_usleep;
}

function usleep __attribute__((ifunc("choose")));
#else
STAND_IN(usleep)
#endif

#ifdef __GLIBC__
void *dlsym(void *restrict handle, const char *restrict name)
{
    return (void *)count(NUMBER_dlsym)((long)handle, (long)name, 0, 0, 0, 0, 0);
}
#endif

void counted_begin(void)
{
    counting = 1;
}

static void print(int only_driver)
{
    counting = 0;
    for (int i = 0; i < COUNT; i++) {
        if (!only_driver || (names[i][0] == 'c' && names[i][1] == 'u'))
            printf("counted %s %u\n", names[i], counts[i]);
        counts[i] = 0;
    }
}

void counted_end(void)
{
    print(0);
}

void counted_end_driver(void)
{
    print(1);
}
