/* `miniprof calibrate`: reading a probe's answer, and the arithmetic from times to costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "calibrate/answer.h"
#include "calibrate/calibrate.h"
#include "unit/trace_fixture.h"

/* ---- The answer ---- */

static enum mp_status read_text(const char *text, struct answer *answer, struct mp_error *error)
{
    int fd = fixture_file(text, strlen(text));
    enum mp_status status = answer_read(fixture_path(fd), answer, error);

    close(fd);
    return status;
}

static void an_answer_is_read_line_by_line(void **state)
{
    static struct answer answer;

    (void)state;
    assert_int_equal(read_text("call launch 1000 2024 256\ntime trip 1500.5\n", &answer, NULL),
                     MP_OK);
    assert_int_equal(answer.count, 2);
    assert_int_equal(answer.samples[0].measure, MEASURE_LAUNCH);
    assert_float_equal(answer.samples[0].ns, 4, 0);
    assert_int_equal(answer.samples[1].measure, MEASURE_TRIP);
    assert_float_equal(answer.samples[1].ns, 1500.5, 0);
    assert_int_equal(answer.samples[1].begin, 0);
}

static void what_the_probe_failed_with_is_passed_on(void **state)
{
    static struct answer answer;
    struct mp_error error;

    (void)state;
    assert_int_equal(read_text("time trip 1\nfailed there is no GPU\n", &answer, &error),
                     MP_ERR_UNSUPPORTED);
    assert_string_equal(error.text, "there is no GPU");
    assert_int_equal(answer_read("/nonexistent", &answer, &error), MP_ERR_IO);
}

static void an_answer_that_is_none_is_refused(void **state)
{
    static const char *const texts[] = {
        "x\n",
        "time\n",
        "time trip\n",
        "time nothing 5\n",
        "call launch 1 2\n",
        "call launch 1 2 0\n",
        "call launch 2 1 5\n",
        "call nothing 1 2 5\n",
    };
    static struct answer answer;
    static char many[(ANSWER_SAMPLES + 1) * 12 + 1];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (read_text(texts[i], &answer, NULL) != MP_ERR_DAMAGED)
            fail_msg("taken: %s", texts[i]);
    }
    for (size_t i = 0; i <= ANSWER_SAMPLES; i++)
        memcpy(&many[i * 12], "time trip 1\n", 12);
    assert_int_equal(read_text(many, &answer, NULL), MP_ERR_DAMAGED);
    many[(size_t)ANSWER_SAMPLES * 12] = '\0';
    assert_int_equal(read_text(many, &answer, NULL), MP_OK);
}

/* ---- Medians ---- */

/* An answer with three samples of each measure but `without`: 1, 100 and 3 times its number. */
static void fill(struct answer *answer, enum measure without)
{
    static const double factors[] = {1, 100, 3};

    answer->count = 0;
    for (int i = 0; i < MEASURE_COUNT; i++) {
        for (int j = 0; j < 3 && i != (int)without; j++)
            answer->samples[answer->count++] = (struct answer_sample){
                .measure = (enum measure)i, .ns = factors[j] * (i + 1), .count = 4};
    }
}

static void samples_are_reduced_to_medians(void **state)
{
    static struct answer answer;
    struct measured measured;

    (void)state;
    fill(&answer, MEASURE_COUNT);
    answer.samples[0].found = answer.samples[1].found = answer.samples[2].found = 4;
    answer.samples[0].inside = 8;
    answer.samples[1].inside = 40;
    answer.samples[2].inside = 4;
    assert_int_equal(answer_sum_up(&answer, &measured, NULL), MP_OK);
    assert_float_equal(measured.ns[MEASURE_LAUNCH], 3, 0);
    assert_float_equal(measured.inside[MEASURE_LAUNCH], 2, 0);
    assert_float_equal(measured.ns[MEASURE_COPY], 6, 0);
    assert_float_equal(measured.inside[MEASURE_COPY], 0, 0);
}

