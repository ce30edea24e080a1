/* NVTX result, layers, summary, unified memory and allocations when memory runs out: every
 * allocation fails once, in turn. What is left behind, a sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "reports/layers/layers.h"
#include "reports/memory/memory.h"
#include "reports/nvtx/result.h"
#include "reports/summary/summary.h"
#include "reports/summary/unified.h"
#include "unit/failing_malloc.h"

/* ---- A trace that needs every kind of memory ---- */

static void put_ranges(void)
{
    char name[16];

    for (uint64_t i = 0; i < 100; i++) { /* enough to grow every array */
        snprintf(name, sizeof name, "range %u", (unsigned)i);
        put_nvtx(MP_nvtx_kind_start, 1 + i % 60, i % 2 ? "domain" : NULL, name, 10 + i, 1 + i);
        put_nvtx(MP_nvtx_kind_end, 1, NULL, NULL, 300 + i, 500 + i); /* of nothing */
    }
    for (uint64_t i = 0; i < 70; i++) {
        put_nvtx(MP_nvtx_kind_start, 1, NULL, "overlapping", 120 + i, 1000 + i);
        put_nvtx(MP_nvtx_kind_end, 1, NULL, NULL, 220 + i, 1000 + i);
    }
    put_nvtx(MP_nvtx_kind_push, 1, NULL, "open", 400, 0);
}

static void put_memory(uint64_t i)
{
    mp_append_memory(scene.writer, &(struct mp_row_memory){.operation = 1 + i % 3 / 2,
                                                           .kind = i % 5,
                                                           .device = i % 40,
                                                           .address = 4096 * (i / 3 + 1),
                                                           .pool_type = i % 3 == 1,
                                                           .pool = 4096 * (i / 2),
                                                           .correlation = i,
                                                           .bytes = 8,
                                                           .time = 1000000 - i});
    mp_append_unified(scene.writer, &(struct mp_row_unified){.kind = 1 + i % 8,
                                                             .source = i % 30,
                                                             .target = i % 40,
                                                             .value = i,
                                                             .start = 10000 + i,
                                                             .duration = 3});
}

/* A node of a graph that was captured in a path of its own. */
static void put_captured(uint64_t i)
{
    char name[16];

    snprintf(name, sizeof name, "layer %u", (unsigned)i);
    mp_append_path(scene.writer, &(struct mp_row_path){.id = 1 + i,
                                                       .parent = i,
                                                       .domain = i % 2 ? put_string("domain") : 0,
                                                       .name = put_string(name)});
    mp_append_captured(scene.writer,
                       &(struct mp_row_captured){
                           .graph = 2, .graph_node = i, .path = 1 + i, .thread = 1 + i % 60});
    put_node(1, "h", 2, i, 800 + i, 801 + i, 1 + i);
}

static void put_everything(void)
{
    scene_begin();
    put_ranges();
    for (uint64_t i = 1; i <= 20; i++)
        put_captured(i);
    for (uint64_t i = 0; i < 100; i++) {
        mp_append_device(scene.writer, &(struct mp_row_device){.id = i, .name = 1});
        put_call(1, i % 2 ? "cudaLaunchKernel" : "cuLaunchKernel", 500 - i, 501 - i, 1 + i);
        put_kernel(1 + i % 9, i % 3 ? "_Z1fILi8EEvPKf" : "g", 600 + i, 601 + i, 1 + i);
        put_memory(i);
    }
    put_range(1, 5, 1000, 1, 200);
    scene_load();
}

static void expect_memory_errors(enum mp_status (*step)(struct mp_error *), unsigned min)
{
    put_everything();
    expect_memory_errors_of(step, min);
    scene_end(UNSOUND);
}

static enum mp_status build_nvtx(struct mp_error *error)
{
    struct nvtx_options options = {.range = 1, .style = NAMES_NVPROF, .all_calls = true};
    struct nvtx_result result;
    enum mp_status status = nvtx_result_build(scene.deps.profile, &options, &result, error);

    if (status)
        assert_null(result.ranges);
    nvtx_result_free(&result);
    return status;
}

static enum mp_status build_layers_with(struct layers_options options, struct mp_error *error)
{
    struct layers_result result;
    enum mp_status status = layers_build(scene.deps.profile, &options, &result, error);

    if (status)
        assert_null(result.layers);
    layers_free(&result);
    return status;
}

static enum mp_status build_layers(struct mp_error *error)
{
    return build_layers_with((struct layers_options){.style = NAMES_READABLE, .all = true}, error);
}

static enum mp_status build_iterations(struct mp_error *error)
{
    return build_layers_with(
        (struct layers_options){
            .range = 1, .style = NAMES_READABLE, .iteration = "layer 7", .merge_numbers = true},
        error);
}

static enum mp_status build_positions(struct mp_error *error)
{
    return build_layers_with((struct layers_options){.style = NAMES_READABLE, .by_position = true},
                             error);
}

static enum mp_status build_summary(struct mp_error *error)
{
    struct summary_options options = {.style = NAMES_NVPROF,
                                      .parts = SUMMARY_PARTS_BOTH | SUMMARY_PART_PER_GPU};
    struct summary summary;
    enum mp_status status = summary_build(scene.trace, &options, &summary, error);

    if (status)
        assert_null(summary.devices);
    summary_free(&summary);
    return status;
}

static enum mp_status build_unified(struct mp_error *error)
{
    struct unified_options options = {.range = 1};
    struct unified unified;
    enum mp_status status = unified_build(scene.trace, &options, &unified, error);

    if (status)
        assert_null(unified.devices);
    unified_free(&unified);
    return status;
}

static enum mp_status build_allocations(struct mp_error *error)
{
    struct allocations_options options = {.range = 1};
    struct allocations allocations;
    enum mp_status status = allocations_build(scene.trace, &options, &allocations, error);

    if (status)
        assert_null(allocations.rows);
    allocations_free(&allocations);
    return status;
}

static void take_nothing(void *context, const struct memory_point *point)
{
    (void)context;
    (void)point;
}

static enum mp_status build_memory(struct mp_error *error)
{
    struct memory_options options = {.iteration = "overlapping", .top = 3};
    struct memory memory;
    enum mp_status status = memory_build(scene.trace, &options, &memory, error);

    if (status)
        assert_null(memory.devices);
    if (!status)
        status = memory_each_change(&memory, take_nothing, NULL);
    if (!status)
        status = memory_each_step(&memory, 7, take_nothing, NULL);
    if (status && !*error->text)
        mp_error_set(error, status, "no time line");
    memory_free(&memory);
    return status;
}

static void the_nvtx_result_says_so(void **state)
{
    (void)state;
    expect_memory_errors(build_nvtx, 100);
}

static void layers_say_so(void **state)
{
    (void)state;
    expect_memory_errors(build_layers, 150);
    expect_memory_errors(build_iterations, 100);
    expect_memory_errors(build_positions, 60);
}

static void the_summary_says_so(void **state)
{
    (void)state;
    expect_memory_errors(build_summary, 40);
}

static void unified_memory_says_so(void **state)
{
    (void)state;
    expect_memory_errors(build_unified, 10);
}

static void allocations_say_so(void **state)
{
    (void)state;
    expect_memory_errors(build_allocations, 10);
}

static void memory_says_so(void **state)
{
    (void)state;
    expect_memory_errors(build_memory, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nvtx_result_says_so), cmocka_unit_test(layers_say_so),
        cmocka_unit_test(the_summary_says_so),     cmocka_unit_test(unified_memory_says_so),
        cmocka_unit_test(allocations_say_so),      cmocka_unit_test(memory_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
