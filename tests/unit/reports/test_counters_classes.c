/* What work is bound by: the table of docs/counters.md, with counters that are not known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reports/counters/pass.h"

#define UNKNOWN ((double)NAN)
#define HTOD    "[CUDA memcpy HtoD]"
#define NCCL    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

/* A device with counters of PCIe and NVLink, and a row of copies to it. */
struct scene {
    struct counters_counter counters[3];
    struct counters_group group;
    struct counters_cell cells[3];
    struct counters_result result;
};

static void set_scene(struct scene *scene, double most_sampled, double copies, double error)
{
    static const char *const names[] = {"pcie_rx", "pcie_tx", "nvlink_rx"};

    *scene = (struct scene){.group = {.name = HTOD}};
    for (size_t i = 0; i < 3; i++) {
        scene->counters[i] = (struct counters_counter){
            .name = names[i], .by = SAMPLED_BY_CUPTI, .place = i, .all = {.max = most_sampled}};
        scene->cells[i] = (struct counters_cell){.mean = copies, .error = error};
    }
    scene->result = (struct counters_result){.counters = scene->counters,
                                             .counter_count = 3,
                                             .groups = &scene->group,
                                             .group_count = 1,
                                             .cells = scene->cells,
                                             .cell_count = 3};
}

struct known {
    double sms, tensor, issue, dram, rx, tx, link;
};

static enum counters_class class_in(const struct scene *scene, struct known known, const char *name)
{
    const double values[COUNTERS_TELLING] = {
        [COUNTERS_SMS] = known.sms,     [COUNTERS_TENSOR] = known.tensor,
        [COUNTERS_ISSUE] = known.issue, [COUNTERS_DRAM] = known.dram,
        [COUNTERS_RX] = known.rx,       [COUNTERS_TX] = known.tx,
        [COUNTERS_LINK] = known.link,
    };

    return counters_class_of(&scene->result, values, name);
}

/* SMs, tensor pipes, instructions and memory in percent; nothing on PCIe or NVLink is known. */
static enum counters_class class_of(double sms, double tensor, double issue, double dram)
{
    struct scene scene;

    set_scene(&scene, 0, UNKNOWN, UNKNOWN);
    return class_in(&scene, (struct known){sms, tensor, issue, dram, UNKNOWN, UNKNOWN, UNKNOWN},
                    "kernel");
}

static void a_class_needs_its_own_counters_only(void **state)
{
    (void)state;
    assert_int_equal(class_of(UNKNOWN, UNKNOWN, UNKNOWN, 60), COUNTERS_MEMORY);
    assert_int_equal(class_of(1, 90, 90, 60), COUNTERS_MEMORY);
    assert_int_equal(class_of(UNKNOWN, 50, UNKNOWN, UNKNOWN), COUNTERS_COMPUTE);
    assert_int_equal(class_of(UNKNOWN, UNKNOWN, 60, UNKNOWN), COUNTERS_COMPUTE);
}

static void what_remains_needs_those_of_the_others(void **state)
{
    static const double sms[] = {39.9, 40};
    static const enum counters_class classes[] = {COUNTERS_FEW_SMS, COUNTERS_LATENCY};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(class_of(sms[i], 49, 59, 59), classes[i]);
        assert_int_equal(class_of(sms[i], UNKNOWN, 59, 59), classes[i]);
        assert_int_equal(class_of(sms[i], 49, UNKNOWN, 59), classes[i]);
        assert_int_equal(class_of(sms[i], UNKNOWN, UNKNOWN, 59), COUNTERS_UNKNOWN);
        assert_int_equal(class_of(sms[i], 49, 59, UNKNOWN), COUNTERS_UNKNOWN);
        assert_int_equal(class_of(sms[i], UNKNOWN, UNKNOWN, UNKNOWN), COUNTERS_UNKNOWN);
    }
    assert_int_equal(class_of(UNKNOWN, 49, 59, 59), COUNTERS_UNKNOWN);
}

static void copies_and_sets_have_no_sms_to_fill(void **state)
{
    const struct known idle = {0, 0, 0, 5, 3e9, 0, UNKNOWN};
    const struct known busy = {70, 0, 10, 5, 0, 0, UNKNOWN};
    struct scene scene;

    (void)state;
    set_scene(&scene, 25e9, UNKNOWN, UNKNOWN);
    assert_int_equal(class_in(&scene, idle, "kernel"), COUNTERS_FEW_SMS);
    assert_int_equal(class_in(&scene, idle, HTOD), COUNTERS_UNKNOWN);
    assert_int_equal(class_in(&scene, idle, "[CUDA memset]"), COUNTERS_UNKNOWN);
    assert_int_equal(class_in(&scene, busy, "[CUDA memset]"), COUNTERS_UNKNOWN);
    assert_int_equal(class_in(&scene, busy, "[CUDA graph 7]"), COUNTERS_LATENCY);
    assert_int_equal(class_in(&scene, (struct known){0, 0, 0, 88, 0, 0, 0}, "[CUDA memcpy DtoD]"),
                     COUNTERS_MEMORY);
}

