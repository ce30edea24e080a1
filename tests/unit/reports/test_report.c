/* The bytes that reports are made of: nvprof's layout, CSV, JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/json.h"
#include "base/text/strings.h"
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

/* ---- Tables ---- */

static const struct report_column columns[] = {
    {.title = "Type", .kind = REPORT_CELL_GROUP, .width = 16},
    {.title = "Time(%)", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7},
    {.title = "Time", .key = "time", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Avg", .key = "avg", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define COLUMNS (sizeof columns / sizeof *columns)

static void begin_table(struct report_table *table, FILE *out, enum report_format format,
                        const struct report_column *first, size_t count)
{
    struct report_out to = {.file = out, .format = format, .nvprof = true};

    report_open(table, &to, &(struct report_layout){.columns = first, .count = count});
}

static void print_rows(struct report_table *table,
                       void (*take)(struct report_table *, const struct report_cell *))
{
    const struct report_cell rows[][COLUMNS] = {
        {report_text_cell("GPU activities"), report_real_cell(31.502737),
         report_number_cell(35458635), report_real_cell(1772931.75), report_text_cell("A")},
        {report_text_cell("GPU activities"), report_real_cell(0.001), report_number_cell(999),
         report_absent_cell(), report_text_cell("say \"hi\"\n")},
        {report_text_cell("API calls"), report_real_cell(100), report_number_cell(3108100000),
         report_real_cell(0.4), report_text_cell("cudaFree")},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        take(table, rows[i]);
}

static void text_has_nvprofs_layout(void **state)
{
    struct report_table table;
    FILE *out = begin_output();

    (void)state;
    begin_table(&table, out, REPORT_TEXT, columns, COLUMNS);
    report_header(&table);
    print_rows(&table, report_row);
    assert_output(out, "            Type  Time(%)      Time       Avg  Name\n"
                       " GPU activities:   31.50%  35.459ms  1.7729ms     A\n"
                       "                    0.00%     999ns         -  say \"hi\"?\n"
                       "      API calls:  100.00%  3.10810s       0ns  cudaFree\n");
}

static void csv_has_one_unit_a_column(void **state)
{
    struct report_table table;
    FILE *out = begin_output();

    (void)state;
    begin_table(&table, out, REPORT_CSV, columns, COLUMNS);
    print_rows(&table, report_measure);
    report_header(&table);
    print_rows(&table, report_row);
    assert_output(out, "\"Type\",\"Time(%)\",\"Time\",\"Avg\",\"Name\"\n"
                       ",%,s,ms,\n"
                       "\"GPU activities\",31.502737,0.035459,1.772932,\"A\"\n"
                       "\"GPU activities\",0.001000,0.000001,,\"say \"\"hi\"\"?\"\n"
                       "\"API calls\",100.000000,3.108100,0.000000,\"cudaFree\"\n");
}

/* nvprof's dependency analysis, and changes against another run. */
static void times_can_have_six_decimals(void **state)
{
    static const struct report_column precise[] = {
        {.title = "Critical path",
         .key = "critical_ns",
         .kind = REPORT_CELL_TIME,
         .decimals = true},
        {.title = "Mean", .key = "mean_ns", .kind = REPORT_CELL_MEAN, .decimals = true},
        {.title = "Difference",
         .key = "difference_ns",
         .kind = REPORT_CELL_CHANGE,
         .decimals = true},
    };
    const struct report_cell rows[][3] = {
        {report_number_cell(647659179), report_real_cell(4587.5), report_number_cell(0)},
        {report_number_cell(909), report_real_cell(0.25), report_number_cell((uint64_t)-1500)},
        {report_number_cell(0), report_real_cell(999), report_number_cell(2629210000)},
    };
    static const enum report_format formats[] = {REPORT_TEXT, REPORT_CSV, REPORT_JSON};
    FILE *out = begin_output();

    (void)state;
    for (size_t format = 0; format < 3; format++) {
        struct report_table table;
        struct json_writer json;
        json_begin(&json, out, 0);
        begin_table(&table, out, formats[format], precise, 3);
        table.json = &json;
        for (size_t i = 0; i < 3; i++)
            report_measure(&table, rows[i]);
        report_header(&table);
        for (size_t i = 0; i < 3; i++)
            report_row(&table, rows[i]);
    }
    assert_output(out, "Critical path        Mean   Difference\n"
                       " 647.659179ms  4.588000us          0ns\n"
                       "        909ns         0ns  -1.500000us\n"
                       "          0ns       999ns   +2.629210s\n"
                       "\"Critical path\",\"Mean\",\"Difference\"\n"
                       "ms,us,s\n"
                       "647.659179,4.587500,0.000000\n"
                       "0.000909,0.000250,-0.000002\n"
                       "0.000000,0.999000,2.629210\n"
                       "{\"critical_ns\": 647659179, \"mean_ns\": 4587.5, \"difference_ns\": 0}\n"
                       "{\"critical_ns\": 909, \"mean_ns\": 0.25, \"difference_ns\": -1500}\n"
                       "{\"critical_ns\": 0, \"mean_ns\": 999, \"difference_ns\": 2629210000}\n");
}

static void json_rows_hold_whole_nanoseconds(void **state)
{
    struct report_table table;
    struct json_writer json;
    FILE *out = begin_output();

    (void)state;
    json_begin(&json, out, 0);
    report_open_json(&table, &json, &(struct report_layout){.columns = columns, .count = COLUMNS});
    report_header(&table);
    print_rows(&table, report_row);
    assert_output(
        out, "{\"percent\": 31.502737, \"time\": 35458635, \"avg\": 1772931.75, \"name\": \"A\"}\n"
             "{\"percent\": 0.001, \"time\": 999, \"avg\": null, \"name\": \"say \\\"hi\\\"\\n\"}\n"
             "{\"percent\": 100, \"time\": 3108100000, \"avg\": 0.4, \"name\": \"cudaFree\"}\n");
}

static void columns_widen_to_what_was_measured(void **state)
{
    static const struct report_column narrow[] = {
        {.title = "id", .kind = REPORT_CELL_HEX},
        {.title = "n", .kind = REPORT_CELL_SIGNED},
        {.title = "name", .kind = REPORT_CELL_TEXT, .left = true},
        {.title = "on", .kind = REPORT_CELL_BOOL},
    };
    const struct report_cell cells[] = {report_number_cell(0xabcdef),
                                        report_number_cell((uint64_t)-5),
                                        report_text_cell("na\xc3\xafve"), report_number_cell(1)};
    struct report_table table;
    FILE *out = begin_output();

    (void)state;
    begin_table(&table, out, REPORT_TEXT, narrow, 4);
    report_measure(&table, cells);
    report_header(&table);
    report_row(&table, cells);
    assert_output(out, "      id   n  name    on\n"
                       "0xabcdef  -5  na\xc3\xafve  yes\n");
}

static void text_moves_no_cursor(void **state)
{
    static const struct report_column one[] = {{.title = "Name", .kind = REPORT_CELL_TEXT}};
    const struct report_cell cells[] = {
        report_text_cell("\x1b[31mred\x07\xff\xc2\x9b \xe2\x82\xac")};
    struct report_table table;
    FILE *out = begin_output();

    (void)state;
    begin_table(&table, out, REPORT_TEXT, one, 1);
    report_row(&table, cells);
    assert_output(out, "?[31mred??? \xe2\x82\xac\n");
}

/* ---- JSON ---- */

static void json_documents_are_nested_and_escaped(void **state)
{
    struct json_writer json;
    FILE *out = begin_output();

    (void)state;
    json_open_document(&json, out, 1);
    JSON_FACTS(&json, FACT("a\tb", "\x01\x7f/\\\xff\xe2\x82\xac"));
    json_key_array(&json, "list");
    json_number(&json, UINT64_MAX);
    json_signed(&json, INT64_MIN);
    json_real(&json, NAN);
    json_bool(&json, true);
    json_close_array(&json);
    json_key_object(&json, "empty");
    json_close_object(&json);
    JSON_FACTS(&json, FACT("none", (const char *)NULL));
    json_close_document(&json);
    assert_output(out, "{\n"
                       "  \"a\\tb\": \"\\u0001\\u007f/\\\\\\ufffd\xe2\x82\xac\",\n"
                       "  \"list\": [18446744073709551615, -9223372036854775808, null, true],\n"
                       "  \"empty\": {},\n"
                       "  \"none\": null\n"
                       "}\n");
}

static void facts_are_written_by_the_types_of_their_values(void **state)
{
    const uint64_t numbers[] = {1, UINT64_MAX};
    const char *text = "text";
    bool flag = false;
    char line[] = "";
    struct json_writer json;
    FILE *out = begin_output();

    (void)state;
    json_open_document(&json, out, 0);
    JSON_FACTS(&json, FACT("u8", (uint8_t)255), FACT("u64", UINT64_MAX),
               FACT("size", sizeof json.lines), FACT("i64", INT64_MIN), FACT("real", 0.5),
               FACT("none", (double)NAN), FACT("bool", flag), FLAG("flag", text != NULL),
               FACT("text", text), FACT("line", line), FACT_IF("known", *text, text),
               FACT_IF("unknown", *line, line));
    JSON_KEY_OBJECT(&json, "object", FACT("i", numbers[0]));
    json_key_numbers(&json, "numbers", numbers, 2);
    json_key_numbers(&json, "no_numbers", NULL, 0);
    json_close_document(&json);
    assert_output(out, "{\"u8\": 255, \"u64\": 18446744073709551615, \"size\": 4, "
                       "\"i64\": -9223372036854775808, \"real\": 0.5, \"none\": null, "
                       "\"bool\": false, \"flag\": true, \"text\": \"text\", \"line\": \"\", "
                       "\"known\": \"text\", \"unknown\": null, \"object\": {\"i\": 1}, "
                       "\"numbers\": [1, 18446744073709551615], \"no_numbers\": []}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_nvprofs_layout),
        cmocka_unit_test(csv_has_one_unit_a_column),
        cmocka_unit_test(times_can_have_six_decimals),
        cmocka_unit_test(json_rows_hold_whole_nanoseconds),
        cmocka_unit_test(columns_widen_to_what_was_measured),
        cmocka_unit_test(text_moves_no_cursor),
        cmocka_unit_test(json_documents_are_nested_and_escaped),
        cmocka_unit_test(facts_are_written_by_the_types_of_their_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
