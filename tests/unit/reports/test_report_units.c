/* Units of tables: nvprof's -u, sizes and throughput, and columns that are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/json.h"
#include "table/inside.h"

static char *output;
static size_t output_size;

static FILE *begin_output(void)
{
    FILE *out = open_memstream(&output, &output_size);

    assert_non_null(out);
    return out;
}

static void assert_output(FILE *out, const char *expected)
{
    fclose(out);
    assert_string_equal(output, expected);
    free(output);
    output = NULL;
}

static void print_table(FILE *out, enum report_format format, enum report_units units,
                        const struct report_column *columns, size_t count,
                        const struct report_cell *cells, size_t rows)
{
    struct report_out to = {.file = out, .format = format, .units = units, .nvprof = true};
    struct report_table table;
    struct json_writer json;

    json_begin(&json, out, 0);
    report_open(&table, &to, &(struct report_layout){.columns = columns, .count = count});
    table.json = &json;
    for (size_t i = 0; i < rows; i++)
        report_measure_units(&table, cells + i * count);
    report_header(&table);
    for (size_t i = 0; i < rows; i++)
        report_row(&table, cells + i * count);
}

/* ---- The summary, with nvprof's own numbers ---- */

static const struct report_column summary[] = {
    {.title = "Type", .kind = REPORT_CELL_GROUP, .width = 16},
    {.title = "Time(%)", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7},
    {.title = "Time", .key = "time", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Calls", .key = "calls", .kind = REPORT_CELL_COUNT, .width = 8},
    {.title = "Avg", .key = "avg", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Min", .key = "min", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Max", .key = "max", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 4},
};

static void print_summary(FILE *out, enum report_format format, enum report_units units)
{
    const struct report_cell cells[] = {
        report_text_cell("GPU activities"), report_real_cell(31.502737),
        report_number_cell(35458635),       report_number_cell(20),
        report_real_cell(1772931.4),        report_number_cell(1088),
        report_number_cell(33177568),       report_text_cell("[CUDA memcpy HtoD]"),
    };

    print_table(out, format, units, summary, 8, cells, 1);
}

#define SUMMARY_HEADER                                                                             \
    "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n"

static void a_fixed_unit_leaves_the_cells_for_a_row_of_its_own(void **state)
{
    FILE *out = begin_output();

    (void)state;
    print_summary(out, REPORT_TEXT, REPORT_UNITS_MS);
    assert_output(out, SUMMARY_HEADER
                  "                        %        ms                  ms        ms        ms\n"
                  " GPU activities:    31.50  35.45864        20  1.772931  1.09e-03  33.17757"
                  "  [CUDA memcpy HtoD]\n");
}

static void numbers_that_do_not_fit_take_their_exponent_form(void **state)
{
    FILE *out = begin_output();

    (void)state;
    print_summary(out, REPORT_TEXT, REPORT_UNITS_NS);
    assert_output(out, SUMMARY_HEADER
                  "                        %        ns                  ns        ns        ns\n"
                  " GPU activities:    31.50  3.55e+07        20  1.77e+06  1.09e+03  3.32e+07"
                  "  [CUDA memcpy HtoD]\n");
}

static void a_column_has_the_unit_of_its_greatest_value(void **state)
{
    FILE *out = begin_output();

    (void)state;
    print_summary(out, REPORT_TEXT, REPORT_UNITS_COLUMN);
    assert_output(out, SUMMARY_HEADER
                  "                        %        ms                  ms        us        ms\n"
                  " GPU activities:    31.50  35.45864        20  1.772931  1.088000  33.17757"
                  "  [CUDA memcpy HtoD]\n");
}

static void a_fixed_unit_replaces_the_measured_one_in_csv(void **state)
{
    FILE *out = begin_output();

    (void)state;
    print_summary(out, REPORT_CSV, REPORT_UNITS_US);
    print_summary(out, REPORT_CSV, REPORT_UNITS_COLUMN);
    assert_output(out, "\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n"
                       ",%,us,,us,us,us,\n"
                       "\"GPU activities\",31.502737,35458.635000,20,1772.931400,1.088000,"
                       "33177.568000,\"[CUDA memcpy HtoD]\"\n"
                       "\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n"
                       ",%,ms,,ms,us,ms,\n"
                       "\"GPU activities\",31.502737,35.458635,20,1.772931,1.088000,33.177568,"
                       "\"[CUDA memcpy HtoD]\"\n");
}

static void json_keeps_nanoseconds(void **state)
{
    FILE *out = begin_output();

    (void)state;
    print_summary(out, REPORT_JSON, REPORT_UNITS_S);
    assert_output(out, "{\"percent\": 31.502737, \"time\": 35458635, \"calls\": 20,"
                       " \"avg\": 1772931.4, \"min\": 1088, \"max\": 33177568,"
                       " \"name\": \"[CUDA memcpy HtoD]\"}\n");
}

static void a_change_keeps_its_sign(void **state)
{
    static const struct report_column column[] = {
        {.title = "Change", .kind = REPORT_CELL_CHANGE, .width = 9}};
    const struct report_cell cells[] = {report_number_cell((uint64_t)-1500),
                                        report_number_cell(2629210000), report_number_cell(0)};
    FILE *out = begin_output();

    (void)state;
    print_table(out, REPORT_TEXT, REPORT_UNITS_MS, column, 1, cells, 3);
    assert_output(out, "   Change\n       ms\n-1.50e-03\n+2.63e+03\n 0.000000\n");
}

static void the_options_of_nvprof_are_known(void **state)
{
    static const char *const texts[] = {"auto", "col", "ns", "us", "ms", "s"};
    enum report_units units;

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        assert_true(report_units_parse(texts[i], &units));
        assert_int_equal(units, i);
    }
    assert_false(report_units_parse("minutes", &units));
    assert_false(report_units_parse("", &units));
}

