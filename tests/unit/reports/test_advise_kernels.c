/* Rules of `advise` that know kernels by their names, on loops of four kernels whose gains are
 * known by hand, and on ones in which they must be silent.
 *
 *     thread   10|l0|16|l1|22|l2|28|l3|34|wait                                     185| 190
 *     stream      20|k0 40 + more|60     |k1 40|100     |k2 40|140     |k3 40|180
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/metrics/sampled.h"
#include "unit/reports/advise_fixture.h"

#define KERNELS 4
#define PERIOD  200
#define LENGTH  190

#define FP32   "ampere_sgemm_128x64_nn"
#define TF32   "cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4"
#define BF16   "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"
#define FP64   "ampere_dgemm_64x64_nn"
#define NVJET  "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT"
#define LAYOUT "cudnn::engines_precompiled::nchwToNhwcKernel<float, float>"
#define BACK   "cudnn::engines_precompiled::nhwcToNchwKernel<float, float>"
#define SPLIT  "cublasLt::splitKreduce_kernel<32, 16, int, float>"
#define CAST   "at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda>"
#define NORM   "cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>"
#define RELU   "at::native::vectorized_elementwise_kernel<4, at::native::launch_clamp_scalar>"
#define POOL   "at::native::max_pool_forward_nchw<float, int>"

static const char *const *names;

static void put_named(uint64_t t, uint64_t id, uint64_t more)
{
    for (uint64_t k = 0; k < KERNELS; k++)
        put_launch(7, names[k], t + 10 + 6 * k, t + 20 + 40 * k + (k ? more : 0),
                   t + 60 + 40 * k + more, id + k);
    put_stream_sync(7, t + 34, t + 185 + more, id + KERNELS);
}

static void judge(const char *const *kernels)
{
    names = kernels;
    put_loop(LOOPS, PERIOD, LENGTH, 0, put_named);
    advise_loop();
}

/* ---- Removed kernels ---- */

static void layout_changes_behind_the_first_go(void **state)
{
    static const char *const there_and_back[] = {FP32, LAYOUT, FP32, BACK};
    static const char *const once[] = {FP32, LAYOUT, FP32, RELU};

    (void)state;
    judge(there_and_back);
    expect_gain(ADVISE_LAYOUT_CHANGES, 40000);
    expect_number(ADVISE_LAYOUT_CHANGES, "kernels", 1);
    expect_number(ADVISE_LAYOUT_CHANGES, "kernels_ns", 40000);
    expect_number(ADVISE_LAYOUT_CHANGES, "kernel_percent", 25);
    assert_int_equal(finding(ADVISE_LAYOUT_CHANGES)->certainty, ADVISE_ESTIMATE);
    advised();
    expect_limit(ADVISE_LAYOUT_CHANGES, PERIOD, LENGTH, 3800, put_named);
    judge(once);
    expect_none(ADVISE_LAYOUT_CHANGES);
    advised();
}

static void split_products_are_added_up(void **state)
{
    static const char *const split[] = {FP32, SPLIT, FP32, SPLIT};
    static const char *const whole[] = {FP32, RELU, FP32, RELU};

    (void)state;
    judge(split);
    expect_gain(ADVISE_SPLIT_K, 80000);
    expect_number(ADVISE_SPLIT_K, "kernels", 2);
    assert_int_equal(finding(ADVISE_SPLIT_K)->certainty, ADVISE_BOUND);
    advised();
    judge(whole);
    expect_none(ADVISE_SPLIT_K);
    advised();
}

static void casts_behind_the_first_go(void **state)
{
    static const char *const again[] = {CAST, BF16, CAST, BF16};
    static const char *const once[] = {CAST, BF16, POOL, BF16};

    (void)state;
    judge(again);
    expect_gain(ADVISE_REPEATED_CASTS, 40000);
    expect_number(ADVISE_REPEATED_CASTS, "kernels", 1);
    advised();
    judge(once);
    expect_none(ADVISE_REPEATED_CASTS);
    advised();
}

