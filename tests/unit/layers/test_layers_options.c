/* Layers: iterations, capture ranges, folded numbers, TensorRT's layers, kernels by position. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/layers/layers_fixture.h"

/* ---- Options ---- */

static void only_work_inside_an_iteration_counts(void **state)
{
    struct layers_options options = {.iteration = "it"};
    struct mp_error error;

    (void)state;
    scene_begin();
    push("outer", 5);
    put_launch(1, "w", 6, 90, 99, 9);
    for (uint64_t i = 0; i < 3; i++) {
        push("it", 10 + 20 * i);
        push("conv", 11 + 20 * i);
        put_launch(1, "a", 12 + 20 * i, 100 + 20 * i, 110 + 20 * i, 1 + i);
        pop(20 + 20 * i);
        push("it", 21 + 20 * i); /* of nested ones the outermost is the iteration */
        pop(22 + 20 * i);
        pop(25 + 20 * i);
    }
    pop(100);
    push("conv", 101);
    put_launch(1, "a", 102, 200, 300, 20);
    load_with(options);
    assert_string_equal(said(), "outer 30/0 x1, outer>it 30/0 x3, outer>it>conv 30/30 x3");
    assert_int_equal(result.iterations, 3);
    assert_int_equal(result.device, 30000);
    assert_true(layers_percent(&result, layer_called("outer>it>conv")->total->device) == 100);
    layers_free(&result);
    options.iteration = "that";
    assert_int_equal(layers_build(scene.deps.profile, &options, &result, &error), MP_ERR_ARGUMENT);
    assert_string_equal(error.text, "no NVTX range is called 'that'; there are for example "
                                    "'outer', 'it', 'conv'");
    layers_done();
}

/* Iterations without a name are lists of what was launched in them. */
static void only_work_of_iterations_that_were_found(void **state)
{
    static const uint64_t correlations[] = {2, 5};
    static const struct layers_iterations found = {correlations, 2, 7};
    static const struct layers_iterations nothing = {correlations, 0, 0};

    (void)state;
    scene_begin();
    for (uint64_t i = 1; i <= 6; i++) {
        push("conv", 20 * i);
        put_launch(1, "a", 20 * i + 1, 100 + 20 * i, 110 + 20 * i, i);
        pop(20 * i + 10);
    }
    load_with((struct layers_options){.found = &found, .iteration = "requests"});
    assert_string_equal(said(), "conv 20/20 x2");
    assert_int_equal(result.iterations, 7);
    assert_int_equal(result.device, 20000);
    load_again((struct layers_options){.found = &nothing, .iteration = "requests"});
    assert_string_equal(said(), "");
    layers_done();
}

static void idle_layers_bring_those_around_them(void **state)
{
    (void)state;
    scene_begin();
    push("work", 5);
    put_launch(1, "a", 6, 90, 99, 1);
    pop(7);
    push("around", 10);
    push("it", 11);
    push("idle", 12);
    pop(13);
    pop(14);
    pop(15);
    load_with((struct layers_options){.iteration = "it", .all = true});
    assert_string_equal(said(), "around 0/0 x0, around>it 0/0 x0, around>it>idle 0/0 x0");
    assert_int_equal(result.iterations, 0);
    assert_int_equal(result.device, 0);
    assert_true(layers_percent(&result, 0) == 0);
    layers_done();
}

static void a_capture_range_has_what_was_launched_in_it(void **state)
{
    (void)state;
    scene_begin();
    put_range(1, 50, 100, 3, 5);
    push("it", 10);
    put_launch(1, "a", 12, 200, 210, 1);
    put_launch(1, "a", 60, 210, 215, 3);
    pop(70);
    push("it", 71);
    pop(72);
    push("it", 110);
    put_launch(1, "a", 112, 220, 222, 6);
    pop(120);
    load_with((struct layers_options){.range = 1});
    assert_string_equal(said(), "it 5/5 x1");
    assert_int_equal(result.layers[0].instances, 2); /* one with work, one begun in it */
    assert_int_equal(ranges_count(&result.profile->ranges), 1);
    layers_done();
}

static void numbers_at_the_end_are_folded_if_asked_for(void **state)
{
    struct layers_options options = {.merge_numbers = true, .iteration = "it 9"};
    static const char *const names[] = {"it 1", "it 22", "it[3, [4]]", "it 5[x]", "7"};

    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 5; i++) {
        push(names[i], 10 + 20 * i);
        put_launch(1, "a", 12 + 20 * i, 200 + 10 * i, 201 + 10 * i, 1 + i);
        pop(20 + 20 * i);
    }
    layers_load();
    assert_int_equal(result.count, 5);
    load_again(options);
    assert_string_equal(said(), "it * 2/2 x2");
    layers_free(&result);
    options.iteration = NULL;
    assert_int_equal(layers_build(scene.deps.profile, &options, &result, NULL), MP_OK);
    assert_string_equal(said(), "it * 2/2 x2, it[*] 1/1 x1, it *[*] 1/1 x1, * 1/1 x1");
    layers_done();
}

