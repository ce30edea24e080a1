/* Slack and what-if, by hand on three small graphs, and the changes as a person writes them:
 * section 6 of docs/dependency-analysis.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/replay/replay.h"

#define E1 0xe1
#define E2 0xe2

static uint64_t slack(const char *name)
{
    return slack_of(&scene.windows, find(name));
}

static uint64_t slack_of_call(uint64_t correlation)
{
    return slack_of(&scene.windows, find_call(correlation));
}

/* ---- A chain ----
 *
 *     thread     |10-15|16-21||wait 22-----------------76|  80
 *     stream 7      |a 15-41||b 43-71|
 *
 * a is launched in 5; b was queued (its call returned at 21) and shows the gap, 2; return 5; 80 is
 * the end of the capture range. */
static void put_chain(void)
{
    scene_begin();
    put_launch(7, "a", 10, 15, 41, 1);
    put_launch(7, "b", 16, 43, 71, 2);
    put_stream_sync(7, 22, 76, 3);
    put_range(1, 10, 80, 1, 4);
    scene_load();
}

/* The second launch call may end late until the wait begins at 71, when b has ended: 49. The first
 * until its kernel's successor is launched late: the second call may begin at 43 - 5, 22 late. */
static void slack_in_a_chain(void **state)
{
    (void)state;
    put_chain();
    assert_string_equal(path(scene.windows.items),
                        "a 26, b 28 | host 4, launch 5, gap 2, return 5");
    assert_int_equal(slack("a"), 0);
    assert_int_equal(slack("b"), 0);
    assert_int_equal(slack_of_call(3), 0);
    assert_int_equal(slack_of_call(2), 49);
    assert_int_equal(slack_of_call(1), 22);
    scene_end(SOUND);
}

static void what_if_in_a_chain(void **state)
{
    (void)state;
    put_chain();
    assert_int_equal(length_with(""), 70);
    assert_int_equal(length_with("a=0.5x"), 57);
    assert_int_equal(length_with("a=-10us"), 60);
    assert_int_equal(length_with("a=+10us"), 80);
    assert_int_equal(length_with("a=20us"), 64);
    /* a ends at 15, but b is launched at 16 and begins at 21: 28, return 5, host 4, to 58. */
    assert_int_equal(length_with("a=0"), 48);
    /* b at 21 and ended; the wait begins at 22: return 5, host 4, to 31. */
    assert_int_equal(length_with("a=0;b=0"), 21);
    assert_int_equal(length_with("[ab]=0"), 21);
    assert_int_equal(length_with("a=-1000us;b=-1000us"), 21); /* not below 0 */
    assert_int_equal(length_with("a=0;a=0.5x"), 57);          /* the later one wins */
    scene_end(SOUND);
}

static void what_if_of_calls_changes_their_own_time(void **state)
{
    (void)state;
    put_chain();
    assert_int_equal(length_with("cudaStreamSynchronize=0"), 65);
    assert_int_equal(length_with("cudaStreamSynchronize=+5us"), 75);
    assert_int_equal(length_with("cudaLaunchKernel=0"), 70); /* not on the path */
    /* Calls 10-40 and 41-71: b is launched in 5, 46-74; the wait begins at 72: to 79 + 4. */
    assert_int_equal(length_with("cudaLaunchKernel=30us"), 73);
    /* a 15-15; calls of 0 at 10, 11, 12; b 17-45; no return; host 4, to 49. */
    assert_int_equal(length_with("*=0;b=28us"), 39);
    scene_end(SOUND);
}

static void what_if_of_parts_changes_lags(void **state)
{
    (void)state;
    put_chain();
    assert_int_equal(length_with("gap=0"), 68);
    assert_int_equal(length_with("gap=3x"), 74);
    assert_int_equal(length_with("return=0"), 65);
    assert_int_equal(length_with("launch_latency=0"), 65);
    assert_int_equal(length_with("launch_latency=+3us"), 73);
    assert_int_equal(length_with("dependency=+99us"), 70); /* there is none */
    scene_end(SOUND);
}

static void what_if_of_launches_changes_calls_and_latency(void **state)
{
    (void)state;
    put_chain();
    assert_int_equal(length_with("launch=0"), 65);
    /* Calls 10-40 and 41-71; a 40-66; b 30 after its launch at 41: 71-99; return 5, host 4, to 108.
     */
    assert_int_equal(length_with("launch=30us"), 98);
    assert_int_equal(length_with("launch=30us;launch_latency=5us"), 73); /* the later one wins */
    scene_end(SOUND);
}

