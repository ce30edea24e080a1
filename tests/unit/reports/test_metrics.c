/* reports/metrics/metrics.h and metrics/print.h. Expected values are those of
 * tests/tools/known_metrics.h, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/metrics/metrics.h"
#include "reports/metrics/print.h"
#include "tools/known_trace.h"
#include "unit/trace_fixture.h"

static struct mp_trace *open_known(const struct known_options *options)
{
    struct mp_trace *trace;
    char path[64];

    snprintf(path, sizeof path, "/tmp/test_metrics.%d.mpt", (int)getpid());
    unlink(path);
    assert_true(known_write(path, options));
    assert_int_equal(mp_trace_open(path, &trace, NULL), MP_OK);
    unlink(path);
    return trace;
}

static void build(const char *filter, bool each, struct metrics_result *result)
{
    struct metrics_options options = {.style = NAMES_READABLE, .each = each};
    struct mp_trace *trace = open_known(&(struct known_options){.metrics = true});
    struct kernel_filter compiled;

    assert_int_equal(kernel_filter_parse(&compiled, filter, NULL), MP_OK);
    options.filter = filter ? &compiled : NULL;
    assert_int_equal(metrics_build(trace, &options, result, NULL), MP_OK);
    kernel_filter_free(&compiled);
    mp_trace_close(trace);
}

struct expected_row {
    const char *metric, *kernel;
    uint64_t device, invocations, values;
    double min, max, mean, total;
};

#define VECADD           KNOWN_VECADD
#define GEMM             KNOWN_GEMM
#define MIB              1048576.0
#define MEASURED_INSTEAD "measured as " KNOWN_SUBSTITUTE " (global and local loads, counted at L1)"

static const struct expected_row expected_rows[] = {
    {"achieved_occupancy", VECADD, 0, 3, 3, 0.25, 0.75, 0.5, 1.5},
    {"gld_throughput", VECADD, 0, 3, 3, 0, 2048 * MIB, 2059 * MIB / 3, 2059 * MIB},
    {"gld_efficiency", VECADD, 0, 3, 3, 25, 100, 60, 180},
    {"inst_executed", VECADD, 0, 3, 3, 6400, 6403, 19204.0 / 3, 19204},
    {"l2_global_load_bytes", VECADD, 0, 3, 3, 4096, 4096, 4096, 12288},
    {"warps_launched", VECADD, 0, 3, 3, 200, 200, 200, 600},
    {"gpu__time_duration.sum", VECADD, 0, 3, 3, 1234, 3000000, 1001078, 3003234},
    {"achieved_occupancy", GEMM, 0, 1, 1, 0.125, 0.125, 0.125, 0.125},
    {"gld_throughput", GEMM, 0, 1, 1, 1000, 1000, 1000, 1000},
    {"gld_efficiency", GEMM, 0, 1, 0, 0, 0, 0, 0},
    {"inst_executed", GEMM, 0, 1, 1, 123456789012.0, 123456789012.0, 123456789012.0,
     123456789012.0},
    {"l2_global_load_bytes", GEMM, 0, 1, 1, 1e6, 1e6, 1e6, 1e6},
    {"warps_launched", GEMM, 0, 1, 1, 7, 7, 7, 7},
    {"gpu__time_duration.sum", GEMM, 0, 1, 1, 5e5, 5e5, 5e5, 5e5},
    {"achieved_occupancy", VECADD, 1, 1, 1, 1, 1, 1, 1},
};

static void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-9 * fabs(expected));
}

static void sums_are_those_of_the_known_values(void **state)
{
    struct metrics_result result;

    (void)state;
    build(NULL, false, &result);
    assert_int_equal(result.row_count, sizeof expected_rows / sizeof *expected_rows);
    for (size_t i = 0; i < result.row_count; i++) {
        const struct metrics_row *row = &result.rows[i];

        assert_string_equal(row->metric->name, expected_rows[i].metric);
        assert_string_equal(row->kernel, expected_rows[i].kernel);
        assert_int_equal(row->metric->device, expected_rows[i].device);
        assert_int_equal(row->invocations, expected_rows[i].invocations);
        assert_int_equal(row->values, expected_rows[i].values);
        assert_near(row->min, expected_rows[i].min);
        assert_near(row->max, expected_rows[i].max);
        assert_near(row->mean, expected_rows[i].mean);
        assert_near(row->total, expected_rows[i].total);
    }
    assert_true(result.asked);
    assert_int_equal(result.launch_count, 0);
    assert_true(quality_is_whole(&result.quality));
    assert_string_equal(metrics_device_name(&result, 1), "Second GPU");
    assert_null(metrics_device_name(&result, 2));
    metrics_free(&result);
}

static void executions_come_in_order_of_time(void **state)
{
    static const uint64_t correlations[] = {501, 502, 503, 504, 505};
    static const uint64_t invocations[] = {1, 2, 1, 3, 4};
    static const size_t counts[] = {7, 7, 7, 7, 1};
    struct metrics_result result;

    (void)state;
    build(NULL, true, &result);
    assert_int_equal(result.launch_count, 5);
    assert_int_equal(result.value_count, 29);
    for (size_t i = 0; i < 5; i++) {
        const struct metrics_launch *launch = &result.launches[i];

        assert_int_equal(launch->correlation, correlations[i]);
        assert_int_equal(launch->time, 1000000 * correlations[i]);
        assert_int_equal(launch->invocation, invocations[i]);
        assert_int_equal(launch->count, counts[i]);
        assert_int_equal(launch->device, i == 4);
        assert_int_equal(launch->stream, i == 4 ? 7 : 13);
        assert_string_equal(launch->kernel, i == 2 ? KNOWN_GEMM : KNOWN_VECADD);
    }
    assert_true(isnan(result.values[result.launches[2].first + 2].value));
    assert_true(result.values[result.launches[3].first].value == 0.75);
    metrics_free(&result);
}

static void a_filter_leaves_what_it_matches(void **state)
{
    struct metrics_result result;

    (void)state;
    build("^gemm$", true, &result);
    assert_int_equal(result.row_count, 7);
    assert_int_equal(result.launch_count, 1);
    metrics_free(&result);
    build("2:::", true, &result);
    assert_int_equal(result.row_count, 1);
    assert_int_equal(result.launches[0].correlation, 505);
    metrics_free(&result);
    build("::vecAdd:2", true, &result);
    assert_int_equal(result.launch_count, 1);
    assert_int_equal(result.launches[0].correlation, 502);
    assert_true(result.rows[0].min == 0.5 && result.rows[0].max == 0.5);
    metrics_free(&result);
    build("nothing", true, &result);
    assert_int_equal(result.row_count + result.launch_count, 0);
    assert_true(result.asked);
    metrics_free(&result);
}

static void metrics_say_how_they_were_had(void **state)
{
    static const char measured_instead[] =
        "measured as " KNOWN_SUBSTITUTE " (global and local loads, counted at L1)";
    static const char *const notes[] = {
        "",
        "",
        "",
        "",
        measured_instead,
        "",
        "",
        "not available on this GPU",
        "nvprof's metric has no counterpart today",
        "no such metric; did you mean achieved_occupancy?",
        "",
        "nvprof's metric has no counterpart today",
    };
    struct metrics_result result;
    char text[512];

    (void)state;
    build(NULL, false, &result);
    assert_int_equal(result.metric_count, sizeof notes / sizeof *notes);
    for (size_t i = 0; i < result.metric_count; i++) {
        assert_string_equal(metric_note(&result.metrics[i], text, sizeof text), notes[i]);
        assert_int_equal(result.metrics[i].event, i == 5);
    }
    metrics_free(&result);
}

static void a_trace_without_metrics_has_none(void **state)
{
    struct metrics_options options = {.style = NAMES_MANGLED};
    struct mp_trace *trace = open_known(&(struct known_options){.header = NULL});
    struct metrics_result result;
    struct mp_error error;

    (void)state;
    assert_int_equal(metrics_build(trace, &options, &result, NULL), MP_OK);
    assert_false(result.asked);
    assert_int_equal(result.row_count, 0);
    assert_int_equal(result.range_count, 2);
    metrics_free(&result);
    options.range = 3;
    assert_int_equal(metrics_build(trace, &options, &result, &error), MP_ERR_ARGUMENT);
    metrics_free(&result); /* is empty */
    mp_trace_close(trace);
}

