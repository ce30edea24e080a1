/* What a drain hands over and what it leaves, with stamps, counter and clock that are made up. The
 * tests follow each other: the counter is learnt, used and given up.
 */
#include "unit/record/test_nvtx.h"

#include "record/nvtx/buffer.h"

#include "base/poison.h"

#define MS UINT64_C(1000000)

/* The counter runs at 2 GHz. */
static uint64_t ticks_at(uint64_t ns)
{
    return UINT64_C(91564272055729) + 2 * ns;
}

/* Later than the machine's own clock can be: times never go backwards, and the first is a real one.
 */
static uint64_t clock_at(uint64_t ns)
{
    return UINT64_C(3500000000000000000) + ns;
}

static unsigned drain_after(uint64_t ns)
{
    const struct nvtx_pair pair = {.ticks = ticks_at(ns), .ns = clock_at(ns)};

    return drain_at(&pair);
}

static uint32_t counter(void)
{
    return atomic_load(&nvtx_state()->counter);
}

static void put(uint64_t stamp)
{
    const struct nvtx_call call = {.kind = NVTX_KIND_mark, .time = stamp};
    struct nvtx_thread *thread = nvtx_enter();

    assert_non_null(thread);
    assert_true(nvtx_write(thread, &call));
    nvtx_leave(thread);
}

static void expect_at(unsigned index, uint64_t ns)
{
    expect(index, MARK, "");
    assert_int_equal(seen[index].event.time, clock_at(ns));
}

/* Also on a machine whose own counter cannot be used. */
static void two_drains_show_the_rate(void **state)
{
    (void)state;
    mp_nvtx_set_recording(true);
    nvtxMarkA("the handler gets ready");
    atomic_store(&nvtx_state()->counter, NVTX_COUNTER_MEASURED);
    assert_int_equal(drain_after(0), 1);
    assert_int_equal(drain_after(50 * MS - 1), 0);
    assert_int_equal(counter(), NVTX_COUNTER_MEASURED);
    assert_int_equal(drain_after(50 * MS), 0);
    assert_int_equal(counter(), NVTX_COUNTER_USED);
}

static void stamps_become_times(void **state)
{
    (void)state;
    put(ticks_at(51 * MS));
    put(ticks_at(52 * MS + 1));
    put(clock_at(53 * MS) | NVTX_STAMP_IS_CLOCK);
    assert_int_equal(drain_after(90 * MS), 3);
    expect_at(0, 51 * MS);
    expect_at(1, 52 * MS + 1);
    expect_at(2, 53 * MS);
}

/* A drain leaves what is later than its pair, and all behind it, and then tells it in order. */
static void the_next_drain_tells_the_rest(void **state)
{
    (void)state;
    put(ticks_at(100 * MS));
    put(ticks_at(180 * MS + 1));
    put(ticks_at(150 * MS));
    assert_int_equal(drain_after(180 * MS), 1);
    expect_at(0, 100 * MS);
    assert_int_equal(drain_after(180 * MS + 1), 2);
    expect_at(0, 180 * MS + 1);
    expect_at(1, 180 * MS + 1); /* never backwards */
}

static void a_counter_that_jumps_is_given_up(void **state)
{
    const struct nvtx_pair jumped = {.ticks = ticks_at(9999 * MS), .ns = clock_at(270 * MS)};

    (void)state;
    put(ticks_at(200 * MS));
    assert_int_equal(drain_at(&jumped), 1);
    expect_at(0, 200 * MS);
    assert_int_equal(counter(), NVTX_COUNTER_UNUSED);
    assert_int_equal(mp_nvtx_inexact(), 1);
    put(clock_at(300 * MS) | NVTX_STAMP_IS_CLOCK);
    assert_int_equal(drain_after(0), 1); /* the pair means nothing any more */
    expect_at(0, 300 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_drains_show_the_rate),
        cmocka_unit_test(stamps_become_times),
        cmocka_unit_test(the_next_drain_tells_the_rest),
        cmocka_unit_test(a_counter_that_jumps_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
