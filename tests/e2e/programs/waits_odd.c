/* Programs that wait in odd ways: from signal handlers, cancelled, in children, in libraries that
 * come late, with mutexes of all kinds, before main. What each prints is the same with a library in
 * front of the functions that wait, and without.
 *
 *     waits_odd CASE...    LIBRARY (of tests/e2e/preload/waiter.c) comes from $WAITER
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"

extern char **environ;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static void need(bool good, const char *what)
{
    if (good)
        return;
    printf("failed: %s (%s)\n", what, strerror(errno));
    fflush(stdout);
    exit(1);
}

static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec limit;

    clock_gettime(clock, &limit);
    limit.tv_nsec += ms * 1000000;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    return limit;
}

/* ---- Before any constructor ---- */

static int early;

static void run_early(void)
{
    pthread_mutex_lock(&mutex);
    early += pthread_mutex_trylock(&mutex) == EBUSY;
    pthread_mutex_unlock(&mutex);
    early += usleep(100) == 0;
    early += sem_init(&semaphore, 0, 1) == 0 && sem_wait(&semaphore) == 0;
    early += pthread_cond_signal(&condition) == 0;
    early += poll(NULL, 0, 1) == 0;
}

__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = run_early;

static void before_main(void)
{
    printf("calls before all constructors that worked: %d\n", early);
}

/* ---- Many threads ---- */

#define CROWD 1000

static sem_t chain[CROWD + 1];
static pthread_barrier_t together;
static long arrived;

static void *crowd_main(void *argument)
{
    long place = (long)argument;

    sem_wait(&chain[place]);
    pthread_mutex_lock(&mutex);
    arrived += place;
    pthread_mutex_unlock(&mutex);
    sem_post(&chain[place + 1]);
    pthread_barrier_wait(&together);
    return NULL;
}

static void crowd(void)
{
    static pthread_t threads[CROWD];
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&together, NULL, CROWD);
    for (long i = 0; i <= CROWD; i++)
        sem_init(&chain[i], 0, 0);
    for (long i = 0; i < CROWD; i++)
        need(pthread_create(&threads[i], &small, crowd_main, (void *)i) == 0, "pthread_create");
    sem_post(&chain[0]);
    sem_wait(&chain[CROWD]);
    for (long i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    printf("sum of the places: %ld\n", arrived);
}

/* ---- Signals ---- */

static void on_alarm(int number)
{
    (void)number;
    sem_post(&semaphore);
}

static sigjmp_buf place_to_go;

static void on_alarm_jump(int number)
{
    (void)number;
    siglongjmp(place_to_go, 1);
}

