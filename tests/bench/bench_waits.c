/* What calls cost that may wait or wake, but do not: ns a call, the least of several rounds.
 *
 *     bench_waits [asked]    "NAME NS" lines; asked: the preloaded library is asked for waits
 *
 * waits.sh runs it without libminiprof_preload.so and with it, in turn.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/preload.h"

#define ROUNDS 15
#define CALLS  20000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static uint32_t word;
static int event, zero;

static void lock_and_unlock(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void read_lock_and_unlock(void)
{
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}

static void signal_nobody(void)
{
    pthread_cond_signal(&condition);
}

static void post_and_wait(void)
{
    sem_post(&semaphore);
    sem_wait(&semaphore);
}

static void wake_nobody(void)
{
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_for_another_value(void)
{
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}

static void other_syscall(void)
{
    syscall(SYS_gettid);
}

static void write_event(void)
{
    const uint64_t one = 1;

    if (write(event, &one, sizeof one) < 0)
        abort();
}

static void read_ready(void)
{
    uint64_t value;

    if (read(event, &value, sizeof value) < 0)
        abort();
}

static void read_zero(void)
{
    char byte;

    if (read(zero, &byte, 1) < 0)
        abort();
}

static void poll_ready(void)
{
    struct pollfd file = {zero, POLLIN, 0};

    poll(&file, 1, 1000);
}

static void poll_at_once(void)
{
    struct pollfd file = {zero, POLLIN, 0};

    poll(&file, 1, 0);
}

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
    {"pthread_mutex_lock+unlock", lock_and_unlock},
    {"pthread_rwlock_rdlock+unlock", read_lock_and_unlock},
    {"pthread_cond_signal", signal_nobody},
    {"sem_post+sem_wait", post_and_wait},
    {"syscall(SYS_gettid)", other_syscall},
    {"futex_wake", wake_nobody},
    {"write_to_eventfd", write_event},
    {"poll_without_time", poll_at_once},
    {"read_of_ready_eventfd", read_ready},
    {"read_of_/dev/zero", read_zero},
    {"poll_of_ready_file", poll_ready},
    {"futex_wait_that_returns", wait_for_another_value},
};

static void take_wait(const struct mp_preload_wait *wait)
{
    (void)wait;
}

static void ask(void)
{
    struct mp_preload *preload = dlsym(RTLD_DEFAULT, MP_PRELOAD_SYMBOL);

    if (!preload) {
        fprintf(stderr, "bench_waits: %s is not preloaded\n", MP_PRELOAD_LIBRARY);
        exit(1);
    }
    atomic_store(&preload->counter_is_even, true);
    atomic_store(&preload->waited, take_wait);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double measure(void (*call)(void))
{
    double min = 1e18;

    for (int round = 0; round < ROUNDS; round++) {
        double begin = now();

        for (int i = 0; i < CALLS; i++)
            call();
        begin = (now() - begin) / CALLS;
        min = begin < min ? begin : min;
    }
    return min;
}

int main(int argc, char **argv)
{
    sem_init(&semaphore, 0, 0);
    event = eventfd(1000000, EFD_SEMAPHORE); /* a read takes 1 */
    zero = open("/dev/zero", O_RDONLY);
    if (argc > 1 && strcmp(argv[1], "asked") == 0)
        ask();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        printf("%s %.2f\n", calls[i].name, measure(calls[i].call));
    return 0;
}
