/* The sums of a summary. Expected values are those of tests/tools/known_trace.h, added by hand, or
 * those of a second, simpler way to add. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/common/tally.h"
#include "profile/profile.h"
#include "reports/summary/summary.h"
#include "tools/known_trace.h"
#include "unit/trace_fixture.h"

struct expected_row {
    const char *name;
    uint64_t calls, total, min, max;
    double deviation; /* of the durations that are listed in known_trace.h, by hand */
};

static struct mp_trace *open_known(const struct known_options *options)
{
    struct mp_trace *trace;
    char path[64];

    snprintf(path, sizeof path, "/tmp/test_summary.%d.mpt", (int)getpid());
    unlink(path);
    assert_true(known_write(path, options));
    assert_int_equal(mp_trace_open(path, &trace, NULL), MP_OK);
    unlink(path);
    return trace;
}

static void assert_rows(const struct summary_group *group, const struct expected_row *expected,
                        size_t count)
{
    double percent = 0;

    assert_int_equal(group->row_count, count);
    for (size_t i = 0; i < count; i++) {
        const struct summary_row *row = &group->rows[i];

        assert_string_equal(row->name, expected[i].name);
        assert_int_equal(row->tally.calls, expected[i].calls);
        assert_int_equal(row->tally.total, expected[i].total);
        assert_int_equal(row->tally.min, expected[i].min);
        assert_int_equal(row->tally.max, expected[i].max);
        assert_true(fabs(row->deviation - expected[i].deviation) < 1e-3);
        assert_true(row->mean * (double)row->tally.calls - (double)row->tally.total < 1e-3);
        percent += row->percent;
    }
    assert_true(percent > 99.999 && percent < 100.001);
}

#define ASSERT_ROWS(group, expected)                                                               \
    assert_rows(group, expected, sizeof(expected) / sizeof *(expected))

static const struct expected_row gpu_rows[] = {
    {KNOWN_GEMM, 1, 1234567, 1234567, 1234567, 0},
    {KNOWN_VECADD, 3, 60000, 10000, 30000, 10000},
    {"[CUDA graph 7]", 1, 50000, 50000, 50000, 0},
    {"[CUDA memcpy HtoD]", 2, 4000, 1000, 3000, 1414.213562},
    {"[CUDA memset]", 1, 640, 640, 640, 0},
    {"[CUDA memcpy PtoP]", 1, 500, 500, 500, 0},
};

static const struct expected_row api_rows[] = {
    {"cudaStreamSynchronize", 1, 1300000, 1300000, 1300000, 0},
    {"cudaLaunchKernel", 3, 18000, 5000, 7000, 1000},
    {"cuMemcpyHtoDAsync", 2, 4001, 2000, 2001, 0.707107},
};

static void build(const struct known_options *how, uint64_t range, struct summary *summary)
{
    struct summary_options options = {.range = range, .style = NAMES_READABLE};
    struct mp_trace *trace = open_known(how);

    assert_int_equal(summary_build(trace, &options, summary, NULL), MP_OK);
    mp_trace_close(trace);
}

static void everything_is_added_by_name(void **state)
{
    struct known_options how = {.header = NULL};
    struct summary summary;

    (void)state;
    build(&how, 0, &summary);
    ASSERT_ROWS(&summary.groups[SUMMARY_GPU], gpu_rows);
    ASSERT_ROWS(&summary.groups[SUMMARY_API], api_rows);
    assert_int_equal(summary.range_count, 2);
    assert_true(quality_is_whole(&summary.quality));
    summary_free(&summary);
}

static void a_range_holds_what_it_launched(void **state)
{
    static const struct expected_row gpu[] = {
        {KNOWN_VECADD, 2, 40000, 10000, 30000, 14142.135624},
        {"[CUDA memcpy HtoD]", 1, 1000, 1000, 1000, 0},
    };
    static const struct expected_row api[] = {
        {"cudaLaunchKernel", 2, 11000, 5000, 6000, 707.106781},
        {"cuMemcpyHtoDAsync", 1, 2000, 2000, 2000, 0},
    };
    struct known_options how = {.header = NULL};
    struct summary summary;

    (void)state;
    build(&how, 1, &summary);
    ASSERT_ROWS(&summary.groups[SUMMARY_GPU], gpu);
    ASSERT_ROWS(&summary.groups[SUMMARY_API], api);
    summary_free(&summary);
}

