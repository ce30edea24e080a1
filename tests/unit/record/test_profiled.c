/* profiled.h: the times of kernels whose records have none, and values on their way to the file:
 * bounded, counted, and never those of another kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/counters/profiled.h"
#include "record/graphs/edges.h"
#include "record/rows/decode.h"
#include "record/rows/recording.h"
#include "unit/trace_fixture.h"

static struct metric_plan plan = {.raw_count = 1};
static struct profiled_store store;
static struct decoder decoder;
static struct edge_store edges;

static void store_set_up(void)
{
    memset(&decoder, 0, sizeof(decoder));
    profiled_open(&store);
    store.correlation = &decoder.correlation;
}

/* A launch that was entered at 1000 and left at `leave`. */
static void put(uint32_t correlation, uint64_t leave, double duration)
{
    struct profiled_launch *launch = profiled_new(&plan, "alpha");

    assert_non_null(launch);
    launch->correlation = correlation;
    launch->enter = 1000;
    launch->leave = leave;
    launch->values[0] = duration;
    profiled_put(&store, launch);
}

/* The writer appends all that waits, to nothing. */
static void take(void)
{
    struct profiled_launch *launch;

    while ((launch = profiled_next(&store)))
        free(launch);
}

static void expect_times(uint64_t correlation, uint64_t start, uint64_t end)
{
    uint64_t got[2] = {1, 1};

    assert_int_equal(profiled_times(&store, correlation, &got[0], &got[1]), PROFILED_FIRST);
    assert_int_equal(got[0], start);
    assert_int_equal(got[1], end);
}

static void expect_none(uint64_t correlation)
{
    uint64_t got[2];

    assert_int_equal(profiled_times(&store, correlation, &got[0], &got[1]), PROFILED_NOT);
}

static void a_kernel_ends_where_its_launch_returned(void **state)
{
    uint64_t got[2];

    (void)state;
    store_set_up();
    expect_none(4);
    put(4, 5000, 600.4);
    profiled_collect(&store);
    expect_times(4, 4400, 5000);
    assert_int_equal(profiled_times(&store, 4, &got[0], &got[1]), PROFILED_AGAIN);
    expect_none(5);
    profiled_close(&store);
}

