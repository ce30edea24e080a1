/* Whose CPU time a thread's is: threads of every kind of name that are busy, one at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "gpu/threads_cpu.h"

/* What a thread has to show for itself, and the longest wait for it. */
enum { BUSY_MS = 50, PAUSE_MS = 5, MAX_PAUSES = 4000 };

struct busy {
    const char *name;
    atomic_bool stop;
    _Atomic pid_t id;
};

static void *be_busy(void *argument)
{
    struct busy *busy = argument;

    pthread_setname_np(pthread_self(), busy->name);
    atomic_store(&busy->id, gettid());
    while (!atomic_load(&busy->stop))
        ;
    return NULL;
}

static void pause_ms(long ms)
{
    struct timespec pause = {.tv_nsec = ms * 1000000};

    nanosleep(&pause, NULL);
}

/* The group whose time grows while a thread of this name is busy. The test's own thread is one of
 * the others; what little it needs is less than what is waited for. */
static enum threads_group group_of(const char *name, bool by_id)
{
    struct busy busy = {.name = name};
    double before[THREADS_GROUPS], now[THREADS_GROUPS];
    enum threads_group grown = THREADS_GROUPS;
    pthread_t thread;
    pid_t id;
    int i, pauses;

    assert_int_equal(pthread_create(&thread, NULL, be_busy, &busy), 0);
    while (!(id = atomic_load(&busy.id)))
        pause_ms(1);
    threads_cpu_look(&id, by_id, before);
    for (pauses = 0; grown == THREADS_GROUPS && pauses < MAX_PAUSES; pauses++) {
        pause_ms(PAUSE_MS);
        threads_cpu_look(&id, by_id, now);
        for (i = 0; i < THREADS_GROUPS; i++)
            if (now[i] - before[i] >= BUSY_MS)
                grown = (enum threads_group)i;
    }
    atomic_store(&busy.stop, true);
    pthread_join(thread, NULL);
    return grown;
}

static void names_tell_the_groups(void **state)
{
    (void)state;
    assert_int_equal(group_of("miniprof", false), THREADS_MINIPROF);
    assert_int_equal(group_of("miniprof-w", false), THREADS_MINIPROF);
    assert_int_equal(group_of("miniprof-flush", false), THREADS_FLUSH);
    assert_int_equal(group_of("bare-flush", false), THREADS_FLUSH);
    assert_int_equal(group_of("flush", false), THREADS_OTHERS);
    assert_int_equal(group_of("cuda-EvtHandlr", false), THREADS_OTHERS);
}

static void an_id_is_before_the_name(void **state)
{
    (void)state;
    assert_int_equal(group_of("miniprof", true), THREADS_APPLICATION);
    assert_int_equal(group_of("bare-flush", true), THREADS_APPLICATION);
}

static void names_with_spaces_and_parentheses(void **state)
{
    (void)state;
    assert_int_equal(group_of("a) R 1 (-flush", false), THREADS_FLUSH);
    assert_int_equal(group_of("miniprof) 9 9 9", false), THREADS_MINIPROF);
    assert_int_equal(group_of(")", false), THREADS_OTHERS);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_the_groups),
        cmocka_unit_test(an_id_is_before_the_name),
        cmocka_unit_test(names_with_spaces_and_parentheses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
