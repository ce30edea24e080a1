/* The Parquet writer's failures, its memory, and the bounds of long texts. Whether the files are
 * right is for other readers to say: tests/exports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "export/parquet/build.h"
#include "export/parquet/parquet.h"

enum { NUMBER, TEXT, REAL, MAYBE };

static const struct parquet_column columns[] = {{"number", PARQUET_INT32, 0},
                                                {"text", PARQUET_STRING, 0},
                                                {"real", PARQUET_DOUBLE, 0},
                                                {"maybe", PARQUET_INT64, PARQUET_OPTIONAL}};
static const struct parquet_table table = {"things", columns, 4};

struct file {
    char *bytes;
    size_t size;
    FILE *out;
    struct parquet_writer *writer;
    struct mp_error error;
};

static void begin(struct file *file)
{
    *file = (struct file){.bytes = NULL};
    file->out = open_memstream(&file->bytes, &file->size);
    assert_non_null(file->out);
    assert_int_equal(parquet_begin(file->out, &table, NULL, &file->writer, &file->error), MP_OK);
}

static void put_row(struct parquet_writer *writer)
{
    parquet_put_int(writer, NUMBER, 1);
    parquet_put_text(writer, TEXT, "x", 1);
    parquet_put_double(writer, REAL, 0.5);
}

/* Ends the file, which must fail so, and must not look whole. */
static void expect_failure(struct file *file, enum mp_status status, const char *text)
{
    assert_int_equal(parquet_end_row(file->writer), status);
    put_row(file->writer); /* is ignored */
    assert_int_equal(parquet_end_row(file->writer), status);
    assert_int_equal(parquet_end(file->writer, &file->error), status);
    assert_int_equal(file->error.status, status);
    assert_string_equal(file->error.text, text);
    fclose(file->out);
    assert_int_equal(file->size, 4);
    free(file->bytes);
}

static void cells_that_do_not_suit_are_refused(void **state)
{
    struct file file;

    (void)state;
    begin(&file);
    put_row(file.writer);
    parquet_put_int(file.writer, NUMBER, 2);
    expect_failure(&file, MP_ERR_ARGUMENT, "row 0 of 'things': column 'number' has two values");
    begin(&file);
    put_row(file.writer);
    assert_int_equal(parquet_end_row(file.writer), MP_OK);
    parquet_put_int(file.writer, NUMBER, INT64_C(1) << 31);
    expect_failure(&file, MP_ERR_ARGUMENT,
                   "row 1 of 'things': column 'number' has a number over 32 bits");
    begin(&file);
    parquet_put_int(file.writer, TEXT, 1);
    expect_failure(&file, MP_ERR_ARGUMENT,
                   "row 0 of 'things': column 'text' is none of whole numbers");
    begin(&file);
    parquet_put_text(file.writer, REAL, "1", 1);
    expect_failure(&file, MP_ERR_ARGUMENT, "row 0 of 'things': column 'real' is none of text");
    begin(&file);
    parquet_put_double(file.writer, NUMBER, 1);
    expect_failure(&file, MP_ERR_ARGUMENT, "row 0 of 'things': column 'number' is none of doubles");
    begin(&file);
    parquet_put_int(file.writer, 4, 1);
    expect_failure(&file, MP_ERR_ARGUMENT, "'things' has no column 4");
}

static void only_optional_cells_may_be_missing(void **state)
{
    struct file file;

    (void)state;
    begin(&file);
    parquet_put_int(file.writer, NUMBER, 1);
    expect_failure(&file, MP_ERR_ARGUMENT, "row 0 of 'things': column 'text' must have a value");
    begin(&file);
    parquet_put_null(file.writer, REAL);
    expect_failure(&file, MP_ERR_ARGUMENT, "row 0 of 'things': column 'real' must have a value");
    begin(&file);
    put_row(file.writer);
    assert_int_equal(parquet_end(file.writer, &file.error), MP_ERR_ARGUMENT);
    assert_string_equal(file.error.text, "the last row of 'things' has no end");
    fclose(file.out);
    free(file.bytes);
}

static void a_text_has_a_limit(void **state)
{
    char *text = calloc(1, PARQUET_MAX_TEXT_BYTES + 1);
    struct file file;

    (void)state;
    begin(&file);
    parquet_put_text(file.writer, TEXT, text, PARQUET_MAX_TEXT_BYTES + 1);
    expect_failure(&file, MP_ERR_LIMIT, "a text of 16777217 bytes; at most 16777216");
    free(text);
}

static void a_whole_file_begins_and_ends_with_the_magic(void **state)
{
    struct file file;

    (void)state;
    begin(&file);
    put_row(file.writer);
    assert_int_equal(parquet_end_row(file.writer), MP_OK);
    assert_int_equal(parquet_end(file.writer, &file.error), MP_OK);
    fclose(file.out);
    assert_memory_equal(file.bytes, "PAR1", 4);
    assert_memory_equal(file.bytes + file.size - 4, "PAR1", 4);
    free(file.bytes);
}

static void a_writer_can_be_given_up(void **state)
{
    struct file file;

    (void)state;
    begin(&file);
    put_row(file.writer);
    parquet_abandon(file.writer);
    parquet_abandon(NULL);
    fclose(file.out);
    assert_int_equal(file.size, 4);
    free(file.bytes);
}

