/* Profiled launches when memory runs out, at every allocation in turn: each launch has its values
 * in the file or is counted, or metrics are given up with a line. malloc and its kin are wrapped
 * (tests/tests.mk). */
#include "unit/record/test_profiled.h"

#include <unistd.h>

#include "record/rows/recording.h"
#include "unit/failing_malloc.h"
#include "unit/trace_fixture.h"

#define LAUNCHES 5u

static const char *const kernels[] = {"alpha", "beta"};

static void values_or_a_count_or_a_line(void **state)
{
    unsigned failing;
    unsigned failed = 0;

    (void)state;
    for (failing = 1; failing <= 60; failing++) {
        uint64_t lost, i;

        recorder_set_up("", "");
        launch("warm"); /* this thread's log */
        countdown = failing;
        for (i = 0; i < LAUNCHES; i++)
            launch(kernels[i % 2]);
        failed += !countdown;
        countdown = 0;
        lost = atomic_load(&recorder.profiling.profiled.lost);
        assert_false(played.started);
        assert_true(lost <= 1);
        assert_int_equal(recorder.profiling.profiled.waiting + lost, LAUNCHES + 1);
        recorder_tear_down();
    }
    assert_true(failed >= LAUNCHES);
}

/* From the first launch on: with the plan and the session. */
static void a_plan_without_memory_is_given_up_and_freed(void **state)
{
    unsigned failing;
    unsigned given_up = 0;

    (void)state;
    for (failing = 1; failing <= 40; failing++) {
        recorder_set_up("", "");
        call_log_mine(&recorder.gpu.core.logs);
        countdown = failing;
        launch("alpha");
        countdown = 0;
        assert_false(played.started);
        if (atomic_load(&recorder.profiling.off)) {
            given_up++;
            assert_non_null(strstr(played.said, "no metrics: no memory"));
            assert_int_equal(played.enables, played.disables);
        } else {
            launch("beta");
            assert_int_equal(recorder.profiling.profiled.waiting +
                                 atomic_load(&recorder.profiling.profiled.lost),
                             2);
        }
        recorder_tear_down();
    }
    assert_true(given_up >= 6);
}

/* What the writer does with them. */
static void the_writer_loses_nothing_silently(void **state)
{
    static struct recording recording;
    static struct cupti_api cupti;
    unsigned failing;

    (void)state;
    for (failing = 1; failing <= 60; failing++) {
        struct profiled_launch *taken;
        struct mp_writer_totals totals;
        int fd = fixture_file(NULL, 0);
        unsigned i;

        recorder_set_up("", "");
        for (i = 0; i < LAUNCHES; i++)
            launch(kernels[i % 2]);
        memset(&recording, 0, sizeof(recording));
        recording.profiled = &recorder.profiling.profiled;
        recording.edges = &recorder.graphs.edges;
        recording.metrics = true;
        assert_int_equal(recording_open(&recording, fixture_writer(fd, "", 0), &cupti,
                                        &recorder.gpu.api, MP_CAPTURE_ALL, true),
                         MP_OK);
        countdown = failing;
        while ((taken = profiled_next(&recorder.profiling.profiled)))
            profiled_append(&recorder.profiling.profiled, &recording, taken);
        countdown = 0;
        mp_writer_flush(recording.writer);
        mp_writer_totals(recording.writer, &totals);
        assert_int_equal(totals.event_rows + recording.writer->lost_rows +
                             atomic_load(&recorder.profiling.profiled.lost),
                         LAUNCHES);
        mp_writer_abandon(recording.writer);
        decoder_close(&recording.decoder);
        dictionary_close(&recording.dictionary);
        recorder_tear_down();
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_or_a_count_or_a_line),
        cmocka_unit_test(a_plan_without_memory_is_given_up_and_freed),
        cmocka_unit_test(the_writer_loses_nothing_silently),
    };

    return cmocka_run_group_tests_name("metrics without memory", tests, NULL, NULL);
}
