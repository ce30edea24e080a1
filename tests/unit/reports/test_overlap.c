/* What runs at the same time: the sweep against a look at every nanosecond, and traces whose answer
 * was worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "reports/overlap/overlap.h"

/* ---- The sweep ---- */

#define MAX   40u
#define LANES 5u
#define END   90u /* ns: everything is over */

struct activity {
    enum overlap_activity activity;
    uint32_t lane;
    uint64_t begin, end;
};

static int compare_begins(const void *left, const void *right)
{
    const struct activity *a = left;
    const struct activity *b = right;

    return (a->begin > b->begin) - (a->begin < b->begin);
}

static size_t random_activities(struct activity *activities, uint64_t *random)
{
    size_t count = fixture_random(random) % (MAX + 1);

    for (size_t i = 0; i < count; i++) {
        activities[i].activity =
            (enum overlap_activity)(fixture_random(random) % OVERLAP_ACTIVITIES);
        activities[i].lane = (uint32_t)(fixture_random(random) % LANES);
        activities[i].begin = 1 + fixture_random(random) % 60;
        activities[i].end = activities[i].begin + fixture_random(random) % 28; /* or nothing */
    }
    qsort(activities, count, sizeof *activities, compare_begins);
    return count;
}

/* One nanosecond of it. */
static void look(const struct activity *activities, size_t count, uint64_t at,
                 struct overlap_times *times, struct overlap_lane *lanes)
{
    uint64_t running[OVERLAP_ACTIVITIES] = {0};
    bool busy[LANES] = {false};
    unsigned set = 0, lanes_busy = 0;

    for (size_t i = 0; i < count; i++) {
        if (at < activities[i].begin || at >= activities[i].end)
            continue;
        running[activities[i].activity]++;
        busy[activities[i].lane] = true;
        set |= 1u << activities[i].activity;
    }
    if (set)
        times->by_set[set]++;
    for (int i = 0; i < OVERLAP_ACTIVITIES; i++)
        times->twice[i] += running[i] > 1;
    for (uint64_t level = 0; level < OVERLAP_LEVELS; level++)
        times->kernels[level] +=
            running[OVERLAP_KERNEL] == level + 1 || (level == 3 && running[OVERLAP_KERNEL] > 4);
    if (running[OVERLAP_KERNEL] > times->peak_kernels)
        times->peak_kernels = running[OVERLAP_KERNEL];
    for (unsigned i = 0; i < LANES; i++)
        lanes_busy += busy[i];
    for (unsigned i = 0; i < LANES; i++) {
        lanes[i].busy += busy[i];
        lanes[i].alone += busy[i] && lanes_busy == 1;
    }
}

static void expect_sums(const struct overlap_times *times)
{
    const unsigned kernel = 1u << OVERLAP_KERNEL;
    uint64_t levels = 0, all = overlap_time(times, 0, 0, 0);

    for (int i = 0; i < OVERLAP_LEVELS; i++)
        levels += times->kernels[i];
    assert_int_equal(levels, overlap_time(times, kernel, 0, 0));
    for (int i = 0; i < OVERLAP_ACTIVITIES; i++) {
        uint64_t busy = overlap_time(times, 1u << i, 0, 0);

        assert_int_equal(busy, overlap_time(times, 1u << i, 0, kernel) +
                                   overlap_time(times, 1u << i | kernel, 0, 0));
        assert_true(busy <= times->total[i] && busy <= all && times->twice[i] <= busy);
    }
    assert_int_equal(all, overlap_time(times, 0, OVERLAP_SETS - 1, 0));
}

static void is_a_look_at_every_nanosecond(void **state)
{
    uint64_t random = 7;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct activity activities[2 * MAX];
        size_t count = random_activities(activities, &random);
        struct overlap_sweep sweep = {.clock = 0};
        struct overlap_lane lanes[LANES] = {{.calls = 0}}, looked_lanes[LANES] = {{.calls = 0}};
        struct overlap_times looked = {.peak_kernels = 0};

        size_t all = count;

        for (size_t i = 0; i < count; i++) {
            struct activity *one = &activities[i];
            uint64_t length = one->end - one->begin;
            struct activity later = *one;

            later.begin += one->activity == OVERLAP_COMMUNICATION && length
                               ? fixture_random(&random) % length
                               : 0;
            if (later.begin > one->begin) { /* it waits for its peers first */
                one->activity = OVERLAP_PEERS;
                one->end = later.begin;
            }
            assert_int_equal(
                overlap_sweep_add(&sweep, lanes, one->activity, one->lane, one->begin, one->end),
                MP_OK);
            if (later.begin == one->begin)
                continue;
            activities[all++] = later;
            assert_int_equal(
                overlap_sweep_add_later(&sweep, (struct overlap_later){later.begin, later.end,
                                                                       later.lane, later.activity}),
                MP_OK);
        }
        assert_int_equal(overlap_sweep_end(&sweep, lanes), MP_OK);
        for (uint64_t at = 0; at < END; at++)
            look(activities, all, at, &looked, looked_lanes);
        assert_memory_equal(sweep.times.by_set, looked.by_set, sizeof looked.by_set);
        assert_memory_equal(sweep.times.twice, looked.twice, sizeof looked.twice);
        assert_memory_equal(sweep.times.kernels, looked.kernels, sizeof looked.kernels);
        assert_int_equal(sweep.times.peak_kernels, looked.peak_kernels);
        for (unsigned i = 0; i < LANES; i++) {
            assert_int_equal(lanes[i].busy, looked_lanes[i].busy);
            assert_int_equal(lanes[i].alone, looked_lanes[i].alone);
        }
        expect_sums(&sweep.times);
    }
}

