/* record/process/blocks: how long blocks are, the share of steps without recording, and which kind
 * of step is taken.
 */
#include "record/process/baseline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/poison.h"

#define MS       UINT64_C(1000000)
#define BLOCK_NS (20 * MS) /* MP_TIME_BLOCK */

struct run {
    struct blocks blocks;
    uint64_t now;
    uint64_t shortest_steps, shortest_ns; /* of blocks that have ended */
    uint64_t switches;
};

/* So many steps of `length`, switched wherever that is due. */
static void steps(struct run *run, uint64_t count, uint64_t length)
{
    for (uint64_t i = 0; i < count; i++) {
        run->now += length;
        if (!blocks_step(&run->blocks, run->now))
            continue;
        if (run->blocks.steps < run->shortest_steps)
            run->shortest_steps = run->blocks.steps;
        if (run->now - run->blocks.since < run->shortest_ns)
            run->shortest_ns = run->now - run->blocks.since;
        run->switches++;
        blocks_begin(&run->blocks, !run->blocks.bare, run->now);
    }
}

static struct run begin(uint32_t share)
{
    struct run run = {.blocks = {.share = share},
                      .now = 5 * MS,
                      .shortest_steps = UINT64_MAX,
                      .shortest_ns = UINT64_MAX};

    blocks_begin(&run.blocks, false, run.now);
    return run;
}

/* Counted by hand: of 25 %, ten steps fit when there are 40, and 30 have been recorded by then. */
static void test_by_hand(void **state)
{
    struct run run = begin(25);

    (void)state;
    steps(&run, 29, 10 * MS);
    assert_false(run.blocks.bare);
    steps(&run, 1, 10 * MS);
    assert_true(run.blocks.bare);
    steps(&run, 9, 10 * MS);
    assert_true(run.blocks.bare);
    steps(&run, 1, 10 * MS);
    assert_false(run.blocks.bare);
    assert_int_equal(run.blocks.without, 10);
    assert_int_equal(run.blocks.all, 40);
    steps(&run, 30, 10 * MS);
    assert_true(run.blocks.bare);
}

/* Each share, for steps of 10 us to 1 s: it holds within one block, and blocks are long enough. */
static void test_shares(void **state)
{
    static const uint64_t lengths[] = {10000, 300000, MS, 7 * MS, 1000 * MS};

    (void)state;
    for (uint32_t share = 1; share <= 75; share++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
            struct run run = begin(share);
            uint64_t min = BLOCK_NS / lengths[i] + 1;
            double block = (double)(min > BLOCK_STEPS ? min : BLOCK_STEPS);
            double off;

            steps(&run, 400 * (uint64_t)block, lengths[i]);
            off = (double)run.blocks.without - (double)run.blocks.all * share / 100;
            if (off < 0)
                off = -off;
            if (off > block || run.switches < 2 || run.shortest_steps < BLOCK_STEPS ||
                run.shortest_ns < BLOCK_NS)
                printf("share %u, steps of %lu ns: off by %.1f, %lu switches\n", share,
                       (unsigned long)lengths[i], off, (unsigned long)run.switches);
            assert_true(off <= block);
            assert_true(run.switches >= 2);
            assert_true(run.shortest_steps >= BLOCK_STEPS);
            assert_true(run.shortest_ns >= BLOCK_NS);
        }
}

/* No work-free moment for long: the share comes back to what it has to be. */
static void test_late_switch(void **state)
{
    struct run run = begin(50);
    unsigned i;

    (void)state;
    for (i = 0; i < 200; i++)
        blocks_step(&run.blocks, run.now += 10 * MS);
    blocks_begin(&run.blocks, true, run.now);
    steps(&run, 199, 10 * MS);
    assert_true(run.blocks.bare);
    steps(&run, 1, 10 * MS);
    assert_false(run.blocks.bare);
    assert_int_equal(run.blocks.without, 200);
}

static void test_choice(void **state)
{
    static const struct {
        uint64_t counts[BLOCK_WAYS];
        bool alive[BLOCK_WAYS];
        uint64_t ms;
        enum block_way way;
    } cases[] = {
        {{0, 0, 0}, {false, false, false}, 10000, BLOCK_WAYS},
        {{9, 9, 9}, {true, true, true}, 19, BLOCK_WAYS},
        {{9, 9, 9}, {true, true, true}, 20, BLOCK_NVTX},
        {{3, 9, 99}, {true, true, true}, 4999, BLOCK_WAYS},
        {{3, 9, 99}, {true, true, true}, 5000, BLOCK_GRAPH}, /* a range around all of it */
        {{0, 4, 99}, {false, true, true}, 20, BLOCK_GRAPH},
        {{0, 1, 99}, {false, true, true}, 20, BLOCK_WAYS},
        {{0, 1, 99}, {false, true, true}, 5000, BLOCK_SYNC},
        {{0, 0, 4}, {false, false, true}, 20, BLOCK_SYNC},
        {{0, 0, 3}, {false, false, true}, 9000, BLOCK_WAYS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(blocks_choose(cases[i].counts, cases[i].alive, cases[i].ms * MS),
                         cases[i].way);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_late_switch),
        cmocka_unit_test(test_choice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
