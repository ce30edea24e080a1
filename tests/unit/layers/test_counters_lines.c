/* Counters over time in bins: means, least and greatest values, gaps, and how many bins there are.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reports/counters/counters.h"
#include "unit/layers/counters_fixture.h"

static struct counters_lines lines;

static void build_lines(uint64_t from, uint64_t until, size_t max)
{
    const struct counters_window window = {.from = from * US, .until = until * US, .max = max};
    struct mp_error error;

    scene_load();
    assert_int_equal(counters_lines_build(scene.trace, &window, &lines, &error), MP_OK);
}

static void lines_done(void)
{
    counters_lines_free(&lines);
    scene_end(UNSOUND);
}

static void expect_bin(size_t set, size_t place, size_t bin, uint64_t begin, uint64_t end,
                       const double *values)
{
    const struct counters_bins *bins = &lines.sets[set];
    const struct counters_bin *value = &bins->values[place * bins->max + bin];
    double step = lines.result.counters[bins->counters[place]].step;

    assert_true(bin < bins->count);
    assert_int_equal(bins->begins[bin], begin * US);
    assert_int_equal(bins->ends[bin], end * US);
    assert_true(fabs(sampled_unpack(value->mean, step) - values[0]) < 0.051);
    assert_true(fabs(sampled_unpack(value->min, step) - values[1]) < 0.051);
    assert_true(fabs(sampled_unpack(value->max, step) - values[2]) < 0.051);
}

static void few_samples_have_a_bin_each(void **state)
{
    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    put_counter(2, 0, "power", MP_counter_source_nvml);
    put_sample(1, 110, 10, 20);
    put_sample(1, 120, 10, 30);
    put_sample(1, 150, 10, 40); /* behind a gap */
    put_sample(2, 200, 100, 45);
    build_lines(100, 200, 1000);
    assert_int_equal(lines.count, 2);
    assert_int_equal(lines.sets[0].count, 3);
    expect_bin(0, 0, 0, 100, 110, (double[]){20, 20, 20});
    expect_bin(0, 0, 1, 110, 120, (double[]){30, 30, 30});
    expect_bin(0, 0, 2, 140, 150, (double[]){40, 40, 40});
    assert_int_equal(lines.sets[1].count, 1);
    expect_bin(1, 0, 0, 100, 200, (double[]){45, 45, 45});
    lines_done();
}

/* Ten bins of 10 us; the mean is weighted by time: 5 us at 10 and 5 us at 40, or 8 and 2. */
static void neighbours_share_a_bin(void **state)
{
    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    for (uint64_t i = 0; i < 9; i++) {
        put_sample(1, 100 + 10 * i + 5, 5, 10);
        put_sample(1, 100 + 10 * i + 10, 5, 40);
    }
    put_sample(1, 198, 8, 10);
    put_sample(1, 200, 2, 40);
    build_lines(100, 200, 10);
    assert_int_equal(lines.sets[0].count, 10);
    expect_bin(0, 0, 3, 130, 140, (double[]){25, 10, 40});
    expect_bin(0, 0, 9, 190, 200, (double[]){16, 10, 40});
    lines_done();
}

static void bins_are_shared_among_counters(void **state)
{
    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    put_counter(2, 0, "dram_active", MP_counter_source_cupti);
    put_counter(3, 1, "sm_active", MP_counter_source_cupti);
    for (uint64_t i = 1; i <= 1000; i++)
        for (uint64_t counter = 1; counter <= 3; counter++)
            put_sample(counter, 100 + i, 1, counter == 2 && i % 2 ? 80 : 50);
    build_lines(100, 1100, 300);
    assert_int_equal(lines.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_in_range(lines.sets[i].count, 50, 100);
    assert_int_equal(lines.sets[0].width, 2);
    assert_int_equal(lines.sets[1].device, 1);
    expect_bin(0, 1, 0, 100, lines.sets[0].ends[0] / US, (double[]){65, 50, 80});
    lines_done();
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    put_sample(1, 110, 10, 20);
    put_sample(1, 120, 10, 40);
    build_lines(100, 200, 0); /* at least one each */
    assert_int_equal(lines.sets[0].count, 1);
    expect_bin(0, 0, 0, 100, 120, (double[]){30, 20, 40});
    lines_done();
}

/* Values that are not known; samples outside of the window; none at all. */
static void what_is_not_there(void **state)
{
    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    put_sample(1, 90, 10, 20);
    put_sample(1, 110, 10, (double)NAN);
    put_sample(1, 190, 10, 30);
    put_sample(1, 220, 10, 40);
    build_lines(100, 200, 1000);
    assert_int_equal(lines.sets[0].count, 2);
    assert_int_equal(lines.sets[0].values[0].mean, SAMPLED_UNKNOWN);
    expect_bin(0, 0, 1, 180, 190, (double[]){30, 30, 30});
    lines_done();
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_nobody);
    build_lines(100, 200, 1000);
    assert_int_equal(lines.count, 0);
    lines_done();
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    put_sample(1, 110, 10, 20);
    build_lines(200, 200, 1000);
    assert_int_equal(lines.count, 0);
    lines_done();
}

/* A damaged file may say that a sample is as long as all before it. */
static void samples_that_overlap(void **state)
{
    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    for (uint64_t i = 1; i <= 50; i++)
        put_sample(1, 100 + 2 * i, i % 2 ? 1 : 99 + 2 * i, 10);
    build_lines(100, 200, 10);
    assert_in_range(lines.sets[0].count, 1, 10);
    for (size_t i = 0; i < lines.sets[0].count; i++) {
        assert_true(lines.sets[0].begins[i] < lines.sets[0].ends[i]);
        if (i)
            assert_true(lines.sets[0].begins[i] >= lines.sets[0].ends[i - 1]);
    }
    lines_done();
}

static void no_such_range(void **state)
{
    const struct counters_window window = {.range = 7, .until = 1000, .max = 10};
    struct mp_error error;

    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    put_sample(1, 110, 10, 20);
    scene_load();
    assert_int_equal(counters_lines_build(scene.trace, &window, &lines, &error), MP_ERR_ARGUMENT);
    lines_done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_samples_have_a_bin_each),    cmocka_unit_test(neighbours_share_a_bin),
        cmocka_unit_test(bins_are_shared_among_counters), cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(samples_that_overlap),           cmocka_unit_test(no_such_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
