/* Calls each function that libminiprof_preload.so stands in front of, where it has to wait and
 * where not, and prints the results. A library in front (tests/e2e/preload/counted.c) counts the
 * calls of the main thread. While that calls the driver, only the driver's functions are counted:
 * the recorder works in that thread too. With the argument `gpu` the driver is started first.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <cuda.h>
#include <cudaProfiler.h>
#endif

#include "asleep.h"

/* linux/futex.h, which musl-gcc does not find. */
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

#define CALL(name, ...)  printf(#name " %ld\n", (long)name(__VA_ARGS__))
#define FOUND(name, ...) printf(#name " %d\n", (name(__VA_ARGS__)) >= 0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static atomic_int word;
static int ends[2];
static const struct timespec past = {1, 0}, never = {4000000000, 0};

/* ---- Calls that wait: until a helper, which may hold a lock, sees the main thread asleep ---- */

struct help {
    void (*hold)(void);
    void (*release)(void);
};

static atomic_int is_held, is_about_to_wait;

static void *help(void *argument)
{
    const struct help *how = argument;

    if (how->hold)
        how->hold();
    is_held = 1;
    while (!is_about_to_wait)
        sched_yield();
    await_asleep(getpid());
    how->release();
    return NULL;
}

static pthread_t start(struct help *how)
{
    pthread_t thread;

    is_held = is_about_to_wait = 0;
    if (pthread_create(&thread, NULL, help, how) != 0)
        exit(1);
    while (!is_held)
        sched_yield();
    is_about_to_wait = 1;
    return thread;
}

#define WAIT(hold, release, name, ...)                                                             \
    do {                                                                                           \
        struct help how = {hold, release};                                                         \
        pthread_t thread = start(&how);                                                            \
                                                                                                   \
        CALL(name, __VA_ARGS__);                                                                   \
        pthread_join(thread, NULL);                                                                \
    } while (0)

static void nothing(void)
{
}

static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

static void write_lock(void)
{
    pthread_rwlock_wrlock(&rwlock);
}

static void unlock_rwlock(void)
{
    pthread_rwlock_unlock(&rwlock);
}

static void post(void)
{
    sem_post(&semaphore);
}

static void signal_condition(void)
{
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
}

static void meet(void)
{
    pthread_barrier_wait(&barrier);
}

static void wake(void)
{
    word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void write_byte(void)
{
    if (write(ends[1], "x", 1) != 1)
        exit(1);
}

/* ---- Locks ---- */

static void lock_kind(int type, int robust, int protocol)
{
    pthread_mutexattr_t kind;
    pthread_mutex_t other;

    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, type);
    pthread_mutexattr_setrobust(&kind, robust);
    pthread_mutexattr_setprotocol(&kind, protocol);
    printf("kind %d\n", pthread_mutex_init(&other, &kind));
    for (int i = 0; i < 10; i++) {
        CALL(pthread_mutex_lock, &other);
        CALL(pthread_mutex_unlock, &other);
    }
    CALL(pthread_mutex_timedlock, &other, &past);
    if (type != PTHREAD_MUTEX_NORMAL)
        CALL(pthread_mutex_lock, &other);
    CALL(pthread_mutex_trylock, &other);
    CALL(pthread_mutex_unlock, &other);
}

