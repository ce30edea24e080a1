/* Theoretical occupancy against what Nsight Compute printed for kernels on GPUs of seven compute
 * capabilities (in public reports of their authors), and against its own definition.
 *
 * Nsight Compute rounds shared memory to 10 bytes of its decimal kilobytes: the sizes here are
 * those that the programs asked for, or the multiple of 128 that it can only be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "reports/kernels/kernels.h"
#include "unit/trace_fixture.h"

#define NONE OCCUPANCY_NO_LIMIT
#define ANY  0 /* not printed */

/* Limits of the device are left to the table of compute capabilities, which is tested with it. */
static const struct report {
    uint32_t major, minor, multiprocessors;
    uint32_t grid, block, registers, static_shared, dynamic_shared, configured;
    uint32_t by_blocks, by_registers, by_shared, by_warps;
    double percent, waves; /* two decimals */
} reports[] = {
    /* T4: 256 bytes of shared memory are the unit */
    {7, 5, 40, 2097152, 256, 16, 0, 1024, 32768, 16, 16, 32, 4, 100, ANY},
    {7, 5, 40, 2097152, 256, 16, 16, 1024, 32768, 16, 16, 25, 4, 100, ANY},
    {7, 5, 40, 1048576, 256, 30, 0, 1024, 32768, 16, 8, 32, 4, 100, ANY},
    {7, 5, 40, 4064, 1024, 22, 0, 0, 32768, 16, 2, NONE, 1, 100, 101.60},
    {7, 5, 40, 1024, 256, 64, 32768, 0, 65536, 16, 4, 2, 4, 50, 12.80},
    /* A800 */
    {8, 0, 108, 1, 512, 46, 0, 0, 0, 32, 2, ANY, 4, 50, ANY},
    {8, 0, 108, 4, 256, 16, 0, 0, 32768, 32, 16, ANY, 8, 100, 0.00},
    /* RTX 3090 */
    {8, 6, 82, 47000, 256, 40, 0, 8192, 65536, 16, 6, 7, 6, 100, 95.53},
    {8, 6, 82, 47000, 256, 40, 0, 16384, 102400, 16, 6, 5, 6, 83.33, 114.63},
    {8, 6, 82, 23500, 512, 40, 0, 24576, 102400, 16, 3, 4, 3, 100, 95.53},
    {8, 6, 82, 23989, 256, 16, 4096, 0, 65536, 16, 16, 12, 6, 100, 48.76},
    /* L4, RTX 4090; the sixth is one that fits three times into all that an SM has */
    {8, 9, 58, 4096, 256, 40, 640, 0, 32768, 24, 6, 19, 6, 100, 11.77},
    {8, 9, 58, 512, 256, 48, 12288, 0, 102400, 24, 5, 7, 6, 83.33, 1.77},
    {8, 9, 58, 512, 256, 48, 8192, 0, 65536, 24, 5, 7, 6, 83.33, 1.77},
    {8, 9, 58, 512, 256, 54, 16384, 0, 102400, 24, 4, 5, 6, 66.67, 2.21},
    {8, 9, 58, 512, 256, 39, 8192, 0, 65536, 24, 6, 7, 6, 100, 1.47},
    {8, 9, 58, 128, 512, 54, 0, 29824, 65536, 24, 2, 2, 3, 66.67, 1.10},
    {8, 9, 58, 128, 128, 80, 43776, 0, 102400, 24, 6, 2, 12, 16.67, 1.10},
    {8, 9, 58, 4096, 256, 72, 33024, 0, 102400, 24, 3, 3, 6, 50, 23.54},
    {8, 9, 128, 65535, 256, 16, 0, 0, 16384, 24, 16, 16, 6, 100, 85.33},
    /* H20, H100 */
    {9, 0, 78, 78, 256, 255, 0, 230400, 233472, 32, 1, 1, 8, 12.50, 1.00},
    {9, 0, 132, 16384, 1024, 31, 12288, 0, 32768, 32, 2, 2, 2, 100, 62.06},
    {9, 0, 132, 3225, 256, 16, 0, 0, 32768, 32, 16, 32, 8, 100, 3.05},
    {9, 0, 132, 3225, 256, 67, 0, 0, 32768, 32, 3, 32, 8, 37.50, 8.14},
    /* Thor: a block of one thread takes a warp */
    {11, 0, 20, 4096, 256, 16, 0, 0, 16384, 24, 16, 16, 6, 100, 34.13},
    {11, 0, 20, 1048576, 1, 16, 0, 0, 32768, 24, 128, 32, 48, 50, 2184.53},
    /* RTX 5090, RTX 5060 */
    {12, 0, 170, 16384, 256, 40, 0, 0, 16384, 24, 6, 16, 6, 100, 16.06},
    {12, 0, 170, 16384, 256, 37, 2048, 0, 65536, 24, 6, 21, 6, 100, 16.06},
    {12, 0, 26, 32, 128, 40, 0, 0, 32768, 24, 12, 32, 12, 100, 0.10},
    {12, 0, 26, 1024, 128, 40, 0, 0, 32768, 24, 12, 32, 12, 100, 3.28},
};