static void times_of_any_size_end(void **state)
{
    struct overlap_sweep sweep = {.clock = 0};
    struct overlap_lane lane = {0};

    (void)state;
    overlap_sweep_add(&sweep, &lane, OVERLAP_KERNEL, 0, 1, UINT64_MAX);
    overlap_sweep_add(&sweep, &lane, OVERLAP_KERNEL, 0, 2, UINT64_MAX);
    overlap_sweep_end(&sweep, &lane);
    assert_int_equal(sweep.times.kernels[0], 1);
    assert_int_equal(sweep.times.kernels[1], UINT64_MAX - 2);
    assert_int_equal(sweep.times.total[OVERLAP_KERNEL], UINT64_MAX);
}

static void what_comes_late_counts_from_there(void **state)
{
    struct overlap_sweep sweep = {.clock = 0};
    struct overlap_lane lane = {0};

    (void)state;
    overlap_sweep_add(&sweep, &lane, OVERLAP_KERNEL, 0, 100, 110);
    overlap_sweep_add(&sweep, &lane, OVERLAP_SET, 0, 50, 105);
    overlap_sweep_add(&sweep, &lane, OVERLAP_SET, 0, 50, 60);
    overlap_sweep_end(&sweep, &lane);
    assert_int_equal(overlap_time(&sweep.times, 1u << OVERLAP_SET, 0, 0), 5);
    assert_int_equal(sweep.times.total[OVERLAP_SET], 5);
    assert_int_equal(lane.busy, 10);
}

/* ---- Traces; times are microseconds ---- */

static struct overlap overlap;

static void load_range(uint64_t range)
{
    const struct overlap_options options = {.range = range};

    scene_load();
    assert_int_equal(overlap_build(scene.deps.profile, &options, &overlap, NULL), MP_OK);
}

static void done(void)
{
    overlap_free(&overlap);
    scene_end(UNSOUND);
}

#define US UINT64_C(1000)

static void expect_busy(size_t device, enum overlap_activity activity, uint64_t us)
{
    assert_int_equal(overlap_time(&overlap.devices[device].times, 1u << activity, 0, 0), us * US);
}

static void expect_both(enum overlap_activity a, enum overlap_activity b, uint64_t us)
{
    assert_int_equal(overlap_time(&overlap.devices[0].times, 1u << a | 1u << b, 0, 0), us * US);
}

/*     0    5   10   15   20   25   30   35   40
 * 1   |    |===k====|    |    |===k====|    |
 * 2   |===HtoD==|   |=DtoH=============|    |
 * 3   |    |    |==nccl==|    |    |    |=set=|
 */
static void put_example(void)
{
    put_copy(2, MP_copy_kind_HtoD, ASYNCHRONOUS, 100, 110, 1);
    put_kernel(1, "k", 105, 115, 2);
    put_kernel(3, "ncclDevKernel_AllReduce", 110, 120, 3);
    put_copy(2, MP_copy_kind_DtoH, ASYNCHRONOUS, 115, 135, 4);
    put_kernel(1, "k", 125, 135, 5);
    put_set(3, 138, 140, 6);
}

