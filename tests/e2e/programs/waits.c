/* Waits in every way that libminiprof_preload.so notices. In each way one thread waits, and another
 * one wakes it 20 ms after it has fallen asleep; who did is printed:
 *
 *     waits [WAY...]    a line for each way, or for all: WAY KIND TID-OF-WAITER TID-OF-WAKER OBJECT
 *
 * TID 0: nobody wakes it. OBJECT is the address or the file number as the trace has it, 0 where it
 * is not known. CUDA is started first, so that there is a recording.
 */
#include <cuda.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"

#define PAUSE_US 20000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t other;
static sem_t semaphore;
static _Atomic uint32_t word;
static int event, ends[2], pair[2], epoll;
static bool woken;
static uint64_t value;

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "waits: %s failed: %s\n", what, strerror(errno));
    exit(1);
}

static struct timespec in_a_minute(clockid_t clock)
{
    struct timespec limit;

    clock_gettime(clock, &limit);
    limit.tv_sec += 60;
    return limit;
}

/* ---- Conditions ---- */

static void signal_condition(void)
{
    pthread_mutex_lock(&mutex);
    woken = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
}

static void broadcast(void)
{
    pthread_mutex_lock(&mutex);
    woken = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

static void cond_wait(void)
{
    pthread_mutex_lock(&mutex);
    while (!woken)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void cond_timedwait(void)
{
    const struct timespec limit = in_a_minute(CLOCK_REALTIME);

    pthread_mutex_lock(&mutex);
    while (!woken)
        pthread_cond_timedwait(&condition, &mutex, &limit);
    pthread_mutex_unlock(&mutex);
}

static void cond_clockwait(void)
{
    const struct timespec limit = in_a_minute(CLOCK_MONOTONIC);

    pthread_mutex_lock(&mutex);
    while (!woken)
        pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &limit);
    pthread_mutex_unlock(&mutex);
}

static void cond_timeout(void)
{
    struct timespec limit;

    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += 30000000;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    need(pthread_cond_timedwait(&condition, &mutex, &limit) == ETIMEDOUT, "a timeout");
    pthread_mutex_unlock(&mutex);
}

/* ---- Locks ---- */

static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

static void mutex_lock(void)
{
    lock();
    unlock();
}

static void mutex_timedlock(void)
{
    const struct timespec limit = in_a_minute(CLOCK_REALTIME);

    need(pthread_mutex_timedlock(&mutex, &limit) == 0, "pthread_mutex_timedlock");
    unlock();
}

static void mutex_clocklock(void)
{
    const struct timespec limit = in_a_minute(CLOCK_MONOTONIC);

    need(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &limit) == 0, "pthread_mutex_clocklock");
    unlock();
}

/* The waiting thread's mutex is released by a wait for a condition. */
static void release_by_wait(void)
{
    struct timespec limit = {.tv_sec = 1};

    pthread_cond_timedwait(&condition, &mutex, &limit);
    unlock();
}

static void write_lock(void)
{
    pthread_rwlock_wrlock(&rwlock);
}

static void read_lock(void)
{
    pthread_rwlock_rdlock(&rwlock);
}

static void release(void)
{
    pthread_rwlock_unlock(&rwlock);
}

static void rdlock(void)
{
    need(pthread_rwlock_rdlock(&rwlock) == 0, "pthread_rwlock_rdlock");
    release();
}

static void wrlock(void)
{
    need(pthread_rwlock_wrlock(&rwlock) == 0, "pthread_rwlock_wrlock");
    release();
}

static void timedrdlock(void)
{
    const struct timespec limit = in_a_minute(CLOCK_REALTIME);

    need(pthread_rwlock_timedrdlock(&rwlock, &limit) == 0, "pthread_rwlock_timedrdlock");
    release();
}

static void timedwrlock(void)
{
    const struct timespec limit = in_a_minute(CLOCK_REALTIME);

    need(pthread_rwlock_timedwrlock(&rwlock, &limit) == 0, "pthread_rwlock_timedwrlock");
    release();
}

static void clockrdlock(void)
{
    const struct timespec limit = in_a_minute(CLOCK_MONOTONIC);

    need(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &limit) == 0, "clockrdlock");
    release();
}

static void clockwrlock(void)
{
    const struct timespec limit = in_a_minute(CLOCK_MONOTONIC);

    need(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &limit) == 0, "clockwrlock");
    release();
}

/* ---- Threads ---- */

static void nothing(void)
{
}

static void join(void)
{
    pthread_join(other, NULL);
    other = 0;
}

static void timedjoin(void)
{
    const struct timespec limit = in_a_minute(CLOCK_REALTIME);

    need(pthread_timedjoin_np(other, NULL, &limit) == 0, "pthread_timedjoin_np");
    other = 0;
}

static void clockjoin(void)
{
    const struct timespec limit = in_a_minute(CLOCK_MONOTONIC);

    need(pthread_clockjoin_np(other, NULL, CLOCK_MONOTONIC, &limit) == 0, "pthread_clockjoin_np");
    other = 0;
}

static void arrive(void)
{
    pthread_barrier_wait(&barrier);
}

/* ---- Semaphores ---- */

