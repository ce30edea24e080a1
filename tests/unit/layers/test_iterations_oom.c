/* Iterations when memory runs out: every allocation fails once, in turn. What is left behind, a
 * sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "unit/failing_malloc.h"
#include "unit/layers/iterations_fixture.h"

/* Every way has something to find: enough to grow every array. */
static void put_everything(void)
{
    scene_begin();
    for (uint64_t i = 0; i < 60; i++) {
        uint64_t at = 100 + i * 20;

        put_nvtx_range("layer", at + 1, at + 2);
        put_nvtx_range(i % 2 ? "it" : "other", at, at + 15);
        put_call(1 + i % 20, "cudaGraphLaunch", at, at + 4, 1 + i);
        put_node(1 + i % 3, "x", 2 + i % 20, 1, at + 5, at + 40, 1 + i);
        put_call(1, "cudaMemcpy", at + 5, at + 7, 100 + i);
        put_copy(1 + i % 40, MP_copy_kind_HtoD, BLOCKING_COPY, at + 6, at + 2000, 100 + i);
        put_range(1 + i, at, at + 18, i ? 0 : 1, 0);
    }
    for (uint64_t i = 0; i < 200; i++)
        put_launch(9, i % 2 ? "a" : "b", 2000 + i * 20, 2006 + i * 20, 2009 + i * 20, 1000 + i);
    for (uint64_t i = 0; i < 20; i++)
        put_stream_sync(9, 2110 + i * 200, 2112 + i * 200, 1500 + i);
    scene_load();
}

static enum iterations_way way;

static enum mp_status run(struct mp_error *error)
{
    struct iterations_options options = {.way = way};
    struct iterations_study study;
    enum mp_status status = iterations_study(&scene.deps, scene.trace, &options, &study, error);

    iterations_study_free(&study);
    return status;
}

static void every_allocation_can_fail(void **state)
{
    (void)state;
    put_everything();
    for (way = ITERATIONS_AUTO; way < ITERATIONS_WHOLE; way++)
        expect_memory_errors_of(run, 15);
    scene_end(UNSOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_can_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
