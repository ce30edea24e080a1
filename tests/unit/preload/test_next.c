/* preload/next: finds in the loader's tables what dlsym finds. */
#include "preload/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/preload.h"

#include "base/poison.h"

static const char *const names[] = {
#define NAME(name) #name,
    NEXT_FUNCTIONS(NAME)
#undef NAME
};

static void all_are_those_of_dlsym(void **state)
{
    (void)state;
    for (unsigned name = 0; name < sizeof names / sizeof *names; name++) {
        void *expected = dlsym(RTLD_DEFAULT, names[name]);

        if (expected) /* this libc has it */
            assert_ptr_equal(next_function((enum next_name)name), expected);
    }
}

static void tries_are_libcs_where_the_locks_are(void **state)
{
    (void)state;
    assert_ptr_equal(next_function(TRY_pthread_mutex_lock),
                     dlsym(RTLD_DEFAULT, "pthread_mutex_trylock"));
    assert_ptr_equal(next_function(TRY_sem_timedwait), dlsym(RTLD_DEFAULT, "sem_trywait"));
    assert_ptr_equal(next_function(LIBC_clock_gettime), dlsym(RTLD_DEFAULT, "clock_gettime"));
    assert_int_equal(next_busy(), EBUSY);
}

/* Two versions, of which old programs get the other one. */
static void conditions_are_of_the_new_version(void **state)
{
    (void)state;
#ifdef __x86_64__
    assert_ptr_equal(next_find(NEXT_pthread_cond_wait),
                     dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.3.2"));
    assert_ptr_not_equal(next_find(NEXT_pthread_cond_wait),
                         dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.2.5"));
#endif
}

static void a_missing_function_says_so(void **state)
{
    (void)state;
    errno = 0;
    assert_int_equal(((int (*)(void))next_missing("epoll_pwait9"))(), -1);
    assert_int_equal(errno, ENOSYS);
    assert_int_equal(((int (*)(void))next_missing("pthread_wait9"))(), ENOSYS);
    assert_null(((void *(*)(void))next_missing("dlsym"))());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_those_of_dlsym),
        cmocka_unit_test(tries_are_libcs_where_the_locks_are),
        cmocka_unit_test(conditions_are_of_the_new_version),
        cmocka_unit_test(a_missing_function_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
