/* Tables as a person looks at them: fitted to a width, sorted, cut, folded, with short names. What
 * is expected is counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/inside.h"

static const struct report_column columns[] = {
    {.title = "Type", .kind = REPORT_CELL_GROUP, .width = 16},
    {.title = "Time(%)", .kind = REPORT_CELL_PERCENT, .width = 7, .share = true},
    {.title = "Time", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Min", .kind = REPORT_CELL_TIME, .width = 8, .drop = 2},
    {.title = "Calls", .kind = REPORT_CELL_COUNT, .width = 8},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define COLUMNS (sizeof columns / sizeof *columns)

static char *output;
static size_t output_bytes;

/* A row: part, percent, ns, least ns, calls, name. */
struct row {
    const char *part;
    double percent;
    uint64_t time, min, calls;
    const char *name;
};

static void take_rows(struct report_table *table, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[512]; /* texts of cells live no longer than the call */
        struct report_cell cells[COLUMNS];

        snprintf(name, sizeof name, "%s", rows[i].name);
        cells[0] = report_text_cell(rows[i].part);
        cells[1] = report_real_cell(rows[i].percent);
        cells[2] = report_number_cell(rows[i].time);
        cells[3] = report_number_cell(rows[i].min);
        cells[4] = report_number_cell(rows[i].calls);
        cells[5] = report_text_cell(name);
        report_row(table, cells);
    }
}

static void print(struct report_view *view, enum report_format format, const struct row *rows,
                  size_t count)
{
    FILE *out = open_memstream(&output, &output_bytes);
    struct report_out to = {.file = out, .format = format, .view = view};
    struct report_table table;

    assert_non_null(out);
    report_open(&table, &to, &(struct report_layout){.columns = columns, .count = COLUMNS});
    report_header(&table);
    take_rows(&table, rows, count);
    report_end(&table);
    fclose(out);
}

static void assert_output(const char *expected)
{
    assert_string_equal(output, expected);
    free(output);
    output = NULL;
}

static const struct row some[] = {
    {"GPU", 60, 6000, 10, 3, "void first_kernel<float>(float const*, int)"},
    {"GPU", 40, 4000, 20, 1, "second"},
    {"API", 100, 100, 30, 2, "cudaLaunchKernel"},
};

#define SOME (sizeof some / sizeof *some)

/* ---- Width ---- */

static void a_view_without_settings_changes_nothing(void **state)
{
    struct report_view view = {.width = 0};
    char *without;

    (void)state;
    print(NULL, REPORT_TEXT, some, SOME);
    without = output;
    print(&view, REPORT_TEXT, some, SOME);
    assert_string_equal(output, without);
    free(without);
    free(output);
}

static void a_wide_terminal_shows_all(void **state)
{
    struct report_view view = {.width = 100};

    (void)state;
    print(&view, REPORT_TEXT, some, SOME);
    assert_output("Time(%)     Time   Min  Calls  Name\n"
                  "GPU:\n"
                  " 60.00%  6.000us  10ns      3  void first_kernel<float>(float const*, int)\n"
                  " 40.00%  4.000us  20ns      1  second\n"
                  "API:\n"
                  " 100.0%    100ns  30ns      2  cudaLaunchKernel\n");
    assert_int_equal(view.left_out.bytes, 0);
}

static void names_give_way_then_columns(void **state)
{
    struct report_view view = {.width = 48};

    (void)state;
    print(&view, REPORT_TEXT, some, SOME);
    /* 7 + 2 + 7 + 2 + 5 + 2 leave 23 for names, which keep half of the line if they need it: 24. */
    assert_output("Time(%)     Time  Name\n"
                  "GPU:\n"
                  " 60.00%  6.000us  first_kernel<float>\n"
                  " 40.00%  4.000us  second\n"
                  "API:\n"
                  " 100.0%    100ns  cudaLaunchKernel\n");
    assert_string_equal(view.left_out.text, "Min, Calls");
}

static void a_narrow_terminal_keeps_a_number_and_the_name(void **state)
{
    struct report_view view = {.width = 20};

    (void)state;
    print(&view, REPORT_TEXT, some, SOME);
    assert_output("Time(%)  Name\n"
                  "GPU:\n"
                  " 60.00%  firs...oat>\n"
                  " 40.00%  second\n"
                  "API:\n"
                  " 100.0%  cuda...rnel\n");
}

static void whole_names_stay_whole(void **state)
{
    struct report_view view = {.width = 48, .whole_names = true};

    (void)state;
    print(&view, REPORT_TEXT, some, 1);
    assert_output("Time(%)     Time  Name\n"
                  "GPU:\n"
                  " 60.00%  6.000us  void first_kernel<float>(float const*, int)\n");
}