/* ---- Fork and join ----
 *
 *     thread     |10-15|  |18-23|24-29|  |32-37||wait 38---------75|
 *     stream 7     |a 15-30||b 32----------60||d 62-70|        a -> b -> d
 *     stream 8              |c 33------50|                     a -> c -> d by events
 *
 * Gaps: 2 of b and d, 3 of c. Launches: 5 of a. c: event 30 + 2 = 32, launch 24 + 5 = 29. */
static void put_fork(void)
{
    scene_begin();
    put_launch(7, "a", 10, 15, 30, 1);
    put_record(7, E1, 16, 2);
    put_wait(8, E1, 17, 3);
    put_launch(7, "b", 18, 32, 60, 4);
    put_launch(8, "c", 24, 33, 50, 5);
    put_record(8, E2, 30, 6);
    put_wait(7, E2, 31, 7);
    put_launch(7, "d", 32, 62, 70, 8);
    put_stream_sync(7, 38, 75, 9);
    scene_load();
}

/* c may end until 60, since d begins 2 after it at the earliest. */
static void slack_in_a_fork(void **state)
{
    (void)state;
    put_fork();
    assert_string_equal(bound("c"), "event a");
    assert_string_equal(bound("d"), "stream order b");
    assert_string_equal(waiting(scene.windows.items), "cudaStreamSynchronize 32 | c 3");
    assert_string_equal(path(scene.windows.items), "a 15, b 28, d 8 | launch 5, gap 4, return 5");
    assert_int_equal(slack("a"), 0);
    assert_int_equal(slack("b"), 0);
    assert_int_equal(slack("c"), 10);
    assert_int_equal(slack("d"), 0);
    scene_end(SOUND);
}

static void what_if_in_a_fork(void **state)
{
    (void)state;
    put_fork();
    assert_int_equal(length_with("b=0.5x"), 55);  /* d waits for c: 50 + 2 + 8 + 5 */
    assert_int_equal(length_with("b=0;c=0"), 40); /* d for its launch: 32 + 5 + 8 + 5 */
    assert_int_equal(length_with("c=+10us"), 65);
    assert_int_equal(length_with("c=+11us"), 66);
    assert_int_equal(length_with("gap=+4us"), 73); /* twice */
    /* c 30 + 23 to 70, d 70 + 22 to 100, the wait to 105. */
    assert_int_equal(length_with("dependency=+20us"), 95);
    scene_end(SOUND);
}

/* ---- A graph with two leaves ----
 *
 *     thread     |launch 10-20| |23-28||wait 30-----------------75|
 *     stream 7     |r 15-30||b 32-------60||k 62-70|           r -> b, r -> c
 *     stream 20              |c 33----50| */
static void put_leaves(void)
{
    scene_begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 1);
    put_node(7, "r", 5, 1, 15, 30, 1);
    put_node(7, "b", 5, 2, 32, 60, 1);
    put_node(20, "c", 5, 3, 33, 50, 1);
    put_edge(5, 1, 2);
    put_edge(5, 1, 3);
    put_launch(7, "k", 23, 62, 70, 2);
    put_stream_sync(7, 30, 75, 3);
    scene_load();
}

/* k waits for the whole launch, b's end 60 + 2: c may end at 60. */
static void slack_in_a_graph(void **state)
{
    (void)state;
    put_leaves();
    assert_string_equal(path(scene.windows.items),
                        "b 28, k 8, r 15 | launch 5, gap 2, dependency 2, return 5");
    assert_int_equal(slack("b"), 0);
    assert_int_equal(slack("r"), 0);
    assert_int_equal(slack("c"), 10);
    scene_end(SOUND);
}

static void what_if_the_other_leaf_becomes_the_last(void **state)
{
    (void)state;
    put_leaves();
    assert_int_equal(length_with(""), 65);
    assert_int_equal(length_with("b=0"), 55);     /* c 50, k 52-60, 65 */
    assert_int_equal(length_with("c=+20us"), 75); /* c 70, k 72-80, 85 */
    assert_int_equal(length_with("b=0;c=0"), 38); /* c 33, k 35-43, 48 */
    scene_end(SOUND);
}

/* ---- Several windows ---- */

static void what_if_goes_on_into_later_windows(void **state)
{
    struct deps_changes changes = {.items = NULL};
    uint64_t lengths[2];

    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 60, 1);
    put_call(1, "cudaGetDevice", 20, 30, 2);
    put_stream_sync(7, 45, 65, 3);
    put_range(1, 10, 40, 1, 3);
    put_range(2, 40, 70, 3, 4);
    scene_load();
    /* The first ends with a, at 60; the second is 5 + 20 + 5, and without a, 5 + 5 + 5. */
    assert_int_equal(deps_changes_add(&changes, "a=0", NULL), MP_OK);
    assert_int_equal(deps_replay(&scene.deps, &changes, &scene.windows, lengths), MP_OK);
    assert_int_equal(lengths[0], 30000);
    assert_int_equal(lengths[1], 15000);
    deps_changes_free(&changes);
    scene_end(SOUND);
}

