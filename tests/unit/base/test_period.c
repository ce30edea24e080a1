/* The period of sequences, against trying every period and every stretch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/data/algorithms.h"
#include "unit/trace_fixture.h"

#define REPEATS 3

static struct mp_period find(const char *text)
{
    uint32_t items[256];
    struct mp_period period;
    size_t count = strlen(text);

    for (size_t i = 0; i < count; i++)
        items[i] = (uint32_t)text[i];
    assert_int_equal(mp_period_find(items, count, REPEATS, &period), MP_OK);
    return period;
}

static void expect(const char *text, uint32_t period, uint32_t first, uint32_t count)
{
    struct mp_period found = find(text);

    assert_int_equal(found.period, period);
    assert_int_equal(found.first, first);
    assert_int_equal(found.count, count);
}

static void known_sequences(void **state)
{
    (void)state;
    expect("", 0, 0, 0);
    expect("aa", 0, 0, 0);
    expect("aaa", 1, 0, 3);
    expect("abcabcabc", 3, 0, 9);
    expect("abcabcabcab", 3, 0, 11); /* an incomplete last period */
    expect("wwxabcabcabcaby", 3, 3, 11);
    expect("wabcabcabc", 3, 1, 9);
    expect("abcabcabcwxyz", 3, 0, 9);
    expect("abcabcabcuvwxyzuv", 3, 0, 9);  /* just over half */
    expect("abcabcabcuvwxyzuvw", 3, 0, 9); /* just half, before the middle */
    expect("stuvwxyzsabcabcabc", 3, 9, 9); /* just half, from the middle on */
    expect("abcabcabcuvwxyzuvwt", 0, 0, 0);
    expect("abcabcwabcabc", 0, 0, 0);
    expect("aabaabaabaab", 3, 0, 12);
    expect("abcdefghijkl", 0, 0, 0);
}

/* The longest stretch of a period, and of equal ones the first. */
static struct mp_period longest(const uint32_t *items, uint32_t count, uint32_t period)
{
    struct mp_period best = {period, 0, 0};

    for (uint32_t first = 0; first + period <= count; first++) {
        uint32_t length = period;

        while (first + length < count && items[first + length] == items[first + length - period])
            length++;
        if (length > best.count)
            best = (struct mp_period){period, first, length};
    }
    return best;
}

static uint32_t slow_period(const uint32_t *items, uint32_t count, uint32_t *stretch)
{
    for (uint32_t period = 1; period * REPEATS <= count; period++) {
        struct mp_period best = longest(items, count, period);

        if (best.count >= REPEATS * period && 2 * best.count >= count) {
            *stretch = best.count;
            return period;
        }
    }
    return 0;
}

/* Random warm-up, random period again and again, random rest, few different items. */
static uint32_t make(uint32_t *items, uint64_t *random)
{
    uint32_t period = 1 + (uint32_t)(fixture_random(random) % 9);
    uint32_t warm_up = (uint32_t)(fixture_random(random) % 20);
    uint32_t middle = (uint32_t)(fixture_random(random) % 40);
    uint32_t rest = (uint32_t)(fixture_random(random) % 10);
    uint32_t count = 0;

    while (count < warm_up + period)
        items[count++] = (uint32_t)(fixture_random(random) % 3);
    for (uint32_t i = 0; i < middle; i++, count++)
        items[count] = items[count - period];
    for (uint32_t i = 0; i < rest; i++)
        items[count++] = (uint32_t)(fixture_random(random) % 3);
    return count;
}

static void random_sequences(void **state)
{
    uint64_t random = 4;
    unsigned with_period = 0;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        uint32_t items[128];
        uint32_t stretch = 0;
        uint32_t count = make(items, &random);
        uint32_t expected = slow_period(items, count, &stretch);
        struct mp_period found;

        assert_int_equal(mp_period_find(items, count, REPEATS, &found), MP_OK);
        assert_int_equal(found.period, expected);
        assert_int_equal(found.count, stretch);
        for (uint32_t i = found.period; i < found.count; i++)
            assert_int_equal(items[found.first + i], items[found.first + i - found.period]);
        with_period += expected != 0;
    }
    assert_in_range(with_period, 5000, 19000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sequences),
        cmocka_unit_test(random_sequences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
