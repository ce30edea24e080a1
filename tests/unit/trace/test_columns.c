/* Whole chunks of every table, encoded and decoded: the values that went in come out, whatever they
 * are and whichever columns are asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/codec.h"
#include "trace/encode.h"
#include "unit/trace_fixture.h"

#define ALL_COLUMNS UINT32_MAX

static struct mp_encoder *encoder;
static struct mp_decoder *decoder;

static int set_up(void **state)
{
    (void)state;
    return mp_encoder_create(&encoder) || mp_decoder_create(&decoder);
}

static int tear_down(void **state)
{
    (void)state;
    mp_encoder_free(encoder);
    mp_decoder_free(decoder);
    return 0;
}

/* The encoded bytes in a block of exactly their size, so that a sanitizer sees what reads on. */
static uint8_t *encode(const struct fixture_rows *rows, size_t *size)
{
    struct mp_builder builder;
    struct mp_encoded encoded;
    fixture_fill(&builder, rows);
    assert_int_equal(mp_encode(encoder, &builder, &encoded), MP_OK);
    assert_int_equal(builder.rows, rows->rows);
    *size = encoded.sink->buffer.size;
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    memcpy(bytes, encoded.sink->buffer.data, *size);
    mp_builder_free(&builder);
    return bytes;
}

static void expect_decoded(const uint8_t *bytes, size_t size, const struct fixture_rows *rows,
                           uint32_t column_mask)
{
    struct mp_batch batch = {.table = rows->table};
    assert_int_equal(mp_decode(decoder, bytes, size, rows->rows, column_mask, NULL, &batch), MP_OK);
    assert_int_equal(batch.rows, rows->rows);
    fixture_expect_batch(&batch, rows, 0, column_mask);
}

static void expect_round_trip(const struct mp_table_info *table, uint32_t count,
                              enum fixture_shape shape, uint64_t seed)
{
    struct fixture_rows rows;
    size_t size;
    fixture_rows_make(&rows, table, count, shape, seed);
    uint8_t *bytes = encode(&rows, &size);
    expect_decoded(bytes, size, &rows, ALL_COLUMNS);
    free(bytes);
    fixture_rows_free(&rows);
}

static void every_table_comes_back_with_any_numbers(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 30, 5000};
    size_t table_count;
    const struct mp_table_info *tables = mp_tables(&table_count);
    for (size_t t = 0; t < table_count; t++)
        for (enum fixture_shape shape = 0; shape < FIXTURE_SHAPES; shape++)
            for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++)
                expect_round_trip(&tables[t], counts[c], shape, 100 * t + shape + c);
}

static void every_table_comes_back_with_the_most_rows(void **state)
{
    (void)state;
    size_t table_count;
    const struct mp_table_info *tables = mp_tables(&table_count);
    for (size_t t = 0; t < table_count; t++)
        expect_round_trip(&tables[t], MP_MAX_CHUNK_ROWS, FIXTURE_MIXED, t);
}

static void a_column_alone_reads_as_it_does_among_all(void **state)
{
    (void)state;
    size_t table_count;
    const struct mp_table_info *tables = mp_tables(&table_count);
    for (size_t t = 0; t < table_count; t++) {
        struct fixture_rows rows;
        size_t size;
        fixture_rows_make(&rows, &tables[t], 700, FIXTURE_MIXED, 77 + t);
        uint8_t *bytes = encode(&rows, &size);
        for (unsigned i = 0; i < tables[t].column_count; i++) {
            expect_decoded(bytes, size, &rows, 1u << i);
            expect_decoded(bytes, size, &rows, ~(1u << i));
        }
        for (uint32_t mask = 1; mask < 1u << tables[t].column_count && mask < 600; mask++)
            expect_decoded(bytes, size, &rows, mask);
        free(bytes);
        fixture_rows_free(&rows);
    }
}

/* A decoder goes from large chunks to small ones and back, over tables of all widths. */
static void a_decoder_can_be_used_again_for_any_chunk(void **state)
{
    (void)state;
    uint64_t random = 3;
    size_t table_count;
    const struct mp_table_info *tables = mp_tables(&table_count);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t any = fixture_random(&random);
        expect_round_trip(&tables[any % table_count], 1 + (uint32_t)(any >> 32) % 3000,
                          FIXTURE_MIXED, i);
    }
}

static void texts_of_any_kind_come_back(void **state)
{
    (void)state;
    struct fixture_rows rows;
    size_t size;
    fixture_rows_make(&rows, mp_table_by_name("string"), 20, FIXTURE_COUNTING, 1);
    /* Row 7 has the longest text; some are empty, some hold NULs. */
    bool empty = false;
    for (uint32_t i = 0; i < rows.rows; i++)
        empty |= rows.text_begin[i] == rows.text_begin[i + 1];
    assert_true(empty);
    assert_int_equal(rows.text_begin[8] - rows.text_begin[7], MP_MAX_TEXT_BYTES);
    assert_non_null(memchr(rows.text, '\0', rows.text_begin[20]));
    uint8_t *bytes = encode(&rows, &size);
    expect_decoded(bytes, size, &rows, ALL_COLUMNS);
    free(bytes);
    fixture_rows_free(&rows);
}

