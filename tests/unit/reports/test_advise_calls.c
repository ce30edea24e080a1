/* The rules of `advise` on costs that hide in calls, on loops in which the gain is known by hand:
 * graph_instantiation, pool_release, code_loading, blocked_calls, and allocation of virtual memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "unit/reports/advise_fixture.h"

#define US UINT64_C(1000)

/* A kernel at t, of 10 us, for which the host waits until t + 30. */
static void put_work(uint64_t t, uint64_t id)
{
    put_launch(7, "k", t, t + 10, t + 20, id);
    put_stream_sync(7, t + 7, t + 30, id + 1);
}

/* ---- graph_instantiation ----
 *
 *     10|begin|12  13|launch|18  20|launch|25  27|end|29  30|instantiate|90  100|work, wait|130
 *     132|destroy|142
 *
 * The calls take 2 + 5 + 5 + 2 + 60 + 10, and host code between those of the capture 1 + 2 + 2. */
static void put_graph_calls(uint64_t t, uint64_t id, bool with_begin, uint64_t more)
{
    if (with_begin)
        put_call(1, "cudaStreamBeginCapture", t + 10, t + 12, id + 2);
    put_call(1, "cudaLaunchKernel", t + 13, t + 18, id + 3);
    put_call(1, "cudaLaunchKernel", t + 20, t + 25, id + 4);
    if (with_begin)
        put_call(1, "cudaStreamEndCapture", t + 27, t + 29, id + 5);
    put_call(1, "cudaGraphInstantiate", t + 30, t + 90, id + 6);
    put_work(t + 100, id + 10);
    put_call(1, "cudaGraphExecDestroy", t + 132, t + 142 + more, id + 7);
}

static void put_making(uint64_t t, uint64_t id, uint64_t more)
{
    put_graph_calls(t, id, true, more);
}

/* As before captures were recorded: 5 + 5 + 60 + 10, and 2 between the launches. */
static void put_old_making(uint64_t t, uint64_t id, uint64_t more)
{
    put_graph_calls(t, id, false, more);
}

static void put_update(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaStreamBeginCapture", t + 10, t + 12, id + 2);
    put_call(1, "cudaLaunchKernel", t + 12, t + 18, id + 3);
    put_call(1, "cudaStreamEndCapture", t + 18, t + 20, id + 5);
    put_call(1, "cudaGraphExecUpdate", t + 20, t + 50 + more, id + 6);
    put_work(t + 100, id + 10);
}

/* A launch that does work is not captured, whatever follows it. */
static void put_instantiation_behind_work(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(7, "a", t + 10, t + 20, t + 25, id + 2);
    put_call(1, "cudaGraphInstantiate", t + 40, t + 90 + more, id + 6);
    put_work(t + 100, id + 10);
}

static void a_graph_is_made_in_each_iteration(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 150, 0, put_making);
    advise_loop();
    expect_gain(ADVISE_GRAPH_INSTANTIATION, 89000);
    expect_number(ADVISE_GRAPH_INSTANTIATION, "instantiated", 1);
    expect_number(ADVISE_GRAPH_INSTANTIATION, "updated", 0);
    expect_number(ADVISE_GRAPH_INSTANTIATION, "captured_calls", 4);
    expect_number(ADVISE_GRAPH_INSTANTIATION, "calls_ns", 84000);
    expect_number(ADVISE_GRAPH_INSTANTIATION, "host_ns", 5000);
    assert_int_equal(finding(ADVISE_GRAPH_INSTANTIATION)->certainty, ADVISE_ESTIMATE);
    assert_int_equal(advice.findings[0].rule, ADVISE_GRAPH_INSTANTIATION);
    expect_none(ADVISE_LAUNCH_BOUND);
    advised();
    put_loop(LOOPS, 200, 150, 0, put_old_making);
    advise_loop();
    expect_gain(ADVISE_GRAPH_INSTANTIATION, 82000);
    expect_number(ADVISE_GRAPH_INSTANTIATION, "captured_calls", 2);
    advised();
}