/* ---- Changes as text ---- */

static void expect_change(const char *text, const char *pattern, enum deps_change_kind kind,
                          double factor, int64_t ns)
{
    struct deps_changes changes = {.items = NULL};

    assert_int_equal(deps_changes_add(&changes, text, NULL), MP_OK);
    assert_int_equal(changes.count, 1);
    assert_string_equal(changes.items[0].pattern, pattern);
    assert_int_equal(changes.items[0].kind, kind);
    if (kind == DEPS_SCALE)
        assert_true(changes.items[0].factor == factor);
    else
        assert_int_equal(changes.items[0].ns, ns);
    deps_changes_free(&changes);
}

static void changes_can_be_written_in_these_ways(void **state)
{
    (void)state;
    expect_change("a=0.5x", "a", DEPS_SCALE, 0.5, 0);
    expect_change("a=2x", "a", DEPS_SCALE, 2, 0);
    expect_change("a=0x", "a", DEPS_SCALE, 0, 0);
    expect_change("a=-10us", "a", DEPS_ADD, 0, -10000);
    expect_change("a=+10us", "a", DEPS_ADD, 0, 10000);
    expect_change("a=20us", "a", DEPS_SET_TO, 0, 20000);
    expect_change("a=7ns", "a", DEPS_SET_TO, 0, 7);
    expect_change("a=1.5ms", "a", DEPS_SET_TO, 0, 1500000);
    expect_change("a=-0.25s", "a", DEPS_ADD, 0, -250000000);
    expect_change("a=0", "a", DEPS_SET_TO, 0, 0);
    expect_change("void f<1>(int, float)=0", "void f<1>(int, float)", DEPS_SET_TO, 0, 0);
    expect_change("operator==(a)=0.5x", "operator==(a)", DEPS_SCALE, 0.5, 0);
    expect_change("*=+1us", "*", DEPS_ADD, 0, 1000);
}

static void other_ways_are_refused_with_a_line(void **state)
{
    static const char *const bad[] = {"",
                                      "a",
                                      "=",
                                      "=5us",
                                      "a=",
                                      "a=5",
                                      "a=x",
                                      "a=us",
                                      "a=-0.5x",
                                      "a=+2x",
                                      "a=1e3us",
                                      "a=5 us",
                                      "a=5usx",
                                      "a=.us",
                                      "a=1.2.3us",
                                      "a=0x10ns",
                                      "a=inf",
                                      "a=nan",
                                      "a=--5us",
                                      "a=+ 5us",
                                      "a=0.5X",
                                      "a=5min",
                                      "a=-0",
                                      "a=2000000x",
                                      "a=1000000000000000us",
                                      "a=99999999999999999999999999999999s",
                                      "a= 5us",
                                      "a=5us ",
                                      "a=-",
                                      "a=+",
                                      "a=.",
                                      "a=infx"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct deps_changes changes = {.items = NULL};
        struct mp_error error = {.text = ""};

        assert_int_equal(deps_changes_add(&changes, bad[i], &error), MP_ERR_ARGUMENT);
        assert_non_null(strstr(error.text, bad[i]));
        assert_int_equal(changes.count, 0);
        deps_changes_free(&changes);
    }
}

static const char *unmatched(const char *first, const char *second)
{
    struct deps_changes changes = {.items = NULL};
    const struct deps_change *change;
    const char *answer = NULL;

    assert_int_equal(deps_changes_add(&changes, first, NULL), MP_OK);
    assert_int_equal(deps_changes_add(&changes, second, NULL), MP_OK);
    change = deps_changes_unmatched(&changes, &scene.deps);
    if (change)
        answer = change == &changes.items[0] ? "first" : "second";
    deps_changes_free(&changes);
    return answer;
}

/*     thread   |10 12||13 14|          |16 ---- sync ---- 52|
 *     stream       |15 ns::gemm 35|  |37 void f<4>(int) 47|     gap 2, return 5, the window 42 */