static void lines_below_a_row_stay_with_it(void **state)
{
    struct report_view view = {.width = 60, .sort = "calls"};
    struct report_out to = {.format = REPORT_TEXT, .view = &view};
    struct report_table table;

    (void)state;
    to.file = open_memstream(&output, &output_bytes);
    report_open(&table, &to, &(struct report_layout){.columns = columns, .count = COLUMNS});
    report_header(&table);
    take_rows(&table, &some[1], 1);
    report_below(&table, "  of second\n");
    take_rows(&table, &some[0], 1);
    report_end(&table);
    fclose(to.file);
    assert_true(strstr(output, "second\n  of second\n") > strstr(output, "first"));
    free(output);
}

/* ---- Sorting and cutting ---- */

static void sorting_stays_within_parts(void **state)
{
    struct report_view view = {.sort = "-Time"};

    (void)state;
    print(&view, REPORT_CSV, some, SOME);
    assert_true(strstr(output, "second") < strstr(output, "first"));
    assert_true(strstr(output, "first") < strstr(output, "cudaLaunchKernel"));
    assert_true(view.sorted);
    free(output);
}

static void equal_rows_keep_their_order(void **state)
{
    static const struct row equal[] = {
        {"GPU", 1, 5, 1, 7, "b"}, {"GPU", 1, 5, 1, 7, "a"}, {"GPU", 1, 6, 1, 7, "c"}};
    struct report_view view = {.sort = "time"};

    (void)state;
    print(&view, REPORT_CSV, equal, 3);
    assert_true(strstr(output, "\"c\"") < strstr(output, "\"b\""));
    assert_true(strstr(output, "\"b\"") < strstr(output, "\"a\""));
    free(output);
}

static void names_are_sorted_by_letters(void **state)
{
    struct report_view view = {.sort = "name"};

    (void)state;
    print(&view, REPORT_CSV, some, 2);
    assert_true(strstr(output, "second") < strstr(output, "void first"));
    free(output);
}

static void an_unknown_column_is_remembered_with_those_that_there_are(void **state)
{
    struct report_view view = {.sort = "Tyme"};

    (void)state;
    print(&view, REPORT_CSV, some, SOME);
    assert_false(view.sorted);
    assert_string_equal(view.titles.text, "Type, Time(%), Time, Min, Calls, Name");
    free(output);
}

static void the_first_rows_of_each_part(void **state)
{
    struct report_view view = {.top = 1, .width = 100};

    (void)state;
    print(&view, REPORT_TEXT, some, SOME);
    assert_non_null(strstr(output, "first_kernel"));
    assert_null(strstr(output, "second"));
    assert_non_null(strstr(output, "cudaLaunchKernel"));
    free(output);
}

static void the_first_of_many_rows_in_another_order(void **state)
{
    enum { ROWS = 20000 };
    struct row *many = calloc(ROWS, sizeof *many);
    struct report_view view = {.top = 2, .sort = "Calls"};

    (void)state;
    assert_non_null(many);
    for (size_t i = 0; i < ROWS; i++)
        many[i] = (struct row){"GPU", 1, 1, 1, (i * 7919) % ROWS, i % 2 ? "odd" : "even"};
    print(&view, REPORT_CSV, many, ROWS);
    assert_non_null(strstr(output, ",19999,"));
    assert_non_null(strstr(output, ",19998,"));
    assert_null(strstr(output, ",19997,"));
    free(many);
    free(output);
}

/* ---- Folding ---- */

static void rows_of_nothing_become_one_line(void **state)
{
    static const struct row rows[] = {{"GPU", 99.99, 5, 1, 7, "a"},
                                      {"GPU", 0.004, 5, 1, 7, "b"},
                                      {"GPU", 0.0049, 5, 1, 7, "c"},
                                      {"API", 0.001, 5, 1, 7, "one alone"}};
    struct report_view view = {.width = 100};

    (void)state;
    print(&view, REPORT_TEXT, rows, 4);
    assert_output("Time(%)  Time  Min  Calls  Name\n"
                  "GPU:\n"
                  " 99.99%   5ns  1ns      7  a\n"
                  "and 2 more rows of under 0.01 %\n"
                  "API:\n"
                  "  0.00%   5ns  1ns      7  one alone\n");
}

static void what_was_asked_for_is_not_folded(void **state)
{
    static const struct row rows[] = {{"GPU", 0, 5, 1, 7, "b"}, {"GPU", 0, 5, 1, 7, "c"}};
    struct report_view view = {.width = 100, .top = 5};

    (void)state;
    print(&view, REPORT_TEXT, rows, 2);
    assert_null(strstr(output, "more rows"));
    free(output);
}