/* Rows of a damaged or forged file: ids that nothing defines, beyond all bounds, units and states
 * that do not exist, values of one execution apart. */
static void rows_that_refer_to_nothing_do_no_harm(void **state)
{
    int fd = fixture_file("", 0);
    struct mp_writer *writer = fixture_writer(fd, "pid=1\n", 0);
    struct metrics_options options = {.style = NAMES_READABLE, .each = true};
    struct report_out out = {.file = fopen("/dev/null", "w")};
    struct metrics_result result;
    struct mp_trace *trace;

    (void)state;
    mp_append_metric(writer,
                     &(struct mp_row_metric){
                         .id = 1, .device = UINT64_MAX, .name = 99, .state = 77, .unit = 88});
    mp_append_metric(writer, &(struct mp_row_metric){.id = UINT64_MAX, .state = 1});
    for (uint64_t i = 0; i < 100; i++)
        mp_append_metric_value(writer,
                               &(struct mp_row_metric_value){.metric = i % 3 ? 1 : UINT64_MAX,
                                                             .stream = UINT64_MAX - i,
                                                             .kernel = i % 2 ? 0 : UINT64_MAX - i,
                                                             .time = UINT64_MAX - i / 5,
                                                             .correlation = i % 7,
                                                             .value = i << 57});
    mp_append_metric_value(writer, &(struct mp_row_metric_value){.metric = 5});
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);

    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(metrics_build(trace, &options, &result, NULL), MP_OK);
    assert_int_equal(result.quality.undefined, 101);
    assert_true(result.row_count == 2 && result.value_count == 100);
    for (int format = REPORT_TEXT; format <= REPORT_JSON; format++) {
        out.format = (enum report_format)format;
        print_metrics(&out, trace, &result);
        assert_int_equal(print_metrics_each(&out, trace, &result), MP_OK);
    }
    metrics_free(&result);
    mp_trace_close(trace);
    fclose(out.file);
    close(fd);
}