static struct launch_shape shape_of(const struct report *report)
{
    return (struct launch_shape){
        .grid = {report->grid, 1, 1},
        .block = {report->block, 1, 1},
        .registers = report->registers,
        .static_shared = report->static_shared,
        .dynamic_shared = report->dynamic_shared,
        .configured_shared = report->configured,
        .defined = true,
    };
}

static void expect_limit(uint32_t found, uint32_t expected)
{
    if (expected != ANY)
        assert_int_equal(found, expected);
}

static void is_what_nsight_compute_prints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        const struct report *report = &reports[i];
        const struct device_limits device = {.major = report->major,
                                             .minor = report->minor,
                                             .multiprocessors = report->multiprocessors};
        struct launch_shape shape = shape_of(report);
        struct occupancy occupancy;

        assert_true(occupancy_of(&shape, &device, &occupancy));
        expect_limit(occupancy.by[OCCUPANCY_BLOCKS], report->by_blocks);
        expect_limit(occupancy.by[OCCUPANCY_REGISTERS], report->by_registers);
        expect_limit(occupancy.by[OCCUPANCY_SHARED_MEMORY], report->by_shared);
        expect_limit(occupancy.by[OCCUPANCY_WARPS], report->by_warps);
        assert_true(fabs(occupancy.percent - report->percent) < 0.005);
        if (report->waves != ANY)
            assert_true(fabs(occupancy.waves - report->waves) <= 0.0051);
    }
}

static const struct device_limits h100 = {.major = 9,
                                          .minor = 0,
                                          .multiprocessors = 132,
                                          .warp_threads = 32,
                                          .sm_warps = 64,
                                          .sm_blocks = 32,
                                          .sm_shared_memory = 233472,
                                          .sm_registers = 65536,
                                          .defined = true};

/* 132 SMs, each with 64 warps. */
static void the_limit_is_named(void **state)
{
    static const struct {
        uint32_t grid, block, registers, shared;
        enum occupancy_limit limit;
        bool fills_wave;
    } cases[] = {
        {132 * 2, 1024, 32, 0, OCCUPANCY_WARPS, true},
        {132 * 2 - 1, 1024, 32, 0, OCCUPANCY_WARPS, false},
        {132, 1024, 33, 0, OCCUPANCY_REGISTERS, true},
        {132 * 32, 32, 16, 0, OCCUPANCY_BLOCKS, true},
        {132 * 2, 32, 16, 100 * 1024, OCCUPANCY_SHARED_MEMORY, true},
        {132 * 8, 256, 32, 0, OCCUPANCY_WARPS, true}, /* registers allow no more either */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct launch_shape shape = {.grid = {cases[i].grid, 1, 1},
                                           .block = {cases[i].block, 1, 1},
                                           .registers = cases[i].registers,
                                           .dynamic_shared = cases[i].shared};
        struct occupancy occupancy;

        assert_true(occupancy_of(&shape, &h100, &occupancy));
        assert_int_equal(occupancy.limit, cases[i].limit);
        assert_int_equal(occupancy.fills_wave, cases[i].fills_wave);
    }
}

/* Without what the driver set up, and where it cannot be right, all of the SM's counts. */
static void configured_shared_memory_limits_where_it_can(void **state)
{
    struct launch_shape shape = {
        .grid = {1, 1, 1}, .block = {64, 1, 1}, .registers = 16, .dynamic_shared = 15 * 1024};
    struct occupancy occupancy;

    (void)state;
    assert_true(occupancy_of(&shape, &h100, &occupancy));
    assert_int_equal(occupancy.by[OCCUPANCY_SHARED_MEMORY], 14);
    shape.configured_shared = 32 * 1024;
    assert_true(occupancy_of(&shape, &h100, &occupancy));
    assert_int_equal(occupancy.by[OCCUPANCY_SHARED_MEMORY], 2);
    shape.configured_shared = 16 * 1024 - 1;
    assert_true(occupancy_of(&shape, &h100, &occupancy));
    assert_int_equal(occupancy.by[OCCUPANCY_SHARED_MEMORY], 14);
    shape.configured_shared = UINT32_MAX;
    assert_true(occupancy_of(&shape, &h100, &occupancy));
    assert_int_equal(occupancy.by[OCCUPANCY_SHARED_MEMORY], 14);
}

