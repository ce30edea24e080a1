/* Which calls of cuProfilerStart and Stop begin and end capture ranges, and what the writer is
 * told. And after many quick ranges, the last one's end waits for another one to begin.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/process/range.h"
#include "record/process/recorder.h"

#include "base/poison.h"

enum { REST_MS = 5000, LONG_MS = 1000000 };

static struct recorder recorder;

/* ---- Marks ---- */

static uint32_t last_id; /* of the calls that the recorder makes itself */

/* CUPTI tells its id, as the callback does. */
static CUresult get_version(int *version)
{
    *version = 13000;
    range_note_call(&recorder, ++last_id);
    return CUDA_SUCCESS;
}

/* Ranges by cuProfilerStart and Stop; the flusher has nothing to do. */
static int record(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    last_id = 100;
    assert_int_equal(call_logs_open(&recorder.gpu.core.logs), MP_OK);
    assert_int_equal(work_queue_open(&recorder.gpu.core.work, 1), MP_OK);
    atomic_store(&recorder.gpu.core.phase, PHASE_RECORDING);
    recorder.gpu.driver.get_version = get_version;
    recorder.gpu.core.wanted.by_profiler = recorder.ranges.ready = recorder.ranges.on = true;
    recorder.ranges.left = UINT64_MAX;
    return 0;
}

static int end(void **state)
{
    (void)state;
    work_queue_close(&recorder.gpu.core.work);
    return 0;
}

/* "+ID" for each begin and "-ID" for each end that the writer gets to know. */
static const char *marks(void)
{
    static char text[200];
    struct work work;
    int used = 0;

    text[0] = '\0';
    while (work_take(&recorder.gpu.core.work, &work))
        used += snprintf(text + used, sizeof(text) - (size_t)used, "%c%u ",
                         work.kind == WORK_START ? '+' : '-', (unsigned)work.correlation);
    return text;
}

static void start_and_stop(uint32_t start, uint32_t stop)
{
    range_profiler_start(&recorder, start);
    range_profiler_stop(&recorder, stop);
}

static void start_and_stop_have_the_ids_of_their_calls(void **state)
{
    (void)state;
    start_and_stop(7, 9);
    assert_string_equal(marks(), "+7 -9 ");
    start_and_stop(0, 0); /* unknown: the recorder makes calls of its own */
    assert_string_equal(marks(), "+101 -102 ");
    assert_int_equal(recorder.ranges.ended, 2);
}

static void without_the_setting_they_mean_nothing(void **state)
{
    (void)state;
    recorder.gpu.core.wanted.by_profiler = false;
    start_and_stop(7, 9);
    assert_string_equal(marks(), "");
    recorder.ranges.open = recorder.ranges.posted = true;
    start_and_stop(11, 13);
    assert_string_equal(marks(), "");
    assert_true(recorder.ranges.open);
}

/* Steps 1 and 5 wait, 2 and 6 warm up, 3 and 4, 7 and 8 are kept: one range a cycle. */
static void a_schedule_keeps_its_active_steps(void **state)
{
    static const char *const expected[] = {"", "", "+31 ", "-42 ", "", "", "+71 ", "-82 ", ""};

    (void)state;
    recorder.ranges.scheduled = true;
    assert_true(mp_schedule_parse("wait=1,warmup=1,active=2,repeat=2", &recorder.ranges.schedule));
    for (uint32_t step = 1; step <= sizeof(expected) / sizeof(expected[0]); step++) {
        start_and_stop(10 * step + 1, 10 * step + 2);
        assert_string_equal(marks(), expected[step - 1]);
    }
    assert_true(recorder.ranges.over);
}

/* ---- Quick ranges ---- */

/* A recording whose 50th range, a quick one, ended `ago` ms ago. The flusher is said to be late, so
 * nobody waits for it. */
static void end_quick_range(int64_t ago)
{
    memset(&recorder, 0, sizeof(recorder));
    atomic_store(&recorder.gpu.core.phase, PHASE_RECORDING);
    recorder.gpu.core.wanted.lazy = true;
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
        cmocka_unit_test_setup_teardown(start_and_stop_have_the_ids_of_their_calls, record, end),
        cmocka_unit_test_setup_teardown(without_the_setting_they_mean_nothing, record, end),
        cmocka_unit_test_setup_teardown(a_schedule_keeps_its_active_steps, record, end),
        cmocka_unit_test(a_quick_range_lingers),
        cmocka_unit_test(and_is_left_when_no_other_follows),
        cmocka_unit_test(the_writer_rests_no_longer_than_it_lingers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