static void what_is_updated_may_have_to_be(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 140, 0, put_update);
    advise_loop();
    expect_gain(ADVISE_GRAPH_INSTANTIATION, 40000);
    expect_number(ADVISE_GRAPH_INSTANTIATION, "instantiated", 0);
    expect_number(ADVISE_GRAPH_INSTANTIATION, "updated", 1);
    assert_int_equal(finding(ADVISE_GRAPH_INSTANTIATION)->certainty, ADVISE_BOUND);
    advised();
}

static void launches_that_do_work_are_not_captured(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 140, 0, put_instantiation_behind_work);
    advise_loop();
    expect_gain(ADVISE_GRAPH_INSTANTIATION, 50000);
    expect_number(ADVISE_GRAPH_INSTANTIATION, "captured_calls", 0);
    advised();
}

/* ---- pool_release ----
 *
 *     10|malloc async|60  70|launch..wait ends at 95, gives back until 155
 *
 * An allocation without growth takes 5, a wait for a kernel that ends at 90 returns at 95. */
#define POOL 0x1000u

static void put_pool_rows(uint64_t t, uint64_t id, uint64_t before, uint64_t after)
{
    mp_append_memory(scene.writer,
                     &(struct mp_row_memory){.operation = MP_memory_operation_allocate,
                                             .kind = MP_memory_kind_device,
                                             .asynchronous = 1,
                                             .bytes = MIB,
                                             .time = (t + 30) * US,
                                             .correlation = id,
                                             .pool = POOL,
                                             .pool_size = before});
    mp_append_pool(scene.writer, &(struct mp_row_pool){.operation = MP_pool_operation_trimmed,
                                                       .pool = POOL,
                                                       .time = (t + 150) * US,
                                                       .size = after,
                                                       .correlation = id + 2});
}

static void put_pool_calls(uint64_t t, uint64_t id, uint64_t allocation, uint64_t until)
{
    put_call(1, "cudaMallocAsync", t + 10, t + 10 + allocation, id);
    put_launch(7, "k", t + 70, t + 80, t + 90, id + 1);
    put_stream_sync(7, t + 76, t + until, id + 2);
}

/* The pool is empty after each wait. */
static void put_release(uint64_t t, uint64_t id, uint64_t more)
{
    (void)more;
    put_pool_calls(t, id, 50, 155);
    put_pool_rows(t, id, MIB, 0);
}

/* CUPTI tells of a trim, but the pool keeps all. */
static void put_kept(uint64_t t, uint64_t id, uint64_t more)
{
    (void)more;
    put_pool_calls(t, id, 50, 155);
    put_pool_rows(t, id, MIB, MIB);
}

static void a_pool_gives_its_memory_back(void **state)
{
    (void)state;
    /* 65 after the kernel's end, and 50 in all iterations but the first. */
    put_loop(LOOPS, 200, 160, 0, put_release);
    advise_loop();
    expect_gain(ADVISE_POOL_RELEASE, 65000 + 50000 * 5 / 6);
    expect_number(ADVISE_POOL_RELEASE, "releases", 1);
    expect_number(ADVISE_POOL_RELEASE, "releases_ns", 65000);
    expect_number(ADVISE_POOL_RELEASE, "allocations_ns", 50000 * 5 / 6);
    expect_none(ADVISE_NEEDLESS_WAIT); /* the wait does more than wait */
    advised();
    put_loop(LOOPS, 200, 160, 0, put_kept);
    advise_loop();
    expect_none(ADVISE_POOL_RELEASE);
    advised();
}

/* ---- code_loading ---- */

