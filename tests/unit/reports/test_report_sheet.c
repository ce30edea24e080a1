/* miniprof's own CSV, and JSON of several traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const struct report_column columns[] = {
    {.title = "Name", .kind = REPORT_CELL_TEXT},
    {.title = "Critical path(%)", .kind = REPORT_CELL_PERCENT},
    {.title = "GPU busy", .kind = REPORT_CELL_TIME},
    {.title = "& HtoD", .kind = REPORT_CELL_MEAN},
    {.title = "More", .key = "more_ns", .kind = REPORT_CELL_CHANGE},
    {.title = "Bytes/Row", .kind = REPORT_CELL_REAL, .unit = "B"},
    {.title = "Size", .kind = REPORT_CELL_BYTES, .scaled = true},
    {.title = "HtoD", .kind = REPORT_CELL_THROUGHPUT},
    {.title = "Address", .kind = REPORT_CELL_HEX},
    {.title = "Pipelined", .kind = REPORT_CELL_BOOL},
    {.title = "Clock", .kind = REPORT_CELL_COUNT, .unit = "kHz"},
};

#define COLUMNS (sizeof columns / sizeof *columns)
#define HEADER                                                                                     \
    "name,critical_path_percent,gpu_busy_ns,with_htod_ns,more_ns,bytes_per_row,size_bytes,"        \
    "htod_bytes_per_second,address,pipelined,clock_khz\n"

static const struct report_cell cells[COLUMNS] = {
    {.text = "a \"b\", c", .text_bytes = 8},
    {.real = 12.5},
    {.number = UINT64_C(5000000000)},
    {.real = 1.5},
    {.number = (uint64_t)-7},
    {.absent = true},
    {.number = 1 << 20},
    {.real = 4.81e12},
    {.number = 255},
    {.number = 1},
    {.number = 1980000},
};

static void print_sheet(struct report_sheet *sheet, const char *name)
{
    const struct report_out out = {.file = stderr, .format = REPORT_CSV, .sheet = sheet};
    struct report_table table;

    report_open(&table, &out, &(struct report_layout){.columns = columns, .count = COLUMNS});
    table.name = name;
    report_measure(&table, cells);
    report_header(&table);
    report_row(&table, cells);
}

static void units_stand_in_the_names_and_never_change(void **state)
{
    FILE *out = begin_output();
    struct report_sheet sheet = {.file = out};

    (void)state;
    print_sheet(&sheet, NULL);
    assert_output(out, HEADER "\"a \"\"b\"\", c\",12.500000,5000000000,1.500000,-7,,1048576,"
                              "4810000000000.000000,0xff,1,1980000\n");
}

static void several_traces_have_one_header(void **state)
{
    static const struct report_column one[] = {{.title = "Calls", .kind = REPORT_CELL_COUNT}};
    FILE *out = begin_output();
    struct report_sheet sheet = {.file = out};
    const struct report_out to = {.file = stderr, .format = REPORT_CSV, .sheet = &sheet};
    const struct report_cell cell = report_number_cell(3);

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct report_table table;

        sheet.process = i ? "rank \"1\"" : "rank 0";
        report_open(&table, &to, &(struct report_layout){.columns = one, .count = 1});
        report_header(&table);
        report_row(&table, &cell);
    }
    assert_output(out, "process,calls\n\"rank 0\",3\n\"rank \"\"1\"\"\",3\n");
}

static void one_table_is_printed_and_all_are_known(void **state)
{
    FILE *out = begin_output();
    struct report_sheet sheet = {.file = out, .wanted = "other"};

    (void)state;
    print_sheet(&sheet, NULL);
    assert_false(sheet.headed);
    print_sheet(&sheet, "other");
    assert_true(sheet.headed);
    assert_int_equal(sheet.table_count, 2);
    fclose(out);
    assert_int_equal(strncmp(output, HEADER, strlen(HEADER)), 0);
    free(output);
}

/* ---- Documents ---- */

static void put_document(struct json_documents *documents, const char *process, const char *text)
{
    json_documents_name(documents, process);
    fputs(text, documents->file);
}

static void documents_become_an_array(void **state)
{
    struct json_documents documents;
    FILE *out = begin_output();

    (void)state;
    assert_true(json_documents_open(&documents, out, false));
    put_document(&documents, "rank \"0\"", "{\n  \"a\": \"}{ \\\" [\"\n}\n");
    put_document(&documents, "rank 1", "{}\n{\"b\": [1, 2]}\n");
    put_document(&documents, NULL, "{\"c\": {}}");
    json_documents_close(&documents);
    assert_output(out, "[\n{\"process\": \"rank \\\"0\\\"\", \"a\": \"}{ \\\" [\"\n},\n"
                       "{\"process\": \"rank 1\"},\n{\"process\": \"rank 1\", \"b\": [1, 2]},\n"
                       "{\"c\": {}}\n]\n");
}

static void documents_become_lines(void **state)
{
    struct json_documents documents;
    FILE *out = begin_output();

    (void)state;
    assert_true(json_documents_open(&documents, out, true));
    put_document(&documents, NULL, "{\n  \"a\": [\n    1,\n    \"x  y\"\n  ]\n}\n");
    put_document(&documents, "p", "{\"b\": 1}\n");
    json_documents_close(&documents);
    assert_output(out, "{\"a\": [1,\"x  y\"]}\n{\"process\": \"p\", \"b\": 1}\n");
}

static void no_document_is_an_empty_array(void **state)
{
    struct json_documents documents;
    FILE *out = begin_output();

    (void)state;
    assert_true(json_documents_open(&documents, out, false));
    json_documents_close(&documents);
    assert_output(out, "[]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_stand_in_the_names_and_never_change),
        cmocka_unit_test(several_traces_have_one_header),
        cmocka_unit_test(one_table_is_printed_and_all_are_known),
        cmocka_unit_test(documents_become_an_array),
        cmocka_unit_test(documents_become_lines),
        cmocka_unit_test(no_document_is_an_empty_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
