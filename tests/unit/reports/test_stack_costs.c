/* What taking a stack costs is taken out of the calls that have one. Times of scenes are us, costs
 * ns: 500 for a stack of Python, 1300 for a native one, besides those of profile/costs.def.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/recording_cost/recording_cost.h"
#include "unit/deps/deps_fixture.h"

#define STREAM 7

static struct deps_less less;
static uint64_t step; /* a stack */

static void begin(const char *header)
{
    scene_begin_with(header);
    step = put_stack(0, "step", 4);
}

static void load(void)
{
    struct costs costs;

    scene_load();
    assert_int_equal(costs_of_trace(scene.trace, NULL, &costs), COSTS_BUILT_IN);
    assert_int_equal(recording_cost_scale_host(&scene.deps, &costs), MP_OK);
    assert_int_equal(deps_less_new(scene.deps.count, &less), MP_OK);
    assert_int_equal(recording_cost_by_activity(&scene.deps, &costs, &less), MP_OK);
}

static void end(void)
{
    deps_less_free(&less);
    scene_end(UNSOUND);
}

static uint32_t in_call(uint64_t correlation)
{
    return less.within[find_call(correlation)];
}

static void put_calls(void)
{
    use_stack(step);
    put_launch(STREAM, "a", 10, 20, 50, 1);
    put_call(1, "cudaEventRecord", 60, 63, 2);
    put_copy(STREAM, MP_copy_kind_HtoD, ASYNCHRONOUS, 80, 90, 3);
    put_call(1, "cudaMemcpyAsync", 70, 75, 3);
    put_call(1, "cudaGraphLaunch", 100, 110, 4);
    put_node(STREAM, "node", 1, 8, 120, 145, 4);
    put_stream_sync(STREAM, 140, 150, 5);
    use_stack(0);
    put_launch(STREAM, "b", 160, 170, 180, 6);
}

static void calls_with_a_stack_take_less(void **state)
{
    (void)state;
    begin("cupti_version=130001\nMINIPROF_STACKS=python\n");
    put_calls();
    load();
    assert_int_equal(in_call(1), 1500 + 500);
    assert_int_equal(less.before[find("a")], 1500 + 500); /* the kernel begins earlier, too */
    assert_int_equal(in_call(2), 320 + 500);
    assert_int_equal(in_call(3), 1550 + 500);
    assert_int_equal(in_call(4), 2700 + 1300 + 500);
    assert_int_equal(in_call(5), 500); /* it waits: its stack is taken meanwhile */
    assert_int_equal(in_call(6), 1500);
    assert_int_equal(less.before[find("b")], 1500);
    end();
}

static void native_stacks_take_more(void **state)
{
    static const char *const headers[] = {"cupti_version=130001\nMINIPROF_STACKS=native\n",
                                          "cupti_version=130001\nMINIPROF_STACKS=both\n"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin(headers[i]);
        put_calls();
        load();
        assert_int_equal(in_call(1), 1500 + 1300);
        assert_int_equal(in_call(6), 1500);
        end();
    }
}

static void of_unknown_stacks_nothing_is_taken_out(void **state)
{
    (void)state;
    begin("cupti_version=130001\n");
    put_calls();
    load();
    assert_int_equal(in_call(1), 1500);
    end();
}

/* Launches of 6 us, of which 0.5 us are the stack: 5.5 us, where costs are for 5 us. */
static void a_stack_does_not_make_the_host_slow(void **state)
{
    (void)state;
    begin("cupti_version=130001\nMINIPROF_STACKS=python\n");
    use_stack(step);
    for (uint64_t i = 1; i <= 60; i++) {
        put_call(1, "cudaLaunchKernel", 100 * i, 100 * i + 6, i);
        put_kernel(STREAM, "a", 100 * i + 10, 100 * i + 20, i);
    }
    load();
    assert_int_equal(in_call(1), 2200);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_with_a_stack_take_less),
        cmocka_unit_test(native_stacks_take_more),
        cmocka_unit_test(of_unknown_stacks_nothing_is_taken_out),
        cmocka_unit_test(a_stack_does_not_make_the_host_slow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
