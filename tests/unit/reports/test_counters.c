/* What sampled counters were while kernels ran, against a GPU that the test makes up: its clock,
 * how busy it is, and which samples of it there are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "reports/counters/counters.h"
#include "unit/deps/deps_fixture.h"

#define US     UINT64_C(1000)
#define LENGTH 10u /* us of a sample */

enum { CLOCK = 1, BUSY, SMS, POWER, TYPO, OTHER };

static void put_counter(uint64_t id, const char *name, uint64_t device, uint64_t source,
                        uint64_t unit, double step, uint64_t interval)
{
    struct mp_row_counter row = {.id = id,
                                 .device = device,
                                 .name = put_string(name),
                                 .source = source,
                                 .unit = unit,
                                 .interval = interval * US};

    memcpy(&row.step, &step, sizeof step);
    mp_append_counter(scene.writer, &row);
}

/* Counters of CUPTI on device 0, and some that nobody samples. */
static void put_counters(void)
{
    put_counter(CLOCK, "sm_clock", 0, MP_counter_source_cupti, MP_metric_unit_hertz, 1e6, LENGTH);
    put_counter(BUSY, "gr_active", 0, MP_counter_source_cupti, MP_metric_unit_percent, 0.1, LENGTH);
    put_counter(SMS, "sm_active", 0, MP_counter_source_cupti, MP_metric_unit_percent, 0.1, LENGTH);
    put_counter(POWER, "power", 0, MP_counter_source_nvml, MP_metric_unit_watts, 0.1, 100000);
    put_counter(TYPO, "sm_actve", 0, MP_counter_source_nobody, MP_metric_unit_none, 1, 0);
    put_counter(OTHER, "sm_active", 1, MP_counter_source_cupti, MP_metric_unit_percent, 0.1,
                LENGTH);
}

static void put_value(uint64_t counter, uint64_t end, uint64_t length, uint64_t packed)
{
    mp_append_sample(scene.writer, &(struct mp_row_sample){.counter = counter,
                                                           .time = end * US,
                                                           .length = length * US,
                                                           .value = packed});
}

/* Samples of CUPTI's counters from one moment to another, all 0 but the clock. */
static void put_zeros(uint64_t from, uint64_t until)
{
    for (uint64_t end = from + LENGTH; end <= until; end += LENGTH) {
        put_value(CLOCK, end, LENGTH, sampled_pack(1755e6, 1e6));
        put_value(BUSY, end, LENGTH, 0);
        put_value(SMS, end, LENGTH, 0);
    }
}

static struct counters_result result;

static void build(uint64_t range)
{
    const struct counters_options options = {.range = range};
    struct mp_error error = {.text = ""};

    scene_load();
    assert_int_equal(counters_build(scene.trace, &options, &result, &error), MP_OK);
}

static void rebuild(uint64_t range)
{
    const struct counters_options options = {.range = range};

    counters_result_free(&result);
    assert_int_equal(counters_build(scene.trace, &options, &result, NULL), MP_OK);
}

static void end(void)
{
    counters_result_free(&result);
    scene_end(UNSOUND);
}

static const struct counters_cell *cell(const char *kernel, const char *counter)
{
    for (size_t i = 0; i < result.group_count; i++) {
        const struct counters_group *group = &result.groups[i];

        if (kernel ? group->name && !strcmp(group->name, kernel) : group->idle)
            return counters_find(&result, group, counter);
    }
    fail_msg("no kernel %s", kernel);
    return NULL;
}

static void expect_mean(const char *kernel, const char *counter, double mean, double within)
{
    const struct counters_cell *found = cell(kernel, counter);

    if (!(fabs(found->mean - mean) <= within))
        fail_msg("%s of %s: %g +- %g, not %g", counter, kernel ? kernel : "idle time", found->mean,
                 found->error, mean);
}

/* us without samples. */
static uint64_t missing(size_t counter)
{
    return result.counters[counter - 1].missing / US;
}

/* ---- Kernels that run at once ---- */

/* Of kernels a and b, when each of 60 pairs runs. They overlap by 1 to 5 us. */
static uint64_t begin_of(unsigned pair, bool b)
{
    return 100 + 17 * (uint64_t)pair + (b ? 6 - pair % 3 : 0);
}

static uint64_t end_of(unsigned pair, bool b)
{
    return begin_of(pair, b) + (b ? 7 - pair % 2 : 7 + pair % 3);
}

/* How many of a and of b run in the microsecond from `time` on. */
static unsigned running(uint64_t time, bool b)
{
    unsigned count = 0;

    for (unsigned pair = 0; pair < 60; pair++)
        count += time >= begin_of(pair, b) && time < end_of(pair, b);
    return count;
}

