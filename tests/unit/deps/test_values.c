/* D4 of values in memory: streams that wait for what other streams write.
 *
 * Every scene begins with a launch that gets to the device in 2 us, on a stream that nothing else
 * uses, as in test_streams.c. Streams A and B are non-blocking. B's kernel is "fast", and the one
 * that it waits for is "slow" in most scenes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#define APART ON(9, 99) /* in a context of its own */
#define A     7
#define B     8
#define C     9
#define X     0x1000 /* addresses */
#define Y     0x2000

static void begin(void)
{
    scene_begin();
    put_call(1, "cudaLaunchKernel", 1, 6, 1);
    put_kernel(APART, "first", 3, 4, 1);
    for (uint64_t stream = A; stream <= C; stream++)
        put_stream_flag(stream, MP_stream_flag_non_blocking);
}

static void write32(uint64_t stream, uint64_t address, uint64_t value, uint64_t at,
                    uint64_t correlation)
{
    put_stream_value(stream, MP_value_operation_write, 32, address, value, at, correlation);
}

static void wait_geq(uint64_t stream, uint64_t address, uint64_t value, uint64_t at,
                     uint64_t correlation)
{
    put_stream_value(stream, MP_value_operation_wait_geq, 32, address, value, at, correlation);
}

static void wait_eq(uint64_t stream, uint64_t address, uint64_t value, uint64_t at,
                    uint64_t correlation)
{
    put_stream_value(stream, MP_value_operation_wait_eq, 32, address, value, at, correlation);
}

/* The wait is called first:
 *
 *     B          wait X >= 1       |fast 102-150|
 *     A                |slow 20-100|write 1 */
static void a_wait_is_ended_by_a_write_that_is_called_later(void **state)
{
    (void)state;
    begin();
    wait_geq(B, X, 1, 8, 2);
    put_launch(B, "fast", 10, 102, 150, 3);
    put_launch(A, "slow", 16, 20, 100, 4);
    write32(A, X, 1, 22, 5);
    put_stream_sync(B, 30, 152, 6);
    scene_load();
    assert_string_equal(bound("fast"), "event slow");
    assert_int_equal(scene.deps.counts.unknown_values, 0);
    assert_int_equal(scene.deps.counts.contradicted, 0);
    assert_string_equal(
        path(scene.windows.items),
        "cudaLaunchKernel 10, fast 48, slow 80 | host 5, launch 4, dependency 2, return 2");
    assert_int_equal(slack_of(&scene.windows, find("slow")), 0);
    assert_int_equal(length_with("slow=0.5x"), 111);
    scene_end(SOUND);
}

static void a_wait_that_is_called_after_the_write_waits_for_it_too(void **state)
{
    (void)state;
    begin();
    put_launch(A, "slow", 10, 14, 100, 2);
    put_stream_value(A, MP_value_operation_write, 64, X, 1, 16, 3);
    put_stream_value(B, MP_value_operation_wait_geq, 64, X, 1, 17, 4);
    put_launch(B, "fast", 20, 102, 150, 5);
    scene_load();
    assert_string_equal(bound("fast"), "event slow");
    scene_end(SOUND);
}

/* Only the first of two writes lets it through. */
static void a_wait_orders_nothing_beyond_the_first_write_that_satisfies_it(void **state)
{
    (void)state;
    begin();
    put_launch(A, "a", 10, 14, 40, 2);
    write32(A, X, 5, 16, 3);
    put_launch(A, "b", 18, 42, 60, 4);
    write32(A, X, 6, 24, 5);
    wait_geq(B, X, 4, 70, 6);
    put_launch(B, "fast", 72, 76, 90, 7);
    scene_load();
    assert_string_equal(bound("fast"), "launch cudaLaunchKernel#7");
    /* "b" then ends at 160, and "fast" as recorded; or "a" at 140, and "fast" at 142 + 14. */
    assert_int_equal(length_with("b=+100us"), 160 - 1);
    assert_int_equal(length_with("a=+100us;b=0"), 156 - 1);
    scene_end(SOUND);
}

