/* forms.h (schedules): which steps are kept, as torch.profiler.schedule documents it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings/forms.h"

/* A letter a step: '.' idle, 'w' warm-up, 'a' kept, 'L' kept and the last, '-' over. */
static void expect(const char *text, const char *steps)
{
    static const char letters[] = {[MP_STEP_IDLE] = '.',
                                   [MP_STEP_WARMUP] = 'w',
                                   [MP_STEP_ACTIVE] = 'a',
                                   [MP_STEP_LAST] = 'L',
                                   [MP_STEP_OVER] = '-'};
    struct mp_schedule schedule;
    char got[64] = "";
    size_t i;

    assert_true(mp_schedule_parse(text, &schedule));
    for (i = 0; steps[i]; i++)
        got[i] = letters[mp_schedule_phase(&schedule, i)];
    assert_string_equal(got, steps);
}

static void steps_are_kept_as_pytorch_does(void **state)
{
    (void)state;
    expect("skip=1,wait=1,warmup=1,active=3,repeat=1", "..waaL-----");
    expect("wait=1,warmup=1,active=2", ".waL.waL.waL.waL");
    expect("wait=1,warmup=1,active=3,repeat=2", ".waaL.waaL----");
    expect("skip=10,wait=5,warmup=1,active=3,repeat=2", "...............waaL.....waaL----");
    expect("active=1", "LLLLLL");
    expect("active=1,repeat=3", "LLL---");
    expect("active=2,repeat=2", "aLaL--");
    expect("warmup=2,active=1", "wwLwwL");
    expect("repeat=1, active=2, skip=2", "..aL--");
    expect("wait=2,active=1,repeat=0", "..L..L..L");
}

static void numbers_may_be_large(void **state)
{
    struct mp_schedule schedule;

    (void)state;
    assert_true(
        mp_schedule_parse("wait=1000000000,warmup=1000000000,active=1000000000", &schedule));
    assert_int_equal(mp_schedule_phase(&schedule, 999999999), MP_STEP_IDLE);
    assert_int_equal(mp_schedule_phase(&schedule, 1000000000), MP_STEP_WARMUP);
    assert_int_equal(mp_schedule_phase(&schedule, 2000000000), MP_STEP_ACTIVE);
    assert_int_equal(mp_schedule_phase(&schedule, 2999999999), MP_STEP_LAST);
    assert_int_equal(mp_schedule_phase(&schedule, 3000000000), MP_STEP_IDLE);
    assert_int_equal(mp_schedule_phase(&schedule, UINT64_C(8999999999)), MP_STEP_LAST);
}

static void anything_else_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "skip=1",
        "active=0",
        "active",
        "active=",
        "active=x",
        "active=-1",
        "active=1,",
        ",active=1",
        "active=1,active=2",
        "steps=1",
        "active=1;",
        "active=1000000001",
        "active=1 1",
        "ACTIVE=1",
        "active=1,wait=99999999999999999999999999999999",
        "active =1",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(mp_schedule_check(wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_kept_as_pytorch_does),
        cmocka_unit_test(numbers_may_be_large),
        cmocka_unit_test(anything_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