/* ---- Long tables ---- */

static void long_tables_are_fitted_to_their_first_rows(void **state)
{
    static const struct report_column trace[] = {
        {.title = "Start", .kind = REPORT_CELL_TIME},
        {.title = "Name", .kind = REPORT_CELL_TEXT},
    };
    struct report_view view = {.width = 40};
    struct report_out to = {.format = REPORT_TEXT, .view = &view};
    struct report_table table;
    char *line;

    (void)state;
    to.file = open_memstream(&output, &output_bytes);
    report_open(&table, &to, &(struct report_layout){.columns = trace, .count = 2});
    report_header(&table);
    for (uint64_t i = 0; i < 5000; i++) {
        const struct report_cell cells[] = {
            report_number_cell(i < 4500 ? i % 10 : i * 1000003),
            report_text_cell("a_name_that_is_longer_than_the_line_of_this_terminal"),
        };

        report_row(&table, cells);
    }
    report_end(&table);
    fclose(to.file);
    for (line = output; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 40);
    free(output);
}

/* ---- Names ---- */

static void assert_short(const char *name, size_t width, const char *expected)
{
    char buffer[REPORT_SHORTENED_BYTES];
    size_t bytes = strlen(name);
    const char *text = report_shorten(name, &bytes, width, buffer, sizeof buffer);

    assert_int_equal(bytes, strlen(expected));
    assert_memory_equal(text, expected, bytes);
    assert_true(report_columns_of(text, bytes) <= width);
}

static void names_lose_what_says_least(void **state)
{
    (void)state;
    assert_short("short", 5, "short");
    assert_short("0123456789", 9, "012...789");
    assert_short("void f<int>(float*, int)", 10, "f<int>");
    assert_short("void f<int>(float*, int) [12]", 12, "f<int> [12]");
    assert_short("NVIDIA H100 80GB HBM3 (0)", 20, "NVIDIA H1...HBM3 (0)");
    assert_short("ns::(anonymous namespace)::kernel", 17, "ns::(an...:kernel");
    assert_short("a [x]bcdefgh", 8, "a [...gh");
}

static void wide_characters_take_two_columns(void **state)
{
    (void)state;
    assert_int_equal(report_columns_of("\xe5\xb1\x82\xe5\xb1\x82", 6), 4);
    assert_int_equal(report_columns_of("e\xcc\x81", 3), 1);
    assert_int_equal(report_columns_of("\xff\xfe", 2), 2);
    assert_short("\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82", 7,
                 "\xe5\xb1\x82...\xe5\xb1\x82");
}

static void titles_are_remembered_once_and_as_far_as_there_is_room(void **state)
{
    struct report_titles titles = {.bytes = 0};
    char title[32];

    (void)state;
    report_titles_add(&titles, "Time");
    report_titles_add(&titles, "Time(%)");
    report_titles_add(&titles, "Time");
    report_titles_add(&titles, "");
    assert_string_equal(titles.text, "Time, Time(%)");
    for (int i = 0; i < 100; i++) {
        snprintf(title, sizeof title, "a title of its own %d", i);
        report_titles_add(&titles, title);
    }
    assert_true(titles.full);
    assert_true(strlen(titles.text) < sizeof titles.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_without_settings_changes_nothing),
        cmocka_unit_test(a_wide_terminal_shows_all),
        cmocka_unit_test(names_give_way_then_columns),
        cmocka_unit_test(a_narrow_terminal_keeps_a_number_and_the_name),
        cmocka_unit_test(whole_names_stay_whole),
        cmocka_unit_test(lines_below_a_row_stay_with_it),
        cmocka_unit_test(sorting_stays_within_parts),
        cmocka_unit_test(equal_rows_keep_their_order),
        cmocka_unit_test(names_are_sorted_by_letters),
        cmocka_unit_test(an_unknown_column_is_remembered_with_those_that_there_are),
        cmocka_unit_test(the_first_rows_of_each_part),
        cmocka_unit_test(the_first_of_many_rows_in_another_order),
        cmocka_unit_test(rows_of_nothing_become_one_line),
        cmocka_unit_test(what_was_asked_for_is_not_folded),
        cmocka_unit_test(long_tables_are_fitted_to_their_first_rows),
        cmocka_unit_test(names_lose_what_says_least),
        cmocka_unit_test(wide_characters_take_two_columns),
        cmocka_unit_test(titles_are_remembered_once_and_as_far_as_there_is_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
