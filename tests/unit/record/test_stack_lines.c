/* Lines of instructions, by tables of each version that were written down by hand from CPython's
 * description of the format; and any bytes as a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record/stacks/python.h"

#define FIRST 10u

static uint32_t line(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t at)
{
    return lines_of(kind, table, bytes, FIRST, at);
}

/* 4 bytes of line 10, 6 of line 12, 300 of line 11, then line 141 (127 and 3 more). */
static void pairs_say_by_how_much_it_goes_on(void **state)
{
    static const uint8_t table[] = {4, 2, 6, 0xff, 255, 0, 45, 127, 0, 3};

    (void)state;
    assert_int_equal(line(LINE_TABLE_PAIRS, table, sizeof(table), 0), 10);
    assert_int_equal(line(LINE_TABLE_PAIRS, table, sizeof(table), 3), 10);
    assert_int_equal(line(LINE_TABLE_PAIRS, table, sizeof(table), 4), 12);
    assert_int_equal(line(LINE_TABLE_PAIRS, table, sizeof(table), 9), 12);
    assert_int_equal(line(LINE_TABLE_PAIRS, table, sizeof(table), 10), 11);
    assert_int_equal(line(LINE_TABLE_PAIRS, table, sizeof(table), 309), 11);
    assert_int_equal(line(LINE_TABLE_PAIRS, table, sizeof(table), 310), 141);
}

/* Not even the first line of a function. */
static void a_table_that_was_not_kept_has_no_line(void **state)
{
    (void)state;
    assert_int_equal(line(LINE_TABLE_NONE, NULL, 0, 0), 0);
    assert_int_equal(line(LINE_TABLE_NONE, NULL, 0, 8), 0);
}

/* 4 bytes of line 10, 6 without a line, 2 of line 9. */
static void ranges_may_have_no_line(void **state)
{
    static const uint8_t table[] = {4, 0, 6, 0x80, 2, 0xff};

    (void)state;
    assert_int_equal(line(LINE_TABLE_RANGES, table, sizeof(table), 2), 10);
    assert_int_equal(line(LINE_TABLE_RANGES, table, sizeof(table), 4), 0);
    assert_int_equal(line(LINE_TABLE_RANGES, table, sizeof(table), 10), 9);
    assert_int_equal(line(LINE_TABLE_RANGES, table, sizeof(table), 12), 0);
}

#define ENTRY(code, units) (uint8_t)(128 | (code) << 3 | ((units)-1))

/* Each form of an entry: short, on the same line and two on, without columns, long, none. */
static void locations_have_five_forms(void **state)
{
    static const uint8_t table[] = {
        ENTRY(15, 1),                               /* 0: none */
        ENTRY(0, 2),  0x11,                         /* 2: line 10 */
        ENTRY(12, 1), 5,    9,                      /* 6: line 12 */
        ENTRY(13, 8), 0x07,                         /* 8: -3, so line 9 */
        ENTRY(14, 1), 0x48, 0x02, 0x01, 0x02, 0x03, /* 24: 8 and 2 * 64 halved: 68, line 77 */
        ENTRY(13, 1), 0x41, 0x40, 0x01,             /* 26: -(4097 >> 1): line -1971: none */
    };

    (void)state;
    assert_int_equal(line(LINE_TABLE_LOCATIONS, table, sizeof(table), 0), 0);
    assert_int_equal(line(LINE_TABLE_LOCATIONS, table, sizeof(table), 2), 10);
    assert_int_equal(line(LINE_TABLE_LOCATIONS, table, sizeof(table), 4), 10);
    assert_int_equal(line(LINE_TABLE_LOCATIONS, table, sizeof(table), 6), 12);
    assert_int_equal(line(LINE_TABLE_LOCATIONS, table, sizeof(table), 8), 9);
    assert_int_equal(line(LINE_TABLE_LOCATIONS, table, sizeof(table), 22), 9);
    assert_int_equal(line(LINE_TABLE_LOCATIONS, table, sizeof(table), 24), 77);
    assert_int_equal(line(LINE_TABLE_LOCATIONS, table, sizeof(table), 26), 0);
    assert_int_equal(line(LINE_TABLE_LOCATIONS, table, sizeof(table), 28), 0);
}

/* The same numbers each time. */
static uint64_t seed;

static unsigned next(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(seed >> 33);
}

/* What is read is in the table: the sanitizers see to it. */
static void any_bytes_are_a_table(void **state)
{
    (void)state;
    seed = 7;
    for (unsigned round = 0; round < 20000; round++) {
        size_t bytes = (size_t)next() % 40;
        uint8_t *table = malloc(bytes + 1);

        assert_non_null(table);
        for (size_t i = 0; i < bytes; i++)
            table[i] = (uint8_t)next();
        for (int kind = LINE_TABLE_PAIRS; kind <= LINE_TABLE_LOCATIONS; kind++) {
            uint8_t *exact = realloc(table, bytes ? bytes : 1);

            assert_non_null(exact);
            table = exact;
            lines_of((enum line_table)kind, table, bytes, next(), next() % 99);
        }
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_say_by_how_much_it_goes_on),
        cmocka_unit_test(a_table_that_was_not_kept_has_no_line),
        cmocka_unit_test(ranges_may_have_no_line),
        cmocka_unit_test(locations_have_five_forms),
        cmocka_unit_test(any_bytes_are_a_table),
    };

    return cmocka_run_group_tests_name("lines of Python", tests, NULL, NULL);
}
