/* Counters when memory runs out: every allocation fails once, in turn. What is left behind, a
 * sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reports/counters/counters.h"
#include "unit/failing_malloc.h"
#include "unit/layers/counters_fixture.h"

enum { STEPS = 5, FIRST = 1000, LENGTH = 100 };

static void put_program(void)
{
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    put_counter(2, 0, "power", MP_counter_source_nvml);
    put_counter(3, 1, "sm_active", MP_counter_source_cupti);
    for (uint64_t begin = FIRST; begin < FIRST + STEPS * LENGTH; begin += LENGTH) {
        mark(1, NULL, "step", begin, begin + LENGTH);
        launch(1, 1, "kernel", begin + 10, begin + 20, begin + 60);
        copy(1, 1, MP_copy_kind_HtoD, begin + 12, begin + 61, begin + 63);
        wait_for(1, begin + 64, begin + 70);
    }
    for (uint64_t end = FIRST; end <= FIRST + STEPS * LENGTH; end += 7) {
        put_sample(1, end, 7, (double)(end % 60));
        put_sample(3, end, 7, 20);
    }
    put_sample(2, FIRST + 300, 200, 40);
}

static void build_in_turn(enum counters_by by)
{
    const struct counters_options options = {.by = by, .deps = &scene.deps, .iterations = &found};
    enum mp_status status = MP_ERR_MEMORY;

    for (unsigned turn = 1; status != MP_OK; turn++) {
        struct counters_result result;
        struct mp_error error;

        countdown = turn;
        status = counters_build(scene.trace, &options, &result, &error);
        countdown = 0;
        if (status)
            assert_int_equal(status, MP_ERR_MEMORY);
        else
            counters_result_free(&result);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    put_program();
    load(ITERATIONS_NVTX, "step", 0);
    for (int by = COUNTERS_BY_KERNEL; by <= COUNTERS_BY_IDLE; by++)
        build_in_turn((enum counters_by)by);
    done();
}

static void lines_and_clocks(void **state)
{
    const struct counters_window window = {
        .from = (uint64_t)FIRST * US, .until = (uint64_t)(FIRST + STEPS * LENGTH) * US, .max = 100};
    enum mp_status status = MP_ERR_MEMORY;
    struct counters_lines lines;
    struct counters_clocks *clocks;
    struct mp_error error;

    (void)state;
    put_program();
    load(ITERATIONS_NVTX, "step", 0);
    for (unsigned turn = 1; status != MP_OK; turn++) {
        countdown = turn;
        status = counters_lines_build(scene.trace, &window, &lines, &error);
        countdown = 0;
        assert_true(status == MP_OK || status == MP_ERR_MEMORY);
        counters_lines_free(&lines);
    }
    status = MP_ERR_MEMORY;
    for (unsigned turn = 1; status != MP_OK; turn++) {
        countdown = turn;
        status = counters_clocks(scene.trace, &found, &clocks, &error);
        countdown = 0;
        assert_true(status == MP_OK || status == MP_ERR_MEMORY);
        free(clocks);
    }
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(lines_and_clocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
