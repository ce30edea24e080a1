/* The Parquet writer when memory runs out: every allocation of a run fails once, in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/parquet/parquet.h"
#include "unit/failing_malloc.h"

static const struct parquet_column columns[] = {{"number", PARQUET_INT32, 0},
                                                {"text", PARQUET_STRING, 0},
                                                {"maybe", PARQUET_INT64, PARQUET_OPTIONAL}};
static const struct parquet_table table = {"things", columns, 3};

static void put_rows(struct parquet_writer *writer, uint32_t rows)
{
    enum mp_status status = MP_OK;

    for (uint32_t row = 0; row < rows && status == MP_OK; row++) {
        char text[] = "text \xff 0000";

        text[8] = (char)('0' + row % 7);
        parquet_put_int(writer, 0, row % 3);
        parquet_put_text(writer, 1, text, strlen(text));
        if (row % 2)
            parquet_put_int(writer, 2, (int64_t)row * row);
        status = parquet_end_row(writer);
    }
}

static enum mp_status write_file(struct mp_error *error)
{
    const struct parquet_note note = {"key \xff", "value"};
    const struct parquet_options options = {.group_rows = 300, .notes = &note, .note_count = 1};
    struct parquet_writer *writer;
    FILE *out = fopen("/dev/null", "we");
    unsigned armed = countdown;
    enum mp_status status;

    countdown = 0;
    assert_non_null(out);
    countdown = armed;
    status = parquet_begin(out, &table, &options, &writer, error);
    if (status == MP_OK) {
        put_rows(writer, 700);
        status = parquet_end(writer, error);
    }
    fclose(out);
    return status;
}

static void a_file_is_whole_or_memory_is_said_to_be_out(void **state)
{
    (void)state;
    expect_memory_errors_of(write_file, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_whole_or_memory_is_said_to_be_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
