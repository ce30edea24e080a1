/* Kernels and overlap when memory runs out: every allocation fails once, in turn. What is left
 * behind, a sanitizer finds (make SAN=address check). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "reports/kernels/kernels.h"
#include "reports/overlap/overlap.h"
#include "unit/failing_malloc.h"

/* Enough to grow every array. */
static void put_everything(void)
{
    char name[24];

    scene_begin();
    for (uint64_t i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "_Z4k%03uPKf", (unsigned)i);
        mp_append_device(scene.writer,
                         &(struct mp_row_device){.id = i, .name = 1, .multiprocessors = 4});
        mp_append_stream_info(
            scene.writer,
            &(struct mp_row_stream_info){.stream = 500 + i, .context = 1 + i, .correlation = 1});
        put_null_stream(1 + i, 7);
        put_kernel(ON(1 + i % 40, 1 + i), name, 600, 700 + i, 1 + i);
        put_copy(1 + i % 7, MP_copy_kind_HtoD, ASYNCHRONOUS, 600 + i, 640 + i, 100 + i);
    }
    put_graph(1, 4, 900, 910, 300);
    put_range(1, 5, 1000, 1, 400);
    scene_load();
}

static void expect_memory_errors(enum mp_status (*step)(struct mp_error *), unsigned min)
{
    put_everything();
    expect_memory_errors_of(step, min);
    scene_end(UNSOUND);
}

static enum mp_status build_kernels(struct mp_error *error)
{
    const struct kernels_options options = {.style = NAMES_READABLE, .by_name = true};
    struct kernels kernels;
    enum mp_status status = kernels_build(scene.deps.profile, &options, &kernels, error);

    if (status)
        assert_null(kernels.rows);
    kernels_free(&kernels);
    return status;
}

static enum mp_status build_overlap(struct mp_error *error)
{
    const struct overlap_options options = {.range = 0};
    struct overlap overlap;
    enum mp_status status = overlap_build(scene.deps.profile, &options, &overlap, error);

    if (status)
        assert_null(overlap.devices);
    overlap_free(&overlap);
    return status;
}

static void kernels_say_so(void **state)
{
    (void)state;
    expect_memory_errors(build_kernels, 20);
}

static void overlap_says_so(void **state)
{
    (void)state;
    expect_memory_errors(build_overlap, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_say_so),
        cmocka_unit_test(overlap_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