/* ---- Whose lines ---- */

/* Each kernel is launched by a function of its own, but the last by that of the second. */
static void put_called(uint64_t t, uint64_t id, uint64_t more)
{
    static const char *const functions[] = {"first", "second", "third"};
    static uint64_t stacks[3];

    for (uint64_t i = 0; i < 3 && id == 100; i++)
        stacks[i] = put_stack(0, functions[i], 7 + i);
    for (uint64_t k = 0; k < KERNELS; k++) {
        use_stack(stacks[k == 3 ? 1 : k]);
        put_launch(7, names[k], t + 10 + 6 * k, t + 20 + 40 * k + (k ? more : 0),
                   t + 60 + 40 * k + more, id + k);
    }
    use_stack(0);
    put_stream_sync(7, t + 34, t + 185 + more, id + KERNELS);
}

/* Of three kernels that go `second` launches two, and `third` one. */
static void a_finding_names_each_line_once(void **state)
{
    static const char *const split[] = {FP32, SPLIT, SPLIT, SPLIT};
    const struct advise_finding *one;

    (void)state;
    names = split;
    put_loop(LOOPS, PERIOD, LENGTH, 0, put_called);
    advise_loop();
    one = finding(ADVISE_SPLIT_K);
    assert_non_null(one);
    assert_int_equal(one->caller_count, 2);
    assert_int_equal(one->callers[0].frame.line, 8);
    assert_int_equal(one->callers[0].kind, ADVISE_CALLED_FROM);
    assert_true(fabs(one->callers[0].percent - 200.0 / 3) < 1e-9);
    assert_int_equal(one->callers[1].frame.line, 9);
    assert_true(fabs(one->callers[1].percent - 100.0 / 3) < 1e-9);
    advised();
}

/* ---- Fusion ---- */

static void pointwise_kernels_join_what_is_before_them(void **state)
{
    static const char *const behind_product[] = {FP32, SPLIT, NORM, RELU};
    static const char *const behind_pointwise[] = {RELU, RELU, POOL, RELU};
    static const char *const alone[] = {POOL, RELU, POOL, RELU};
    static const char *const copies[] = {FP32, CAST, FP32, CAST};

    (void)state;
    judge(behind_product);
    expect_gain(ADVISE_UNFUSED_POINTWISE, 80000);
    expect_number(ADVISE_UNFUSED_POINTWISE, "kernels", 2);
    expect_number(ADVISE_UNFUSED_POINTWISE, "batch_norms", 1);
    assert_int_equal(finding(ADVISE_UNFUSED_POINTWISE)->certainty, ADVISE_BOUND);
    advised();
    judge(behind_pointwise);
    expect_gain(ADVISE_UNFUSED_POINTWISE, 40000);
    expect_number(ADVISE_UNFUSED_POINTWISE, "batch_norms", 0);
    advised();
    judge(alone);
    expect_none(ADVISE_UNFUSED_POINTWISE);
    advised();
    judge(copies);
    expect_none(ADVISE_UNFUSED_POINTWISE);
    advised();
}

/* The first kernel of an iteration is not part of the last one of the iteration before. */
static void iterations_are_not_fused(void **state)
{
    static const char *const around[] = {RELU, POOL, POOL, FP32};

    (void)state;
    judge(around);
    expect_none(ADVISE_UNFUSED_POINTWISE);
    advised();
}

/* Kernels that wait for their launches. Each norm that goes takes the 24 us of host code before its
 * launch, and the call of 6 us, with it. In the other loop that code is work of its own: 124 us.
 *
 *     thread   10|l|16      40|l|46      70|l|76      100|l|106|wait   113| 120
 *     stream        18|FP32|22   48|NORM|52   78|FP32|82   108|NORM|112
 */
static void put_eager(uint64_t t, uint64_t id, uint64_t more)
{
    static const char *const kernels[] = {FP32, NORM, FP32, NORM};

    for (uint64_t k = 0; k < KERNELS; k++, t += 30 + more)
        put_launch(7, kernels[k], t + 10, t + 18, t + 22, id + k);
    put_stream_sync(7, t - 14 - more, t - 7 - more, id + KERNELS);
}