static void alarm_in(long us)
{
    struct itimerval timer = {.it_value = {.tv_usec = us}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

static void *interrupt_main(void *unused)
{
    (void)unused;
    await_asleep(getpid());
    tgkill(getpid(), getpid(), SIGALRM);
    return NULL;
}

/* Sends SIGALRM to the main thread once it sleeps. */
static pthread_t interrupt_asleep(void)
{
    pthread_t thread;

    need(pthread_create(&thread, NULL, interrupt_main, NULL) == 0, "pthread_create");
    errno = 0;
    return thread;
}

static void handler(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    pthread_t thread;
    int result;

    sem_init(&semaphore, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    thread = interrupt_asleep();
    result = sem_wait(&semaphore);
    printf("sem_wait and its handler: %d %s\n", result, errno == EINTR ? "EINTR" : "");
    pthread_join(thread, NULL);
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    sem_init(&semaphore, 0, 0);
    thread = interrupt_asleep();
    printf("with SA_RESTART: %d\n", sem_wait(&semaphore));
    pthread_join(thread, NULL);
    thread = interrupt_asleep();
    result = poll(NULL, 0, 60000);
    printf("poll: %d %s\n", result, errno == EINTR ? "EINTR" : "");
    pthread_join(thread, NULL);
}

static void jump(void)
{
    struct sigaction action = {.sa_handler = on_alarm_jump};
    volatile int jumps = 0;

    sigaction(SIGALRM, &action, NULL);
    sem_init(&semaphore, 0, 0);
    for (volatile int i = 0; i < 200; i++) {
        if (sigsetjmp(place_to_go, 1)) {
            jumps++;
            continue;
        }
        alarm_in(500);
        sem_wait(&semaphore);
    }
    sem_post(&semaphore);
    printf("jumps out of sem_wait: %d, and then %d\n", jumps, sem_wait(&semaphore));
}

/* Overwrites where the frames of the waits were. */
static void use_stack(void)
{
    char bytes[8192];

    memset(bytes, 0x5a, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

static atomic_bool can_jump;

static void *jump_and_exit_main(void *argument)
{
    if (!sigsetjmp(place_to_go, 1)) {
        can_jump = true;
        sem_wait(&semaphore);
    }
    use_stack();
    pthread_exit(argument);
}

static void *jump_and_cancel_main(void *argument)
{
    pthread_mutex_lock(&mutex);
    if (!sigsetjmp(place_to_go, 1)) {
        can_jump = true;
        pthread_cond_wait(&condition, &mutex);
    }
    use_stack();
    pthread_mutex_unlock(&mutex);
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return argument;
}

/* A thread that has left a wait by siglongjmp ends, by pthread_exit or cancelled. */
static void jump_and_end(void)
{
    static void *(*const ways[])(void *) = {jump_and_exit_main, jump_and_cancel_main};
    struct sigaction action = {.sa_handler = on_alarm_jump};
    void *answers[2];

    sigaction(SIGUSR1, &action, NULL);
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;

        can_jump = false;
        pthread_create(&thread, NULL, ways[i], &semaphore);
        while (!can_jump)
            usleep(1000);
        usleep(20000);
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, &answers[i]);
    }
    printf("jumped, then ended: %d %d\n", answers[0] == &semaphore, answers[1] == PTHREAD_CANCELED);
}

/* ---- Cancellation ---- */

static _Atomic int cleaned;

static void clean_up(void *locked)
{
    cleaned++;
    if (locked)
        pthread_mutex_unlock(locked);
}

static int ends[2];

static void cancel_in_condition(void)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean_up, &mutex);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
}

static void cancel_in_timed_condition(void)
{
    struct timespec limit = in_ms(CLOCK_REALTIME, 60000);

    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean_up, &mutex);
    for (;;)
        pthread_cond_timedwait(&condition, &mutex, &limit);
    pthread_cleanup_pop(0);
}

static char byte;

#define CANCELLED_IN(name, CALL)                                                                   \
    static void name(void)                                                                         \
    {                                                                                              \
        pthread_cleanup_push(clean_up, NULL);                                                      \
        if (CALL)                                                                                  \
            byte = 0;                                                                              \
        pthread_cleanup_pop(0);                                                                    \
    }

CANCELLED_IN(cancel_in_semaphore, sem_wait(&semaphore))
CANCELLED_IN(cancel_in_read, read(ends[0], &byte, 1))
CANCELLED_IN(cancel_in_poll, poll(&(struct pollfd){ends[0], POLLIN, 0}, 1, -1))
CANCELLED_IN(cancel_in_sleep, usleep(60000000))

static void *cancelled_main(void *argument)
{
    (*(void (*const *)(void))argument)();
    return NULL;
}

/* A cancellation that is pending strikes in sem_wait also if it need not wait. */
static void *pending_main(void *argument)
{
    (void)argument;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    sem_wait(&semaphore);
    return NULL;
}

static void cancel(void)
{
    static void (*const ways[])(void) = {cancel_in_condition, cancel_in_timed_condition,
                                         cancel_in_semaphore, cancel_in_read,
                                         cancel_in_poll,      cancel_in_sleep};
    int cancelled = 0, value;
    pthread_t thread;
    void *answer;

    need(pipe(ends) == 0, "pipe");
    sem_init(&semaphore, 0, 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        void (*way)(void) = ways[i];

        pthread_create(&thread, NULL, cancelled_main, &way);
        usleep(10000);
        pthread_cancel(thread);
        pthread_join(thread, &answer);
        cancelled += answer == PTHREAD_CANCELED;
    }
    printf("cancelled %d, cleaned up %d, mutex is free: %d\n", cancelled, cleaned,
           pthread_mutex_trylock(&mutex) == 0);
    pthread_mutex_unlock(&mutex);
    sem_post(&semaphore);
    pthread_create(&thread, NULL, pending_main, NULL);
    pthread_join(thread, &answer);
    sem_getvalue(&semaphore, &value);
    printf("pending: %s, value %d\n", answer == PTHREAD_CANCELED ? "cancelled" : "not", value);
}

