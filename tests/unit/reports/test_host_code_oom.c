/* Stacks when memory runs out: every allocation fails once, in turn. What is left behind, a
 * sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "reports/stacks/stacks.h"
#include "unit/deps/deps_fixture.h"
#include "unit/failing_malloc.h"

#define LINES 40

static struct stacks_gaps gaps;

static void put_lines(void)
{
    uint64_t main_line;

    scene_begin();
    main_line = put_stack(0, "main", 1);
    for (uint64_t i = 1; i <= LINES; i++) {
        use_stack(put_stack(main_line, "step", i));
        put_launch(7, "work", 100 * i, 100 * i + 10, 100 * i + 20, i);
    }
    scene_load();
}

static enum mp_status split(struct mp_error *error)
{
    enum mp_status status =
        stacks_gaps_of_paths(scene.trace, &scene.deps, &scene.windows, &gaps, error);

    if (status)
        stacks_gaps_free(&gaps);
    return status;
}

static void every_allocation_of_host_code_can_fail(void **state)
{
    (void)state;
    put_lines();
    expect_memory_errors_of(split, 10);
    assert_int_equal(gaps.count, LINES - 1); /* between two calls: the line of the first */
    stacks_gaps_free(&gaps);
    scene_end(UNSOUND);
}

static struct stacks_result result;

static enum mp_status keep(struct mp_error *error)
{
    const struct stacks_options options = {.range = 0};
    enum mp_status status = stacks_build(scene.trace, &options, &result, error);

    if (status)
        return status;
    status = stacks_keep_nodes(&result, 3);
    if (!status)
        return MP_OK;
    stacks_free(&result);
    return mp_error_set(error, status, "out of memory");
}

static void every_allocation_of_a_tree_can_fail(void **state)
{
    (void)state;
    put_lines();
    expect_memory_errors_of(keep, 30);
    assert_int_equal(result.node_count, 3);
    stacks_free(&result);
    scene_end(UNSOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_host_code_can_fail),
        cmocka_unit_test(every_allocation_of_a_tree_can_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
