/* align_sequences: pairs of equal items, in order, as many as the table of all pairs says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "profile/common/align.h"

enum { MAX = 120 };

static uint32_t seed = 1;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* The longest common subsequence, by the table of all pairs of positions. */
static size_t most_pairs(const uint32_t *left, size_t n, const uint32_t *right, size_t m)
{
    static size_t best[MAX + 1][MAX + 1];

    memset(best, 0, sizeof best);
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            size_t without = best[i - 1][j] > best[i][j - 1] ? best[i - 1][j] : best[i][j - 1];
            size_t with = left[i - 1] == right[j - 1] ? best[i - 1][j - 1] + 1 : 0;

            best[i][j] = with > without ? with : without;
        }
    return best[n][m];
}

/* Every item once and in order, only equal ones paired; returns how many pairs. */
static size_t check_pairs(const uint32_t *left, size_t n, const uint32_t *right, size_t m,
                          const struct align_pair *pairs, size_t count)
{
    size_t i = 0, j = 0, paired = 0;

    for (size_t at = 0; at < count; at++) {
        const struct align_pair *pair = &pairs[at];

        if (pair->left != ALIGN_NONE)
            assert_int_equal(pair->left, i++);
        if (pair->right != ALIGN_NONE)
            assert_int_equal(pair->right, j++);
        if (pair->left == ALIGN_NONE || pair->right == ALIGN_NONE)
            continue;
        assert_int_equal(left[pair->left], right[pair->right]);
        paired++;
    }
    assert_int_equal(i, n);
    assert_int_equal(j, m);
    return paired;
}

static size_t align(const uint32_t *left, size_t n, const uint32_t *right, size_t m)
{
    struct align_pair *pairs;
    size_t count, paired;

    assert_int_equal(align_sequences(left, n, right, m, &pairs, &count), MP_OK);
    paired = check_pairs(left, n, right, m, pairs, count);
    free(pairs);
    return paired;
}

static void random_sequences_are_paired_as_well_as_can_be(void **state)
{
    uint32_t left[MAX], right[MAX];

    (void)state;
    for (int round = 0; round < 3000; round++) {
        uint32_t letters = 1 + any(round % 2 ? 4 : 40);
        size_t n = any(MAX + 1), m = any(MAX + 1);

        for (size_t i = 0; i < n; i++)
            left[i] = any(letters);
        for (size_t i = 0; i < m; i++)
            right[i] = round % 3 && i < n ? left[i] : any(letters);
        for (size_t i = 0; m && i < 3; i++)
            right[any((uint32_t)m)] = any(letters);
        assert_int_equal(align(left, n, right, m), most_pairs(left, n, right, m));
    }
}

static void what_is_empty_has_no_pairs(void **state)
{
    const uint32_t items[] = {1, 2};

    (void)state;
    assert_int_equal(align(items, 0, items, 0), 0);
    assert_int_equal(align(items, 2, items, 0), 0);
    assert_int_equal(align(items, 0, items, 2), 0);
    assert_int_equal(align(items, 2, items, 2), 2);
}

/* More differences than it looks for: nothing between the equal ends is paired. */
static void patience_ends(void **state)
{
    static uint32_t left[3 * ALIGN_PATIENCE], right[3 * ALIGN_PATIENCE];
    const size_t count = 3 * (size_t)ALIGN_PATIENCE;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        left[i] = 2 * (uint32_t)i;
        right[i] = 2 * (uint32_t)i + 1;
    }
    right[0] = left[0];
    right[count / 2] = left[count / 2];
    right[count - 1] = left[count - 1];
    assert_int_equal(align(left, count, right, count), 2);
}

static void too_many_items_are_refused(void **state)
{
    struct align_pair *pairs = (void *)&pairs;
    size_t count = 1;

    (void)state;
    assert_int_equal(align_sequences(NULL, (size_t)ALIGN_MAX + 1, NULL, 0, &pairs, &count),
                     MP_ERR_LIMIT);
    assert_int_equal(align_sequences(NULL, 1, NULL, ALIGN_MAX, &pairs, &count), MP_ERR_LIMIT);
    assert_null(pairs);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sequences_are_paired_as_well_as_can_be),
        cmocka_unit_test(what_is_empty_has_no_pairs),
        cmocka_unit_test(patience_ends),
        cmocka_unit_test(too_many_items_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
