/* The faults that other implementations of dependency analysis are known for, each as a trace that
 * shows it. The numbers are those of Holistic Trace Analysis's issues; expected values follow from
 * docs/dependency-analysis.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

/* ---- #290: kernels of a graph launch are missing from the path ---- */

/*     thread    |launch 10-20|  |wait 22-----------------------95|
 *     stream 7               |n1 30-60|2|n2 62-90|
 *
 * From 95 backwards: return 5, n2 28, its wait for n1 2, n1 30, from the launch call's begin 20. */
static const char graph_path[] = "n1 30, n2 28 | launch 20, dependency 2, return 5";

static void put_graph_launch(void)
{
    put_call(1, "cudaGraphLaunch", 10, 20, 1);
    put_node(7, "n1", 5, 100, 30, 60, 1);
    put_node(7, "n2", 5, 101, 62, 90, 1);
    put_stream_sync(7, 22, 95, 2);
}

static void nodes_of_a_graph_launch_are_on_the_path(void **state)
{
    (void)state;
    scene_begin();
    put_graph_launch();
    put_edge(5, 100, 101);
    scene_load();
    assert_string_equal(bound("n1"), "launch cudaGraphLaunch#1");
    assert_string_equal(bound("n2"), "graph edge n1");
    assert_string_equal(path(scene.windows.items), graph_path);
    assert_string_equal(waiting(scene.windows.items), "cudaStreamSynchronize 68 | ");
    assert_int_equal(scene.deps.counts.unknown_graphs, 0);
    scene_end(SOUND);
}

static void nodes_of_a_graph_without_edges_are_on_the_path(void **state)
{
    (void)state;
    scene_begin();
    put_graph_launch();
    scene_load();
    assert_string_equal(bound("n2"), "graph edge n1");
    assert_string_equal(path(scene.windows.items), graph_path);
    assert_int_equal(scene.deps.counts.unknown_graphs, 1);
    scene_end(SOUND);
}

static void a_graph_launch_recorded_as_a_whole_is_on_the_path(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 1);
    put_graph(7, 5, 30, 90, 1);
    put_stream_sync(7, 22, 95, 2);
    scene_load();
    assert_string_equal(bound("[CUDA graph 5]"), "launch cudaGraphLaunch#1");
    assert_string_equal(path(scene.windows.items), "[CUDA graph 5] 60 | launch 20, return 5");
    scene_end(SOUND);
}

/* ---- #271: cuLaunchKernelEx is not taken for a launch ---- */

/* Shortest launch by cuNobodyKnows: 5 (k1); by cuLaunchKernelEx 6 (k3). Shortest gap: 2 (k2).
 * k2: launched 20 + 5 = 25, k1's end 40 + 2 = 42: k1. k3: launched 80 + 6 = 86, k2's end 70 + 2.
 * From 95: return 5, k3 4, launch 6, host 80-22 58, call 2, host 20-12 8, call 2. */
static void whatever_has_the_correlation_id_is_the_launch(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cuNobodyKnows", 10, 12, 1);
    put_kernel(7, "k1", 15, 40, 1);
    put_call(1, "cuNobodyKnows", 20, 22, 2);
    put_kernel(7, "k2", 42, 70, 2);
    put_call(1, "cuLaunchKernelEx", 80, 82, 3);
    put_kernel(7, "k3", 86, 90, 3);
    put_stream_sync(7, 84, 95, 4);
    scene_load();
    assert_string_equal(bound("k1"), "launch cuNobodyKnows#1");
    assert_string_equal(bound("k2"), "stream order k1");
    assert_string_equal(bound("k3"), "launch cuLaunchKernelEx#3");
    assert_string_equal(path(scene.windows.items),
                        "cuNobodyKnows 4, k3 4 | host 66, launch 6, return 5");
    assert_int_equal(scene.deps.counts.unlaunched, 0);
    scene_end(SOUND);
}

/* ---- #117, #121: events and synchronisation belong to the wrong stream ---- */

/* The event is recorded in stream 7, whose kernel ends at 50, when the thread's last launch was b
 * in stream 8, which ends at 90. The call waits from 30 to 50. */
static void an_event_belongs_to_its_stream_not_to_the_last_launch(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 50, 1);
    put_launch(8, "b", 20, 25, 90, 2);
    put_record(7, 0xe1, 26, 3);
    put_event_sync(0xe1, 30, 53, 4);
    scene_load();
    assert_string_equal(bound_call(4), "synchronisation a");
    assert_string_equal(waiting(scene.windows.items), "cudaEventSynchronize 20 | ");
    assert_int_equal(scene.deps.counts.contradicted, 0);
    scene_end(SOUND);
}