static void lock_mutexes(void)
{
    lock_kind(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    lock_kind(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    lock_kind(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    lock_kind(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    lock_kind(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
    WAIT(lock, unlock, pthread_mutex_lock, &mutex);
    CALL(pthread_mutex_unlock, &mutex);
    WAIT(lock, unlock, pthread_mutex_timedlock, &mutex, &never);
    CALL(pthread_mutex_unlock, &mutex);
#ifdef __GLIBC__
    WAIT(lock, unlock, pthread_mutex_clocklock, &mutex, CLOCK_MONOTONIC, &never);
    CALL(pthread_mutex_clocklock, &mutex, CLOCK_MONOTONIC, &past);
    CALL(pthread_mutex_unlock, &mutex);
#endif
}

static void lock_rwlocks(void)
{
    for (int i = 0; i < 10; i++) {
        CALL(pthread_rwlock_rdlock, &rwlock);
        CALL(pthread_rwlock_unlock, &rwlock);
        CALL(pthread_rwlock_wrlock, &rwlock);
        CALL(pthread_rwlock_unlock, &rwlock);
    }
    CALL(pthread_rwlock_tryrdlock, &rwlock);
    CALL(pthread_rwlock_trywrlock, &rwlock);
    CALL(pthread_rwlock_timedrdlock, &rwlock, &never);
    CALL(pthread_rwlock_timedwrlock, &rwlock, &past);
#ifdef __GLIBC__
    CALL(pthread_rwlock_clockrdlock, &rwlock, CLOCK_MONOTONIC, &never);
    CALL(pthread_rwlock_clockwrlock, &rwlock, CLOCK_MONOTONIC, &past);
    CALL(pthread_rwlock_unlock, &rwlock);
#endif
    CALL(pthread_rwlock_unlock, &rwlock);
    CALL(pthread_rwlock_unlock, &rwlock);
    WAIT(write_lock, unlock_rwlock, pthread_rwlock_rdlock, &rwlock);
    CALL(pthread_rwlock_unlock, &rwlock);
    WAIT(write_lock, unlock_rwlock, pthread_rwlock_wrlock, &rwlock);
    CALL(pthread_rwlock_unlock, &rwlock);
}

static void use_semaphores(void)
{
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 10; i++) {
        CALL(sem_post, &semaphore);
        CALL(sem_wait, &semaphore);
    }
    CALL(sem_trywait, &semaphore);
    CALL(sem_timedwait, &semaphore, &past);
    WAIT(NULL, post, sem_wait, &semaphore);
    WAIT(NULL, post, sem_timedwait, &semaphore, &never);
#ifdef __GLIBC__
    WAIT(NULL, post, sem_clockwait, &semaphore, CLOCK_MONOTONIC, &never);
#endif
}

/* ---- Other threads ---- */

static void use_conditions(void)
{
    CALL(pthread_cond_signal, &condition);
    CALL(pthread_cond_broadcast, &condition);
    lock();
    WAIT(NULL, signal_condition, pthread_cond_wait, &condition, &mutex);
    WAIT(NULL, signal_condition, pthread_cond_timedwait, &condition, &mutex, &never);
    CALL(pthread_cond_timedwait, &condition, &mutex, &past);
#ifdef __GLIBC__
    CALL(pthread_cond_clockwait, &condition, &mutex, CLOCK_MONOTONIC, &past);
#endif
    unlock();
}

static void await_threads(void)
{
    struct help how = {NULL, nothing};
    pthread_t thread;

    CALL(pthread_join, start(&how), NULL);
#ifdef __GLIBC__
    CALL(pthread_timedjoin_np, start(&how), NULL, &never);
    CALL(pthread_clockjoin_np, start(&how), NULL, CLOCK_MONOTONIC, &never);
#endif
    pthread_barrier_init(&barrier, NULL, 2);
    how.release = meet;
    thread = start(&how);
    printf("pthread_barrier_wait %d\n", pthread_barrier_wait(&barrier) > 0);
    pthread_join(thread, NULL);
}

/* ---- Files, sleeps, system calls ---- */

static void use_files(void)
{
    int pairs[2], event;
    eventfd_t value;
    char byte;

    CALL(pipe, ends);
    CALL(pipe2, pairs, 0);
    CALL(dup2, pairs[0], 500);
    CALL(dup3, pairs[0], 501, 0);
    CALL(close, 500);
#ifdef __GLIBC__
    CALL(close_range, 501, 502, 0);
#else
    CALL(close, 501);
#endif
    CALL(close, pairs[0]);
    CALL(close, pairs[1]);
    CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, pairs);
    CALL(send, pairs[0], "a", 1, 0);
    CALL(read, pairs[1], &byte, 1);
    FOUND(event = eventfd, 0, 0);
    CALL(eventfd_write, event, 3);
    CALL(eventfd_read, event, &value);
    CALL(write, ends[1], "b", 1);
    CALL(read, ends[0], &byte, 1);
    WAIT(NULL, write_byte, read, ends[0], &byte, 1);
#ifdef __GLIBC__
    write_byte();
    ssize_t __read_chk(int, void *, size_t, size_t);
    CALL(__read_chk, ends[0], &byte, 1, sizeof byte);
#endif
}

static void poll_files(void)
{
    struct pollfd file = {.events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN};
    struct timespec zero = {0, 0};
    struct timeval no_time = {0, 0};
    fd_set set;
    char byte;
    int epoll;

    file.fd = ends[0];
    CALL(poll, &file, 1, 0);
    CALL(ppoll, &file, 1, &zero, NULL);
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    CALL(select, ends[0] + 1, &set, NULL, NULL, &no_time);
    FD_SET(ends[0], &set);
    CALL(pselect, ends[0] + 1, &set, NULL, NULL, &zero, NULL);
    FOUND(epoll = epoll_create1, 0);
    CALL(epoll_ctl, epoll, EPOLL_CTL_ADD, ends[0], &event);
    CALL(epoll_wait, epoll, &event, 1, 0);
    WAIT(NULL, write_byte, poll, &file, 1, -1);
    CALL(epoll_pwait, epoll, &event, 1, -1, NULL);
#ifdef __GLIBC__
    int __poll_chk(struct pollfd *, nfds_t, int, size_t);
    int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
    CALL(epoll_pwait2, epoll, &event, 1, NULL, NULL);
    CALL(__poll_chk, &file, 1, -1, sizeof file);
    CALL(__ppoll_chk, &file, 1, NULL, NULL, sizeof file);
#endif
    CALL(read, ends[0], &byte, 1);
    CALL(close, epoll);
}

static void sleep_and_call(void)
{
    const struct timespec short_time = {0, 1000};

    CALL(nanosleep, &short_time, NULL);
    CALL(clock_nanosleep, CLOCK_MONOTONIC, 0, &short_time, NULL);
    CALL(usleep, 1);
    CALL(sleep, 0);
    printf("syscall %d\n", syscall(SYS_gettid) == getpid());
    CALL(syscall, SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    WAIT(NULL, wake, syscall, SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    printf("dlsym %d\n", dlsym(RTLD_DEFAULT, "getpid") != NULL);
    printf("dlsym %d\n", dlsym(RTLD_DEFAULT, "cuGraphCreate") != NULL);
    printf("dlsym %d\n", dlsym(RTLD_DEFAULT, "cuGraphCreate_v9") != NULL);
}

/* ---- The driver ---- */

#ifdef __GLIBC__
static void run(void *data)
{
    ++*(int *)data;
}

static void call_back(CUstream stream, CUresult result, void *data)
{
    (void)stream;
    (void)result;
    run(data);
}

static void use_graph(CUDA_HOST_NODE_PARAMS params)
{
    CUgraphExec executable;
    CUgraphNode node;
    CUgraph graph;

    CALL(cuGraphCreate, &graph, 0);
    CALL(cuGraphAddHostNode, &node, graph, NULL, 0, &params);
    CALL(cuGraphHostNodeSetParams, node, &params);
    CALL(cuGraphHostNodeGetParams, node, &params);
    CALL(cuGraphInstantiateWithFlags, &executable, graph, 0);
    CALL(cuGraphExecHostNodeSetParams, executable, node, &params);
    CALL(cuGraphLaunch, executable, NULL);
    CALL(cuStreamSynchronize, NULL);
}

static void use_driver(void)
{
    CUgraph graph = NULL;
    CUcontext context;
    CUstream stream;
    int runs = 0;

    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    CALL(cuProfilerStart);
    CALL(cuLaunchHostFunc, stream, run, &runs);
    CALL(cuStreamAddCallback, stream, call_back, &runs, 0);
    CALL(cuStreamSynchronize, stream);
    CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CALL(cuStreamEndCapture, stream, &graph);
    use_graph((CUDA_HOST_NODE_PARAMS){run, &runs});
    for (int i = 0; i < 2; i++) {
        const char *names[] = {"cuGraphCreate", "cuDeviceGet"};
        void *found = NULL;
#if CUDA_VERSION >= 12000
        CALL(cuGetProcAddress, names[i], &found, CUDA_VERSION, 0, NULL);
#else
        CALL(cuGetProcAddress, names[i], &found, CUDA_VERSION, 0);
#endif
        printf("found %d\n", found != NULL);
    }
    CALL(cuProfilerStop);
    printf("runs %d\n", runs);
}
#endif

static void call_if_there(const char *name)
{
    void (*function)(void) = NULL;

    *(void **)&function = dlsym(RTLD_DEFAULT, name);
    if (function)
        function();
}

int main(int argc, char **argv)
{
#ifdef __GLIBC__
    if (argc > 1)
        printf("%s %d\n", argv[1], cuInit(0));
#endif
    call_if_there("counted_begin");
    lock_mutexes();
    lock_rwlocks();
    use_semaphores();
    use_conditions();
    await_threads();
    use_files();
    poll_files();
    sleep_and_call();
    call_if_there("counted_end");
#ifdef __GLIBC__
    call_if_there("counted_begin");
    use_driver();
    call_if_there("counted_end_driver");
#endif
    (void)argc;
    (void)argv;
    return 5;
}