static void host_code_of_a_fused_operator_goes(void **state)
{
    (void)state;
    put_loop(LOOPS, 130, 120, 0, put_eager);
    advise_loop();
    expect_gain(ADVISE_UNFUSED_POINTWISE, 60000);
    advised();
    put_loop(LOOPS, 500, 500, 100, put_eager);
    advise_loop();
    assert_true(finding(ADVISE_UNFUSED_POINTWISE)->gain < 24000);
    advised();
}

/* ---- Precision ---- */

static void products_of_32_bits_could_take_half(void **state)
{
    static const char *const wide[] = {FP32, TF32, BF16, POOL};
    static const char *const others[] = {BF16, FP64, NVJET, POOL};

    (void)state;
    judge(wide);
    expect_gain(ADVISE_LOW_PRECISION, 40000);
    expect_number(ADVISE_LOW_PRECISION, "kernels", 2);
    expect_number(ADVISE_LOW_PRECISION, "tf32_ns", 40000);
    expect_number(ADVISE_LOW_PRECISION, "fp32_ns", 40000);
    expect_number(ADVISE_LOW_PRECISION, "kernel_percent", 50);
    advised();
    judge(others);
    expect_none(ADVISE_LOW_PRECISION);
    advised();
}

/* ---- Grids: 10 SMs hold 2 blocks of 1024 threads each, so a wave has 20 ---- */

static void judge_part(uint64_t multiprocessors, uint64_t part, const char *const *kernels,
                       const uint64_t *blocks)
{
    names = kernels;
    scene_begin();
    if (multiprocessors)
        put_gpu(0, multiprocessors);
    if (part)
        put_green(DEFAULT_CONTEXT, 5, part);
    for (unsigned k = 0; k < KERNELS; k++)
        if (blocks[k])
            put_kernel_shape(kernels[k], blocks[k], 1024);
    for (uint64_t i = 0; i < LOOPS; i++) {
        put_nvtx_range("it", BEGIN + i * PERIOD, BEGIN + i * PERIOD + LENGTH);
        put_named(BEGIN + i * PERIOD, 100 * (i + 1), 0);
    }
    advise_loop();
}

static void judge_on(uint64_t multiprocessors, const char *const *kernels, const uint64_t *blocks)
{
    judge_part(multiprocessors, 0, kernels, blocks);
}

/* 0.25 waves of 40 us, 0.5 of 40 us: 50 us less. NCCL has few blocks on purpose. */
static void small_grids_could_do_more(void **state)
{
    static const char *const kernels[] = {"a", "b", "c", "ncclDevKernel_AllReduce"};

    (void)state;
    judge_on(10, kernels, (const uint64_t[]){5, 20, 10, 1});
    expect_gain(ADVISE_SMALL_GRIDS, 50000);
    expect_number(ADVISE_SMALL_GRIDS, "kernels", 2);
    expect_number(ADVISE_SMALL_GRIDS, "kernel_percent", 50);
    assert_int_equal(finding(ADVISE_SMALL_GRIDS)->certainty, ADVISE_BOUND);
    assert_true(fabs(finding(ADVISE_SMALL_GRIDS)->numbers[0].value - 0.375) < 1e-9);
    advised();
    judge_on(10, kernels, (const uint64_t[]){20, 21, 1000, 1});
    expect_none(ADVISE_SMALL_GRIDS);
    advised();
}

/* The same blocks, where the kernels have a green context of 10 of 40 SMs. */
static void a_green_context_is_filled_by_fewer_blocks(void **state)
{
    static const char *const kernels[] = {"a", "b", "c", "d"};

    (void)state;
    judge_part(40, 10, kernels, (const uint64_t[]){5, 20, 10, 21});
    expect_gain(ADVISE_SMALL_GRIDS, 50000);
    assert_non_null(strstr(finding(ADVISE_SMALL_GRIDS)->evidence, "their green contexts hold"));
    advised();
    judge_part(40, 10, kernels, (const uint64_t[]){20, 21, 1000, 20});
    expect_none(ADVISE_SMALL_GRIDS);
    advised();
}

