/* Tables for a person when memory is out, at each allocation in turn: no row is lost, though the
 * table may then be neither fitted nor sorted. malloc and its kin are wrapped (tests/tests.mk).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/inside.h"
#include "unit/failing_malloc.h"

#define ROWS 200

static const struct report_column columns[] = {
    {.title = "Calls", .kind = REPORT_CELL_COUNT},
    {.title = "Name", .kind = REPORT_CELL_TEXT},
};

static size_t lines_of(FILE *file)
{
    size_t lines = 0;

    rewind(file);
    for (int c = fgetc(file); c != EOF; c = fgetc(file))
        lines += c == '\n';
    return lines;
}

static void print(FILE *out, struct report_view *view)
{
    struct report_out to = {.file = out, .format = REPORT_TEXT, .view = view};
    struct report_table table;

    report_open(&table, &to, &(struct report_layout){.columns = columns, .count = 2});
    report_header(&table);
    for (uint64_t i = 0; i < ROWS; i++) {
        char name[32];
        struct report_cell cells[2];

        snprintf(name, sizeof name, "kernel_%d", (int)i);
        cells[0] = report_number_cell(i);
        cells[1] = report_text_cell(name);
        report_row(&table, cells);
    }
    report_end(&table);
}

static void no_row_is_lost(void **state)
{
    unsigned failing = 1;
    bool failed = true;

    (void)state;
    for (; failed; failing++) {
        struct report_view view = {.width = 80, .sort = "Calls"};
        FILE *out = tmpfile();

        assert_non_null(out);
        countdown = failing;
        print(out, &view);
        failed = countdown == 0;
        countdown = 0;
        assert_int_equal(lines_of(out), ROWS + 1);
        fclose(out);
    }
    assert_true(failing > ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_row_is_lost)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