/* Loads for 50, of which 40 compile. */
static void put_load(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cuModuleLoadData", t + 10, t + 60 + more, id + 5);
    mp_append_jit(scene.writer, &(struct mp_row_jit){.kind = MP_jit_kind_ptx_to_cubin,
                                                     .operation = MP_jit_operation_compile,
                                                     .start = (t + 15) * US,
                                                     .duration = 40 * US,
                                                     .correlation = id + 5});
    put_work(t + 70, id);
}

/* A launch of 36 loads its function for 30 first; the kernel comes 4 after that. `correlation` is
 * the call's, or 0. */
static void put_lazy_launch(uint64_t t, uint64_t id, uint64_t correlation)
{
    put_call(1, "cudaLaunchKernel", t + 10, t + 46, id);
    mp_append_overhead(scene.writer,
                       &(struct mp_row_overhead){.thread = 1,
                                                 .kind = MP_overhead_kind_lazy_function_loading,
                                                 .start = (t + 11) * US,
                                                 .duration = 30 * US,
                                                 .correlation = correlation});
    put_kernel(7, "k", t + 50, t + 60, id);
    put_stream_sync(7, t + 47, t + 70, id + 1);
}

static void put_lazy(uint64_t t, uint64_t id, uint64_t more)
{
    (void)more;
    put_lazy_launch(t, id, id);
}

/* As CUPTI before 12.2 has it: without a correlation id. */
static void put_lazy_by_time(uint64_t t, uint64_t id, uint64_t more)
{
    (void)more;
    put_lazy_launch(t, id, 0);
}

/* Only one iteration of 12 loads: an outlier. */
static void put_one_load(uint64_t t, uint64_t id, uint64_t more)
{
    bool loads = t >= BEGIN + UINT64_C(8) * 150;

    (void)more;
    put_work(t + 70, id);
    if (loads && t < BEGIN + UINT64_C(9) * 150)
        put_call(1, "cuModuleLoadData", t + 102, t + 132, id + 5);
}

static void code_is_loaded_in_the_loop(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 110, 0, put_load);
    advise_loop();
    expect_gain(ADVISE_CODE_LOADING, 50000);
    expect_number(ADVISE_CODE_LOADING, "loading_ns", 50000);
    expect_number(ADVISE_CODE_LOADING, "compiling_ns", 40000);
    expect_number(ADVISE_CODE_LOADING, "iterations", LOOPS - 1);
    advised();
    put_loop(LOOPS, 200, 80, 0, put_lazy);
    advise_loop();
    expect_gain(ADVISE_CODE_LOADING, 30000);
    expect_number(ADVISE_CODE_LOADING, "compiling_ns", 0);
    advised();
    put_loop(LOOPS, 200, 80, 0, put_lazy_by_time);
    advise_loop();
    expect_gain(ADVISE_CODE_LOADING, 30000);
    advised();
}

static void an_outlier_that_loads_counts(void **state)
{
    (void)state;
    put_loop(12, 150, 140, 0, put_one_load);
    advise_loop();
    expect_gain(ADVISE_CODE_LOADING, 2727); /* 30 us in 11 iterations */
    expect_number(ADVISE_CODE_LOADING, "iterations", 1);
    advised();
}

/* Host code of 200 before a load of 10, and of 10 at the end of the iteration before. */
static void put_made(uint64_t t, uint64_t id, uint64_t more)
{
    (void)more;
    put_call(1, "cuLibraryLoadData", t + 200, t + 210, id + 5);
    put_work(t + 220, id);
}

/* The first iteration is warm-up. */
static void put_warm_up(uint64_t t, uint64_t id, uint64_t more)
{
    if (t == BEGIN)
        put_load(t, id, more);
    else
        put_work(t + 70, id);
}

static void what_only_the_first_iteration_loads_is_warm_up(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 110, 0, put_warm_up);
    advise_loop();
    expect_none(ADVISE_CODE_LOADING);
    advised();
}

