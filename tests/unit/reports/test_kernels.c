/* Kernels by launch shape and by name, of traces whose answer was worked out by hand. Times are
 * microseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <string.h>

#include "reports/kernels/kernels.h"

#define US   UINT64_C(1000)
#define GEMM "ampere_fp16_s16816gemm_fp16_128x64_tn"

static struct kernels kernels;

static void put_device(uint64_t id, uint64_t major, uint64_t minor)
{
    mp_append_device(scene.writer, &(struct mp_row_device){.id = id,
                                                           .name = put_string("GPU"),
                                                           .compute_major = major,
                                                           .compute_minor = minor,
                                                           .multiprocessors = 10});
}

static void put_stream(uint64_t id, uint64_t device)
{
    mp_append_stream(scene.writer, &(struct mp_row_stream){
                                       .id = id, .stream = 7, .context = 1, .device = device});
}

/* Of a row of blocks, without shared memory. */
static void put_shape(uint64_t id, const char *name, uint64_t blocks, uint64_t threads,
                      uint64_t registers)
{
    mp_append_shape(scene.writer, &(struct mp_row_shape){.id = id,
                                                         .kernel = name ? put_string(name) : 999,
                                                         .grid_x = blocks,
                                                         .grid_y = 1,
                                                         .grid_z = 1,
                                                         .block_x = threads,
                                                         .block_y = 1,
                                                         .block_z = 1,
                                                         .registers = registers});
}

static void put_run(uint64_t stream, uint64_t shape, uint64_t begin, uint64_t us,
                    uint64_t correlation)
{
    mp_append_kernel(scene.writer, &(struct mp_row_kernel){.stream = stream,
                                                           .shape = shape,
                                                           .start = begin * US,
                                                           .duration = us * US,
                                                           .correlation = correlation});
}

static void build(uint64_t range, bool by_name)
{
    const struct kernels_options options = {
        .range = range, .style = NAMES_READABLE, .by_name = by_name};

    assert_int_equal(kernels_build(scene.deps.profile, &options, &kernels, NULL), MP_OK);
}

static void done(void)
{
    kernels_free(&kernels);
    scene_end(UNSOUND);
}

/* Compute capability 9.0 with 10 SMs: 256 threads of 32 registers make 8 blocks an SM, of 64
 * registers 4, and 80 and 40 blocks a wave. */
static void put_two_shapes(void)
{
    put_device(0, 9, 0);
    put_stream(1, 0);
    put_shape(1, "k", 160, 256, 32);
    put_shape(2, "k", 20, 256, 64);
    put_shape(3, GEMM, 10, 128, 255);
    put_run(1, 1, 100, 10, 1);
    put_run(1, 2, 110, 60, 2);
    put_run(1, 1, 170, 20, 3);
    put_run(1, 3, 190, 10, 4);
}

static void each_launch_shape_has_a_row(void **state)
{
    (void)state;
    scene_begin();
    put_two_shapes();
    scene_load();
    build(0, false);
    assert_int_equal(kernels.row_count, 3);
    assert_int_equal(kernels.calls, 4);
    assert_int_equal(kernels.total, 100 * US);
    assert_int_equal(kernels.tensor_total, 10 * US);
    assert_int_equal(kernels.device_count, 1);

    assert_int_equal(kernels.rows[0].shape_id, 2);
    assert_true(kernels.rows[0].percent == 60);
    assert_true(kernels.rows[0].occupancy.percent == 50);
    assert_true(kernels.rows[0].occupancy.waves == 0.5);
    assert_int_equal(kernels.rows[0].occupancy.limit, OCCUPANCY_REGISTERS);
    assert_false(kernels.rows[0].occupancy.fills_wave);

    assert_int_equal(kernels.rows[1].calls, 2);
    assert_int_equal(kernels.rows[1].total, 30 * US);
    assert_int_equal(kernels.rows[1].min, 10 * US);
    assert_int_equal(kernels.rows[1].max, 20 * US);
    assert_true(kernels.rows[1].mean == 15 * US);
    assert_true(kernels.rows[1].occupancy.percent == 100);
    assert_true(kernels.rows[1].occupancy.waves == 2);
    assert_true(kernels.rows[1].occupancy.fills_wave);
    assert_false(kernels.rows[1].tensor_cores);

    assert_true(kernels.rows[2].tensor_cores);
    assert_string_equal(kernels.rows[2].name, GEMM);
    /* (60 * 50 + 30 * 100 + 10 * 12.5) / 100 */
    assert_true(kernels.percent == 61.25);
    done();
}