static void a_context_sync_with_an_invalid_stream_waits_for_all_streams(void **state)
{
    static const unsigned kinds[] = {MP_sync_kind_context_synchronize,
                                     MP_sync_kind_stream_synchronize};

    (void)state;
    for (int i = 0; i < 2; i++) {
        scene_begin();
        put_launch(7, "a", 10, 15, 90, 1);
        put_launch(8, "b", 20, 25, 50, 2);
        put_call(1, "cudaDeviceSynchronize", 30, 93, 3);
        put_sync_in_context(kinds[i], DEFAULT_CONTEXT, 30, 93, 3);
        scene_load();
        assert_string_equal(bound_call(3), "synchronisation a");
        assert_string_equal(waiting(scene.windows.items), "cudaDeviceSynchronize 60 | ");
        scene_end(SOUND);
    }
}

/* ---- #100: events of no duration, and work from before the window ---- */

/*     thread    |launch 1-6|  |launch 10-15|.|.|launch 18-23||wait 24-----44|
 *     stream 9   |fast 3-4|              record wait
 *     stream 7                                        |z 30-30|
 *     stream 8                                            3   |b 33-40|
 *
 * b: launched 18 + 2 = 20 (fast), z's end 30 + 3 = 33: z, and 13 of waiting. From 44: return 4,
 * b 7, its wait for z 3, z 0, launch 30-10 20, host 10-6 4, call 5. */
static void events_of_no_duration_keep_their_dependencies(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaLaunchKernel", 1, 6, 1);
    put_kernel(9, "fast", 3, 4, 1);
    put_launch(7, "z", 10, 30, 30, 2);
    put_sync(MP_sync_kind_event_record, 1, 7, 0xe1, 16, 16, 3);
    put_sync(MP_sync_kind_stream_wait_event, 1, 8, 0xe1, 17, 17, 4);
    put_launch(8, "b", 18, 33, 40, 5);
    put_stream_sync(8, 24, 44, 6);
    scene_load();
    assert_string_equal(bound("b"), "event z");
    assert_string_equal(path(scene.windows.items),
                        "b 7, cudaLaunchKernel 5 | host 4, launch 20, dependency 3, return 4");
    assert_string_equal(waiting(scene.windows.items), "cudaStreamSynchronize 16 | b 13");
    scene_end(SOUND);
}

/*     thread    |launch 10-15|        [ 40      |wait 45----64|      80 ]
 *     stream 7        |a 15-----------------------------60|
 *
 * In the window: host 80-64, return 4, and of a only 60-40. */
static void put_work_from_before(void)
{
    put_launch(7, "a", 10, 15, 60, 1);
    put_stream_sync(7, 45, 64, 2);
}

static void work_from_before_an_iteration_is_cut_at_its_begin(void **state)
{
    struct deps_windows windows;

    (void)state;
    scene_begin();
    put_work_from_before();
    put_nvtx_range("it", 40, 80);
    scene_load();
    assert_int_equal(scene_iterations("it", 0, &windows, NULL), MP_OK);
    assert_int_equal(windows.count, 1);
    assert_string_equal(path(windows.items), "a 20 | host 16, return 4");
    assert_string_equal(waiting(windows.items), "cudaStreamSynchronize 15 | ");
    scene_check(&windows, SOUND);
    deps_windows_free(&windows);
    scene_end(SOUND);
}

static void work_from_before_a_capture_range_is_cut_at_its_begin(void **state)
{
    (void)state;
    scene_begin();
    put_work_from_before();
    put_range(1, 40, 80, 2, 3);
    scene_load();
    assert_string_equal(path(scene.windows.items), "a 20 | host 16, return 4");
    scene_end(SOUND);
}

/* ---- Two clocks ---- */

/* The kernel begins `skew` before its launch call, and ends as much after the call that waits:
 *
 *     thread      |launch 10-15|     |wait 20---------------39|   |call 45-50|
 *     stream 7  |a 10-skew -------------------------------39+skew|           */
static void put_skewed(uint64_t skew)
{
    put_launch(7, "a", 10, 10 - skew, 39 + skew, 1);
    put_stream_sync(7, 20, 39, 2);
    put_call(1, "cudaGetLastError", 45, 50, 3);
}

/* From 50: call 5, host 45-39 6, return 0, a 39-9 30: the window begins with it. Both dependencies
 * are clamped. The call waits from 20 to its end. */
static void a_microsecond_between_the_clocks_is_clamped(void **state)
{
    (void)state;
    scene_begin();
    put_skewed(1);
    scene_load();
    assert_int_equal(scene.deps.counts.clamped, 2);
    assert_int_equal(scene.deps.counts.contradicted, 0);
    assert_string_equal(bound("a"), "launch cudaLaunchKernel#1");
    assert_string_equal(path(scene.windows.items), "a 30, cudaGetLastError 5 | host 6");
    assert_string_equal(waiting(scene.windows.items), "cudaStreamSynchronize 19 | ");
    scene_end(SOUND);
}

static void two_microseconds_are_the_limit(void **state)
{
    (void)state;
    scene_begin();
    put_skewed(2);
    scene_load();
    assert_int_equal(scene.deps.counts.clamped, 2);
    assert_int_equal(scene.deps.counts.contradicted, 0);
    assert_string_equal(path(scene.windows.items), "a 31, cudaGetLastError 5 | host 6");
    scene_end(SOUND);
}