/* ---- Children ---- */

static void *nap(void *argument)
{
    usleep(10000);
    return argument;
}

static void wait_a_bit(void)
{
    struct timespec limit = in_ms(CLOCK_REALTIME, 10);
    pthread_t thread;

    usleep(10000);
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &limit);
    pthread_mutex_unlock(&mutex);
    pthread_create(&thread, NULL, nap, NULL);
    pthread_join(thread, NULL);
}

static int code_of(pid_t child)
{
    int status = 0;

    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void *hold_for_a_while(void *argument)
{
    pthread_mutex_lock(&mutex);
    usleep(50000);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void *write_late(void *argument)
{
    usleep(20000);
    need(write(ends[1], "x", 1) == 1, "write");
    return argument;
}

static void children(void)
{
    static char shell[] = "sh", option[] = "-c", script[] = "sleep 0.01; exit 5";
    char *arguments[] = {shell, option, script, NULL};
    pthread_t waiting, holding;
    pid_t child;

    pthread_create(&holding, NULL, hold_for_a_while, NULL);
    usleep(5000);
    pthread_create(&waiting, NULL, hold_for_a_while, NULL); /* waits while we fork */
    usleep(5000);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        pthread_mutex_init(&mutex, NULL);
        wait_a_bit();
        fprintf(stderr, "child %d\n", (int)getpid());
        _exit(7);
    }
    printf("fork: %d\n", code_of(child));
    pthread_join(holding, NULL);
    pthread_join(waiting, NULL);
    need(pipe(ends) == 0, "pipe");
    /* What a program may not do is tested here too.
     * NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
    child = vfork();
    if (child == 0) {
        close(ends[0]);
        close(ends[1]);
        execv("/bin/sh", arguments);
        _exit(1);
    }
    /* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
    printf("vfork: %d\n", code_of(child));
    pthread_create(&waiting, NULL, write_late, NULL);
    printf("a pipe that the child has closed: %d\n", (int)read(ends[0], &byte, 1));
    pthread_join(waiting, NULL);
    need(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0, "posix_spawn");
    printf("posix_spawn: %d\n", code_of(child));
    /* NOLINTNEXTLINE(cert-env33-c): the command is ours */
    printf("system: %d\n", WEXITSTATUS(system("exit 3")));
}

/* ---- Files in the place of others ---- */

static void *write_elsewhere(void *argument)
{
    usleep(20000);
    need(write(ends[1], "x", 1) == 1, "write"); /* to /dev/null */
    return argument;
}

/* The number of a pipe's write end becomes another file's; what wakes is a copy of the end. */
static void replaced(void)
{
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC), copy;
    pthread_t thread;

    for (int way = 0; way < 2; way++) {
        need(pipe(ends) == 0 && (copy = dup(ends[1])) >= 0, "pipe");
        need((way ? dup3(nothing, ends[1], O_CLOEXEC) : dup2(nothing, ends[1])) == ends[1], "dup");
        pthread_create(&thread, NULL, write_elsewhere, NULL);
        need(poll(&(struct pollfd){ends[0], POLLIN, 0}, 1, 40) == 0, "poll");
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, write_elsewhere, NULL);
        if (fork() == 0) {
            usleep(40000);
            _exit(write(copy, "x", 1) != 1);
        }
        printf("read: %d\n", (int)read(ends[0], &byte, 1));
        pthread_join(thread, NULL);
        wait(NULL);
    }
}

/* ---- Libraries ---- */

static void library(void)
{
    void *handle = dlopen(getenv("WAITER"), RTLD_NOW | RTLD_LOCAL);
    int (*waiter)(void) = NULL;

    need(handle != NULL, "dlopen");
    *(void **)&waiter = dlsym(handle, "waiter_wait");
    printf("a library that comes late: %d\n", waiter());
}

/* ---- Mutexes of all kinds ---- */

static atomic_bool has_lock;

static void *die_with_lock(void *argument)
{
    pthread_mutex_lock(argument);
    has_lock = true;
    usleep(10000);
    return NULL;
}