static void assert_texts(enum metric_unit unit, double value, const char *text, const char *csv)
{
    char buffer[METRIC_TEXT_BYTES];

    assert_string_equal(metric_text(buffer, unit, value, REPORT_TEXT, MP_STYLE_NVPROF), text);
    assert_string_equal(metric_text(buffer, unit, value, REPORT_CSV, MP_STYLE_NVPROF), csv);
}

/* Those of nvprof are in reports that its users published. */
static void values_are_printed_as_nvprof_does(void **state)
{
    (void)state;
    assert_texts(METRIC_UNIT_RATIO, 0.910413, "0.910413", "0.910413");
    assert_texts(METRIC_UNIT_RATIO, 1, "1.000000", "1.000000");
    assert_texts(METRIC_UNIT_PERCENT, 92.31, "92.31%", "92.310000%");
    assert_texts(METRIC_UNIT_PERCENT, 100, "100.00%", "100.000000%");
    assert_texts(METRIC_UNIT_COUNT, 201533647, "201533647", "201533647");
    assert_texts(METRIC_UNIT_COUNT, 0, "0", "0");
    assert_texts(METRIC_UNIT_BYTES, 504608, "504608", "504608");
    assert_texts(METRIC_UNIT_BYTES_PER_SECOND, 0, "0.00000B/s", "0.000000B/s");
    assert_texts(METRIC_UNIT_BYTES_PER_SECOND, 999, "999.000B/s", "999.000000B/s");
    assert_texts(METRIC_UNIT_BYTES_PER_SECOND, 10.90625 * MIB, "10.906MB/s", "10.906250MB/s");
    assert_texts(METRIC_UNIT_BYTES_PER_SECOND, 747.828125 * MIB, "747.83MB/s", "747.828125MB/s");
    assert_texts(METRIC_UNIT_BYTES_PER_SECOND, 3.0486 * 1024 * MIB, "3.0486GB/s", "3.048600GB/s");
    assert_texts(METRIC_UNIT_NANOSECONDS, 1234, "1.2340us", "1.234000us");
    assert_texts(METRIC_UNIT_PER_SECOND, 1.5e9, "1.5e+09/s", "1.5e+09/s");
    assert_texts(METRIC_UNIT_COUNT, (double)NAN, "-", "");
    assert_texts(METRIC_UNIT_RATIO, (double)INFINITY, "-", "");
    assert_texts(METRIC_UNIT_COUNT, 1e300, "1.000000e+300", "1.000000e+300");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_known_values),
        cmocka_unit_test(executions_come_in_order_of_time),
        cmocka_unit_test(a_filter_leaves_what_it_matches),
        cmocka_unit_test(metrics_say_how_they_were_had),
        cmocka_unit_test(a_trace_without_metrics_has_none),
        cmocka_unit_test(rows_that_refer_to_nothing_do_no_harm),
        cmocka_unit_test(values_are_printed_as_nvprof_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
