/* By how much kernel times add up beyond the busy time: random kernels in random order against a
 * look at every nanosecond, and traces whose answer was worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdlib.h>

#include "profile/common/kernel_time.h"
#include "reports/kernels/kernels.h"
#include "reports/overlap/overlap.h"
#include "reports/summary/summary.h"

/* ---- Random kernels ---- */

#define MAX     60u
#define STREAMS 5u /* of devices 0 and 1, in turn */
#define END     100u

struct kernels_at_random {
    size_t count;
    uint64_t stream[MAX], start[MAX], duration[MAX], correlation[MAX];
    uint64_t reached[MAX]; /* by batch */
};

static struct definitions definitions;

static int define_streams(void **state)
{
    (void)state;
    dense_init(&definitions.streams, sizeof(struct definition_stream), STREAMS);
    assert_int_equal(dense_reach(&definitions.streams, STREAMS - 1), MP_OK);
    for (uint64_t i = 0; i < STREAMS; i++)
        *(struct definition_stream *)dense_at(&definitions.streams, i) =
            (struct definition_stream){.stream = i, .device = i % 2, .defined = true};
    return 0;
}

static int forget_streams(void **state)
{
    (void)state;
    dense_free(&definitions.streams);
    return 0;
}

/* In any order, or nearly in that of their begins. */
static void make_kernels(struct kernels_at_random *made, uint64_t *random)
{
    uint64_t scatter = fixture_random(random) % 2 ? 60 : 4;

    made->count = fixture_random(random) % (MAX + 1);
    for (size_t i = 0; i < made->count; i++) {
        made->stream[i] = fixture_random(random) % STREAMS;
        made->start[i] = 1 + (scatter == 4 ? i : 0) + fixture_random(random) % scatter;
        made->duration[i] = fixture_random(random) % (fixture_random(random) % 2 ? 4 : 30);
    }
}

/* Each nanosecond counts once for each stream and for each device that has a kernel in it. */
static struct kernel_time look(const struct kernels_at_random *made)
{
    struct kernel_time looked = {.known = true};

    for (uint64_t at = 0; at < END; at++) {
        bool stream[STREAMS] = {false}, device[2] = {false};

        for (size_t i = 0; i < made->count; i++) {
            if (at < made->start[i] || at >= made->start[i] + made->duration[i])
                continue;
            looked.total++;
            stream[made->stream[i]] = true;
            device[made->stream[i] % 2] = true;
        }
        for (size_t i = 0; i < STREAMS; i++)
            looked.streams += stream[i];
        looked.busy += device[0] + device[1];
    }
    return looked;
}

static struct mp_batch batch_of(const struct kernels_at_random *made, size_t first, size_t count)
{
    struct mp_batch batch = {.table = mp_table_by_id(MP_TABLE_kernel), .rows = (uint32_t)count};

    batch.columns[MP_COLUMN_kernel_stream] = made->stream + first;
    batch.columns[MP_COLUMN_kernel_start] = made->start + first;
    batch.columns[MP_COLUMN_kernel_duration] = made->duration + first;
    batch.columns[MP_COLUMN_kernel_correlation] = made->correlation + first;
    return batch;
}

/* In batches of `size`, each summed up as far as those behind it allow. */
static struct kernel_time in_batches(struct kernels_at_random *made, size_t size, uint64_t *random)
{
    struct kernel_time_pass pass;
    struct kernel_time sums;

    kernel_time_begin(&pass, &definitions, STREAMS);
    pass.reached = made->reached;
    pass.chunk_count = (made->count + size - 1) / size;
    for (size_t i = 0; i < pass.chunk_count; i++) {
        made->reached[i] = UINT64_MAX;
        for (size_t row = i * size; row < made->count; row++)
            made->reached[i] =
                made->start[row] < made->reached[i] ? made->start[row] : made->reached[i];
    }
    for (size_t first = 0; first < made->count; first += size) {
        struct mp_batch batch =
            batch_of(made, first, made->count - first < size ? made->count - first : size);

        pass.due = fixture_random(random) % 30;
        assert_int_equal(kernel_time_take(&pass, &batch, NULL), MP_OK);
    }
    assert_int_equal(kernel_time_end(&pass), MP_OK);
    sums = pass.sums;
    pass.reached = NULL;
    kernel_time_free(&pass);
    return sums;
}

static void expect_same(const struct kernel_time *found, const struct kernel_time *expected)
{
    assert_true(found->known);
    assert_int_equal(found->total, expected->total);
    assert_int_equal(found->streams, expected->streams);
    assert_int_equal(found->busy, expected->busy);
}

static void is_a_look_at_every_nanosecond(void **state)
{
    uint64_t random = 11;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct kernels_at_random made = {.count = 0};
        struct kernel_time looked, found;

        make_kernels(&made, &random);
        looked = look(&made);
        found = in_batches(&made, 1 + fixture_random(&random) % 20, &random);
        expect_same(&found, &looked);
        found = in_batches(&made, MAX, &random);
        expect_same(&found, &looked);
    }
}

/* What begins before a time that its chunk's header rules out. */
static void a_forged_order_is_not_known(void **state)
{
    struct kernels_at_random made = {
        .count = 2, .start = {100, 50}, .duration = {10, 10}, .reached = {0, 90}};
    struct kernel_time_pass pass;

    (void)state;
    kernel_time_begin(&pass, &definitions, STREAMS);
    pass.reached = made.reached;
    pass.chunk_count = 2;
    for (size_t i = 0; i < 2; i++) {
        struct mp_batch batch = batch_of(&made, i, 1);

        pass.due = 0;
        assert_int_equal(kernel_time_take(&pass, &batch, NULL), MP_OK);
    }
    assert_int_equal(kernel_time_end(&pass), MP_OK);
    assert_false(pass.sums.known);
    pass.reached = NULL;
    kernel_time_free(&pass);
}

