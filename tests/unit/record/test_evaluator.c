/* The native frames around records on the stack, as those of CPython's evaluator: found by the
 * records, whatever function they lie in, and only those.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/stacks/python.h"

#define PLAYED (EVALUATOR_PARTS + 1)

static struct evaluator evaluator;
static uintptr_t records[PLAYED];
static size_t record_count;
static uintptr_t inside[PLAYED], between[PLAYED + 1]; /* return addresses */
static unsigned depth;

static void play(unsigned level);

/* A frame without a record. */
__attribute__((noinline)) static void pass(unsigned level)
{
    between[level] = (uintptr_t)__builtin_return_address(0);
    play(level);
    __asm__ volatile("" ::: "memory"); /* a frame that is still there */
}

/* Its record is on the real stack with a sanitizer too. */
#define PLAYER(number)                                                                             \
    __attribute__((noinline, no_sanitize("address"))) static void evaluate_##number(               \
        unsigned level)                                                                            \
    {                                                                                              \
        volatile uint64_t record[4] = {number};                                                    \
                                                                                                   \
        records[record_count++] = (uintptr_t)record;                                               \
        pass(level + 1);                                                                           \
        assert_int_equal(record[0], number);                                                       \
    }
PLAYER(0)
PLAYER(1)
PLAYER(2)
PLAYER(3)
PLAYER(4)
PLAYER(5)
PLAYER(6)
PLAYER(7)
PLAYER(8)

static void (*const players[PLAYED])(unsigned) = {
    evaluate_0, evaluate_1, evaluate_2, evaluate_3, evaluate_4,
    evaluate_5, evaluate_6, evaluate_7, evaluate_8,
};

/* `pass` returns into an evaluator, and an evaluator into `play`. */
static void play(unsigned level)
{
    if (level)
        inside[level - 1] = between[level];
    if (level < depth)
        players[level](level);
    else
        evaluator_learn(&evaluator, records, record_count);
    __asm__ volatile("" ::: "memory");
}

static void learn(unsigned evaluators)
{
    depth = evaluators;
    record_count = 0;
    play(0);
}

static int begin(void **state)
{
    (void)state;
    memset(&evaluator, 0, sizeof evaluator);
    evaluator_open(&evaluator);
    return 0;
}

static void test_each_is_found(void **state)
{
    (void)state;
    assert_non_null(evaluator.walk);
    learn(3);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(evaluator_has(&evaluator, inside[i]));
        assert_true(evaluator_has(&evaluator, (uintptr_t)players[i]));
    }
    assert_false(evaluator_has(&evaluator, (uintptr_t)play));
    assert_false(evaluator_has(&evaluator, (uintptr_t)pass));
    assert_false(evaluator_has(&evaluator, (uintptr_t)players[3]));
    assert_false(evaluator_has(&evaluator, 0));
}

static void test_records_elsewhere_find_nothing(void **state)
{
    static uint64_t in_data;

    (void)state;
    depth = 0;
    records[0] = (uintptr_t)&in_data;
    records[1] = 0;
    records[2] = UINTPTR_MAX;
    record_count = 3;
    play(0);
    assert_int_equal(evaluator.parts[0].begin, 0);
    evaluator_learn(&evaluator, records, 0);
    assert_int_equal(evaluator.looks, 1); /* one without records is none */
}

static void test_too_many_parts(void **state)
{
    unsigned known = 0;

    (void)state;
    learn(PLAYED);
    for (unsigned i = 0; i < PLAYED; i++)
        known += evaluator_has(&evaluator, inside[i]);
    assert_int_equal(known, EVALUATOR_PARTS);
}

static void test_looks_have_an_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EVALUATOR_LOOKS; i++)
        learn(1);
    learn(2);
    assert_true(evaluator_has(&evaluator, inside[0]));
    assert_false(evaluator_has(&evaluator, inside[1]));
    assert_int_equal(evaluator.looks, EVALUATOR_LOOKS);
}

static void test_without_the_unwinder(void **state)
{
    (void)state;
    evaluator.walk = NULL;
    learn(1);
    assert_int_equal(evaluator.parts[0].begin, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_is_found, begin),
        cmocka_unit_test_setup(test_records_elsewhere_find_nothing, begin),
        cmocka_unit_test_setup(test_too_many_parts, begin),
        cmocka_unit_test_setup(test_looks_have_an_end, begin),
        cmocka_unit_test_setup(test_without_the_unwinder, begin),
    };

    return cmocka_run_group_tests_name("record/stacks/evaluator", tests, NULL, NULL);
}
