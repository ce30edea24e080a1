/* After many quick capture ranges, the last one's end waits for another one to begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings/time_limits.h"
#include "record/core/clock.h"
#include "record/core/state.h"
#include "record/ranges/range.h"

#include "base/poison.h"

enum { REST_MS = 5000, LONG_MS = 1000000 };

static struct recorder recorder;

/* A recording whose 50th range, a quick one, ended `ago` ms ago. The flusher is said to be late, so
 * nobody waits for it. */
static void end_quick_range(int64_t ago)
{
    memset(&recorder, 0, sizeof(recorder));
    atomic_store(&recorder.phase, PHASE_RECORDING);
    recorder.ranges.lazy = true;
    recorder.ranges.begun = 50;
    recorder.ranges.lingers = true;
    recorder.ranges.late = recorder.ranges.late_said = true;
    recorder.ranges.closed_at = mp_monotonic_ms() - ago;
}

/* A time to come, so that it does not matter how long this takes. */
static void a_quick_range_lingers(void **state)
{
    (void)state;
    end_quick_range(-LONG_MS);
    assert_int_equal(range_tick(&recorder, REST_MS), REST_MS);
    assert_true(recorder.ranges.lingers);
    assert_int_equal(recorder.ranges.leaves, 0);
}

static void and_is_left_when_no_other_follows(void **state)
{
    (void)state;
    end_quick_range(LONG_MS);
    assert_int_equal(range_tick(&recorder, REST_MS), REST_MS);
    assert_false(recorder.ranges.lingers);
    assert_int_equal(recorder.ranges.leaves, 1);
    assert_true(recorder.ranges.flushes);
    range_tick(&recorder, REST_MS);
    assert_int_equal(recorder.ranges.leaves, 1);
}

/* The writer looks again when it is over. */
static void the_writer_rests_no_longer_than_it_lingers(void **state)
{
    (void)state;
    end_quick_range(-LONG_MS);
    assert_in_range(range_tick(&recorder, 2 * LONG_MS), 1,
                    LONG_MS + mp_time_limit_ms(MP_TIME_RANGE_QUICK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quick_range_lingers),
        cmocka_unit_test(and_is_left_when_no_other_follows),
        cmocka_unit_test(the_writer_rests_no_longer_than_it_lingers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