static void a_value_that_was_there_when_the_wait_began_is_that_of_its_write(void **state)
{
    (void)state;
    begin();
    put_launch(A, "a", 10, 14, 40, 2);
    write32(A, X, 1, 16, 3);
    put_launch(C, "c", 18, 22, 50, 4);
    write32(C, X, 0, 24, 5);
    put_launch(A, "b", 26, 42, 60, 6);
    write32(A, X, 1, 32, 7);
    wait_eq(B, X, 1, 34, 8); /* nothing ahead of it: at once, when X is not yet 1 */
    put_launch(B, "fast", 36, 43, 70, 9);
    wait_eq(B, X, 1, 44, 10); /* at 70, when "b" has written */
    put_launch(B, "next", 46, 72, 80, 11);
    scene_load();
    assert_string_equal(bound("fast"), "event a");
    assert_string_equal(bound("next"), "stream order fast");
    /* "b" then ends at 100, and "next" at 102 + 8. */
    assert_int_equal(length_with("b=+40us"), 110 - 1);
    scene_end(SOUND);
}

/* A and B take turns: each waits for what the other one wrote, and writes in return. */
static void streams_that_take_turns_wait_for_each_other(void **state)
{
    (void)state;
    begin();
    wait_eq(B, X, 1, 10, 2);
    put_launch(B, "b1", 11, 52, 60, 3);
    write32(B, X, 0, 17, 4);
    put_launch(A, "a1", 18, 22, 50, 5);
    write32(A, X, 1, 24, 6);
    wait_eq(B, X, 1, 25, 7);
    put_launch(B, "b2", 26, 102, 110, 8);
    write32(B, X, 0, 32, 9);
    wait_eq(A, X, 0, 33, 10);
    put_launch(A, "a2", 34, 62, 100, 11);
    write32(A, X, 1, 40, 12);
    scene_load();
    assert_string_equal(bound("b1"), "event a1");
    assert_string_equal(bound("a2"), "event b1");
    assert_string_equal(bound("b2"), "event a2");
    assert_int_equal(scene.deps.counts.unknown_values, 0);
    assert_int_equal(scene.deps.counts.contradicted, 0);
    scene_end(SOUND);
}

#define TURNS 200

/* 100 us each: A runs "slow" in 0-50 and writes 1, B takes that (writes 0) and runs "fast" in
 * 52-60. All calls of a turn are made `ahead` us before, B's first. */
static void put_turn(uint64_t turn, uint64_t ahead)
{
    uint64_t begin = 10000 + 100 * turn, call = begin - ahead, id = 10 * turn + 10;

    wait_eq(B, X, 1, call, id);
    write32(B, X, 0, call, id);
    put_launch(B, "fast", call, begin + 52, begin + 60, id + 1);
    if (turn)
        wait_eq(A, X, 0, call + 5, id + 2);
    put_launch(A, "slow", call + 6, begin, begin + 50, id + 3);
    write32(A, X, 1, call + 12, id + 4);
}

/* It takes no more rounds of linking than a few turns do. */
static void many_turns_are_understood(void **state)
{
    static const uint64_t ahead[] = {20, 250, 9000};

    (void)state;
    for (int i = 0; i < 3; i++) {
        begin();
        for (uint64_t turn = 0; turn < TURNS; turn++)
            put_turn(turn, ahead[i]);
        scene_load();
        assert_int_equal(scene.deps.counts.unknown_values, 0);
        assert_int_equal(scene.deps.counts.contradicted, 0);
        for (uint32_t k = find("fast"); k < scene.deps.count; k++) {
            const struct deps_activity *fast = &scene.deps.activities[k];

            if (strcmp(deps_name(&scene.deps, fast), "fast") != 0)
                continue;
            assert_int_equal(fast->bound, DEPS_EVENT);
            assert_int_equal(scene.deps.activities[deps_bound_to(&scene.deps, k)].end,
                             fast->begin - 2000);
        }
        scene_end(SOUND);
    }
}