static void a_cut_chunk_is_refused_wherever_it_is_cut(void **state)
{
    (void)state;
    static const char *const names[] = {"string", "kernel", "nvtx", "quality"};
    for (unsigned n = 0; n < 4; n++) {
        struct fixture_rows rows;
        size_t size;
        fixture_rows_make(&rows, mp_table_by_name(names[n]), 7, FIXTURE_MIXED, n);
        uint8_t *bytes = encode(&rows, &size);
        for (size_t cut = 0; cut < size; cut++) {
            struct mp_batch batch = {.table = rows.table};
            uint8_t *piece = malloc(cut + 1);
            memcpy(piece + 1, bytes, cut);
            assert_int_equal(mp_decode(decoder, piece + 1, cut, 7, ALL_COLUMNS, NULL, &batch),
                             MP_ERR_DAMAGED);
            free(piece);
        }
        free(bytes);
        fixture_rows_free(&rows);
    }
}

/* The times of a chunk's header, taken over rows with the given starts and durations. */
static void expect_times(unsigned count, const uint64_t *start, const uint64_t *duration,
                         uint64_t first, uint64_t last)
{
    struct mp_builder builder;
    struct mp_encoded encoded;
    mp_builder_init(&builder, mp_table_by_name("kernel"));
    assert_int_equal(mp_builder_grow(&builder), MP_OK);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned column = 0; column < builder.table->column_count; column++)
            builder.columns[column][i] = 0;
        builder.columns[MP_COLUMN_kernel_start][i] = start[i];
        builder.columns[MP_COLUMN_kernel_duration][i] = duration[i];
    }
    builder.rows = count;
    assert_int_equal(mp_encode(encoder, &builder, &encoded), MP_OK);
    assert_int_equal(encoded.first_time, first);
    assert_int_equal(encoded.last_time, last);
    mp_builder_free(&builder);
}

static void a_chunk_spans_its_least_to_its_greatest_time(void **state)
{
    (void)state;
    const uint64_t start[] = {5000, 0, 1000, 3000};
    const uint64_t duration[] = {10, 7, 9000, 1};
    const uint64_t reversed[] = {-(uint64_t)400, 0, -(uint64_t)2000, 0};
    expect_times(4, start, duration, 1000, 10000); /* 0 is no time */
    expect_times(4, start, reversed, 1000, 5000);  /* an end before its begin is no greatest time */
    expect_times(1, start + 1, duration, 0, 0);
}

static void tables_and_columns_are_found_by_name_and_id(void **state)
{
    (void)state;
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    for (size_t t = 0; t < count; t++) {
        assert_ptr_equal(mp_table_by_name(tables[t].name), &tables[t]);
        assert_ptr_equal(mp_table_by_id(tables[t].id), &tables[t]);
        assert_true(t == 0 || tables[t].kind >= tables[t - 1].kind); /* definitions first */
        for (int i = 0; i < tables[t].column_count; i++) {
            const struct mp_column_info *column = &tables[t].columns[i];
            assert_int_equal(mp_column_index(&tables[t], column->name), i);
            assert_true(column->id > 0);
            for (int other = 0; other < i; other++)
                assert_int_not_equal(tables[t].columns[other].id, column->id);
            assert_true(column->type != MP_TYPE_REF || mp_table_by_name(column->reference));
        }
    }
    assert_null(mp_table_by_name("no such table"));
    assert_null(mp_table_by_id(9999));
    assert_int_equal(mp_column_index(tables, "no such column"), -1);
    assert_null(mp_enum_name("no such enumeration", 0));
    assert_null(mp_enum_name("copy_kind", 9999));
    assert_string_equal(mp_enum_name("copy_kind", MP_copy_kind_HtoD), "HtoD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_comes_back_with_any_numbers),
        cmocka_unit_test(every_table_comes_back_with_the_most_rows),
        cmocka_unit_test(a_column_alone_reads_as_it_does_among_all),
        cmocka_unit_test(a_decoder_can_be_used_again_for_any_chunk),
        cmocka_unit_test(texts_of_any_kind_come_back),
        cmocka_unit_test(a_cut_chunk_is_refused_wherever_it_is_cut),
        cmocka_unit_test(a_chunk_spans_its_least_to_its_greatest_time),
        cmocka_unit_test(tables_and_columns_are_found_by_name_and_id),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