static void in_order_memory_stays_small(void **state)
{
    struct kernel_time_pass pass;

    (void)state;
    kernel_time_begin(&pass, &definitions, STREAMS);
    for (uint64_t i = 0; i < 100000; i++) /* each 3 us of 10, on two streams of device 0 */
        assert_int_equal(kernel_time_next(&pass, i % 2 * 2, 1000 + 10 * i, 3), MP_OK);
    assert_int_equal(pass.capacity, 0);
    assert_int_equal(kernel_time_end(&pass), MP_OK);
    assert_int_equal(pass.sums.total, 300000);
    assert_int_equal(pass.sums.busy, 300000);
    assert_int_equal(pass.sums.devices, 1);
    kernel_time_free(&pass);
}

static void times_of_any_size_end(void **state)
{
    struct kernel_time_pass pass;

    (void)state;
    kernel_time_begin(&pass, &definitions, STREAMS);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(kernel_time_next(&pass, 0, UINT64_MAX - 10, INT64_MAX), MP_OK);
    assert_int_equal(kernel_time_next(&pass, STREAMS + 7, UINT64_MAX - 5, 2), MP_OK); /* lane 0 */
    assert_int_equal(kernel_time_end(&pass), MP_OK);
    assert_int_equal(pass.sums.total, 32);
    assert_int_equal(pass.sums.streams, 10);
    assert_int_equal(pass.sums.busy, 10);
    kernel_time_free(&pass);
}

/* ---- Traces; times are microseconds ---- */

#define US UINT64_C(1000)

static void expect_us(const struct kernel_time *found, uint64_t total, uint64_t streams,
                      uint64_t busy)
{
    const struct kernel_time expected = {
        .total = total * US, .streams = streams * US, .busy = busy * US};

    expect_same(found, &expected);
}

/* What the three reports say of a range. */
static void expect_everywhere(uint64_t range, uint64_t total, uint64_t streams, uint64_t busy)
{
    struct summary summary;
    struct kernels kernels;
    struct overlap overlap;

    assert_int_equal(
        summary_build(scene.trace, &(struct summary_options){.range = range}, &summary, NULL),
        MP_OK);
    expect_us(&summary.kernels, total, streams, busy);
    summary_free(&summary);
    assert_int_equal(kernels_build(scene.deps.profile, &(struct kernels_options){.range = range},
                                   &kernels, NULL),
                     MP_OK);
    expect_us(&kernels.time, total, streams, busy);
    kernels_free(&kernels);
    assert_int_equal(overlap_build(scene.deps.profile, &(struct overlap_options){.range = range},
                                   &overlap, NULL),
                     MP_OK);
    expect_us(&overlap.kernels, total, streams, busy);
    overlap_free(&overlap);
}

/* 8 kernels of 50 us, one every 10 us, each of which runs 10 us alone: 8 at once in the middle. */
static void dependent_launches_overlap_within_a_stream(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 8; i++)
        put_launch(1, "k", 10 + i, 100 + 10 * i, 150 + 10 * i, 1 + i);
    scene_load();
    expect_everywhere(0, 400, 120, 120);
    scene_end(UNSOUND);
}

/*     100  110  120  130  140
 * 1   |===k====|    |    |        device 0
 * 2   |    |===k====|    |
 * 2   |    |   |===k=====|        overlaps the one before by 5
 * 7   |===k====|                  device 1
 */
static void streams_and_devices(void **state)
{
    (void)state;
    scene_begin();
    put_range(1, 90, 105, 1, 3);
    put_range(2, 106, 600, 3, 9);
    put_kernel(2, "k", 115, 130, 4);
    put_kernel(1, "k", 100, 120, 1);
    put_kernel(ON(2, 7), "k", 100, 120, 2);
    put_kernel(2, "k", 110, 120, 3);
    scene_load();
    expect_everywhere(0, 65, 60, 50);
    expect_everywhere(1, 40, 40, 40);
    expect_everywhere(2, 25, 20, 20);
    scene_end(UNSOUND);
}

static void without_gpu_activities_nothing_is_known(void **state)
{
    struct summary summary;

    (void)state;
    scene_begin();
    put_launch(1, "k", 10, 20, 30, 1);
    scene_load();
    assert_int_equal(summary_build(scene.trace,
                                   &(struct summary_options){.parts = SUMMARY_PART_API}, &summary,
                                   NULL),
                     MP_OK);
    assert_false(summary.kernels.known);
    summary_free(&summary);
    scene_end(SOUND);
}

static void processes_add_up(void **state)
{
    struct kernel_time sum = {.total = 9, .streams = 8, .busy = 7, .devices = 1, .known = true};
    const struct kernel_time unknown = {.total = 1};

    (void)state;
    kernel_time_merge(&sum, &sum);
    assert_int_equal(sum.total, 18);
    assert_int_equal(sum.streams, 16);
    assert_int_equal(sum.busy, 14);
    assert_int_equal(sum.devices, 2);
    assert_true(sum.known);
    kernel_time_merge(&sum, &unknown);
    assert_false(sum.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_look_at_every_nanosecond),
        cmocka_unit_test(a_forged_order_is_not_known),
        cmocka_unit_test(in_order_memory_stays_small),
        cmocka_unit_test(times_of_any_size_end),
        cmocka_unit_test(dependent_launches_overlap_within_a_stream),
        cmocka_unit_test(streams_and_devices),
        cmocka_unit_test(without_gpu_activities_nothing_is_known),
        cmocka_unit_test(processes_add_up),
    };

    return cmocka_run_group_tests(tests, define_streams, forget_streams);
}