static void post(void)
{
    sem_post(&semaphore);
}

static void wait_semaphore(void)
{
    need(sem_wait(&semaphore) == 0, "sem_wait");
}

static void timedwait_semaphore(void)
{
    const struct timespec limit = in_a_minute(CLOCK_REALTIME);

    need(sem_timedwait(&semaphore, &limit) == 0, "sem_timedwait");
}

static void clockwait_semaphore(void)
{
    const struct timespec limit = in_a_minute(CLOCK_MONOTONIC);

    need(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &limit) == 0, "sem_clockwait");
}

/* ---- Files ---- */

static void write_event(void)
{
    const uint64_t one = 1;

    need(write(event, &one, sizeof one) == sizeof one, "write");
}

static void add_event(void)
{
    eventfd_write(event, 1);
}

static void write_pipe(void)
{
    need(write(ends[1], "x", 1) == 1, "write");
}

static void send_pair(void)
{
    need(send(pair[1], "x", 1, 0) == 1, "send");
}

static void read_event(void)
{
    need(read(event, &value, sizeof value) == sizeof value, "read");
}

static void take_event(void)
{
    eventfd_t taken;

    need(eventfd_read(event, &taken) == 0, "eventfd_read");
}

static void read_pipe(void)
{
    char byte;

    need(read(ends[0], &byte, 1) == 1, "read");
}

static void poll_event(void)
{
    struct pollfd files[] = {{ends[0], POLLIN, 0}, {event, POLLIN, 0}};

    need(poll(files, 2, 60000) == 1, "poll");
    read_event();
}

static void ppoll_event(void)
{
    struct pollfd file = {event, POLLIN, 0};

    need(ppoll(&file, 1, NULL, NULL) == 1, "ppoll");
    read_event();
}

static void poll_pair(void)
{
    struct pollfd file = {pair[0], POLLIN, 0};
    char byte;

    need(poll(&file, 1, -1) == 1, "poll");
    need(recv(pair[0], &byte, 1, 0) == 1, "recv");
}

static void epoll_event(void)
{
    struct epoll_event found;

    need(epoll_wait(epoll, &found, 1, 60000) == 1, "epoll_wait");
    read_event();
}

static void epoll_pwait_event(void)
{
    struct epoll_event found;

    need(epoll_pwait(epoll, &found, 1, 60000, NULL) == 1, "epoll_pwait");
    read_event();
}

static void epoll_pwait2_event(void)
{
    struct epoll_event found;

    need(epoll_pwait2(epoll, &found, 1, NULL, NULL) == 1, "epoll_pwait2");
    read_event();
}

static void select_event(void)
{
    fd_set reads;

    FD_ZERO(&reads);
    FD_SET(event, &reads);
    need(select(event + 1, &reads, NULL, NULL, NULL) == 1, "select");
    read_event();
}

static void pselect_event(void)
{
    fd_set reads;

    FD_ZERO(&reads);
    FD_SET(event, &reads);
    need(pselect(event + 1, &reads, NULL, NULL, NULL, NULL) == 1, "pselect");
    read_event();
}

/* ---- Futexes and sleeping ---- */

static void wake_word(void)
{
    atomic_store(&word, 1);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wake_bits(void)
{
    atomic_store(&word, 1);
    syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void wake_both(void)
{
    static uint32_t unused;

    atomic_store(&word, 1);
    syscall(SYS_futex, &unused, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1L, &word,
            FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 1));
}

static void futex_wait(void)
{
    while (!atomic_load(&word))
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void futex_wait_bits(void)
{
    const struct timespec limit = in_a_minute(CLOCK_MONOTONIC);

    while (!atomic_load(&word))
        syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &limit, NULL,
                FUTEX_BITSET_MATCH_ANY);
}

static void lock_word(void)
{
    need(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0, "LOCK_PI");
}

static void unlock_word(void)
{
    need(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0, "UNLOCK_PI");
}

static void lock_and_unlock_word(void)
{
    lock_word();
    unlock_word();
}

static void sleep_nano(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_US * 1000L}, NULL);
}

static void sleep_clock(void)
{
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = PAUSE_US * 1000L}, NULL);
}

static void sleep_micro(void)
{
    usleep(PAUSE_US);
}

/* ---- All of them ---- */