static void folding_knows_brackets(void **state)
{
    static const char *const names[][2] = {
        {"", ""},
        {"a", "a"},
        {"a]", "a]"},
        {"a]]", "a]]"},
        {"[1]", "[*]"},
        {"a[b]c", "a[b]c"},
        {"a[b][c]", "a[b][*]"},
        {"12[3]", "*[*]"},
        {"a1b2", "a1b*"},
        {"[", "["},
        {"]", "]"},
    };
    char text[16];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(layer_fold_numbers(names[i][0], text, sizeof text), strlen(names[i][1]));
        assert_string_equal(text, names[i][1]);
    }
    assert_int_equal(layer_fold_numbers("abcdef 1", text, 4), 3);
}

/* ---- Kernels, TensorRT ---- */

static void layers_list_what_ran_in_them(void **state)
{
    const struct layer *layer;

    (void)state;
    scene_begin();
    push("it", 10);
    put_launch(1, "_Z3addILi4EEvPf", 11, 100, 101, 1);
    push("conv", 12);
    put_launch(1, "_Z3addILi4EEvPf", 13, 101, 103, 2);
    put_launch(1, "gemm", 14, 103, 113, 3);
    layers_load();
    layer = layer_called("it");
    assert_int_equal(layer->kernel_count, 2);
    assert_string_equal(layer->kernels[0].name, "gemm");
    assert_int_equal(layer->kernels[0].self_calls, 0);
    assert_string_equal(layer->kernels[1].name, "void add<4>(float*)");
    assert_string_equal(layer->kernels[1].short_name, "add");
    assert_int_equal(layer->kernels[1].calls, 2);
    assert_int_equal(layer->kernels[1].total, 3000);
    assert_int_equal(layer->kernels[1].self_calls, 1);
    assert_int_equal(layer->kernels[1].self, 1000);
    assert_int_equal(layer_called("it>conv")->kernel_count, 2);
    layers_done();
}

#define TRT(name, type, format)                                                                    \
    "{\"Name\": \"" name "\", \"LayerType\": \"" type "\", \"Outputs\": [{\"Dimensions\": [1,8], " \
    "\"Format/Datatype\": \"" format "\"}], \"TacticName\": \"t_" name "\"}"

static void expect_group(const struct layer_groups *groups, size_t index, const char *name,
                         uint64_t layers, uint64_t calls, uint64_t total)
{
    assert_true(index < groups->count);
    assert_string_equal(groups->items[index].name, name);
    assert_int_equal(groups->items[index].layers, layers);
    assert_int_equal(groups->items[index].calls, calls);
    assert_int_equal(groups->items[index].total, total * 1000);
}

static void layers_of_tensorrt_are_summed_by_type_and_precision(void **state)
{
    static const char *const names[] = {TRT("c1", "CaskConvolution", "Half"),
                                        TRT("r", "Reformat", "Row major linear FP32"),
                                        TRT("c2", "CaskConvolution", "Float"),
                                        TRT("x", "Other", "N/A"),
                                        "plain",
                                        "{\"Name\": "};
    const struct layer *layer;

    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 12; i++) {
        push(names[i % 6], 10 + 20 * i);
        put_launch(1, "a", 12 + 20 * i, 1000 + 100 * i, 1001 + 100 * i + i % 6, 1 + i);
        if (i % 6 == 0) { /* a range inside belongs to the layer around it */
            push("inside", 14 + 20 * i);
            put_launch(1, "a", 15 + 20 * i, 1050 + 100 * i, 1060 + 100 * i, 101 + i);
            pop(16 + 20 * i);
        }
        pop(20 + 20 * i);
    }
    layers_load();
    assert_int_equal(result.count, 7);
    layer = layer_called("c1");
    assert_string_equal(layer->said->type, "CaskConvolution");
    assert_string_equal(layer->said->precision, "FP16");
    assert_string_equal(layer->said->dimensions, "1x8");
    assert_string_equal(layer->said->tactic, "t_c1");
    assert_null(layer->said->input_dimensions);
    assert_null(layer_called("plain")->said);
    assert_null(layer_called("{\"Name\": ")->said);
    assert_int_equal(layer_called("r")->mark, TRT_REFORMAT);
    assert_int_equal(result.types.count, 3);
    expect_group(&result.types, 0, "CaskConvolution", 2, 4, 28);
    expect_group(&result.types, 1, "Other", 1, 2, 8);
    expect_group(&result.types, 2, "Reformat", 1, 2, 4);
    expect_group(&result.precisions, 0, "FP16", 1, 2, 22);
    expect_group(&result.precisions, 1, "FP32", 2, 4, 10);
    expect_group(&result.precisions, 2, "unknown", 1, 2, 8);
    expect_group(&result.marks, 0, "reformat", 1, 2, 4);
    layers_done();
}

static void a_layer_inside_its_own_type_counts_once(void **state)
{
    (void)state;
    scene_begin();
    push(TRT("outer", "Reformat", "Half"), 10);
    put_launch(1, "a", 12, 100, 101, 1);
    push(TRT("inner", "Reformat", "Half"), 20);
    put_launch(1, "a", 22, 102, 104, 2);
    pop(30);
    push(TRT("other", "Shuffle", "Half"), 31);
    put_launch(1, "a", 32, 105, 109, 3);
    layers_load();
    assert_int_equal(result.types.count, 2);
    expect_group(&result.types, 0, "Shuffle", 1, 1, 4);
    expect_group(&result.types, 1, "Reformat", 1, 1, 3);
    layers_done();
}