/* The clock is constant; the GPU is busy while a or b runs; a has 30 % of the SMs, b 50 %. */
static void put_true_sample(uint64_t end)
{
    double busy = 0, sms = 0;

    for (uint64_t time = end - LENGTH; time < end; time++) {
        unsigned a = running(time, false), b = running(time, true);

        busy += a || b ? 100.0 / LENGTH : 0;
        sms += (30 * a + 50 * b) / (double)LENGTH;
    }
    put_value(CLOCK, end, LENGTH, sampled_pack(1755e6, 1e6));
    put_value(BUSY, end, LENGTH, sampled_pack(busy, 0.1));
    put_value(SMS, end, LENGTH, sampled_pack(sms, 0.1));
}

static void put_pairs(void)
{
    scene_begin();
    put_counters();
    put_range(1, 90, 1200, 0, 0);
    for (unsigned pair = 0; pair < 60; pair++) {
        put_kernel(1, "a", begin_of(pair, false), end_of(pair, false), 2 * pair + 1);
        put_kernel(2, "b", begin_of(pair, true), end_of(pair, true), 2 * pair + 2);
    }
    for (uint64_t end = 100; end <= 1200; end += LENGTH)
        put_true_sample(end);
}

static void kernels_at_once_have_one_clock(void **state)
{
    (void)state;
    put_pairs();
    build(0);
    expect_mean("a", "sm_clock", 1755e6, 5e6);
    expect_mean("b", "sm_clock", 1755e6, 5e6);
    expect_mean(NULL, "sm_clock", 1755e6, 5e6);
    end();
}

static void a_gpu_is_busy_once_where_kernels_overlap(void **state)
{
    (void)state;
    put_pairs();
    build(0);
    expect_mean("a", "gr_active", 100, 0.5);
    expect_mean("b", "gr_active", 100, 0.5);
    expect_mean(NULL, "gr_active", 0, 0.5);
    end();
}

static void their_parts_of_the_sms_still_add_up(void **state)
{
    (void)state;
    put_pairs();
    build(0);
    expect_mean("a", "sm_active", 30, 0.3);
    expect_mean("b", "sm_active", 50, 0.3);
    expect_mean(NULL, "sm_active", 0, 0.3);
    end();
}

/* ---- Values that are all 0 ---- */

static void a_kernel_that_samples_hardly_cover_is_unknown(void **state)
{
    (void)state;
    scene_begin();
    put_counters();
    put_range(1, 90, 1000, 0, 0);
    put_launch(1, "uncovered", 91, 95, 98, 1);
    put_launch(1, "half", 101, 110, 115, 2);
    put_kernel(1, "tiny", 120, 120, 3);
    put_zeros(100, 1000);
    build(0);
    assert_true(isnan(cell("uncovered", "sm_active")->mean));
    assert_true(isnan(cell("uncovered", "sm_active")->error));
    /* Below half a step of 0.1 % in a sample of which it had half. */
    expect_mean("half", "sm_active", 0, 0);
    assert_true(fabs(cell("half", "sm_active")->error - 0.1) < 1e-6);
    expect_mean(NULL, "sm_active", 0, 0);
    end();
}

/* A part of 1 % in each of many samples: 5 % of the SMs would be rounded to 0 each time. */
static void many_small_parts_do_not_make_a_zero(void **state)
{
    (void)state;
    scene_begin();
    put_counter(SMS, "sm_active", 0, MP_counter_source_cupti, MP_metric_unit_percent, 0.1, 100);
    put_range(1, 90, 20000, 0, 0);
    for (unsigned i = 0; i < 100; i++) {
        put_kernel(1, "short", 150 + 100 * i, 151 + 100 * i, i + 1);
        put_value(SMS, 200 + 100 * i, 100, 0);
    }
    build(0);
    assert_true(isnan(cell("short", "sm_active")->mean));
    end();
}

/* A kernel of 4 us in samples of 100 us: one sample in which it ran says little of it, thirty say
 * what it does. */