/* The disk is full at once, or once stdio's buffer goes out. */
static void a_full_disk_says_so(void **state)
{
    struct parquet_writer *writer = NULL;
    struct mp_error error;

    (void)state;
    for (int unbuffered = 0; unbuffered < 2; unbuffered++) {
        FILE *full = fopen("/dev/full", "we");

        assert_non_null(full);
        if (unbuffered)
            setvbuf(full, NULL, _IONBF, 0);
        assert_int_equal(parquet_begin(full, &table, NULL, &writer, &error),
                         unbuffered ? MP_ERR_IO : MP_OK);
        assert_int_equal(writer == NULL, unbuffered);
        if (writer)
            assert_int_equal(parquet_end(writer, &error), MP_ERR_IO);
        assert_string_equal(error.text, "cannot write: No space left on device");
        fclose(full);
    }
}

/* Peak memory of the process, in KiB. AddressSanitizer keeps what is freed. */
static size_t peak(void)
{
#ifdef __SANITIZE_ADDRESS__
    return 0;
#else
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss;
#endif
}

/* Puts rows of 64 KiB that are all different. */
static void put_long_rows(struct parquet_writer *writer, char *text, unsigned begin, unsigned end)
{
    for (unsigned row = begin; row < end; row++) {
        memcpy(text, &row, sizeof row);
        parquet_put_int(writer, NUMBER, 1);
        parquet_put_text(writer, TEXT, text, 65536);
        parquet_put_double(writer, REAL, 0.5);
        assert_int_equal(parquet_end_row(writer), MP_OK);
    }
}

/* A group ends as soon as it has 16 MiB, 256 rows: so 112 MiB of rows more take no more memory, but
 * for what the allocator makes of it. */
static void long_texts_end_a_group_early(void **state)
{
    char *text = malloc(65536);
    struct parquet_writer *writer;
    struct mp_error error;
    FILE *out = fopen("/dev/null", "we");
    size_t first;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', 65536);
    assert_int_equal(parquet_begin(out, &table, NULL, &writer, &error), MP_OK);
    put_long_rows(writer, text, 0, 600);
    first = peak();
    put_long_rows(writer, text, 600, 2400);
    assert_in_range(peak(), 0, first + (48u << 10));
    assert_int_equal(parquet_end(writer, &error), MP_OK);
    fclose(out);
    free(text);
}

/* ---- Bounds of texts ---- */

static void find_bounds(const char *text, struct statistics *statistics)
{
    const struct parquet_column column = {"text", PARQUET_STRING, 0};
    struct cells cells = {.column = &column};
    struct mp_buffer valid = {.data = NULL};

    assert_int_equal(cells_grow(&cells, 64), MP_OK);
    assert_int_equal(cells_add_text(&cells, text, strlen(text), &valid), MP_OK);
    statistics_find(&cells, statistics);
    cells_free(&cells);
    mp_buffer_free(&valid);
}

#define TEN       "abcdefghij"
#define SIXTY     TEN TEN TEN TEN TEN TEN
#define EURO      "\xe2\x82\xac"
#define SIX_EUROS EURO EURO EURO EURO EURO EURO

static void long_texts_have_bounds_around_them(void **state)
{
    static const struct {
        const char *text, *min, *max; /* NULL: none */
        bool exact;
    } cases[] = {
        {"", "", "", true},
        {SIXTY "klmn", SIXTY "klmn", SIXTY "klmn", true},
        {SIXTY "klmno", SIXTY "klmn", SIXTY "klmo", false},
        {SIXTY "kl" EURO, SIXTY "kl", SIXTY "km", false},
        {SIXTY "k" EURO EURO, SIXTY "k" EURO, SIXTY "l", false},
        {SIXTY "kl\x7f\x7f\x7f", SIXTY "kl\x7f\x7f", SIXTY "km", false},
        {SIX_EUROS SIX_EUROS SIX_EUROS SIX_EUROS, SIX_EUROS SIX_EUROS SIX_EUROS EURO EURO EURO,
         NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct statistics found;

        find_bounds(cases[i].text, &found);
        assert_true(found.min.known);
        assert_int_equal(found.min.exact, cases[i].exact);
        assert_int_equal(found.min.bytes, strlen(cases[i].min));
        assert_memory_equal(found.min.data, cases[i].min, found.min.bytes);
        assert_int_equal(found.max.known, cases[i].max != NULL);
        if (!cases[i].max)
            continue;
        assert_int_equal(found.max.exact, cases[i].exact);
        assert_int_equal(found.max.bytes, strlen(cases[i].max));
        assert_memory_equal(found.max.data, cases[i].max, found.max.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_that_do_not_suit_are_refused),
        cmocka_unit_test(only_optional_cells_may_be_missing),
        cmocka_unit_test(a_text_has_a_limit),
        cmocka_unit_test(a_whole_file_begins_and_ends_with_the_magic),
        cmocka_unit_test(a_writer_can_be_given_up),
        cmocka_unit_test(a_full_disk_says_so),
        cmocka_unit_test(long_texts_end_a_group_early),
        cmocka_unit_test(long_texts_have_bounds_around_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