/* Of kernels with unknown threads nothing is said; if all are so, the rule is not tried. */
static void unknown_shapes_and_devices(void **state)
{
    static const char *const kernels[] = {"a", "b", "c", "d"};

    (void)state;
    judge_on(10, kernels, (const uint64_t[]){0, 20, 0, 10});
    expect_gain(ADVISE_SMALL_GRIDS, 20000);
    expect_number(ADVISE_SMALL_GRIDS, "kernels", 1);
    advised();
    judge_on(10, kernels, (const uint64_t[]){0, 0, 0, 0});
    assert_int_equal(advice.reasons[ADVISE_SMALL_GRIDS], ADVISE_NO_OCCUPANCY);
    advised();
    judge_on(0, kernels, (const uint64_t[]){5, 5, 5, 5});
    assert_int_equal(advice.reasons[ADVISE_SMALL_GRIDS], ADVISE_NO_OCCUPANCY);
    assert_string_equal(advise_reason_key(&advice, ADVISE_NO_OCCUPANCY), "no_occupancy");
    advised();
}

/* ---- Samples ---- */

/* What counters were in each kernel: samples of 10 us, of which each kernel has four. */
struct sampled_counter {
    const char *name;
    double percent[KERNELS];
};

static void put_counters(const struct sampled_counter *counters, size_t count)
{
    struct mp_row_counter row = {
        .source = MP_counter_source_cupti, .unit = MP_metric_unit_percent, .interval = 10000};
    const uint64_t last = BEGIN + (uint64_t)LOOPS * PERIOD;
    const double step = 0.1;

    memcpy(&row.step, &step, sizeof step);
    for (row.id = 1; row.id <= count; row.id++) {
        row.name = put_string(counters[row.id - 1].name);
        mp_append_counter(scene.writer, &row);
    }
    for (uint64_t end = BEGIN + 10; end <= last; end += 10) {
        uint64_t within = (end - BEGIN - 10) % PERIOD; /* an iteration; kernels are 20 to 180 */

        for (size_t i = 0; i < count; i++) {
            double value =
                within >= 20 && within < 180 ? counters[i].percent[(within - 20) / 40] : 0;
            mp_append_sample(scene.writer,
                             &(struct mp_row_sample){.counter = i + 1,
                                                     .time = end * 1000,
                                                     .length = 10000,
                                                     .value = sampled_pack(value, step)});
        }
    }
}

/* Kernels in a green context, or not. */
static void judge_counters(bool green, const struct sampled_counter *counters, size_t count)
{
    static const char *const kernels[] = {"a", "b", "c", "d"};

    names = kernels;
    put_loop(LOOPS, PERIOD, LENGTH, 0, put_named);
    if (green)
        put_green(DEFAULT_CONTEXT, 5, 20);
    put_counters(counters, count);
    advise_loop();
}

/* How busy device memory was. */
static void judge_sampled(const double percent[KERNELS])
{
    struct sampled_counter counter = {.name = "dram_active"};

    memcpy(counter.percent, percent, sizeof counter.percent);
    judge_counters(false, &counter, 1);
}

/* Two of the four take half as long with half the bytes. */
static void kernels_that_fill_device_memory_are_held_by_it(void **state)
{
    (void)state;
    judge_sampled((const double[]){95.5, 40, 95.5, 85});
    expect_gain(ADVISE_MEMORY_BOUND, 40000);
    expect_number(ADVISE_MEMORY_BOUND, "kernels", 2);
    expect_number(ADVISE_MEMORY_BOUND, "sampled_percent", 95);
    advised();
    judge_sampled((const double[]){10, 40, 0, 85});
    expect_none(ADVISE_MEMORY_BOUND);
    advised();
}