static void by_name_shapes_are_merged(void **state)
{
    const struct kernels_row *row;

    (void)state;
    scene_begin();
    put_two_shapes();
    scene_load();
    build(0, true);
    assert_int_equal(kernels.row_count, 2);
    row = &kernels.rows[0];
    assert_string_equal(row->name, "k");
    assert_int_equal(row->shapes, 2);
    assert_int_equal(row->calls, 3);
    assert_int_equal(row->total, 90 * US);
    assert_int_equal(row->min, 10 * US);
    assert_int_equal(row->max, 60 * US);
    assert_int_equal(row->differing, KERNELS_GRID | KERNELS_REGISTERS | KERNELS_LIMITS);
    assert_int_equal(row->shape_id, 2); /* that with most time */
    assert_true(row->occupancy.percent > 66.66 && row->occupancy.percent < 66.67);
    assert_true(row->occupancy.waves == 1);
    assert_true(row->min_percent == 50 && row->max_percent == 100);
    assert_int_equal(row->occupancy.limit, OCCUPANCY_REGISTERS);
    assert_int_equal(kernels.rows[1].differing, 0);
    assert_true(kernels.percent == 61.25);
    done();
}

static void devices_have_their_own_rows_and_limits(void **state)
{
    (void)state;
    for (int by_name = 0; by_name < 2; by_name++) {
        scene_begin();
        put_device(0, 9, 0);
        put_device(1, 7, 5);
        put_stream(1, 0);
        put_stream(2, 1);
        put_shape(1, "k", 10, 256, 64);
        put_run(1, 1, 100, 10, 1);
        put_run(2, 1, 100, 30, 2);
        put_run(1, 1, 140, 10, 3);
        scene_load();
        build(0, by_name);
        assert_int_equal(kernels.row_count, 2);
        assert_int_equal(kernels.device_count, 2);
        assert_int_equal(kernels.rows[0].device, 1);
        assert_true(kernels.rows[0].occupancy.percent == 100);
        assert_int_equal(kernels.rows[1].calls, 2);
        assert_true(kernels.rows[1].occupancy.percent == 50);
        assert_string_equal(kernels_device_name(&kernels, 1), "GPU");
        done();
    }
}

static void put_stream_of(uint64_t id, uint64_t context)
{
    mp_append_stream(scene.writer,
                     &(struct mp_row_stream){.id = id, .stream = 7 + id, .context = context});
}

/* 64 registers: 40 blocks fill 10 SMs once. The same 10 blocks in contexts of all 10 SMs, of 5 (two
 * of them), and of a number that CUPTI does not say. By name they are one row, whose waves are
 * means by time: (20 * 0.25 + 60 * 0.5) / 80. */
static void a_green_context_has_some_of_the_sms(void **state)
{
    (void)state;
    for (int by_name = 0; by_name < 2; by_name++) {
        scene_begin();
        put_device(0, 9, 0);
        put_green(2, 1, 5);
        put_green(3, 1, 5);
        put_green(4, 1, 0);
        for (uint64_t context = 1; context <= 4; context++)
            put_stream_of(context, context);
        put_shape(1, "k", 10, 256, 64);
        put_run(1, 1, 100, 20, 1);
        put_run(2, 1, 120, 40, 2);
        put_run(3, 1, 160, 20, 3);
        put_run(4, 1, 180, 10, 4);
        scene_load();
        build(0, by_name);
        assert_true(kernels.partitioned);
        assert_int_equal(kernels.row_count, by_name ? 1 : 3);
        assert_int_equal(kernels.rows[0].multiprocessors, 5);
        if (by_name) {
            assert_true(kernels.rows[0].occupancy.waves == 35.0 / 80);
            assert_int_equal(kernels.rows[0].differing & KERNELS_MULTIPROCESSORS,
                             KERNELS_MULTIPROCESSORS);
        } else {
            assert_int_equal(kernels.rows[0].calls, 2);
            assert_true(kernels.rows[0].occupancy.waves == 0.5);
            assert_int_equal(kernels.rows[1].multiprocessors, 10);
            assert_true(kernels.rows[1].occupancy.waves == 0.25);
            assert_int_equal(kernels.rows[2].multiprocessors, 0);
            assert_false(kernels.rows[2].has_occupancy);
        }
        done();
    }
}