static const struct way {
    const char *name, *kind;
    void (*hold)(void); /* by the waker, before the wait */
    void (*wait)(void);
    void (*wake)(void); /* NULL: nobody does */
    const void *object; /* its address; NULL: unknown */
    const int *file;    /* or its file */
} ways[] = {
    {"cond_wait", "condition", nothing, cond_wait, signal_condition, &condition, NULL},
    {"cond_timedwait", "condition", nothing, cond_timedwait, signal_condition, &condition, NULL},
    {"cond_clockwait", "condition", nothing, cond_clockwait, signal_condition, &condition, NULL},
    {"cond_broadcast", "condition", nothing, cond_wait, broadcast, &condition, NULL},
    {"cond_timeout", "condition", nothing, cond_timeout, NULL, &condition, NULL},
    {"mutex_lock", "mutex", lock, mutex_lock, unlock, &mutex, NULL},
    {"mutex_timedlock", "mutex", lock, mutex_timedlock, unlock, &mutex, NULL},
    {"mutex_clocklock", "mutex", lock, mutex_clocklock, unlock, &mutex, NULL},
    {"mutex_in_wait", "mutex", lock, mutex_lock, release_by_wait, &mutex, NULL},
    {"rdlock", "rwlock", write_lock, rdlock, release, &rwlock, NULL},
    {"wrlock", "rwlock", read_lock, wrlock, release, &rwlock, NULL},
    {"timedrdlock", "rwlock", write_lock, timedrdlock, release, &rwlock, NULL},
    {"timedwrlock", "rwlock", write_lock, timedwrlock, release, &rwlock, NULL},
    {"clockrdlock", "rwlock", write_lock, clockrdlock, release, &rwlock, NULL},
    {"clockwrlock", "rwlock", write_lock, clockwrlock, release, &rwlock, NULL},
    {"join", "join", nothing, join, nothing, NULL, NULL},
    {"timedjoin", "join", nothing, timedjoin, nothing, NULL, NULL},
    {"clockjoin", "join", nothing, clockjoin, nothing, NULL, NULL},
    {"barrier", "barrier", nothing, arrive, arrive, &barrier, NULL},
    {"sem_wait", "semaphore", nothing, wait_semaphore, post, &semaphore, NULL},
    {"sem_timedwait", "semaphore", nothing, timedwait_semaphore, post, &semaphore, NULL},
    {"sem_clockwait", "semaphore", nothing, clockwait_semaphore, post, &semaphore, NULL},
    {"poll", "poll", nothing, poll_event, write_event, NULL, &event},
    {"ppoll", "poll", nothing, ppoll_event, add_event, NULL, &event},
    {"poll_pair", "poll", nothing, poll_pair, send_pair, NULL, &pair[0]},
    {"epoll_wait", "epoll", nothing, epoll_event, write_event, NULL, &epoll},
    {"epoll_pwait", "epoll", nothing, epoll_pwait_event, add_event, NULL, &epoll},
    {"epoll_pwait2", "epoll", nothing, epoll_pwait2_event, write_event, NULL, &epoll},
    {"select", "select", nothing, select_event, write_event, NULL, &event},
    {"pselect", "select", nothing, pselect_event, add_event, NULL, &event},
    {"read", "read", nothing, read_event, write_event, NULL, &event},
    {"eventfd_read", "read", nothing, take_event, add_event, NULL, &event},
    {"read_pipe", "read", nothing, read_pipe, write_pipe, NULL, &ends[0]},
    {"futex", "futex", nothing, futex_wait, wake_word, &word, NULL},
    {"futex_bitset", "futex", nothing, futex_wait_bits, wake_bits, &word, NULL},
    {"futex_wake_op", "futex", nothing, futex_wait, wake_both, &word, NULL},
    {"futex_pi", "futex", lock_word, lock_and_unlock_word, unlock_word, &word, NULL},
    {"nanosleep", "sleep", nothing, sleep_nano, NULL, NULL, NULL},
    {"clock_nanosleep", "sleep", nothing, sleep_clock, NULL, NULL, NULL},
    {"usleep", "sleep", nothing, sleep_micro, NULL, NULL, NULL},
};

#define WAYS (sizeof ways / sizeof *ways)

static _Atomic int held; /* gettid of the waker that is ready */

static void *wake_main(void *argument)
{
    const struct way *way = argument;

    way->hold();
    atomic_store(&held, gettid());
    await_asleep(getpid());
    usleep(PAUSE_US);
    way->wake();
    return NULL;
}

static void run(const struct way *way)
{
    struct way copy = *way;
    uint64_t object = way->file ? (uint64_t)*way->file : (uint64_t)(uintptr_t)way->object;
    int waker = 0;

    woken = false;
    atomic_store(&word, 0);
    atomic_store(&held, 0);
    if (way->wake) {
        need(pthread_create(&other, NULL, wake_main, &copy) == 0, "pthread_create");
        while (!(waker = atomic_load(&held)))
            sched_yield();
    }
    way->wait();
    if (way->wake && other)
        pthread_join(other, NULL);
    printf("%s %s %d %d 0x%llx\n", way->name, way->kind, (int)gettid(), waker,
           (unsigned long long)object);
}

static void start_cuda(void)
{
    CUcontext context;

    need(cuInit(0) == CUDA_SUCCESS, "cuInit");
    need(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS, "cuDevicePrimaryCtxRetain");
    need(cuCtxSetCurrent(context) == CUDA_SUCCESS, "cuCtxSetCurrent");
}

int main(int argc, char **argv)
{
    struct epoll_event wanted = {.events = EPOLLIN};

    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    event = eventfd(0, 0);
    epoll = epoll_create1(0);
    need(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "pipe");
    epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
    start_cuda();
    for (size_t i = 0; i < WAYS; i++) {
        bool chosen = argc == 1;

        for (int a = 1; a < argc; a++)
            chosen |= strcmp(argv[a], ways[i].name) == 0;
        if (chosen)
            run(&ways[i]);
    }
    return 0;
}