/* Three of four kernels have a fifth of the SMs: 32 us each, unless a green context has no more. */
static void kernels_with_few_sms_could_have_more(void **state)
{
    static const struct sampled_counter counters[] = {{"dram_active", {10, 10, 10, 10}},
                                                      {"tensor_active", {5, 5, 5, 5}},
                                                      {"sm_active", {20, 20, 20, 80}}};

    (void)state;
    judge_counters(false, counters, 3);
    expect_gain(ADVISE_FEW_SMS, 96000);
    advised();
    judge_counters(true, counters, 3);
    expect_none(ADVISE_FEW_SMS);
    advised();
}

static void without_samples_nothing_is_said_of_them(void **state)
{
    (void)state;
    judge((const char *const[]){"a", "b", "c", "d"});
    assert_int_equal(advice.reasons[ADVISE_MEMORY_BOUND], ADVISE_NO_SAMPLES);
    advised();
}

/* ---- Copies ----
 *
 *     thread   10|in|16|small|22|l|28|wait                185| 190
 *     stream      20|in 40|60   |small 40|100   |k 80 + more|180
 */
static uint64_t small_bytes, copies;

static void put_copies(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMemcpyAsync", t + 10, t + 15, id);
    put_copy_of(7, MP_copy_kind_HtoD, ASYNCHRONOUS, MIB, t + 20, t + 60, id);
    if (id != 300 || copies) {
        put_call(1, "cudaMemcpyAsync", t + 16, t + 21, id + 1);
        put_copy_of(7, MP_copy_kind_HtoD, ASYNCHRONOUS, 4096 + (id == 300 ? small_bytes : 0),
                    t + 60, t + 100, id + 1);
    }
    put_launch(7, "k", t + 22, t + 100, t + 180 + more, id + 2);
    put_stream_sync(7, t + 28, t + 185 + more, id + 3);
}

static void put_input_only(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMemcpyAsync", t + 10, t + 15, id);
    put_copy_of(7, MP_copy_kind_HtoD, ASYNCHRONOUS, MIB, t + 20, t + 100, id);
    put_launch(7, "k", t + 22, t + 100, t + 180 + more, id + 2);
    put_stream_sync(7, t + 28, t + 185 + more, id + 3);
}

static void copies_that_never_change(void **state)
{
    (void)state;
    small_bytes = 0;
    copies = 1;
    put_loop(LOOPS, PERIOD, LENGTH, 0, put_copies);
    advise_loop();
    expect_gain(ADVISE_CONSTANT_COPIES, 40000);
    expect_number(ADVISE_CONSTANT_COPIES, "copies", 1);
    expect_number(ADVISE_CONSTANT_COPIES, "copied_bytes", 4096);
    expect_number(ADVISE_CONSTANT_COPIES, "copies_ns", 40000);
    assert_int_equal(finding(ADVISE_CONSTANT_COPIES)->certainty, ADVISE_BOUND);
    advised();
    expect_limit(ADVISE_CONSTANT_COPIES, PERIOD, LENGTH, 3800, put_copies);
}

/* One iteration copies another size, or one copy less; or there is only the input. */
static void copies_that_change_stay(void **state)
{
    (void)state;
    small_bytes = 1;
    put_loop(LOOPS, PERIOD, LENGTH, 0, put_copies);
    advise_loop();
    expect_none(ADVISE_CONSTANT_COPIES);
    advised();
    copies = 0;
    put_loop(LOOPS, PERIOD, LENGTH, 0, put_copies);
    advise_loop();
    expect_none(ADVISE_CONSTANT_COPIES);
    advised();
    put_loop(LOOPS, PERIOD, LENGTH, 0, put_input_only);
    advise_loop();
    expect_none(ADVISE_CONSTANT_COPIES);
    advised();
}

/* ---- Frameworks ---- */

static const char *framework_of(const char *const *kernels)
{
    const char *framework;

    judge(kernels);
    framework = advice.framework;
    advised();
    return framework;
}