/* No work between the wait and the write of B, and the calls come in the opposite order. */
static void a_write_stands_for_what_its_stream_waits_for(void **state)
{
    (void)state;
    begin();
    wait_geq(C, Y, 1, 8, 2);
    put_launch(C, "fast", 10, 103, 150, 3);
    wait_geq(B, X, 1, 16, 4);
    write32(B, Y, 1, 17, 5);
    put_launch(A, "slow", 18, 22, 100, 6);
    write32(A, X, 1, 24, 7);
    scene_load();
    assert_string_equal(bound("fast"), "event slow");
    assert_int_equal(scene.deps.counts.unknown_values, 0);
    scene_end(SOUND);
}

static void a_thread_waits_for_what_a_stream_waits_for(void **state)
{
    (void)state;
    begin();
    put_launch(A, "slow", 10, 14, 100, 2);
    wait_geq(B, X, 1, 16, 3);
    write32(A, X, 1, 17, 4);
    put_stream_sync(B, 20, 103, 5);
    scene_load();
    assert_string_equal(bound_call(5), "synchronisation slow");
    scene_end(SOUND);
}

static void an_event_stands_for_what_its_stream_waits_for(void **state)
{
    (void)state;
    begin();
    wait_geq(B, X, 1, 8, 2);
    put_record(B, 0xe1, 9, 3);
    put_wait(C, 0xe1, 10, 4);
    put_launch(C, "fast", 11, 103, 150, 5);
    put_launch(A, "slow", 18, 22, 100, 6);
    write32(A, X, 1, 24, 7);
    scene_load();
    assert_string_equal(bound("fast"), "event slow");
    scene_end(SOUND);
}

/* The driver's definitions (cuda.h, CUstreamWaitValue_flags). */
static const struct {
    unsigned operation, bits;
    uint64_t awaited, written;
    bool ends;
} conditions[] = {
    {MP_value_operation_wait_geq, 32, 5, 5, true},
    {MP_value_operation_wait_geq, 32, 5, 4, false},
    {MP_value_operation_wait_geq, 32, 0xfffffffe, 1, true}, /* across the end of the numbers */
    {MP_value_operation_wait_geq, 32, 1, 0xfffffffe, false},
    {MP_value_operation_wait_geq, 64, 0xfffffffe, 1, false},
    {MP_value_operation_wait_geq, 64, UINT64_MAX, 1, true},
    {MP_value_operation_wait_geq, 64, 1, UINT64_MAX, false},
    {MP_value_operation_wait_geq, 32, 1, 0x80000001, false}, /* 2^31 apart */
    {MP_value_operation_wait_eq, 32, 5, 5, true},
    {MP_value_operation_wait_eq, 32, 5, 6, false},
    {MP_value_operation_wait_eq, 32, 5, 0x100000005, true}, /* it reads the lower half */
    {MP_value_operation_wait_eq, 64, 5, 0x100000005, false},
    {MP_value_operation_wait_and, 32, 6, 2, true},
    {MP_value_operation_wait_and, 32, 6, 9, false},
    {MP_value_operation_wait_nor, 32, 0xfffffff0, 0xf, false},
    {MP_value_operation_wait_nor, 32, 0xfffffff0, 0x7, true},
    {MP_value_operation_wait_nor, 64, 0xfffffff0, 0xf, true},
};

