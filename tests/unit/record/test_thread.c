/* Whether only our threads are left, each test in a forked child that says what it saw. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/core/thread.h"

#include "base/poison.h"

enum { FINE, WRONG };

static struct own_threads own;
static pthread_t main_thread;
static pthread_barrier_t ended;

/* The child's exit code is what `main_of_child` or one of its threads hands to _exit. */
static void ends_well(void (*main_of_child)(void))
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        main_thread = pthread_self();
        main_of_child();
        _exit(WRONG);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), FINE);
}

static void start_ours(void *(*what)(void *))
{
    pthread_t thread;

    if (thread_start(&own, &thread, 0, what, NULL) != MP_OK)
        _exit(WRONG);
}

/* Until the kernel has ended a thread, of which pthread_join tells a moment before. */
static void await_alone(void)
{
    for (int tries = 0; tries < 10000 && !threads_are_alone(&own); tries++)
        usleep(1000);
    _exit(threads_are_alone(&own) ? FINE : WRONG);
}

/* ---- Of the tests ---- */

static void *look_beside_main(void *unused)
{
    (void)unused;
    _exit(threads_are_alone(&own) ? WRONG : FINE);
}

static void main_stays(void)
{
    start_ours(look_beside_main);
    for (;;)
        pause();
}

static void *rest(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

static void *outlive_main(void *unused)
{
    (void)unused;
    pthread_join(main_thread, NULL);
    await_alone();
    return NULL;
}

static void main_leaves_ours(void)
{
    start_ours(rest);
    start_ours(outlive_main);
    pthread_exit(NULL);
}

static void *work(void *unused)
{
    (void)unused;
    pthread_join(main_thread, NULL);
    pthread_barrier_wait(&ended);
    pthread_barrier_wait(&ended);
    return NULL;
}

static void *outlive_work(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&ended);
    for (int looks = 0; looks < 50; looks++, usleep(1000))
        if (threads_are_alone(&own))
            _exit(WRONG);
    pthread_barrier_wait(&ended);
    await_alone();
    return NULL;
}

static void main_leaves_a_thread(void)
{
    pthread_t thread;

    pthread_barrier_init(&ended, NULL, 2);
    start_ours(outlive_work);
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_exit(NULL);
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t locker;

static void *lock(void *unused)
{
    (void)unused;
    atomic_store(&locker, gettid());
    pthread_mutex_lock(&held);
    return NULL;
}

static void a_thread_waits(void)
{
    if (thread_waits(gettid()) || thread_waits(1 << 30))
        _exit(WRONG);
    pthread_mutex_lock(&held);
    start_ours(lock);
    for (int tries = 0; tries < 10000 && !thread_waits(atomic_load(&locker)); tries++)
        usleep(1000);
    _exit(thread_waits(atomic_load(&locker)) ? FINE : WRONG);
}

/* qemu shows the system calls of the machine that it runs on. */
static void a_thread_that_waits_for_a_lock_shows(void **state)
{
    const char *build = getenv("BUILD");

    (void)state;
    if (build && strstr(build, "/qemu"))
        skip();
    ends_well(a_thread_waits);
}

static void the_program_goes_on_while_main_does(void **state)
{
    (void)state;
    ends_well(main_stays);
}

/* Under ThreadSanitizer nobody is alone: the sanitizer has a thread too. */
static void without_the_programs_threads_ours_are_alone(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    ends_well(main_leaves_ours);
}

static void the_program_goes_on_while_a_thread_of_it_does(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    ends_well(main_leaves_a_thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_waits_for_a_lock_shows),
        cmocka_unit_test(the_program_goes_on_while_main_does),
        cmocka_unit_test(without_the_programs_threads_ours_are_alone),
        cmocka_unit_test(the_program_goes_on_while_a_thread_of_it_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