static void names_are_what_people_type(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaLaunchKernel", 10, 12, 1);
    put_kernel(7, "ns::gemm(int, float*)", 15, 35, 1);
    put_call(1, "cudaLaunchKernel", 13, 14, 2);
    put_kernel(7, "void f<4, int>(int)", 37, 47, 2);
    put_stream_sync(7, 16, 52, 3);
    scene_load();
    assert_int_equal(length_with("gemm=0.5x"), 32);
    assert_int_equal(length_with("ns::gemm=0.5x"), 32);
    assert_int_equal(length_with("gemm,f=0.5x"), 27);
    assert_int_equal(length_with("void f<4, int>(int)=0.5x"), 37);
    assert_int_equal(length_with("void f<4, int>(int),gemm=0.5x"), 27);
    assert_int_equal(length_with("kernel=0"), 13); /* the second launch takes 5 */
    assert_int_equal(length_with("wait=0"), 37);
    assert_string_equal(unmatched("memcpy=0", "*=0"), "first");
    assert_string_equal(unmatched("em=0", "*=0"), "first");
    scene_end(SOUND);
}

/* A kernel called as a kind is meant alone. */
static void a_name_comes_before_a_kind(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "kernel", 10, 15, 35, 1);
    put_launch(7, "other", 16, 37, 47, 2);
    scene_load();
    assert_int_equal(length_with("kernel=0.5x"), 27);
    assert_int_equal(length_with("kernel,other=0.5x"), 22);
    scene_end(SOUND);
}

static void names_are_globs_over_activities_and_parts(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaMemcpyAsync", 10, 12, 1);
    put_copy(7, MP_copy_kind_HtoD, ASYNCHRONOUS, 15, 35, 1);
    put_call(1, "cudaMemsetAsync", 13, 14, 2);
    put_set(7, 37, 47, 2);
    scene_load();
    assert_int_equal(length_with("memcpy HtoD=0"), 17);
    assert_int_equal(length_with("[CUDA memcpy HtoD]=0"), 17);
    assert_int_equal(length_with("memcpy*=0"), 17);
    assert_int_equal(length_with("mem*=0"), 7);
    assert_int_equal(length_with("?CUDA memset?=0"), 27);
    assert_null(unmatched("memset=0", "cudaMem*=0"));
    assert_null(unmatched("launch_latency=0", "host=0"));
    assert_null(unmatched("launch=0", "*=0"));
    assert_null(unmatched("gap=0", "dependency=0"));
    assert_null(unmatched("return=0", "*=0"));
    assert_string_equal(unmatched("memcpy DtoH=0", "*=0"), "first");
    assert_string_equal(unmatched("*=0", "launches=0"), "second");
    assert_string_equal(unmatched("*=0", "Memcpy*=0"), "second");
    scene_end(SOUND);
}

/* ---- Edits of single activities ---- */

/* The chain with these edits of one activity: when b ends, and where the window's end lies, us. */
static const char *edited(uint32_t index, unsigned edits)
{
    static char answer[64];
    uint8_t *flags = calloc(scene.deps.count + 1, 1);
    const struct deps_edits list = {.flags = flags, .factor = 0.5};
    struct deps_replayer replayer;

    flags[index] = (uint8_t)edits;
    assert_int_equal(deps_replayer_init(&replayer, &scene.deps), MP_OK);
    assert_int_equal(deps_replayer_run(&replayer, edits ? &list : NULL), MP_OK);
    snprintf(answer, sizeof answer, "%g %g", (double)deps_replayer_end(&replayer, find("b")) / 1000,
             (double)deps_replayer_host(&replayer, 0, 80000, true) / 1000);
    assert_int_equal(deps_replayer_host(&replayer, 0, 10000, false), 10000);
    deps_replayer_free(&replayer);
    free(flags);
    return answer;
}

static void edits_change_one_activity(void **state)
{
    (void)state;
    put_chain();
    assert_string_equal(edited(find("a"), 0), "71 80");
    assert_string_equal(edited(find("a"), DEPS_EDIT_NO_TIME), "49 58");
    assert_string_equal(edited(find("a"), DEPS_EDIT_SCALED), "58 67");
    assert_string_equal(edited(find("a"), DEPS_EDIT_NO_LAUNCH), "66 75");
    assert_string_equal(edited(find("b"), DEPS_EDIT_NO_GAP), "69 78");
    assert_string_equal(edited(find_call(2), DEPS_EDIT_NO_HOST), "71 80");
    assert_string_equal(edited(find_call(3), DEPS_EDIT_NO_WAIT), "71 31");
    assert_string_equal(edited(find_call(3), DEPS_EDIT_NO_WAIT | DEPS_EDIT_NO_TIME), "71 26");
    assert_string_equal(edited(find_call(3), DEPS_EDIT_NO_WAIT | DEPS_EDIT_NO_HOST), "71 30");
    assert_string_equal(edited(find("b"), DEPS_EDIT_NO_CROSS), "71 80");
    scene_end(SOUND);
}

