/* Chunks that no miniprof wrote but whose checksums fit: of newer writers, or made to do harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuzz/seal.h"
#include "unit/trace_fixture.h"

/* A directory entry with single-byte length, as bytes of an array. */
#define ENTRY(id, codec, predict, lane, key1, key2, partner, bytes)                                \
    id, codec, predict, lane, key1, key2, partner, bytes
#define PLAIN(id, bytes) ENTRY(id, MP_CODEC_NUMBER, 0, 0, 0, 0, 0, bytes)
/* The same of a START column on a grid of nanoseconds from 0: step 2^32 as LEB128. */
#define START(id, lane, key1, partner, bytes)                                                      \
    id, MP_CODEC_START, 0, lane, key1, 0, partner, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 0, bytes

static uint8_t file[1 << 16];
static size_t file_bytes;
static uint32_t file_chunks;

static void begin_file(void)
{
    file_bytes = seal_file_header(file, "", 0, MP_FORMAT_VERSION, 0);
    file_chunks = 0;
}

/* Adds a chunk and returns where it begins. */
static size_t add_chunk(unsigned table, uint32_t rows, const uint8_t *raw, size_t raw_bytes)
{
    size_t at = file_bytes;
    struct seal_claims claims = {file_chunks++, (uint16_t)table, rows};
    size_t added = seal_chunk(file + at, sizeof file - at, claims, raw, raw_bytes);
    assert_true(added > 0);
    file_bytes += added;
    return at;
}

/* One thread, whose id is 7. */
static void add_intact_chunk(void)
{
    const uint8_t raw[] = {1, PLAIN(1, 2), MP_LAYOUT_CONSTANT, 7};
    add_chunk(MP_TABLE_thread, 1, raw, sizeof raw);
}

static void read_file(struct fixture_reading *reading)
{
    int fd = fixture_file(file, file_bytes);
    fixture_read(fd, reading);
    close(fd);
}

/* Between two intact chunks, this one must be passed over and counted. */
static void expect_refused(unsigned table, uint32_t rows, const uint8_t *raw, size_t raw_bytes)
{
    struct fixture_reading reading;
    begin_file();
    add_intact_chunk();
    size_t at = add_chunk(table, rows, raw, raw_bytes);
    add_intact_chunk();
    read_file(&reading);
    assert_int_equal(reading.status, MP_END);
    assert_int_equal(reading.rows, 2);
    assert_int_equal(reading.damage.chunks_damaged, 1);
    assert_int_equal(reading.damage.rows_damaged, rows);
    assert_int_equal(reading.damage.first_offset, at);
    assert_int_equal(reading.damage.bytes_skipped, 0);
}

/* Reads the file's only chunk; the trace stays open until `close_chunk`. */
static struct mp_trace *trace;
static struct mp_cursor *cursor;
static int chunk_fd;