static void put_mark(struct mp_writer *writer, uint64_t kind, uint64_t time, uint64_t correlation)
{
    mp_append_capture(writer,
                      &(struct mp_row_capture){
                          .range = 1, .kind = kind, .time = time, .correlation = correlation});
}

static void put_copy(struct mp_writer *writer, uint64_t start, uint64_t correlation, uint64_t ns)
{
    mp_append_copy(writer, &(struct mp_row_copy){.stream = 1,
                                                 .kind = MP_copy_kind_HtoD,
                                                 .start = start,
                                                 .duration = ns,
                                                 .correlation = correlation});
    mp_append_set(writer,
                  &(struct mp_row_set){
                      .stream = 1, .start = start, .duration = ns, .correlation = correlation});
}

/* Durations that are long and nearly equal: a mean of squares less the square of the mean would be
 * lost in rounding. Sums of two traces are those of one. */
static void deviations_are_exact(void **state)
{
    const uint64_t hour = UINT64_C(3600000000000);
    struct tally all = {.calls = 0}, first = {.calls = 0}, rest = {.calls = 0};
    struct tally batch = tally_of(31, 3); /* 10, 10 and 11 ns */

    (void)state;
    for (uint64_t i = 0; i < 5; i++) {
        tally_add(&all, hour + i);
        tally_add(i < 2 ? &first : &rest, hour + i);
    }
    tally_merge(&first, &rest);
    assert_true(fabs(tally_deviation(&all) - 1.5811388300841898) < 1e-12); /* of 0, 1, 2, 3, 4 */
    assert_memory_equal(&first, &all, sizeof all);
    assert_true(fabs(tally_deviation(&batch) - 0.5773502691896257) < 1e-12);
    assert_true(tally_deviation(&(struct tally){.calls = 1, .total = hour}) == 0);
}

/* Copies and sets: launched before the range and run in it, the other way round, and both in it. */
static void work_belongs_to_the_range_that_launched_it(void **state)
{
    static const struct expected_row gpu[] = {{"[CUDA memcpy HtoD]", 2, 20 + 30, 20, 30, 7.071068},
                                              {"[CUDA memset]", 2, 20 + 30, 20, 30, 7.071068}};
    struct summary_options options = {.range = 1, .style = NAMES_READABLE};
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", 0);
    struct summary summary;
    struct mp_trace *trace;

    (void)state;
    put_mark(writer, MP_capture_kind_begin, 1000, 10);
    put_copy(writer, 1100, 5, 10);
    put_copy(writer, 1200, 15, 20);
    put_mark(writer, MP_capture_kind_end, 2000, 20);
    put_copy(writer, 2100, 16, 30);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(summary_build(trace, &options, &summary, NULL), MP_OK);
    ASSERT_ROWS(&summary.groups[SUMMARY_GPU], gpu);
    summary_free(&summary);
    mp_trace_close(trace);
    close(fd);
}

static void a_range_that_does_not_exist_is_an_error(void **state)
{
    struct known_options how = {.header = NULL};
    struct summary_options options = {.range = 3};
    struct mp_trace *trace = open_known(&how);
    struct summary summary;
    struct mp_error error;

    (void)state;
    assert_int_equal(summary_build(trace, &options, &summary, &error), MP_ERR_ARGUMENT);
    assert_string_equal(error.text, "there is no capture range 3; the trace has 2");
    mp_trace_close(trace);
}

static void rows_with_doubtful_times_are_counted_and_left_out(void **state)
{
    struct known_options how = {.doubtful = true};
    struct summary summary;

    (void)state;
    build(&how, 0, &summary);
    ASSERT_ROWS(&summary.groups[SUMMARY_GPU], gpu_rows);
    assert_int_equal(summary.quality.unknown_times, 2);
    assert_int_equal(summary.quality.reversed_times, 1);
    assert_false(quality_is_whole(&summary.quality));
    summary_free(&summary);
}

static void names_that_are_missing_are_counted(void **state)
{
    struct known_options how = {.undefined = true};
    struct summary summary;
    const struct summary_row *row = NULL;

    (void)state;
    build(&how, 0, &summary);
    for (size_t i = 0; i < summary.groups[SUMMARY_GPU].row_count; i++) {
        if (!strcmp(summary.groups[SUMMARY_GPU].rows[i].name, "[unnamed kernel]"))
            row = &summary.groups[SUMMARY_GPU].rows[i];
    }
    assert_int_equal(row ? row->tally.total : 0, 777);
    assert_int_equal(summary.quality.undefined, 1);
    summary_free(&summary);
}