static void a_measure_that_is_missing_is_named(void **state)
{
    static struct answer answer;
    struct measured measured;
    struct mp_error error;

    (void)state;
    fill(&answer, MEASURE_KERNELS);
    assert_int_equal(answer_sum_up(&answer, &measured, &error), MP_ERR_DAMAGED);
    assert_non_null(strstr(error.text, "'kernels'"));
    fill(&answer, MEASURE_BEGIN);
    assert_int_equal(answer_sum_up(&answer, &measured, &error), MP_OK);
    assert_false(measured.known[MEASURE_BEGIN]);
    assert_true(measured.known[MEASURE_GRAPH_BEGIN]);
}

static void calls_that_are_recorded_in_part_are_refused(void **state)
{
    static struct answer answer;
    struct measured measured;
    struct mp_error error;

    (void)state;
    fill(&answer, MEASURE_COUNT);
    answer.samples[4].found = 3;
    assert_int_equal(answer_sum_up(&answer, &measured, &error), MP_ERR_DAMAGED);
    assert_string_equal(error.text, "the trace has 3 of 4 calls");
}

/* ---- Constants ---- */

/* A machine without any recorder. */
static struct measured bare_machine(void)
{
    struct measured bare = {.known = {false}};

    for (int i = 0; i < MEASURE_COUNT; i++) {
        bare.ns[i] = 1000 * (i + 1);
        bare.known[i] = true;
    }
    return bare;
}

static void add_call(struct measured *measured, enum measure measure, double in, double around)
{
    measured->ns[measure] += in + around;
    measured->inside[measure] = measured->ns[measure] - around;
}

/* The same with a recorder that costs what `costs` says. */
static struct measured recorded_machine(const struct costs *costs)
{
    struct measured recorded = bare_machine();
    double begin = costs->launch_in + costs->launch_around / 2 + costs->start;
    double graph_begin =
        costs->graph_in + costs->node_in + costs->graph_around / 2 + costs->graph_start;
    double end = costs->finish + costs->call_around / 2;

    add_call(&recorded, MEASURE_LAUNCH, costs->launch_in, costs->launch_around);
    add_call(&recorded, MEASURE_COPY, costs->copy_in, costs->copy_around);
    add_call(&recorded, MEASURE_CALL, costs->call_in, costs->call_around);
    add_call(&recorded, MEASURE_GRAPH_1, costs->graph_in + costs->node_in, costs->graph_around);
    add_call(&recorded, MEASURE_GRAPH_100, costs->graph_in + 100 * costs->node_in,
             costs->graph_around);
    add_call(&recorded, MEASURE_GRAPH_400, costs->graph_in + 400 * costs->node_in,
             costs->graph_around);
    recorded.ns[MEASURE_KERNELS] += costs->kernel_gap;
    recorded.ns[MEASURE_PAIRS] += costs->kernel_gap + costs->copy_gap;
    recorded.ns[MEASURE_NODES_100] += 100 * costs->node_gap + 77;
    recorded.ns[MEASURE_NODES_400] += 400 * costs->node_gap + 77;
    recorded.ns[MEASURE_BEGIN] += begin;
    recorded.ns[MEASURE_TRIP] += begin + end;
    recorded.ns[MEASURE_GRAPH_BEGIN] += graph_begin;
    recorded.ns[MEASURE_GRAPH_TRIP] += graph_begin + end;
    return recorded;
}

static const struct costs truth = {.launch_in = 412,
                                   .launch_around = 250,
                                   .copy_in = 500,
                                   .copy_around = 160,
                                   .call_in = 90,
                                   .call_around = 140,
                                   .graph_in = 1100,
                                   .graph_around = 300,
                                   .node_in = 310,
                                   .kernel_gap = 610,
                                   .copy_gap = 720,
                                   .node_gap = 330,
                                   .start = 480,
                                   .graph_start = 520,
                                   .finish = 350};

static void expect_truth(struct costs *found)
{
    struct costs expected = truth;
    const char *name;
    double *value;
    double *wanted;

    for (size_t i = 0; costs_at(found, i, &name, &value, NULL); i++) {
        costs_at(&expected, i, NULL, &wanted, NULL);
        if (!(*value > *wanted - 0.001 && *value < *wanted + 0.001))
            fail_msg("%s: %f, not %f", name, *value, *wanted);
    }
}