static void work_of_less_than_a_sample_is_unknown(void **state)
{
    (void)state;
    scene_begin();
    put_counter(SMS, "sm_active", 0, MP_counter_source_cupti, MP_metric_unit_percent, 0.1, 100);
    put_range(1, 90, 20000, 0, 0);
    put_kernel(1, "once", 1050, 1054, 1);
    for (unsigned i = 0; i < 30; i++)
        put_kernel(1, "often", 5050 + 200 * i, 5054 + 200 * i, i + 2);
    put_kernel(1, "all", 12000, 13000, 40);
    for (unsigned end = 200; end <= 15000; end += 100) {
        bool once = end == 1100, often = end > 5000 && end <= 11000 && end % 200 == 100;
        bool all = end > 12000 && end <= 13000;

        put_value(SMS, end, 100, sampled_pack(all ? 90 : once || often ? 3 : 1, 0.1));
    }
    build(0);
    assert_true(isnan(cell("once", "sm_active")->mean));
    expect_mean("often", "sm_active", 51, 3);
    end();
}

/* ---- What is missing ---- */

static void the_time_before_the_first_sample_is_missing(void **state)
{
    (void)state;
    scene_begin();
    put_counters();
    put_range(1, 10, 1000, 0, 0);
    put_launch(1, "a", 90, 100, 990, 1);
    put_zeros(500, 900);
    put_value(POWER, 1000, 990, 100);
    build(0);
    assert_int_equal(missing(CLOCK), 400 + 100);
    assert_int_equal(missing(POWER), 0);
    end();
}

/* Its readings are kept where they overlap a range, and these two cover all of it. */
static void readings_that_reach_beyond_a_range_cover_it(void **state)
{
    (void)state;
    scene_begin();
    put_counters();
    put_range(1, 300000, 510000, 0, 0);
    put_launch(1, "a", 300000, 300010, 509000, 1);
    put_value(POWER, 400000, 101000, 100);
    put_value(POWER, 512000, 112000, 100);
    build(0);
    assert_int_equal(missing(POWER), 0);
    end();
}

static void samples_before_the_first_work_are_expected_from_the_first_on(void **state)
{
    (void)state;
    scene_begin();
    put_counters();
    put_range(1, 10, 1000, 0, 0);
    put_launch(1, "a", 90, 800, 990, 1);
    put_zeros(500, 600);
    put_zeros(650, 1000);
    build(0);
    assert_int_equal(missing(CLOCK), 50);
    end();
}

static void what_nobody_samples_is_not_missing(void **state)
{
    (void)state;
    scene_begin();
    put_counters();
    put_range(1, 10, 1000, 0, 0);
    put_launch(1, "a", 90, 100, 990, 1);
    put_launch(ON(2, 1), "b", 95, 105, 990, 2);
    put_zeros(100, 1000);
    build(0);
    assert_int_equal(missing(CLOCK), 0);
    assert_int_equal(missing(POWER), 0);
    assert_int_equal(missing(TYPO), 0);
    assert_int_equal(missing(OTHER), 0);
    end();
}

/* NVML is read ten times a second. The second range is shorter, and so is the third; CUPTI has
 * samples of the second, none of the third. */
static void ranges_shorter_than_the_interval_need_no_sample(void **state)
{
    (void)state;
    scene_begin();
    put_counters();
    put_range(1, 10, 300000, 0, 0);
    put_launch(1, "a", 90, 100, 990, 1);
    put_value(POWER, 100000, 99990, 100);
    put_value(POWER, 200000, 100000, 100);
    put_value(POWER, 300000, 100000, 100);
    put_zeros(100, 300000);
    put_range(2, 400000, 401000, 0, 0);
    put_zeros(400000, 401000);
    put_range(3, 500000, 501000, 0, 0);
    build(0);
    assert_int_equal(missing(POWER), 0);
    assert_int_equal(missing(CLOCK), 1000);
    rebuild(2);
    assert_int_equal(missing(POWER), 0);
    assert_int_equal(missing(CLOCK), 0);
    rebuild(3);
    assert_int_equal(missing(POWER), 0);
    assert_int_equal(missing(CLOCK), 1000);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_at_once_have_one_clock),
        cmocka_unit_test(a_gpu_is_busy_once_where_kernels_overlap),
        cmocka_unit_test(their_parts_of_the_sms_still_add_up),
        cmocka_unit_test(a_kernel_that_samples_hardly_cover_is_unknown),
        cmocka_unit_test(many_small_parts_do_not_make_a_zero),
        cmocka_unit_test(work_of_less_than_a_sample_is_unknown),
        cmocka_unit_test(the_time_before_the_first_sample_is_missing),
        cmocka_unit_test(readings_that_reach_beyond_a_range_cover_it),
        cmocka_unit_test(samples_before_the_first_work_are_expected_from_the_first_on),
        cmocka_unit_test(what_nobody_samples_is_not_missing),
        cmocka_unit_test(ranges_shorter_than_the_interval_need_no_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
