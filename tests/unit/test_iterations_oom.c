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
#include "unit/iterations_fixture.h"

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
    scene_load();
}

static enum mp_status run(enum iterations_way way, struct mp_error *error)
{
    struct iterations_options options = {.way = way};
    struct iteration_measures *all = NULL;
    struct iterations_summary sums;
    enum mp_status status = iterations_find(&scene.deps, scene.trace, &options, &found, error);

    if (status)
        return status;
    all = calloc(found.count, sizeof *all);
    status = all ? iterations_measure(&scene.deps, &found, all) : MP_ERR_MEMORY;
    if (!status)
        status = iterations_sum_up(&found, all, &sums);
    if (!status)
        iterations_summary_free(&sums);
    free(all);
    iterations_free(&found);
    mp_error_set(error, status, "out of memory");
    return status;
}

/* Runs a way until no allocation is left to fail. */
static void expect_memory_errors(enum iterations_way way)
{
    enum mp_status status = MP_ERR_MEMORY;
    unsigned failing;

    for (failing = 1; status != MP_OK; failing++) {
        struct mp_error error = {.text = ""};
        bool failed;

        countdown = failing;
        status = run(way, &error);
        failed = countdown == 0;
        countdown = 0;
        /* Names of other ranges, for a message, are left out for want of memory. */
        assert_true(!status || (failed && status == MP_ERR_MEMORY));
        assert_true(*error.text);
        if (failed)
            status = MP_ERR_MEMORY;
    }
    assert_true(failing > 15);
}

static void every_allocation_can_fail(void **state)
{
    (void)state;
    put_everything();
    for (int way = ITERATIONS_AUTO; way < ITERATIONS_WHOLE; way++)
        expect_memory_errors((enum iterations_way)way);
    scene_end(UNSOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_can_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