static void a_pair_runs_together(void **state)
{
    const struct overlap_device *device;

    (void)state;
    scene_begin();
    put_example();
    load_range(0);
    device = overlap.devices;
    assert_int_equal(overlap.device_count, 1);
    assert_int_equal(overlap.window, 40 * US);
    assert_int_equal(device->busy, 37 * US);
    assert_int_equal(device->idle, 3 * US);
    expect_busy(0, OVERLAP_KERNEL, 20);
    expect_busy(0, OVERLAP_HTOD, 10);
    expect_busy(0, OVERLAP_DTOH, 20);
    expect_busy(0, OVERLAP_SET, 2);
    expect_busy(0, OVERLAP_COMMUNICATION, 10);
    expect_both(OVERLAP_KERNEL, OVERLAP_HTOD, 5);
    expect_both(OVERLAP_KERNEL, OVERLAP_DTOH, 10);
    expect_both(OVERLAP_KERNEL, OVERLAP_COMMUNICATION, 5);
    expect_both(OVERLAP_DTOH, OVERLAP_COMMUNICATION, 5);
    expect_both(OVERLAP_HTOD, OVERLAP_DTOH, 0);
    assert_int_equal(overlap_time(&device->times, 0, OVERLAP_COPIES, 1u << OVERLAP_KERNEL),
                     15 * US);
    assert_int_equal(device->stream_count, 3);
    assert_int_equal(device->streams[0].stream, 2);
    assert_int_equal(device->streams[0].busy, 30 * US);
    assert_int_equal(device->streams[0].overlapped, 20 * US);
    assert_int_equal(device->streams[1].overlapped, 20 * US);
    assert_int_equal(device->streams[2].overlapped, 10 * US);
    assert_true(device->streams[0].share > 48.38 && device->streams[0].share < 48.39);
    done();
}

static void kinds_of_copies(void **state)
{
    static const struct {
        enum mp_copy_kind kind;
        enum overlap_activity activity;
    } kinds[] = {
        {MP_copy_kind_HtoD, OVERLAP_HTOD},          {MP_copy_kind_HtoA, OVERLAP_HTOD},
        {MP_copy_kind_DtoH, OVERLAP_DTOH},          {MP_copy_kind_AtoH, OVERLAP_DTOH},
        {MP_copy_kind_DtoD, OVERLAP_COPY},          {MP_copy_kind_HtoH, OVERLAP_COPY},
        {MP_copy_kind_AtoD, OVERLAP_COPY},          {MP_copy_kind_unknown, OVERLAP_COPY},
        {MP_copy_kind_PtoP, OVERLAP_COMMUNICATION},
    };
    uint64_t calls[OVERLAP_ACTIVITIES] = {0};

    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        put_copy(1, kinds[i].kind, ASYNCHRONOUS, 100 + i, 101 + i, 1 + i);
        calls[kinds[i].activity]++;
    }
    load_range(0);
    assert_memory_equal(overlap.devices[0].times.calls, calls, sizeof calls);
    done();
}

static void kernels_at_once_have_a_mean(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 6; i++) /* 1 1-2 1-3 ... all 6 for 10 us, then all end */
        put_kernel(1 + i, "k", 100 + 10 * i, 160, 1 + i);
    load_range(0);
    assert_int_equal(overlap.devices[0].times.peak_kernels, 6);
    assert_int_equal(overlap.devices[0].times.kernels[0], 10 * US);
    assert_int_equal(overlap.devices[0].times.kernels[2], 10 * US);
    assert_int_equal(overlap.devices[0].times.kernels[3], 30 * US);
    assert_true(overlap_mean_kernels(&overlap.devices[0].times) == 3.5);
    done();
}

/* Rows of one table are in no order across streams, and devices do not overlap with each other. */
static void devices_are_apart(void **state)
{
    (void)state;
    scene_begin();
    put_kernel(ON(2, 7), "k", 150, 160, 2);
    put_kernel(1, "k", 120, 155, 3);
    put_kernel(ON(2, 7), "k", 100, 110, 1);
    load_range(0);
    assert_int_equal(overlap.device_count, 2);
    assert_int_equal(overlap.window, 60 * US);
    expect_busy(0, OVERLAP_KERNEL, 35);
    expect_busy(1, OVERLAP_KERNEL, 20);
    assert_int_equal(overlap.devices[0].idle, 25 * US);
    assert_int_equal(overlap.devices[1].idle, 40 * US);
    assert_int_equal(overlap.devices[0].streams[0].overlapped, 0);
    done();
}

/* Work belongs to the range that launched it, however late it runs. */
static void put_ranges(void)
{
    put_range(1, 90, 130, 1, 3);
    put_range(2, 500, 600, 3, 5);
    put_kernel(1, "k", 100, 110, 1);
    put_kernel(1, "k", 140, 150, 2);
    put_kernel(1, "k", 510, 520, 3);
    put_kernel(1, "k", 590, 620, 4);
}

static void time_between_ranges_is_not_idle(void **state)
{
    (void)state;
    scene_begin();
    put_ranges();
    load_range(0);
    assert_int_equal(overlap.windows, 2);
    assert_int_equal(overlap.window, (50 + 110) * US);
    assert_int_equal(overlap.devices[0].idle, (30 + 70) * US);
    overlap_free(&overlap);
    assert_int_equal(
        overlap_build(scene.deps.profile, &(struct overlap_options){.range = 2}, &overlap, NULL),
        MP_OK);
    assert_int_equal(overlap.window, 110 * US);
    assert_int_equal(overlap.windows, 1);
    expect_busy(0, OVERLAP_KERNEL, 40);
    overlap_free(&overlap);
    assert_int_equal(
        overlap_build(scene.deps.profile, &(struct overlap_options){.range = 3}, &overlap, NULL),
        MP_ERR_ARGUMENT);
    done();
}