static void what_was_launched_in_a_range(void **state)
{
    (void)state;
    scene_begin();
    put_two_shapes();
    put_range(1, 90, 105, 1, 3);
    put_range(2, 120, 180, 3, 4);
    scene_load();
    build(1, false);
    assert_int_equal(kernels.calls, 2);
    assert_int_equal(kernels.total, 70 * US);
    assert_int_equal(ranges_count(&kernels.profile->ranges), 2);
    kernels_free(&kernels);
    assert_int_equal(
        kernels_build(scene.deps.profile, &(struct kernels_options){.range = 7}, &kernels, NULL),
        MP_ERR_ARGUMENT);
    done();
}

static void kernels_of_graphs_are_counted_alike(void **state)
{
    (void)state;
    scene_begin();
    put_kernel(1, "k", 100, 110, 1);
    put_node(1, "k", 2, 3, 120, 130, 2);
    put_graph(1, 9, 140, 150, 3);
    put_graph(1, 9, 160, 170, 4);
    scene_load();
    build(0, false);
    assert_int_equal(kernels.row_count, 1);
    assert_int_equal(kernels.rows[0].calls, 2);
    assert_int_equal(kernels.graph_launches, 2);
    done();
}

static void what_is_not_known_is_not_made_up(void **state)
{
    (void)state;
    scene_begin();
    put_device(0, 42, 1);
    put_stream(1, 0);
    put_shape(1, "k", 10, 32, 16);
    put_shape(2, NULL, 10, 32, 16);
    put_shape(3, "wide", 10, 4096, 16);
    put_run(1, 1, 100, 10, 1);
    put_run(1, 2, 110, 8, 1);
    put_run(1, 3, 120, 6, 1);
    put_run(1, 77, 130, 4, 1); /* no such shape */
    put_run(55, 1, 140, 2, 1); /* no such stream */
    put_run(1, 1, 0, 10, 1);   /* begin unknown */
    mp_append_kernel(
        scene.writer,
        &(struct mp_row_kernel){.stream = 1, .shape = 1, .start = 9, .duration = (uint64_t)-5});
    scene_load();
    build(0, false);
    assert_int_equal(kernels.row_count, 5);
    assert_int_equal(kernels.total, 30 * US);
    assert_int_equal(kernels.unknown_major, 42);
    assert_true(kernels.rows[0].has_occupancy);
    assert_string_equal(kernels.rows[1].name, "[unnamed kernel]");
    assert_true(kernels.rows[1].has_occupancy);
    assert_false(kernels.rows[2].has_occupancy);
    assert_false(kernels.rows[3].shape.defined);
    assert_int_equal(kernels.rows[4].device, UINT64_MAX);
    assert_false(kernels.rows[4].has_occupancy);
    assert_int_equal(kernels.quality.undefined, 2);
    assert_int_equal(kernels.quality.unknown_times, 1);
    assert_int_equal(kernels.quality.reversed_times, 1);
    done();
}

static void nothing_gives_nothing(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaFree", 100, 110, 1);
    scene_load();
    build(0, true);
    assert_int_equal(kernels.row_count, 0);
    assert_true(kernels.percent == 0);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_launch_shape_has_a_row),
        cmocka_unit_test(by_name_shapes_are_merged),
        cmocka_unit_test(devices_have_their_own_rows_and_limits),
        cmocka_unit_test(a_green_context_has_some_of_the_sms),
        cmocka_unit_test(what_was_launched_in_a_range),
        cmocka_unit_test(kernels_of_graphs_are_counted_alike),
        cmocka_unit_test(what_is_not_known_is_not_made_up),
        cmocka_unit_test(nothing_gives_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
