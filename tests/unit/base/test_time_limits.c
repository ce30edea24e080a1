/* base/settings/time_limits: what the limits are by default, and how tests shorten them. */
#include "base/settings/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/poison.h"

static enum mp_status read_divisor(const char *text, struct mp_error *error)
{
    if (text)
        setenv("MINIPROF_TEST_TIME_DIVISOR", text, 1);
    else
        unsetenv("MINIPROF_TEST_TIME_DIVISOR");
    return mp_time_limits_read(error);
}

static void limits_have_their_defaults_without_a_divisor(void **state)
{
    static const char *const none[] = {NULL, "", "1"};

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        assert_int_equal(read_divisor("9", NULL), MP_OK);
        assert_int_equal(read_divisor(none[i], NULL), MP_OK);
        assert_int_equal(mp_time_limit_ns(MP_TIME_FILE_WRITE), 90000000);
        assert_int_equal(mp_time_limit_ms(MP_TIME_FILE_WRITE), 90);
        assert_int_equal(mp_time_limit_ms(MP_TIME_CLOCK_MAX_AGE), 3600000);
        assert_true(mp_time_limit_seconds(MP_TIME_LAST_FLUSH) == 5);
    }
}

static void every_limit_is_divided(void **state)
{
    struct timespec age;
    uint64_t whole[MP_TIME_LIMITS];

    (void)state;
    assert_int_equal(read_divisor(NULL, NULL), MP_OK);
    for (unsigned i = 0; i < MP_TIME_LIMITS; i++)
        whole[i] = mp_time_limit_ns((enum mp_time_limit)i);
    assert_int_equal(read_divisor("1000", NULL), MP_OK);
    for (unsigned i = 0; i < MP_TIME_LIMITS; i++)
        assert_int_equal(mp_time_limit_ns((enum mp_time_limit)i) * 1000, whole[i]);
    age = mp_time_limit_timespec(MP_TIME_CLOCK_MAX_AGE);
    assert_int_equal(age.tv_sec, 3);
    assert_int_equal(age.tv_nsec, 600000000);
    assert_true(mp_time_limit_seconds(MP_TIME_CLOCK_MAX_AGE) == 3.6);
    assert_int_equal(read_divisor("9", NULL), MP_OK);
    assert_int_equal(mp_time_limit_ms(MP_TIME_FILE_WRITE), 10);
}

/* A limit of 0 ms would make loops spin, and a futex without a limit wait for ever. */
static void a_limit_in_ms_is_never_zero(void **state)
{
    (void)state;
    assert_int_equal(read_divisor("1000", NULL), MP_OK);
    assert_int_equal(mp_time_limit_ns(MP_TIME_GATE_LOOK), 50);
    for (unsigned i = 0; i < MP_TIME_LIMITS; i++)
        assert_true(mp_time_limit_ms((enum mp_time_limit)i) >= 1);
}

static void any_other_value_divides_nothing(void **state)
{
    static const char *const wrong[] = {"0", "-1", "1001", "10x", " 10", "99999999999999999999"};
    struct mp_error error;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(read_divisor("10", NULL), MP_OK);
        assert_int_equal(read_divisor(wrong[i], &error), MP_ERR_ARGUMENT);
        assert_int_equal(mp_time_limit_ms(MP_TIME_FILE_WRITE), 90);
    }
    assert_string_equal(error.text, "MINIPROF_TEST_TIME_DIVISOR='99999999999999999999' is not "
                                    "valid: takes a number from 1 to 1000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_have_their_defaults_without_a_divisor),
        cmocka_unit_test(every_limit_is_divided),
        cmocka_unit_test(a_limit_in_ms_is_never_zero),
        cmocka_unit_test(any_other_value_divides_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