static void a_layer_of_copies_alone_is_marked(void **state)
{
    (void)state;
    scene_begin();
    push("input", 10);
    put_call(1, "cudaMemcpyAsync", 11, 12, 1);
    put_copy(1, MP_copy_kind_HtoD, ASYNCHRONOUS, 40, 42, 1);
    pop(20);
    push("conv", 21);
    put_call(1, "cudaMemcpyAsync", 22, 23, 2);
    put_copy(1, MP_copy_kind_DtoD, ASYNCHRONOUS, 50, 51, 2);
    put_launch(1, "a", 24, 60, 70, 3);
    layers_load();
    assert_int_equal(layer_called("input")->mark, TRT_COPY);
    assert_int_equal(layer_called("conv")->mark, TRT_COMPUTES);
    layers_done();
}

/* ---- Positions ---- */

static void expect_position(size_t index, const char *name, uint64_t calls, uint64_t total)
{
    assert_true(index < result.positions.count);
    assert_string_equal(result.positions.items[index].name, name);
    assert_int_equal(result.positions.items[index].calls, calls);
    assert_int_equal(result.positions.items[index].total, total * 1000);
}

static void put_rounds(bool calls)
{
    put_kernel(1, "warm", 1, 3, 1);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t at = 100 + 100 * i;

        if (calls)
            put_call(1, "cudaLaunchKernel", at - 50, at - 45, 10 + 3 * i);
        put_kernel(2, "b", at + 1, at + 3 + i, 11 + 3 * i); /* begins first, launched second */
        put_kernel(1, "a", at + 5, at + 15, 10 + 3 * i);
        put_kernel(1, "a", at + 50, at + 51, 12 + 3 * i);
    }
    put_kernel(1, "a", 600, 607, 40);
}

static void without_ranges_kernels_go_by_position(void **state)
{
    (void)state;
    scene_begin();
    put_rounds(true);
    layers_load();
    assert_true(result.by_position && !result.has_ranges && !result.no_calls);
    assert_int_equal(result.count, 0);
    assert_int_equal(result.positions.count, 3);
    assert_int_equal(result.positions.start, 1);
    assert_int_equal(result.positions.rounds, 4);
    assert_int_equal(result.positions.kernels, 14);
    assert_int_equal(result.positions.others, 2);
    assert_int_equal(result.positions.others_total, 9000);
    expect_position(0, "a", 4, 40);
    expect_position(1, "b", 4, 2 + 3 + 4 + 5);
    expect_position(2, "a", 4, 4);
    assert_int_equal(result.positions.items[1].device.p50, 3000);
    assert_int_equal(result.positions.items[1].device.p99, 5000);
    assert_int_equal(result.positions.by_total[0], 0);
    assert_int_equal(result.positions.by_total[1], 1);
    layers_done();
}

static void without_calls_too(void **state)
{
    struct mp_error error;

    (void)state;
    scene_begin();
    push("it", 10);
    put_rounds(false);
    layers_load();
    assert_true(result.by_position && result.has_ranges && result.no_calls);
    assert_int_equal(result.positions.count, 3);
    layers_free(&result);
    assert_int_equal(layers_build(scene.deps.profile, &(struct layers_options){.iteration = "it"},
                                  &result, &error),
                     MP_ERR_ARGUMENT);
    assert_string_equal(error.text, "no API calls in the trace: what was launched in 'it' is not "
                                    "known");
    layers_done();
}

static void what_does_not_repeat_has_no_positions(void **state)
{
    (void)state;
    scene_begin();
    put_launch(1, "a", 10, 20, 25, 1);
    layers_load();
    assert_true(result.by_position);
    assert_int_equal(result.positions.count, 0);
    assert_int_equal(result.positions.others, 1);
    assert_int_equal(result.positions.others_total, 5000);
    layers_done();
    scene_begin();
    layers_load();
    assert_true(result.by_position && result.no_calls);
    assert_int_equal(result.positions.kernels, 0);
    layers_done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_work_inside_an_iteration_counts),
        cmocka_unit_test(only_work_of_iterations_that_were_found),
        cmocka_unit_test(idle_layers_bring_those_around_them),
        cmocka_unit_test(a_capture_range_has_what_was_launched_in_it),
        cmocka_unit_test(numbers_at_the_end_are_folded_if_asked_for),
        cmocka_unit_test(folding_knows_brackets),
        cmocka_unit_test(layers_list_what_ran_in_them),
        cmocka_unit_test(layers_of_tensorrt_are_summed_by_type_and_precision),
        cmocka_unit_test(a_layer_inside_its_own_type_counts_once),
        cmocka_unit_test(a_layer_of_copies_alone_is_marked),
        cmocka_unit_test(without_ranges_kernels_go_by_position),
        cmocka_unit_test(without_calls_too),
        cmocka_unit_test(what_does_not_repeat_has_no_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