static void dropped_records_come_from_counters_and_index(void **state)
{
    struct known_options how = {.dropped = 12};
    struct summary summary;

    (void)state;
    build(&how, 0, &summary);
    assert_int_equal(summary.quality.dropped, 12);
    summary_free(&summary);
}

static void an_empty_trace_has_no_rows(void **state)
{
    struct known_options how = {.empty = true};
    struct summary summary;

    (void)state;
    build(&how, 0, &summary);
    assert_int_equal(summary.groups[SUMMARY_GPU].row_count, 0);
    assert_int_equal(summary.groups[SUMMARY_API].row_count, 0);
    summary_free(&summary);
}

static void parts_leave_the_other_group_empty(void **state)
{
    struct known_options how = {.header = NULL};
    struct summary_options gpu = {.style = NAMES_READABLE, .parts = SUMMARY_PART_GPU};
    struct summary_options api = {.parts = SUMMARY_PART_API};
    struct mp_trace *trace = open_known(&how);
    struct summary summary;

    (void)state;
    assert_int_equal(summary_build(trace, &gpu, &summary, NULL), MP_OK);
    ASSERT_ROWS(&summary.groups[SUMMARY_GPU], gpu_rows);
    assert_int_equal(summary.groups[SUMMARY_API].row_count, 0);
    summary_free(&summary);
    assert_int_equal(summary_build(trace, &api, &summary, NULL), MP_OK);
    ASSERT_ROWS(&summary.groups[SUMMARY_API], api_rows);
    assert_int_equal(summary.groups[SUMMARY_GPU].row_count, 0);
    summary_free(&summary);
    mp_trace_close(trace);
}

/* One device: its rows are those of all. */
static void each_device_gets_its_rows(void **state)
{
    struct known_options how = {.undefined = false};
    struct summary_options options = {.style = NAMES_READABLE, .parts = SUMMARY_PART_PER_GPU};
    struct mp_trace *trace = open_known(&how);
    struct summary summary;

    (void)state;
    assert_int_equal(summary_build(trace, &options, &summary, NULL), MP_OK);
    ASSERT_ROWS(&summary.groups[SUMMARY_GPU], gpu_rows);
    assert_int_equal(summary.device_count, 1);
    assert_int_equal(summary.devices[0].device, 0);
    assert_string_equal(summary.devices[0].name, "Tested GPU");
    ASSERT_ROWS(&summary.devices[0].group, gpu_rows);
    summary_free(&summary);
    mp_trace_close(trace);
}