/* ---- Sizes and throughput: 112 bytes in 1376 ns, of the reference's GPU trace, and 1 MB ---- */

static const struct report_column sizes[] = {
    {.title = "Size", .key = "bytes", .kind = REPORT_CELL_BYTES, .width = 8, .scaled = true},
    {.title = "Throughput",
     .key = "bytes_per_second",
     .kind = REPORT_CELL_THROUGHPUT,
     .width = 10,
     .scaled = true},
    {.title = "Plain", .key = "plain", .kind = REPORT_CELL_BYTES, .width = 8},
};

static void print_sizes(FILE *out, enum report_format format, enum report_units units)
{
    const struct report_cell cells[] = {
        report_number_cell(112),     report_real_cell(112e9 / 1376), report_number_cell(112),
        report_number_cell(1048576), report_real_cell(5e9),          report_number_cell(1048576),
        report_absent_cell(),        report_absent_cell(),           report_absent_cell(),
    };

    print_table(out, format, units, sizes, 3, cells, 3);
}

static void sizes_have_their_units_in_text(void **state)
{
    FILE *out = begin_output();

    (void)state;
    print_sizes(out, REPORT_TEXT, REPORT_UNITS_AUTO);
    assert_output(out, "    Size  Throughput     Plain\n"
                       "    112B  77.625MB/s      112B\n"
                       "1.0000MB  4.6566GB/s  1.0000MB\n"
                       "       -           -         -\n");
}

static void scaled_sizes_have_one_unit_a_column_in_csv(void **state)
{
    FILE *out = begin_output();

    (void)state;
    print_sizes(out, REPORT_CSV, REPORT_UNITS_AUTO);
    assert_output(out, "\"Size\",\"Throughput\",\"Plain\"\n"
                       "MB,GB/s,B\n"
                       "0.000107,0.075805,112\n"
                       "1.000000,4.656613,1048576\n"
                       ",,\n");
}

static void sizes_lose_their_units_with_a_fixed_one_for_times(void **state)
{
    FILE *out = begin_output();

    (void)state;
    print_sizes(out, REPORT_TEXT, REPORT_UNITS_S);
    assert_output(out, "    Size  Throughput     Plain\n"
                       "      MB        GB/s        MB\n"
                       "1.07e-04    0.075805  1.07e-04\n"
                       "1.000000    4.656613  1.000000\n"
                       "       -           -         -\n");
}

static void json_has_bytes(void **state)
{
    const struct report_cell cells[] = {report_number_cell(112), report_real_cell(0.5),
                                        report_number_cell(1048576)};
    FILE *out = begin_output();

    (void)state;
    print_table(out, REPORT_JSON, REPORT_UNITS_AUTO, sizes, 3, cells, 1);
    assert_output(out, "{\"bytes\": 112, \"bytes_per_second\": 0.5, \"plain\": 1048576}\n");
}

/* nvprof shows 15 characters of a device's name. */
static void a_column_that_is_cut_keeps_its_width(void **state)
{
    static const struct report_column columns[] = {
        {.title = "Device", .kind = REPORT_CELL_TEXT, .width = 15, .cut = true},
        {.title = "Name", .kind = REPORT_CELL_TEXT, .width = 4},
    };
    const struct report_cell cells[] = {
        report_text_cell("NVIDIA GeForce RTX 3090 (0)"),
        report_text_cell("a"),
        report_text_cell("TITAN V (0)"),
        report_text_cell("b"),
        report_text_cell("Gr\xc3\xa4\xc3\x9f\x65 0123456789 (1)"),
        report_text_cell("c"),
    };
    FILE *out = begin_output();

    (void)state;
    print_table(out, REPORT_TEXT, REPORT_UNITS_AUTO, columns, 2, cells, 3);
    print_table(out, REPORT_CSV, REPORT_UNITS_AUTO, columns, 2, cells, 1);
    assert_output(out, "         Device  Name\n"
                       "NVIDIA GeForce      a\n"
                       "    TITAN V (0)     b\n"
                       "Gr\xc3\xa4\xc3\x9f\x65 012345678     c\n"
                       "\"Device\",\"Name\"\n"
                       "\"NVIDIA GeForce RTX 3090 (0)\",\"a\"\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fixed_unit_leaves_the_cells_for_a_row_of_its_own),
        cmocka_unit_test(numbers_that_do_not_fit_take_their_exponent_form),
        cmocka_unit_test(a_column_has_the_unit_of_its_greatest_value),
        cmocka_unit_test(a_fixed_unit_replaces_the_measured_one_in_csv),
        cmocka_unit_test(json_keeps_nanoseconds),
        cmocka_unit_test(a_change_keeps_its_sign),
        cmocka_unit_test(the_options_of_nvprof_are_known),
        cmocka_unit_test(sizes_have_their_units_in_text),
        cmocka_unit_test(scaled_sizes_have_one_unit_a_column_in_csv),
        cmocka_unit_test(sizes_lose_their_units_with_a_fixed_one_for_times),
        cmocka_unit_test(json_has_bytes),
        cmocka_unit_test(a_column_that_is_cut_keeps_its_width),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