static void the_framework_of_most_kernels(void **state)
{
    static const char *const torch[] = {FP32, LAYOUT, BACK, RELU};
    static const char *const xla[] = {FP32, "loop_add_fusion", "wrapped_convert", "cupy_add__f"};
    static const char *const engine[] = {FP32, "__myl_FcAdd_0x1b2c", "k", "k2"};
    static const char *const none[] = {FP32, LAYOUT, FP32, BACK};

    (void)state;
    assert_string_equal(framework_of(torch), "PyTorch");
    assert_string_equal(framework_of(xla), "XLA (JAX)");
    assert_string_equal(framework_of(engine), "TensorRT");
    assert_null(framework_of(none));
}

static void advice_is_in_its_words(void **state)
{
    static const char *const torch[] = {FP32, LAYOUT, BACK, RELU};
    static const char *const none[] = {FP32, LAYOUT, FP32, BACK};

    (void)state;
    judge(torch);
    assert_true(advice.framework_percent == 25);
    assert_non_null(strstr(finding(ADVISE_LAYOUT_CHANGES)->to_do, "torch.channels_last"));
    advised();
    judge(none);
    assert_null(strstr(finding(ADVISE_LAYOUT_CHANGES)->to_do, "torch"));
    assert_non_null(strstr(finding(ADVISE_LAYOUT_CHANGES)->to_do, "NHWC"));
    advised();
}

/* 1 kernel of 24 is at::native's: that is not the program's framework. */
static void a_few_kernels_are_no_framework(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < LOOPS; i++) {
        uint64_t t = BEGIN + i * PERIOD;

        put_nvtx_range("it", t, t + LENGTH);
        for (uint64_t k = 0; k < KERNELS; k++)
            put_launch(7, i || k ? "k" : RELU, t + 10 + 6 * k, t + 20 + 40 * k, t + 60 + 40 * k,
                       100 * (i + 1) + k);
        put_stream_sync(7, t + 34, t + 185, 100 * (i + 1) + KERNELS);
    }
    advise_loop();
    assert_null(advice.framework);
    advised();
}

/* ---- Order ---- */

/* A bound of 80 us at 0.6 stands behind an estimate of 40 us at 0.6. */
static void estimates_stand_before_bounds(void **state)
{
    static const char *const both[] = {LAYOUT, RELU, LAYOUT, RELU};

    (void)state;
    judge(both);
    expect_gain(ADVISE_LAYOUT_CHANGES, 40000);
    expect_gain(ADVISE_UNFUSED_POINTWISE, 80000);
    assert_true(finding(ADVISE_LAYOUT_CHANGES) < finding(ADVISE_UNFUSED_POINTWISE));
    advised();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_changes_behind_the_first_go),
        cmocka_unit_test(split_products_are_added_up),
        cmocka_unit_test(casts_behind_the_first_go),
        cmocka_unit_test(a_finding_names_each_line_once),
        cmocka_unit_test(pointwise_kernels_join_what_is_before_them),
        cmocka_unit_test(iterations_are_not_fused),
        cmocka_unit_test(host_code_of_a_fused_operator_goes),
        cmocka_unit_test(products_of_32_bits_could_take_half),
        cmocka_unit_test(small_grids_could_do_more),
        cmocka_unit_test(a_green_context_is_filled_by_fewer_blocks),
        cmocka_unit_test(unknown_shapes_and_devices),
        cmocka_unit_test(kernels_that_fill_device_memory_are_held_by_it),
        cmocka_unit_test(kernels_with_few_sms_could_have_more),
        cmocka_unit_test(without_samples_nothing_is_said_of_them),
        cmocka_unit_test(copies_that_never_change),
        cmocka_unit_test(copies_that_change_stay),
        cmocka_unit_test(the_framework_of_most_kernels),
        cmocka_unit_test(advice_is_in_its_words),
        cmocka_unit_test(a_few_kernels_are_no_framework),
        cmocka_unit_test(estimates_stand_before_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