/* Of two ranges whose work overlaps, time counts once. */
static void windows_may_overlap(void **state)
{
    (void)state;
    scene_begin();
    put_range(1, 90, 130, 1, 3);
    put_range(2, 135, 600, 3, 5);
    put_kernel(1, "k", 100, 200, 1);
    put_kernel(2, "k", 150, 250, 3);
    load_range(0);
    assert_int_equal(overlap.windows, 2);
    assert_int_equal(overlap.window, 150 * US);
    assert_int_equal(overlap.devices[0].idle, 0);
    done();
}

static void whole_graphs_are_kernels(void **state)
{
    (void)state;
    scene_begin();
    put_graph(1, 5, 100, 140, 1);
    put_copy(2, MP_copy_kind_HtoD, ASYNCHRONOUS, 130, 150, 2);
    load_range(0);
    assert_int_equal(overlap.graph_launches, 1);
    expect_both(OVERLAP_KERNEL, OVERLAP_HTOD, 10);
    done();
}

static void put_made_stream(uint64_t stream, uint64_t correlation)
{
    mp_append_stream_info(scene.writer, &(struct mp_row_stream_info){
                                            .stream = stream,
                                            .context = DEFAULT_CONTEXT,
                                            .flag = MP_stream_flag_non_blocking,
                                            .correlation = correlation,
                                        });
}

static void streams_that_the_program_made_and_left(void **state)
{
    (void)state;
    scene_begin();
    put_null_stream(DEFAULT_CONTEXT, 7);
    put_made_stream(9, 0); /* CUDA's own */
    put_made_stream(13, 1);
    put_made_stream(14, 2);
    put_made_stream(15, 3);
    put_made_stream(14, 4); /* the id again */
    put_kernel(13, "k", 100, 110, 1);
    load_range(0);
    assert_int_equal(overlap.devices[0].unused_count, 2);
    assert_int_equal(overlap.devices[0].unused[0], 14);
    assert_int_equal(overlap.devices[0].unused[1], 15);
    done();
}

static void doubtful_rows_are_left_out(void **state)
{
    (void)state;
    scene_begin();
    put_kernel(1, "k", 100, 110, 1);
    put_kernel(1, "k", 0, 110, 2);
    put_kernel(1, "k", 120, 110, 3);
    mp_append_kernel(scene.writer, &(struct mp_row_kernel){.stream = 77, /* not defined */
                                                           .shape = 99,
                                                           .start = 104 * US,
                                                           .duration = 2 * US});
    load_range(0);
    assert_int_equal(overlap.quality.unknown_times, 1);
    assert_int_equal(overlap.quality.reversed_times, 1);
    assert_int_equal(overlap.device_count, 2);
    assert_int_equal(overlap.devices[1].device, UINT64_MAX);
    assert_false(overlap.devices[1].streams[0].defined);
    expect_busy(1, OVERLAP_KERNEL, 2);
    done();
}

static void two_thousand_streams(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 2000; i++)
        put_kernel(ON(1 + i % 3, 1 + i / 3), "k", 100, 110 + i % 7, 1 + i);
    load_range(0);
    assert_int_equal(overlap.device_count, 3);
    assert_int_equal(overlap.devices[0].stream_count, 667);
    assert_int_equal(overlap.devices[2].stream_count, 666);
    assert_int_equal(overlap.devices[0].times.peak_kernels, 667);
    for (size_t i = 0; i < 667; i++)
        assert_int_equal(overlap.devices[0].streams[i].overlapped,
                         overlap.devices[0].streams[i].busy);
    done();
}

static void nothing_gives_nothing(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaFree", 100, 110, 1);
    load_range(0);
    assert_int_equal(overlap.device_count, 0);
    assert_int_equal(overlap.window, 0);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_look_at_every_nanosecond),
        cmocka_unit_test(times_of_any_size_end),
        cmocka_unit_test(what_comes_late_counts_from_there),
        cmocka_unit_test(a_pair_runs_together),
        cmocka_unit_test(kinds_of_copies),
        cmocka_unit_test(kernels_at_once_have_a_mean),
        cmocka_unit_test(devices_are_apart),
        cmocka_unit_test(time_between_ranges_is_not_idle),
        cmocka_unit_test(windows_may_overlap),
        cmocka_unit_test(whole_graphs_are_kernels),
        cmocka_unit_test(streams_that_the_program_made_and_left),
        cmocka_unit_test(doubtful_rows_are_left_out),
        cmocka_unit_test(two_thousand_streams),
        cmocka_unit_test(nothing_gives_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