static uint64_t keep_half(const void *context, uint32_t piece)
{
    (void)piece;
    return *(const uint64_t *)context;
}

/* Of 40 us of host code 25 stay, and not more than there was. */
static void host_code_may_stay_in_part(void **state)
{
    uint8_t flags[8] = {0};
    uint64_t kept = 25000;
    const struct deps_edits list = {.flags = flags, .host_kept = keep_half, .context = &kept};
    struct deps_replayer replayer;

    (void)state;
    scene_begin();
    put_call(1, "cudaGetDevice", 10, 12, 1);
    put_call(1, "cudaSetDevice", 52, 53, 2);
    scene_load();
    flags[find_call(2)] = DEPS_EDIT_NO_HOST;
    assert_int_equal(deps_replayer_init(&replayer, &scene.deps), MP_OK);
    assert_int_equal(deps_replayer_run(&replayer, &list), MP_OK);
    assert_int_equal(deps_replayer_host(&replayer, 0, 53000, true), 38000);
    kept = 99000;
    assert_int_equal(deps_replayer_run(&replayer, &list), MP_OK);
    assert_int_equal(deps_replayer_host(&replayer, 0, 53000, true), 53000);
    deps_replayer_free(&replayer);
    scene_end(SOUND);
}

/* b waits for a of another stream by an event. */
static void without_other_streams(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 20, 60, 1);
    put_record(7, E1, 16, 2);
    put_wait(8, E1, 18, 3);
    put_launch(8, "b", 20, 62, 72, 4);
    put_stream_sync(8, 30, 80, 5);
    scene_load();
    assert_string_equal(bound("b"), "event a");
    assert_string_equal(edited(find("b"), 0), "72 80");
    assert_string_equal(edited(find("b"), DEPS_EDIT_NO_CROSS), "40 48");
    scene_end(SOUND);
}

/* The wait is for a and b. If a takes half the time, b is the last one: the wait ends at 55, and
 * what comes behind is 10 earlier too. */
static void a_retimed_graph_waits_for_what_is_last_then(void **state)
{
    uint8_t flags[16] = {0};
    const struct deps_edits list = {.flags = flags, .factor = 0.5};
    struct deps_replayer replayer;

    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 60, 1);
    put_launch(8, "b", 16, 21, 50, 2);
    put_context_sync(22, 65, 3);
    put_call(1, "cudaGetDevice", 70, 71, 4);
    scene_load();
    assert_string_equal(bound_call(3), "synchronisation a");
    flags[find("a")] = DEPS_EDIT_SCALED;
    assert_int_equal(deps_replayer_init(&replayer, &scene.deps), MP_OK);
    assert_int_equal(deps_replayer_run(&replayer, &list), MP_OK);
    deps_replayer_windows(&replayer, &scene.windows, scene.windows.items);
    assert_int_equal(deps_retime(&scene.deps, &replayer), MP_OK);
    assert_string_equal(bound_call(3), "synchronisation b");
    assert_string_equal(bound_call(4), "program order cudaDeviceSynchronize#3");
    assert_string_equal(path(scene.windows.items),
                        "b 29, cudaGetDevice 1, cudaLaunchKernel 5 | host 6, launch 5, return 5");
    deps_replayer_free(&replayer);
    scene_end(UNSOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slack_in_a_chain),
        cmocka_unit_test(what_if_in_a_chain),
        cmocka_unit_test(what_if_of_calls_changes_their_own_time),
        cmocka_unit_test(what_if_of_parts_changes_lags),
        cmocka_unit_test(what_if_of_launches_changes_calls_and_latency),
        cmocka_unit_test(slack_in_a_fork),
        cmocka_unit_test(what_if_in_a_fork),
        cmocka_unit_test(slack_in_a_graph),
        cmocka_unit_test(what_if_the_other_leaf_becomes_the_last),
        cmocka_unit_test(what_if_goes_on_into_later_windows),
        cmocka_unit_test(changes_can_be_written_in_these_ways),
        cmocka_unit_test(other_ways_are_refused_with_a_line),
        cmocka_unit_test(names_are_what_people_type),
        cmocka_unit_test(a_name_comes_before_a_kind),
        cmocka_unit_test(names_are_globs_over_activities_and_parts),
        cmocka_unit_test(edits_change_one_activity),
        cmocka_unit_test(host_code_may_stay_in_part),
        cmocka_unit_test(without_other_streams),
        cmocka_unit_test(a_retimed_graph_waits_for_what_is_last_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