static void code_that_the_host_makes_is_a_bound(void **state)
{
    (void)state;
    put_loop(LOOPS, 300, 260, 0, put_made);
    advise_loop();
    expect_gain(ADVISE_CODE_LOADING, 10000 + 200000 + 10000 * 4 / 5); /* no load follows the last */
    expect_number(ADVISE_CODE_LOADING, "host_ns", 210000);
    assert_int_equal(finding(ADVISE_CODE_LOADING)->certainty, ADVISE_BOUND);
    advised();
}

/* ---- blocked_calls ----
 *
 *     thread 1   |memset|  ...  |memset, 105 in place of 5 ......|
 *     thread 2                   |cuModuleLoadData 100 .........|
 */
static void put_blocked(uint64_t t, uint64_t id, uint64_t more)
{
    for (uint64_t i = 0; i < 6; i++)
        put_call(1, "cudaEventRecord", t + 10 * i, t + 10 * i + 5, id + 10 + i);
    put_call(2, "cuModuleLoadData", t + 70, t + 170, id + 30);
    put_call(1, "cudaEventRecord", t + 65 + more, t + 170, id + 20);
    put_work(t + 180, id);
}

/* It begins when the other thread has done. */
static void put_long(uint64_t t, uint64_t id, uint64_t more)
{
    (void)more;
    for (uint64_t i = 0; i < 6; i++)
        put_call(1, "cudaEventRecord", t + 10 * i, t + 10 * i + 5, id + 10 + i);
    put_call(2, "cuModuleLoadData", t, t + 60, id + 30);
    put_call(1, "cudaEventRecord", t + 65, t + 170, id + 20);
    put_work(t + 180, id);
}

static void calls_wait_for_the_lock_of_the_context(void **state)
{
    (void)state;
    put_loop(LOOPS, 300, 220, 0, put_blocked);
    advise_loop();
    expect_gain(ADVISE_BLOCKED_CALLS, 100000);
    expect_number(ADVISE_BLOCKED_CALLS, "calls", 1);
    expect_number(ADVISE_BLOCKED_CALLS, "blocked_ns", 100000);
    expect_number(ADVISE_BLOCKED_CALLS, "usual_ns", 5000);
    advised();
    put_loop(LOOPS, 300, 220, 0, put_long);
    advise_loop();
    expect_none(ADVISE_BLOCKED_CALLS);
    advised();
}

/* ---- allocation of virtual memory ---- */

static void put_mapping(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cuMemCreate", t + 10, t + 20, id + 2);
    put_call(1, "cuMemMap", t + 20, t + 22, id + 3);
    put_call(1, "cuMemSetAccess", t + 22, t + 40, id + 4);
    put_work(t + 50, id);
    put_call(1, "cuMemUnmap", t + 82, t + 112 + more, id + 5);
    put_call(1, "cuMemRelease", t + 112 + more, t + 122 + more, id + 6);
}

static void memory_is_mapped_in_the_loop(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 130, 0, put_mapping);
    advise_loop();
    expect_gain(ADVISE_ALLOCATION, 70000);
    expect_number(ADVISE_ALLOCATION, "calls", 5);
    expect_number(ADVISE_ALLOCATION, "mapping_ns", 70000);
    assert_string_equal(finding(ADVISE_ALLOCATION)->title, "Memory is mapped inside the loop");
    advised();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_made_in_each_iteration),
        cmocka_unit_test(what_is_updated_may_have_to_be),
        cmocka_unit_test(launches_that_do_work_are_not_captured),
        cmocka_unit_test(a_pool_gives_its_memory_back),
        cmocka_unit_test(code_is_loaded_in_the_loop),
        cmocka_unit_test(an_outlier_that_loads_counts),
        cmocka_unit_test(what_only_the_first_iteration_loads_is_warm_up),
        cmocka_unit_test(code_that_the_host_makes_is_a_bound),
        cmocka_unit_test(calls_wait_for_the_lock_of_the_context),
        cmocka_unit_test(memory_is_mapped_in_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