static void settings_say_what_was_asked_for(void **state)
{
    static const struct {
        const char *header;
        bool gpu;
        bool api;
    } cases[] = {
        {KNOWN_HEADER, true, true},
        {KNOWN_HEADER "MINIPROF_API=lean\nMINIPROF_GPU=on\n", true, true},
        {KNOWN_HEADER "MINIPROF_API=none\n", true, false},
        {KNOWN_HEADER "MINIPROF_GPU=off\n", false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct known_options how = {.header = cases[i].header, .empty = true};
        struct summary summary;

        build(&how, 0, &summary);
        assert_int_equal(summary.recorded[SUMMARY_GPU], cases[i].gpu);
        assert_int_equal(summary.recorded[SUMMARY_API], cases[i].api);
        summary_free(&summary);
    }
}

/* Against a sum that goes over the rows once for each id, with no state between them. */
static void tallies_equal_a_sum_done_the_slow_way(void **state)
{
    enum { ROWS = 5000, IDS = 37 };
    static uint64_t ids[ROWS], starts[ROWS], durations[ROWS], batches[ROWS];
    struct tally_rows rows = {ids, starts, durations, NULL, ROWS, batches};
    struct tallies tallies;
    uint64_t unknown = 0;
    uint64_t reversed = 0;

    (void)state;
    srandom(1);
    for (int i = 0; i < ROWS; i++) {
        ids[i] = (uint64_t)random() % IDS;
        starts[i] = random() % 50 ? (uint64_t)random() + 1 : 0;
        durations[i] = (uint64_t)(random() % 1000 - 20);
        batches[i] = random() % 3 ? (uint64_t)random() % 2 : (uint64_t)random() % 70;
        unknown += !starts[i];
        reversed += starts[i] && (int64_t)durations[i] < 0;
    }
    tallies_init(&tallies, IDS);
    assert_int_equal(tallies_add(&tallies, &rows, NULL), MP_OK);
    assert_int_equal(tallies.unknown_times, unknown);
    assert_int_equal(tallies.reversed_times, reversed);
    for (uint64_t id = 0; id < IDS; id++) {
        struct tally slow = {.min = UINT64_MAX};
        const struct tally *tally = dense_at(&tallies.items, id);

        for (int i = 0; i < ROWS; i++) {
            if (ids[i] != id || !starts[i] || (int64_t)durations[i] < 0)
                continue;
            uint64_t calls = batches[i] ? batches[i] : 1;
            uint64_t min = durations[i] / calls, max = (durations[i] + calls - 1) / calls;

            slow.calls += calls;
            slow.total += durations[i];
            slow.min = min < slow.min ? min : slow.min;
            slow.max = max > slow.max ? max : slow.max;
            for (uint64_t call = 0; call < calls; call++) {
                uint64_t time = call < durations[i] % calls ? max : min;

                slow.squares[0] += time * time; /* of some 20,000 calls of up to 1 us */
            }
        }
        assert_memory_equal(tally, &slow, sizeof slow);
    }
    tallies_free(&tallies);
}

static void ids_beyond_reason_are_counted_not_stored(void **state)
{
    const uint64_t ids[] = {3, UINT64_MAX, 1u << 30, 3};
    const uint64_t starts[] = {1, 1, 1, 1};
    const uint64_t durations[] = {10, 20, 30, 40};
    struct tally_rows rows = {ids, starts, durations, NULL, 4, NULL};
    struct tallies tallies;

    (void)state;
    tallies_init(&tallies, 100);
    assert_int_equal(tallies_add(&tallies, &rows, NULL), MP_OK);
    assert_int_equal(tallies.beyond, 2);
    assert_int_equal(((struct tally *)dense_at(&tallies.items, 3))->total, 50);
    assert_int_equal(((struct tally *)dense_at(&tallies.items, 0))->total, 50);
    assert_true(tallies.items.capacity <= 100);
    tallies_free(&tallies);
}

static void profile_counts_records_without_the_collectors_notes(void **state)
{
    struct known_options how = {.dropped = 12};
    struct mp_trace *trace = open_known(&how);
    struct profile profile;

    (void)state;
    assert_int_equal(profile_load(&profile, trace, DEFINITIONS_ALL, NULL), MP_OK);
    assert_int_equal(profile.records, 4 + 3 + 1 + 1 + 6); /* kernels, copies, sets, graphs, calls */
    assert_int_equal(profile.first_time, 1001000);
    assert_int_equal(profile.last_time, 3450000);
    assert_int_equal(profile.bytes, mp_trace_bytes(trace));
    assert_int_equal(profile.bytes, profile.total.bytes + profile.other_bytes);
    assert_int_equal(profile.quality.dropped, 12);
    assert_int_equal(ranges_count(&profile.ranges), 2);
    profile_free(&profile);
    mp_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_added_by_name),
        cmocka_unit_test(a_range_holds_what_it_launched),
        cmocka_unit_test(deviations_are_exact),
        cmocka_unit_test(work_belongs_to_the_range_that_launched_it),
        cmocka_unit_test(a_range_that_does_not_exist_is_an_error),
        cmocka_unit_test(rows_with_doubtful_times_are_counted_and_left_out),
        cmocka_unit_test(names_that_are_missing_are_counted),
        cmocka_unit_test(dropped_records_come_from_counters_and_index),
        cmocka_unit_test(an_empty_trace_has_no_rows),
        cmocka_unit_test(parts_leave_the_other_group_empty),
        cmocka_unit_test(each_device_gets_its_rows),
        cmocka_unit_test(settings_say_what_was_asked_for),
        cmocka_unit_test(tallies_equal_a_sum_done_the_slow_way),
        cmocka_unit_test(ids_beyond_reason_are_counted_not_stored),
        cmocka_unit_test(profile_counts_records_without_the_collectors_notes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