static void what_cannot_be_is_unknown(void **state)
{
    static const struct launch_shape shapes[] = {
        {.grid = {0, 1, 1}, .block = {32, 1, 1}},
        {.grid = {1, 1, 1}, .block = {32, 0, 1}},
        {.grid = {1, 1, 1}, .block = {2049, 1, 1}}, /* 65 warps */
        {.grid = {1, 1, 1}, .block = {32, 1, 1}, .registers = 70000},
        {.grid = {1, 1, 1}, .block = {1024, 1, 1}, .registers = 255},
        {.grid = {1, 1, 1}, .block = {32, 1, 1}, .static_shared = 233472},
        {.grid = {1, 1, 1},
         .block = {32, 1, 1},
         .static_shared = UINT32_MAX,
         .dynamic_shared = UINT32_MAX},
        {.grid = {1, 1, 1}, .block = {UINT32_MAX, UINT32_MAX, UINT32_MAX}},
    };
    const struct launch_shape sound = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    struct device_limits device = h100;
    struct occupancy occupancy;

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_false(occupancy_of(&shapes[i], &h100, &occupancy));
        assert_int_equal(occupancy.blocks, 0);
    }
    assert_true(occupancy_of(&sound, &h100, &occupancy));
    device.multiprocessors = 0;
    assert_false(occupancy_of(&sound, &device, &occupancy));
}

static void grids_of_any_size_have_finite_waves(void **state)
{
    const struct launch_shape shape = {.grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
                                       .block = {32, 1, 1}};
    struct occupancy occupancy;

    (void)state;
    assert_true(occupancy_of(&shape, &h100, &occupancy));
    assert_true(isfinite(occupancy.waves) && occupancy.waves > 0);
}

/* Whether so many blocks fit on an SM of an H100: warps go round the four partitions, each with
 * 16384 registers. */
static bool fits(const struct launch_shape *shape, uint32_t blocks)
{
    uint32_t warps = (shape->block[0] + 31) / 32;
    uint32_t of_warp = (shape->registers + 7) / 8 * 8 * 32;
    uint32_t of_block = (shape->dynamic_shared + 1024 + 127) / 128 * 128;
    uint32_t busiest = (warps * blocks + 3) / 4;

    return warps * blocks <= 64 && blocks <= 32 && of_block * blocks <= 233472 &&
           busiest * of_warp <= 16384;
}

static void as_many_blocks_as_fit_and_no_more(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const struct launch_shape shape = {
            .grid = {1, 1, 1},
            .block = {1 + (uint32_t)(fixture_random(&random) % 1024), 1, 1},
            .registers = 1 + (uint32_t)(fixture_random(&random) % 255),
            .dynamic_shared = (uint32_t)(fixture_random(&random) % 232448),
        };
        struct occupancy occupancy;

        if (!occupancy_of(&shape, &h100, &occupancy)) {
            assert_false(fits(&shape, 1));
            continue;
        }
        assert_true(fits(&shape, occupancy.blocks));
        assert_false(fits(&shape, occupancy.blocks + 1));
        assert_true(occupancy.percent > 0 && occupancy.percent <= 100);
    }
}

static void unknown_compute_capabilities_are_as_the_one_before(void **state)
{
    (void)state;
    assert_int_equal(compute_capability_find(9, 0)->warps, 64);
    assert_int_equal(compute_capability_find(9, 9)->major, 9);
    assert_int_equal(compute_capability_find(8, 8)->minor, 7);
    assert_int_equal(compute_capability_find(99, 0)->major, 12);
    assert_int_equal(compute_capability_find(3, 5)->major, 5);
    assert_int_equal(compute_capability_find(UINT64_MAX, UINT64_MAX)->minor, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_what_nsight_compute_prints),
        cmocka_unit_test(the_limit_is_named),
        cmocka_unit_test(configured_shared_memory_limits_where_it_can),
        cmocka_unit_test(what_cannot_be_is_unknown),
        cmocka_unit_test(grids_of_any_size_have_finite_waves),
        cmocka_unit_test(as_many_blocks_as_fit_and_no_more),
        cmocka_unit_test(unknown_compute_capabilities_are_as_the_one_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