/* The class of copies with these bytes a second to the GPU. */
static enum counters_class copies_with(const struct scene *scene, double rx)
{
    return class_in(scene, (struct known){0, 0, 0, 5, rx, 0, UNKNOWN}, HTOD);
}

static void pcie_is_full_against_samples_copies_and_the_least_link(void **state)
{
    struct scene scene;

    (void)state;
    set_scene(&scene, 50e9, UNKNOWN, UNKNOWN);
    assert_int_equal(copies_with(&scene, 30e9), COUNTERS_PCIE);
    assert_int_equal(copies_with(&scene, 29.9e9), COUNTERS_UNKNOWN);
    /* Samples are longer than copies: the copies' mean is the measure, as far as it is sure. */
    set_scene(&scene, 1.3e9, 51e9, 1e9);
    assert_int_equal(copies_with(&scene, 30e9), COUNTERS_PCIE);
    assert_int_equal(copies_with(&scene, 29.9e9), COUNTERS_UNKNOWN);
    /* Steady copies at less than any link can do. */
    set_scene(&scene, 5e9, 5e9, 0);
    assert_int_equal(copies_with(&scene, 5e9), COUNTERS_UNKNOWN);
    set_scene(&scene, 10e9, UNKNOWN, UNKNOWN);
    assert_int_equal(copies_with(&scene, 10e9), COUNTERS_PCIE);
    assert_int_equal(class_in(&scene, (struct known){0, 0, 0, 5, UNKNOWN, 10e9, UNKNOWN}, HTOD),
                     COUNTERS_PCIE);
    assert_int_equal(copies_with(&scene, UNKNOWN), COUNTERS_UNKNOWN);
}

static void only_nccl_that_transfers_nothing_waits(void **state)
{
    const struct known spins = {UNKNOWN, UNKNOWN, UNKNOWN, 2, 0, 0, 0};
    const struct known by_link = {30, 0, 5, 2, 0, 0, 20e9};
    const struct known by_pcie = {30, 0, 5, 2, 20e9, 20e9, UNKNOWN};
    struct known blind = spins;
    struct scene scene;

    (void)state;
    set_scene(&scene, 22e9, UNKNOWN, UNKNOWN);
    blind.dram = UNKNOWN;
    assert_int_equal(class_in(&scene, spins, NCCL), COUNTERS_WAITING);
    assert_int_equal(class_in(&scene, spins, "kernel"), COUNTERS_UNKNOWN);
    assert_int_equal(class_in(&scene, blind, NCCL), COUNTERS_UNKNOWN);
    assert_int_equal(class_in(&scene, by_link, NCCL), COUNTERS_FEW_SMS);
    assert_int_equal(class_in(&scene, by_pcie, NCCL), COUNTERS_PCIE);
}

/* Kernels of one name in three groups: 6 and 3 ns are known, and `unknown` ns not. Beside them
 * another name, and the same name on another device. */
static struct counters_brief brief_with(uint64_t unknown)
{
    struct counters_group groups[] = {{.name = "k", .time = 6, .cells = 0},
                                      {.name = "k", .time = 3, .cells = 3},
                                      {.name = "k", .time = unknown, .cells = 6},
                                      {.name = "other", .time = 100, .cells = 0},
                                      {.name = "k", .time = 100, .device = 1, .cells = 0}};
    struct counters_cell cells[9];
    struct scene scene;

    set_scene(&scene, 100, 0, 0);
    for (size_t i = 0; i < 9; i++)
        cells[i] = (struct counters_cell){.mean = i < 3 ? 50 : i < 6 ? 80 : UNKNOWN, .error = 2};
    scene.result.groups = groups;
    scene.result.group_count = sizeof(groups) / sizeof(groups[0]);
    scene.result.cells = cells;
    scene.result.cell_count = 9;
    return counters_brief_of(&scene.result, 0, "k");
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) < 1e-9;
}

/* Means weigh by time, and their errors as those of independent values. */
static void what_is_known_of_nine_tenths_of_the_time_is_known(void **state)
{
    struct counters_brief brief = brief_with(1);

    (void)state;
    assert_true(is_near(brief.values[COUNTERS_RX], (6 * 50 + 3 * 80) / 9.0));
    assert_true(is_near(brief.errors[COUNTERS_RX], sqrt(12 * 12 + 6 * 6) / 9));
    assert_true(isnan(brief.values[COUNTERS_SMS])); /* no such counter */
    brief = brief_with(2);
    assert_true(isnan(brief.values[COUNTERS_RX]));
    assert_true(isnan(brief.errors[COUNTERS_RX]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_needs_its_own_counters_only),
        cmocka_unit_test(what_remains_needs_those_of_the_others),
        cmocka_unit_test(copies_and_sets_have_no_sms_to_fill),
        cmocka_unit_test(pcie_is_full_against_samples_copies_and_the_least_link),
        cmocka_unit_test(only_nccl_that_transfers_nothing_waits),
        cmocka_unit_test(what_is_known_of_nine_tenths_of_the_time_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