static void a_duration_that_makes_no_sense_is_no_time(void **state)
{
    static const double durations[] = {
        0, -1, 4000, 1e300, (double)__builtin_nan(""), (double)__builtin_inf()};
    uint32_t i;

    (void)state;
    store_set_up();
    for (i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
        put(i + 1, 5000, durations[i]);
    profiled_collect(&store);
    for (i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
        expect_times(i + 1, 0, 0);
    profiled_close(&store);
}

/* 2^32 calls later the same number is another launch's. */
static void correlation_ids_that_come_again_are_told_apart(void **state)
{
    uint32_t part;

    (void)state;
    store_set_up();
    put(4, 5000, 100);
    profiled_collect(&store);
    for (part = 1; part <= 4; part++)
        decode_correlation(&decoder, part << 30);
    expect_none(decode_correlation(&decoder, 4));
    put(6, 9000, 100);
    profiled_collect(&store);
    expect_times(decode_correlation(&decoder, 6), 8900, 9000);
    profiled_close(&store);
}

static void times_are_forgotten_after_a_while(void **state)
{
    const uint64_t max = PROFILED_MAX_TIMES;
    uint32_t id;

    (void)state;
    store_set_up();
    for (id = 1; id <= 3 * max; id++) {
        put(id, 5000, 100);
        if (id % 1000 == 0)
            take();
    }
    take();
    assert_int_equal(store.index.count, PROFILED_MAX_TIMES);
    expect_none(1);
    expect_none(2 * max);
    expect_times(2 * max + 1, 4900, 5000);
    expect_times(3 * max, 4900, 5000);
    assert_int_equal(atomic_load(&store.lost), 0);
    profiled_close(&store);
}

static void a_writer_that_is_away_bounds_what_waits(void **state)
{
    uint32_t id;
    uint32_t taken = 0;
    struct profiled_launch *launch;

    (void)state;
    store_set_up();
    for (id = 1; id <= PROFILED_MAX_WAITING + 7; id++)
        put(id, 5000, 100);
    assert_int_equal(atomic_load(&store.lost), 7);
    for (; (launch = profiled_next(&store)); taken++)
        free(launch);
    assert_int_equal(taken, PROFILED_MAX_WAITING);
    put(id, 5000, 100);
    assert_int_equal(store.waiting, 1);
    profiled_close(&store);
}

/* ---- Records ---- */

static CUptiResult one_record(uint8_t *data, size_t bytes, CUpti_Activity **record)
{
    (void)bytes;
    if (*record)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)data;
    return CUPTI_SUCCESS;
}

/* Kernels whose correlation id an earlier profiled launch had are rows as any other. */
static void later_kernels_of_the_same_number_keep_their_rows(void **state)
{
    static struct api_set api;
    static struct capture capture;
    struct record_kernel_10 record = {.kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                 .correlation = 4,
                                                 .start = 7000,
                                                 .end = 7010,
                                                 .name = "alpha"}};
    struct record_kernel *const kernel = &record.kernel;
    struct cupti_api cupti = {.next_record = one_record, .version = 130001};
    struct mp_writer_totals totals;
    struct dictionary dictionary;
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", 0);
    uint32_t part;

    (void)state;
    profiled_open(&store);
    capture_open(&capture, MP_CAPTURE_ALL, true);
    assert_int_equal(dictionary_open(&dictionary, writer, &api), MP_OK);
    edges_open(&edges);
    dictionary.edges = &edges;
    decoder_open(&decoder, &cupti, &api, &capture, &dictionary, writer);
    decoder.profiled = &store;
    store.correlation = &decoder.correlation;
    put(4, 5000, 100);
    profiled_collect(&store);
    kernel->start = kernel->end = 0;
    decode_buffer(&decoder, (uint8_t *)&record, sizeof(record)); /* the profiled one */
    decode_buffer(&decoder, (uint8_t *)&record, sizeof(record)); /* of the profiler's own */
    for (part = 1; part <= 4; part++)
        decode_correlation(&decoder, part << 30);
    kernel->start = 7000;
    kernel->end = 7010;
    decode_buffer(&decoder, (uint8_t *)&record, sizeof(record));
    assert_int_equal(store.rows_filled, 1);
    assert_int_equal(decoder.counts.zero_times, 0);
    decoder_close(&decoder);
    dictionary_close(&dictionary);
    profiled_close(&store);
    edges_close(&edges);
    mp_writer_flush(writer);
    mp_writer_totals(writer, &totals);
    assert_int_equal(totals.event_rows, 2);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    close(fd);
}

/* ---- Definitions ---- */

/* Once for each plan, and again after the file was cut. */
static void metrics_are_defined_once_a_file(void **state)
{
    static struct recording recording;
    static const struct api_set api;
    static struct metric_choice choices[3];
    const struct metric_plan two = {.choices = choices, .choice_count = 2};
    const struct metric_plan one = {.choices = choices + 2, .choice_count = 1};
    int fd = fixture_file(NULL, 0);

    (void)state;
    profiled_open(&store);
    recording.writer = fixture_writer(fd, "", 0);
    assert_int_equal(dictionary_open(&recording.dictionary, recording.writer, &api), MP_OK);
    for (int file = 0; file < 2; file++) {
        for (int again = 0; again < 2; again++) {
            assert_int_equal(profiled_define(&store, &recording, &two), 1);
            assert_int_equal(profiled_define(&store, &recording, &one), 3);
        }
        profiled_restart(&store);
    }
    dictionary_close(&recording.dictionary);
    profiled_close(&store);
    assert_int_equal(mp_writer_close(recording.writer, NULL), MP_OK);
    assert_int_equal(fixture_rows(fd, MP_TABLE_metric), 6);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_ends_where_its_launch_returned),
        cmocka_unit_test(a_duration_that_makes_no_sense_is_no_time),
        cmocka_unit_test(correlation_ids_that_come_again_are_told_apart),
        cmocka_unit_test(times_are_forgotten_after_a_while),
        cmocka_unit_test(a_writer_that_is_away_bounds_what_waits),
        cmocka_unit_test(later_kernels_of_the_same_number_keep_their_rows),
        cmocka_unit_test(metrics_are_defined_once_a_file),
    };

    return cmocka_run_group_tests_name("kernels that were profiled", tests, NULL, NULL);
}