/* Neither holds. From 50: call 5, host 6, the whole wait as a call 19, host 20-15 5, launch call 5,
 * host 3 to the begin of a. */
static void three_microseconds_contradict(void **state)
{
    (void)state;
    scene_begin();
    put_skewed(3);
    scene_load();
    assert_int_equal(scene.deps.counts.clamped, 0);
    assert_int_equal(scene.deps.counts.contradicted, 2);
    assert_string_equal(bound("a"), "unknown");
    assert_string_equal(bound_call(2), "program order cudaLaunchKernel#1");
    assert_string_equal(
        path(scene.windows.items),
        "cudaGetLastError 5, cudaLaunchKernel 5, cudaStreamSynchronize 19 | host 14");
    assert_string_equal(waiting(scene.windows.items), "| ");
    scene_end(SOUND);
}

/* A clamped distance is no shortest latency: if it were 0, b (20 us after its launch) would not be
 * bound by a launch that takes 5. */
static void clamped_distances_are_no_latencies(void **state)
{
    (void)state;
    scene_begin();
    put_launch(8, "skewed", 10, 9, 11, 1);
    put_launch(9, "c", 20, 25, 30, 2);
    scene_load();
    assert_int_equal(scene.deps.launch_latencies[0].shortest, 5000);
    scene_end(SOUND);
}

/* ---- #113: cycles and negative gaps ---- */

/* The wait ends at 28 for k, which ends at 30; k begins at 28, launched at 30 behind the wait: each
 * within the tolerance, and the three in a circle. */
static void a_circle_of_dependencies_ends(void **state)
{
    (void)state;
    scene_begin();
    put_stream_sync(7, 10, 28, 9);
    put_launch(7, "k", 30, 28, 30, 1);
    scene_load();
    assert_int_equal(scene.deps.counts.clamped, 2);
    assert_string_equal(bound_call(9), "synchronisation k");
    assert_string_equal(bound("k"), "launch cudaLaunchKernel#1");
    scene_end(UNSOUND);
}

/* b begins 30 before a, which its event stands for, has ended. */
static void a_negative_gap_is_counted_not_followed(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 60, 1);
    put_record(7, 0xe1, 16, 2);
    put_wait(8, 0xe1, 17, 3);
    put_launch(8, "b", 20, 30, 80, 4);
    scene_load();
    assert_int_equal(scene.deps.counts.contradicted, 1);
    assert_string_equal(bound("b"), "launch cudaLaunchKernel#4");
    scene_end(SOUND);
}

/* ---- Gaps of more than 1.5 ms lose their edge ---- */

static void a_long_gap_keeps_its_edge(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 50, 1);
    put_launch(7, "b", 20, 5050, 5060, 2); /* launched 20 + 5 = 25; a's end 50 + 5000 */
    scene_load();
    assert_string_equal(bound("b"), "stream order a");
    assert_string_equal(path(scene.windows.items), "a 35, b 10 | launch 5, gap 5000");
    scene_end(SOUND);
}

/* ---- CASITA: an unmatched synchronisation is all waiting ---- */

static void an_unmatched_wait_is_counted_and_no_waiting(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 30, 1);
    put_event_sync(0xdead, 20, 40, 2);
    put_wait(8, 0xdead, 42, 3);
    scene_load();
    assert_int_equal(scene.deps.counts.unknown_events, 2);
    assert_string_equal(bound_call(2), "program order cudaLaunchKernel#1");
    assert_string_equal(waiting(scene.windows.items), "| ");
    assert_string_equal(path(scene.windows.items),
                        "cudaEventSynchronize 20, cudaLaunchKernel 5 | host 5");
    scene_end(SOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_a_graph_launch_are_on_the_path),
        cmocka_unit_test(nodes_of_a_graph_without_edges_are_on_the_path),
        cmocka_unit_test(a_graph_launch_recorded_as_a_whole_is_on_the_path),
        cmocka_unit_test(whatever_has_the_correlation_id_is_the_launch),
        cmocka_unit_test(an_event_belongs_to_its_stream_not_to_the_last_launch),
        cmocka_unit_test(a_context_sync_with_an_invalid_stream_waits_for_all_streams),
        cmocka_unit_test(events_of_no_duration_keep_their_dependencies),
        cmocka_unit_test(work_from_before_an_iteration_is_cut_at_its_begin),
        cmocka_unit_test(work_from_before_a_capture_range_is_cut_at_its_begin),
        cmocka_unit_test(a_microsecond_between_the_clocks_is_clamped),
        cmocka_unit_test(two_microseconds_are_the_limit),
        cmocka_unit_test(three_microseconds_contradict),
        cmocka_unit_test(clamped_distances_are_no_latencies),
        cmocka_unit_test(a_circle_of_dependencies_ends),
        cmocka_unit_test(a_negative_gap_is_counted_not_followed),
        cmocka_unit_test(a_long_gap_keeps_its_edge),
        cmocka_unit_test(an_unmatched_wait_is_counted_and_no_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