static void robust(bool repair)
{
    pthread_mutexattr_t kind;
    pthread_mutex_t lock;
    pthread_t thread;
    int first, second;

    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &kind);
    has_lock = false;
    pthread_create(&thread, NULL, die_with_lock, &lock);
    while (!has_lock)
        usleep(1000);
    first = pthread_mutex_lock(&lock); /* waits until the owner dies */
    if (repair)
        pthread_mutex_consistent(&lock);
    pthread_mutex_unlock(&lock);
    second = pthread_mutex_lock(&lock);
    printf("robust: %d then %d\n", first == EOWNERDEAD, second == ENOTRECOVERABLE ? -1 : second);
    pthread_join(thread, NULL);
}

static void kind_of_mutex(int kind, int protocol, const char *name)
{
    struct timespec limit = in_ms(CLOCK_REALTIME, 5), bad = {.tv_nsec = -1};
    pthread_mutexattr_t attributes;
    pthread_mutex_t lock;
    int again, third;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutex_init(&lock, &attributes);
    need(pthread_mutex_timedlock(&lock, &bad) == 0, "a free lock with a bad limit");
    again = kind == PTHREAD_MUTEX_ERRORCHECK || kind == PTHREAD_MUTEX_RECURSIVE
                ? pthread_mutex_lock(&lock)
                : pthread_mutex_timedlock(&lock, &limit);
    third = pthread_mutex_unlock(&lock);
    printf("%s: again %d, unlock %d, ", name, again, third);
    printf("unlock %d\n", kind == PTHREAD_MUTEX_NORMAL && !again ? 0
                          : kind == PTHREAD_MUTEX_ERRORCHECK || kind == PTHREAD_MUTEX_RECURSIVE
                              ? pthread_mutex_unlock(&lock)
                              : 0);
}

static void kinds(void)
{
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec bad = {.tv_nsec = 2000000000};
    sem_t one;

    kind_of_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, "normal");
    kind_of_mutex(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, "adaptive");
    kind_of_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, "error-checking");
    kind_of_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, "recursive");
    kind_of_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, "error-checking, inheriting");
    kind_of_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, "recursive, inheriting");
    robust(true);
    robust(false);
    printf("clocklock by another clock: %d\n",
           pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &bad));
    pthread_rwlock_wrlock(&lock);
    printf("rwlock: %d %d", pthread_rwlock_rdlock(&lock), pthread_rwlock_wrlock(&lock));
    printf(" %d\n", pthread_rwlock_timedrdlock(&lock, &bad));
    sem_init(&one, 0, 1);
    errno = 0;
    printf("sem_timedwait with a bad limit: %d", sem_timedwait(&one, &bad));
    printf(" %s\n", errno == EINVAL ? "EINVAL" : strerror(errno));
}

/* ---- errno ---- */

static void *post_late(void *argument)
{
    usleep(5000);
    sem_post(&semaphore);
    usleep(5000);
    eventfd_write(*(int *)argument, 1);
    return NULL;
}

static void number_of_error(void)
{
    int event = eventfd(0, 0);
    int kept = 0;
    uint64_t value;
    pthread_t thread;

    sem_init(&semaphore, 0, 0);
    pthread_create(&thread, NULL, post_late, &event);
    errno = 1234;
    need(sem_wait(&semaphore) == 0, "sem_wait");
    kept += errno == 1234;
    need(read(event, &value, sizeof value) == sizeof value, "read");
    kept += errno == 1234;
    pthread_join(thread, NULL);
    kept += errno == 1234;
    usleep(3000);
    kept += errno == 1234;
    kept += read(-1, &value, 1) == -1 && errno == EBADF;
    kept += poll(NULL, 0, 5) == 0 && errno == EBADF;
    printf("errno was right %d times of 6\n", kept);
}

/* ---- All of them ---- */

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"before_main", before_main}, {"crowd", crowd},
    {"handler", handler},         {"jump", jump},
    {"cancel", cancel},           {"children", children},
    {"library", library},         {"kinds", kinds},
    {"errno", number_of_error},   {"jump_and_end", jump_and_end},
    {"replaced", replaced},
};

int main(int argc, char **argv)
{
    CUcontext context;

    need(cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS,
         "CUDA");
    for (int a = 1; a < argc; a++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (strcmp(argv[a], cases[i].name) == 0)
                cases[i].run();
    return 0;
}