static void open_chunk(struct mp_batch *batch, uint32_t mask)
{
    chunk_fd = fixture_file(file, file_bytes);
    assert_int_equal(mp_trace_open(fixture_path(chunk_fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    mp_cursor_select(cursor, mp_table_by_name("thread"), mask);
    assert_int_equal(mp_cursor_next(cursor, batch), MP_OK);
}

static void close_chunk(void)
{
    struct mp_batch batch;
    assert_int_equal(mp_cursor_next(cursor, &batch), MP_END);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    close(chunk_fd);
}

/* ---- Newer writers ---- */

static void a_newer_version_is_refused_by_number(void **state)
{
    (void)state;
    struct fixture_reading reading;
    file_bytes = seal_file_header(file, "", 0, MP_FORMAT_VERSION + 41, 0);
    read_file(&reading);
    assert_int_equal(reading.status, MP_ERR_VERSION);
    assert_non_null(strstr(reading.error.text, "version 42"));
    file_bytes = seal_file_header(file, "", 0, 0, 0);
    read_file(&reading);
    assert_int_equal(reading.status, MP_ERR_DAMAGED);
}

static void an_unknown_feature_is_refused(void **state)
{
    (void)state;
    struct fixture_reading reading;
    file_bytes = seal_file_header(file, "", 0, MP_FORMAT_VERSION, 1u << 31);
    read_file(&reading);
    assert_int_equal(reading.status, MP_ERR_VERSION);
    assert_non_null(strstr(reading.error.text, "features"));
}

static void chunks_of_unknown_tables_are_no_damage(void **state)
{
    (void)state;
    struct fixture_reading reading;
    const uint8_t raw[] = {1, ENTRY(1, 77, 0, 0, 0, 0, 0, 1), 0};
    begin_file();
    add_intact_chunk();
    add_chunk(9999, 5, raw, sizeof raw);
    add_intact_chunk();
    read_file(&reading);
    assert_int_equal(reading.status, MP_END);
    assert_int_equal(reading.rows, 2);
    assert_int_equal(reading.damage.chunks_unknown, 1);
    assert_int_equal(reading.damage.chunks_damaged, 0);
    assert_int_equal(reading.damage.chunks_missing, 0);
}

static void unknown_columns_are_passed_over_and_missing_ones_read_0(void **state)
{
    (void)state;
    struct mp_batch batch;
    const uint8_t raw[] = {
        2, PLAIN(1, 2), ENTRY(200, 99, 255, 0, 0, 0, 0, 3), MP_LAYOUT_CONSTANT, 42, 9, 9, 9};
    begin_file();
    add_chunk(MP_TABLE_thread, 3, raw, sizeof raw);
    open_chunk(&batch, UINT32_MAX);
    assert_int_equal(batch.rows, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(batch.columns[MP_COLUMN_thread_id][i], 42);
        assert_int_equal(batch.columns[MP_COLUMN_thread_tid][i], 0);
        assert_int_equal(batch.columns[MP_COLUMN_thread_name][i], 0);
    }
    close_chunk();
}

static void an_unknown_column_that_is_referred_to_is_decoded(void **state)
{
    (void)state;
    struct mp_batch batch;
    /* Column 200 holds 0 1 0 1; `id` takes it as its lane: 5 6 in lane 0, 5 6 in lane 1. */
    const uint8_t raw[] = {2,
                           PLAIN(200, 2),
                           ENTRY(1, MP_CODEC_NUMBER, MP_PREDICT_BASE_LAST, 200, 0, 0, 0, 5),
                           MP_LAYOUT_CRUMBS,
                           0x44,
                           MP_LAYOUT_BYTES,
                           10,
                           10,
                           2,
                           2};
    begin_file();
    add_chunk(MP_TABLE_thread, 4, raw, sizeof raw);
    open_chunk(&batch, UINT32_MAX);
    const uint64_t expected[] = {5, 5, 6, 6};
    assert_memory_equal(batch.columns[MP_COLUMN_thread_id], expected, sizeof expected);
    close_chunk();
}

static void an_unknown_codec_costs_only_who_asks_for_its_column(void **state)
{
    (void)state;
    struct mp_batch batch;
    const uint8_t raw[] = {2, PLAIN(1, 2), ENTRY(2, 99, 0, 0, 0, 0, 0, 1), MP_LAYOUT_CONSTANT, 42,
                           9};
    expect_refused(MP_TABLE_thread, 3, raw, sizeof raw);
    begin_file();
    add_chunk(MP_TABLE_thread, 3, raw, sizeof raw);
    open_chunk(&batch, MP_COLUMN_MASK(thread, id));
    assert_int_equal(batch.columns[MP_COLUMN_thread_id][2], 42);
    close_chunk();
}

static void a_missing_text_column_reads_as_empty_texts(void **state)
{
    (void)state;
    struct mp_batch batch;
    const uint8_t raw[] = {1, PLAIN(1, 2), MP_LAYOUT_CONSTANT, 42};
    begin_file();
    add_chunk(MP_TABLE_string, 3, raw, sizeof raw);
    open_chunk(&batch, UINT32_MAX);
    assert_non_null(batch.text);
    assert_non_null(batch.text_end);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(batch.text_end[i], 0);
    close_chunk();
}

/* ---- Harm ---- */

static void texts_beyond_their_bytes_are_refused(void **state)
{
    (void)state;
    const uint8_t too_long[] = {
        1, ENTRY(2, MP_CODEC_TEXT, 0, 0, 0, 0, 0, 4), MP_LAYOUT_BYTES, 1, 2, 'a', 'b'};
    const uint8_t wrapping[] = {1,    ENTRY(2, MP_CODEC_TEXT, 0, 0, 0, 0, 0, 13),
                                1,    1,
                                0xFF, 0xFF,
                                0xFF, 0xFF,
                                0xFF, 0xFF,
                                0xFF, 0xFF,
                                0xFF, 0x01,
                                'a'};
    expect_refused(MP_TABLE_string, 2, too_long, sizeof too_long);
    expect_refused(MP_TABLE_string, 2, wrapping, sizeof wrapping);
}

static void texts_and_numbers_do_not_stand_in_for_each_other(void **state)
{
    (void)state;
    const uint8_t text_as_number[] = {1, PLAIN(2, 2), MP_LAYOUT_CONSTANT, 1};
    const uint8_t number_as_text[] = {1, ENTRY(1, MP_CODEC_TEXT, 0, 0, 0, 0, 0, 2), 0, 0};
    expect_refused(MP_TABLE_string, 1, text_as_number, sizeof text_as_number);
    expect_refused(MP_TABLE_thread, 1, number_as_text, sizeof number_as_text);
}

static void references_go_back_to_numbers_only(void **state)
{
    (void)state;
    const uint8_t forward[] = {2, ENTRY(1, 1, 1, 2, 0, 0, 0, 2), PLAIN(2, 2), 0, 1, 0, 1};
    const uint8_t itself[] = {1, ENTRY(1, 1, 1, 1, 0, 0, 0, 2), 0, 1};
    const uint8_t nowhere[] = {1, ENTRY(1, 1, 2, 0, 0, 99, 0, 2), 0, 1};
    const uint8_t text[] = {
        2, ENTRY(9, MP_CODEC_TEXT, 0, 0, 0, 0, 0, 2), ENTRY(1, 1, 1, 0, 9, 0, 0, 2), 0, 0, 0, 1};
    expect_refused(MP_TABLE_thread, 1, forward, sizeof forward);
    expect_refused(MP_TABLE_thread, 1, itself, sizeof itself);
    expect_refused(MP_TABLE_thread, 1, nowhere, sizeof nowhere);
    expect_refused(MP_TABLE_thread, 1, text, sizeof text);
}

static void intervals_without_their_other_half_are_refused(void **state)
{
    (void)state;
    const uint8_t alone[] = {1, ENTRY(5, MP_CODEC_SPAN, 0, 0, 0, 0, 4, 4), 0, 1, 0, 0};
    const uint8_t no_span[] = {1, START(4, 0, 0, 5, 4), 0, 1, 0, 0};
    const uint8_t not_its_span[] = {
        2, START(4, 0, 0, 5, 4), ENTRY(6, MP_CODEC_SPAN, 0, 0, 0, 0, 4, 4), 0, 1, 0, 0, 0, 1, 0, 0};
    const uint8_t not_its_start[] = {
        2, START(4, 0, 0, 5, 4), ENTRY(5, MP_CODEC_SPAN, 0, 0, 0, 0, 6, 4), 0, 1, 0, 0, 0, 1, 0, 0};
    const uint8_t span_of_a_point[] = {
        2, START(4, 0, 0, 0, 4), ENTRY(5, MP_CODEC_SPAN, 0, 0, 0, 0, 4, 4), 0, 1, 0, 0, 0, 1, 0, 0};
    const uint8_t keyed_by_its_start[] = {
        2, START(4, 0, 0, 5, 4), ENTRY(5, MP_CODEC_SPAN, 2, 0, 4, 0, 4, 4), 0, 1, 0, 0, 0, 1, 0, 0};
    expect_refused(MP_TABLE_kernel, 1, alone, sizeof alone);
    expect_refused(MP_TABLE_kernel, 1, no_span, sizeof no_span);
    expect_refused(MP_TABLE_kernel, 1, not_its_span, sizeof not_its_span);
    expect_refused(MP_TABLE_kernel, 1, not_its_start, sizeof not_its_start);
    expect_refused(MP_TABLE_kernel, 1, span_of_a_point, sizeof span_of_a_point);
    expect_refused(MP_TABLE_kernel, 1, keyed_by_its_start, sizeof keyed_by_its_start);
}

static void directories_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    uint8_t many[1 + 33 * 8] = {33};
    const uint8_t cut[] = {2, PLAIN(1, 0)};
    const uint8_t data_beyond_the_end[] = {1, PLAIN(1, 3), 0, 1};
    const uint8_t sum_wraps[] = {2,
                                 PLAIN(1, 2),
                                 ENTRY(2, 1, 0, 0, 0, 0, 0, 0xFF),
                                 0xFF,
                                 0xFF,
                                 0xFF,
                                 0xFF,
                                 0xFF,
                                 0xFF,
                                 0xFF,
                                 0xFF,
                                 0x01,
                                 0,
                                 1};
    const uint8_t fraction_beyond_32_bits[] = {
        1, 4, MP_CODEC_START, 0, 0, 0, 0, 0, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x10, 4, 0, 1, 0, 0};
    const uint8_t step_beyond_63_bits[] = {
        1,    4,    MP_CODEC_START, 0,    0,    0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xFF, 0xFF,           0xFF, 0xFF, 1, 0, 4, 0, 1,    0,    0};
    expect_refused(MP_TABLE_thread, 1, many, sizeof many);
    expect_refused(MP_TABLE_thread, 1, cut, sizeof cut);
    expect_refused(MP_TABLE_thread, 1, data_beyond_the_end, sizeof data_beyond_the_end);
    expect_refused(MP_TABLE_thread, 1, sum_wraps, sizeof sum_wraps);
    expect_refused(MP_TABLE_kernel, 1, step_beyond_63_bits, sizeof step_beyond_63_bits);
    expect_refused(MP_TABLE_kernel, 1, fraction_beyond_32_bits, sizeof fraction_beyond_32_bits);
    expect_refused(MP_TABLE_thread, 1, many, 0);
}

/* Sets four bytes of the middle chunk's header and seals it again: the intact chunks around it
 * come. */
static void expect_claim_refused(size_t offset, uint32_t value)
{
    struct fixture_reading reading;
    const uint8_t raw[] = {1, PLAIN(1, 2), MP_LAYOUT_CONSTANT, 9};
    begin_file();
    add_intact_chunk();
    size_t at = add_chunk(MP_TABLE_thread, 2, raw, sizeof raw);
    add_intact_chunk();
    memcpy(file + at + offset, &value, sizeof value);
    seal_chunk_header(file + at);
    read_file(&reading);
    assert_int_equal(reading.status, MP_END);
    assert_int_equal(reading.rows, 2);
    assert_true(reading.damaged);
    assert_int_equal(reading.damage.first_offset, at);
}

static void claims_beyond_the_limits_are_refused(void **state)
{
    (void)state;
    enum { ROWS = 24, RAW_BYTES = 28, PACKED_BYTES = 32 };
    expect_claim_refused(ROWS, 0);
    expect_claim_refused(ROWS, MP_MAX_CHUNK_ROWS + 1);
    expect_claim_refused(ROWS, UINT32_MAX);
    expect_claim_refused(RAW_BYTES, 0);
    expect_claim_refused(RAW_BYTES, 10);
    expect_claim_refused(RAW_BYTES, MP_MAX_CHUNK_RAW_BYTES);
    expect_claim_refused(RAW_BYTES, MP_MAX_CHUNK_RAW_BYTES + 1);
    expect_claim_refused(RAW_BYTES, UINT32_MAX);
    expect_claim_refused(PACKED_BYTES, 0);
    expect_claim_refused(PACKED_BYTES, 5);
    expect_claim_refused(PACKED_BYTES, 60); /* into the next chunk's header */
    expect_claim_refused(PACKED_BYTES, MP_MAX_CHUNK_PACKED_BYTES + 1);
    expect_claim_refused(PACKED_BYTES, UINT32_MAX);
}

static void the_most_rows_of_a_constant_take_few_bytes(void **state)
{
    (void)state;
    struct mp_batch batch;
    const uint8_t raw[] = {1, PLAIN(1, 2), MP_LAYOUT_CONSTANT, 9};
    begin_file();
    add_chunk(MP_TABLE_thread, MP_MAX_CHUNK_ROWS, raw, sizeof raw);
    open_chunk(&batch, UINT32_MAX);
    assert_int_equal(batch.rows, MP_MAX_CHUNK_ROWS);
    assert_int_equal(batch.columns[MP_COLUMN_thread_id][MP_MAX_CHUNK_ROWS - 1], 9);
    assert_int_equal(batch.columns[MP_COLUMN_thread_tid][MP_MAX_CHUNK_ROWS - 1], 0);
    close_chunk();
}

/* What 32 MiB of excess let pass (docs/trace-format.md, section 4) of chunks that weigh so much; an
 * intact chunk behind them is read all the same. */
static void expect_excess_refused(unsigned table, uint32_t rows, const uint8_t *raw,
                                  size_t raw_bytes)
{
    enum { CHUNKS = 40 };
    struct fixture_reading reading;
    uint64_t weight = 64 * (uint64_t)rows + raw_bytes;
    begin_file();
    for (unsigned i = 0; i < CHUNKS; i++)
        add_chunk(table, rows, raw, raw_bytes);
    uint64_t justified = 1024 * (uint64_t)(file_bytes - 40) / CHUNKS;
    uint64_t passed = (32u << 20) / (weight - justified);
    assert_in_range(passed, 1, CHUNKS / 2);
    add_intact_chunk();
    read_file(&reading);
    assert_int_equal(reading.status, MP_END);
    assert_int_equal(reading.rows, passed * rows + 1);
    assert_int_equal(reading.damage.chunks_damaged, CHUNKS - passed);
    assert_int_equal(reading.damage.rows_damaged, (CHUNKS - passed) * rows);
    assert_int_equal(reading.damage.bytes_skipped, 0);
}

static void chunks_that_expand_to_more_than_their_bytes_justify_are_refused(void **state)
{
    (void)state;
    enum { TEXT_BYTES = 4 << 20 };
    const uint8_t one_number[] = {1, PLAIN(1, 2), MP_LAYOUT_CONSTANT, 9};
    uint8_t *one_text = calloc(1, TEXT_BYTES); /* of NULs, and all but its first bytes */
    const uint8_t directory[] = {
        1, ENTRY(2, MP_CODEC_TEXT, 0, 0, 0, 0, 0, 0x80), 0x80, 0x80, 1, MP_LAYOUT_CONSTANT, 1};
    memcpy(one_text, directory, sizeof directory);
    expect_excess_refused(MP_TABLE_thread, MP_MAX_CHUNK_ROWS, one_number, sizeof one_number);
    expect_excess_refused(MP_TABLE_string, 1, one_text, 1 + 8 + 3 + (1 << 21));
    free(one_text);
}

/* By this process so far, from any file. */
static uint64_t bytes_read(void)
{
    char line[64] = "";
    FILE *io = fopen("/proc/self/io", "re");
    uint64_t bytes = 0;
    if (io && fgets(line, sizeof line, io) && !strncmp(line, "rchar: ", 7))
        bytes = strtoull(line + 7, NULL, 10);
    if (io)
        fclose(io);
    return bytes;
}

/* An index with a right checksum that says it has more entries than there are bytes. */
static void an_index_of_more_entries_than_bytes_is_none(void **state)
{
    (void)state;
    struct mp_trace *opened;
    struct mp_index index;
    begin_file();
    add_intact_chunk();
    struct mp_index_header header = {.skippable_magic = MP_SKIPPABLE_MAGIC,
                                     .skippable_bytes = 24 + 40 + 16,
                                     .magic = MP_INDEX_MAGIC,
                                     .entries = 1};
    for (unsigned round = 0; round < 2; round++) {
        size_t at = file_bytes;
        memcpy(file + at, &header, 32);
        memset(file + at + 32, 0, 40);
        const uint64_t tail[] = {XXH64(file + at + 8, 64, 0), 32 + 40 + 16};
        memcpy(file + at + 72, tail, sizeof tail);
        int fd = fixture_file(file, at + 88);
        assert_int_equal(mp_trace_open(fixture_path(fd), &opened, NULL), MP_OK);
        mp_trace_index(opened, &index);
        assert_int_equal(index.present, round == 0);
        mp_trace_close(opened);
        close(fd);
        header.entries = 100000000;
    }
}

/* Each header claims all that follows as its frame: reading it again for each must have an end. */
static void headers_inside_headers_do_not_take_forever(void **state)
{
    (void)state;
    enum { HEADERS = 40000 };
    struct fixture_reading reading;
    static uint8_t bytes[74 + HEADERS * SEAL_HEADER_BYTES]; /* and ten that are no header */
    size_t size = seal_file_header(bytes, "", 0, MP_FORMAT_VERSION, 0);
    for (unsigned i = 0; i < HEADERS; i++, size += SEAL_HEADER_BYTES) {
        struct mp_chunk_header header = {
            .skippable_magic = MP_SKIPPABLE_MAGIC,
            .skippable_bytes = 64,
            .magic = MP_CHUNK_MAGIC,
            .sequence = i,
            .table = MP_TABLE_thread,
            .rows = 1,
            .raw_bytes = 10,
            .packed_bytes = (HEADERS - 1 - i) * SEAL_HEADER_BYTES + 9,
        };
        memcpy(bytes + size, &header, sizeof header);
        seal_chunk_header(bytes + size);
    }
    int fd = fixture_file(bytes, size + 10);
    uint64_t before = bytes_read();
    fixture_read(fd, &reading);
    assert_true(bytes_read() - before < 8 * size);
    assert_int_equal(reading.status, MP_END);
    assert_int_equal(reading.rows, 0);
    assert_true(reading.damaged);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_version_is_refused_by_number),
        cmocka_unit_test(an_unknown_feature_is_refused),
        cmocka_unit_test(chunks_of_unknown_tables_are_no_damage),
        cmocka_unit_test(unknown_columns_are_passed_over_and_missing_ones_read_0),
        cmocka_unit_test(an_unknown_column_that_is_referred_to_is_decoded),
        cmocka_unit_test(an_unknown_codec_costs_only_who_asks_for_its_column),
        cmocka_unit_test(a_missing_text_column_reads_as_empty_texts),
        cmocka_unit_test(texts_beyond_their_bytes_are_refused),
        cmocka_unit_test(texts_and_numbers_do_not_stand_in_for_each_other),
        cmocka_unit_test(references_go_back_to_numbers_only),
        cmocka_unit_test(intervals_without_their_other_half_are_refused),
        cmocka_unit_test(directories_that_do_not_fit_are_refused),
        cmocka_unit_test(claims_beyond_the_limits_are_refused),
        cmocka_unit_test(the_most_rows_of_a_constant_take_few_bytes),
        cmocka_unit_test(chunks_that_expand_to_more_than_their_bytes_justify_are_refused),
        cmocka_unit_test(an_index_of_more_entries_than_bytes_is_none),
        cmocka_unit_test(headers_inside_headers_do_not_take_forever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