static void conditions_are_those_of_the_driver(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        begin();
        put_launch(A, "slow", 10, 14, 100, 2);
        put_stream_value(A, MP_value_operation_write, 64, X, conditions[i].written, 16, 3);
        put_stream_value(B, conditions[i].operation, conditions[i].bits, X, conditions[i].awaited,
                         17, 4);
        put_launch(B, "fast", 20, 102, 150, 5);
        scene_load();
        assert_string_equal(bound("fast"), conditions[i].ends ? "event slow" : "by time slow");
        assert_int_equal(scene.deps.counts.unknown_values, !conditions[i].ends);
        scene_end(SOUND);
    }
}

/* Nobody, another address, a stream that had not come so far, a graph, the stream itself. */
static void a_wait_that_no_stream_is_known_to_end_orders_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        begin();
        wait_geq(B, X, 1, 8, 2);
        put_launch(B, "fast", 10, 20, 50, 3);
        put_launch(A, "slow", 16, 22, 100, 4);
        if (i == 1)
            write32(A, Y, 1, 22, 5);
        if (i == 2)
            write32(A, X, 1, 22, 5);
        if (i == 3)
            write32(NO_STREAM, X, 1, 9, 5);
        if (i == 4)
            write32(B, X, 1, 9, 5);
        scene_load();
        assert_string_equal(bound("fast"), "launch cudaLaunchKernel#3");
        assert_int_equal(scene.deps.counts.unknown_values, 1);
        assert_int_equal(scene.deps.counts.contradicted, 0);
        assert_false(!scene.deps.no_syncs);
        scene_end(SOUND);
    }
}

/* Two clocks: up to 2 us too late still counts, as for an event. */
static void a_write_may_be_two_microseconds_late(void **state)
{
    (void)state;
    for (uint64_t late = 2; late <= 3; late++) {
        begin();
        wait_geq(B, X, 1, 8, 2);
        put_launch(B, "fast", 10, 100 - late, 150, 3);
        put_launch(A, "slow", 16, 20, 100, 4);
        write32(A, X, 1, 22, 5);
        scene_load();
        assert_string_equal(bound("fast"), late == 2 ? "event slow" : "launch cudaLaunchKernel#3");
        assert_int_equal(scene.deps.counts.clamped, late == 2);
        assert_int_equal(scene.deps.counts.unknown_values, late == 3);
        scene_end(SOUND);
    }
}

/* A kernel of a blocking stream waits for what the default stream waits for. */
static void a_wait_in_the_default_stream_holds_up_blocking_streams(void **state)
{
    (void)state;
    begin();
    put_stream_flag(1, MP_stream_flag_null);
    put_null_stream(DEFAULT_CONTEXT, 1);
    put_stream_flag(2, MP_stream_flag_default);
    wait_geq(1, X, 1, 8, 2);
    put_launch(2, "fast", 10, 102, 150, 3);
    put_launch(A, "slow", 16, 20, 100, 4);
    write32(A, X, 1, 22, 5);
    scene_load();
    assert_string_equal(bound("fast"), "default stream slow");
    scene_end(SOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_ended_by_a_write_that_is_called_later),
        cmocka_unit_test(a_wait_that_is_called_after_the_write_waits_for_it_too),
        cmocka_unit_test(a_wait_orders_nothing_beyond_the_first_write_that_satisfies_it),
        cmocka_unit_test(a_value_that_was_there_when_the_wait_began_is_that_of_its_write),
        cmocka_unit_test(streams_that_take_turns_wait_for_each_other),
        cmocka_unit_test(many_turns_are_understood),
        cmocka_unit_test(a_write_stands_for_what_its_stream_waits_for),
        cmocka_unit_test(a_thread_waits_for_what_a_stream_waits_for),
        cmocka_unit_test(an_event_stands_for_what_its_stream_waits_for),
        cmocka_unit_test(conditions_are_those_of_the_driver),
        cmocka_unit_test(a_wait_that_no_stream_is_known_to_end_orders_nothing),
        cmocka_unit_test(a_write_may_be_two_microseconds_late),
        cmocka_unit_test(a_wait_in_the_default_stream_holds_up_blocking_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