static void costs_are_what_the_recorder_adds(void **state)
{
    struct measured bare = bare_machine();
    struct measured recorded = recorded_machine(&truth);
    struct costs found;

    (void)state;
    constants_find(&bare, &recorded, &found);
    expect_truth(&found);
}

static void where_no_kernel_says_that_it_begins_the_rest_is_halved(void **state)
{
    struct measured bare = bare_machine();
    struct measured recorded = recorded_machine(&truth);
    struct costs found;

    (void)state;
    bare.known[MEASURE_BEGIN] = bare.known[MEASURE_GRAPH_BEGIN] = false;
    constants_find(&bare, &recorded, &found);
    assert_float_equal(found.start, (480 + 350) / 2., 0.001);
    assert_float_equal(found.finish, (480 + 350) / 2., 0.001);
    assert_float_equal(found.graph_start, 520 + 350 - 415, 0.001);
}

static void a_call_without_a_record_has_all_around_it(void **state)
{
    struct measured bare = bare_machine();
    struct measured recorded = recorded_machine(&truth);
    struct costs found;

    (void)state;
    recorded.inside[MEASURE_CALL] = 0;
    constants_find(&bare, &recorded, &found);
    assert_float_equal(found.call_in, 0, 0.001);
    assert_float_equal(found.call_around, 230, 0.001);
}

static void a_recorder_that_costs_nothing_gives_zeros(void **state)
{
    static const struct costs nothing = {.launch_in = 0};
    struct measured bare = bare_machine();
    struct measured recorded = recorded_machine(&nothing);
    struct costs found;
    double *value;

    (void)state;
    constants_find(&bare, &recorded, &found);
    for (size_t i = 0; costs_at(&found, i, NULL, &value, NULL); i++)
        assert_true(*value > -0.001 && *value < 0.001);
}

/* ---- Rounds ---- */

static void of_several_rounds_the_median_counts_and_none_is_below_0(void **state)
{
    struct costs rounds[4] = {truth, truth, truth, truth};
    struct calibration result;

    (void)state;
    rounds[0].start = 100;
    rounds[1].start = -50;
    rounds[2].start = 300;
    rounds[3].start = 140;
    rounds[0].finish = rounds[1].finish = rounds[2].finish = -1;
    calibration_sum_up(rounds, 4, &result);
    assert_float_equal(result.values.start, 120, 0);
    assert_float_equal(result.min.start, 0, 0);
    assert_float_equal(result.max.start, 300, 0);
    assert_float_equal(result.values.finish, 0, 0);
    assert_float_equal(result.values.launch_in, truth.launch_in, 0);
    calibration_sum_up(rounds + 1, 3, &result);
    assert_float_equal(result.values.start, 140, 0);
}

static void rounds_that_differ_much_are_counted(void **state)
{
    struct costs rounds[2] = {truth, truth};
    struct calibration result;

    (void)state;
    calibration_sum_up(rounds, 2, &result);
    assert_int_equal(calibration_wide(&result), 0);
    rounds[1].node_in += 290; /* much for its value, but little in time */
    calibration_sum_up(rounds, 2, &result);
    assert_int_equal(calibration_wide(&result), 0);
    rounds[1].launch_in += 900;
    rounds[1].start += 900;
    calibration_sum_up(rounds, 2, &result);
    assert_int_equal(calibration_wide(&result), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_read_line_by_line),
        cmocka_unit_test(what_the_probe_failed_with_is_passed_on),
        cmocka_unit_test(an_answer_that_is_none_is_refused),
        cmocka_unit_test(samples_are_reduced_to_medians),
        cmocka_unit_test(a_measure_that_is_missing_is_named),
        cmocka_unit_test(calls_that_are_recorded_in_part_are_refused),
        cmocka_unit_test(costs_are_what_the_recorder_adds),
        cmocka_unit_test(where_no_kernel_says_that_it_begins_the_rest_is_halved),
        cmocka_unit_test(a_call_without_a_record_has_all_around_it),
        cmocka_unit_test(a_recorder_that_costs_nothing_gives_zeros),
        cmocka_unit_test(of_several_rounds_the_median_counts_and_none_is_below_0),
        cmocka_unit_test(rounds_that_differ_much_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
