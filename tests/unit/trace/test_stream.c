/* Streams (docs/trace-format.md, section 5): the layouts byte by byte, and any numbers there and
 * back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/codec.h"
#include "unit/trace_fixture.h"

static void expect_bytes(enum mp_layout layout, const uint64_t *values, uint32_t rows,
                         const uint8_t *bytes, size_t size)
{
    struct mp_sink sink = {0};
    uint64_t decoded[64];
    assert_int_equal(mp_stream_encode(&sink, layout, values, rows), MP_OK);
    assert_int_equal(sink.buffer.size, size);
    assert_memory_equal(sink.buffer.data, bytes, size);
    const uint8_t *at = bytes;
    assert_int_equal(mp_stream_decode(&at, bytes + size, decoded, rows), MP_OK);
    assert_ptr_equal(at, bytes + size);
    assert_memory_equal(decoded, values, rows * sizeof *values);
    mp_buffer_free(&sink.buffer);
}

/* There and back; every shorter piece of the bytes must be refused. */
static void expect_round_trip(enum mp_layout layout, const uint64_t *values, uint32_t rows)
{
    struct mp_sink sink = {0};
    uint64_t *decoded = calloc(rows, sizeof *decoded);
    assert_int_equal(mp_stream_encode(&sink, layout, values, rows), MP_OK);
    size_t size = sink.buffer.size;
    uint8_t *exact = malloc(size); /* so that a sanitizer sees a read beyond the end */
    memcpy(exact, sink.buffer.data, size);
    const uint8_t *at = exact;
    assert_int_equal(mp_stream_decode(&at, exact + size, decoded, rows), MP_OK);
    assert_ptr_equal(at, exact + size);
    assert_memory_equal(decoded, values, rows * sizeof *values);
    for (size_t cut = size > 300 ? size - 300 : 0; cut < size; cut++) {
        at = exact;
        assert_int_equal(mp_stream_decode(&at, exact + cut, decoded, rows), MP_ERR_DAMAGED);
    }
    free(exact);
    free(decoded);
    mp_buffer_free(&sink.buffer);
}

static void constant_numbers_take_one_varint(void **state)
{
    (void)state;
    const uint64_t values[] = {300, 300, 300};
    const uint8_t bytes[] = {0, 0xAC, 0x02};
    expect_bytes(MP_LAYOUT_BYTES, values, 3, bytes, sizeof bytes);
    expect_bytes(MP_LAYOUT_BITS, values, 3, bytes, sizeof bytes);
    expect_bytes(MP_LAYOUT_CRUMBS, values, 3, bytes, sizeof bytes);
}

static void bytes_are_one_varint_a_row(void **state)
{
    (void)state;
    const uint64_t values[] = {0, 127, 128, UINT64_MAX};
    const uint8_t bytes[] = {1,    0,    127,  0x80, 0x01, 0xFF, 0xFF, 0xFF,
                             0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01};
    expect_bytes(MP_LAYOUT_BYTES, values, 4, bytes, sizeof bytes);
}

static void tokens_and_bits_stand_as_specified(void **state)
{
    (void)state;
    /* 15: its own token. 16 = 2 * 2^3: token 16, bits 000. 23: bits 111. 24 = 3 * 2^3: token 17,
     * 000. 37 = 2 * 2^4 + 5: token 18, bits 0101. First taken lowest: 000 111 000 0101 -> 38 0a. */
    const uint64_t values[] = {15, 16, 23, 24, 37};
    const uint8_t bytes[] = {2, 15, 16, 16, 17, 18, 2, 0x38, 0x0A};
    expect_bytes(MP_LAYOUT_BITS, values, 5, bytes, sizeof bytes);
}

static void the_longest_tokens_have_62_bits(void **state)
{
    (void)state;
    /* 2^63 = 2 * 2^62: token 134 and 62 zeros; 2^64 - 1: token 135 and 62 ones. */
    const uint64_t values[] = {UINT64_C(1) << 63, UINT64_MAX};
    uint8_t bytes[] = {2, 134,  135,  16,   0,    0,    0,    0,    0,    0,
                       0, 0xC0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F};
    expect_bytes(MP_LAYOUT_BITS, values, 2, bytes, sizeof bytes);
}

static void crumbs_hold_four_rows_to_a_byte(void **state)
{
    (void)state;
    /* 0 1 2 3+ | 1 3+: 11 10 01 00 = e4, then .. 11 01 = 0d; 3 - 3 and 130 - 3 follow. */
    const uint64_t values[] = {0, 1, 2, 3, 1, 130};
    const uint8_t bytes[] = {3, 0xE4, 0x0D, 0, 127};
    expect_bytes(MP_LAYOUT_CRUMBS, values, 6, bytes, sizeof bytes);
}

static void boundary_values_survive_every_layout(void **state)
{
    (void)state;
    uint64_t values[64 * 3 + 3];
    uint32_t rows = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t power = UINT64_C(1) << bit;
        values[rows++] = power - 1;
        values[rows++] = power;
        values[rows++] = power + 1;
    }
    values[rows++] = 15;
    values[rows++] = UINT64_MAX;
    values[rows++] = UINT64_MAX - 1;
    for (enum mp_layout layout = MP_LAYOUT_BYTES; layout <= MP_LAYOUT_CRUMBS; layout++) {
        expect_round_trip(layout, values, rows);
        for (uint32_t i = 0; i < rows; i++)
            expect_round_trip(layout, &values[i], 1);
        for (uint32_t i = 1; i < rows; i++)
            expect_round_trip(layout, &values[i - 1], 2);
    }
}

static void random_numbers_of_any_length_survive_every_layout(void **state)
{
    (void)state;
    static uint64_t values[65536];
    uint64_t random = 1;
    static const uint32_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 4097, 65536};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (uint32_t row = 0; row < lengths[i]; row++)
            values[row] = fixture_random(&random) >> (fixture_random(&random) % 64);
        for (enum mp_layout layout = MP_LAYOUT_CONSTANT + 1; layout <= MP_LAYOUT_CRUMBS; layout++)
            expect_round_trip(layout, values, lengths[i]);
    }
}

static void expect_refused(const uint8_t *bytes, size_t size, uint32_t rows)
{
    uint64_t values[8];
    const uint8_t *at = bytes;
    assert_int_equal(mp_stream_decode(&at, bytes + size, values, rows), MP_ERR_DAMAGED);
}

static void bytes_that_are_no_stream_are_refused(void **state)
{
    (void)state;
    const uint8_t unknown_layout[] = {4, 0, 0, 0};
    const uint8_t constant_without_number[] = {0};
    const uint8_t number_beyond_64_bits[] = {0,    0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                             0xFF, 0xFF, 0xFF, 0xFF, 0x02};
    const uint8_t token_beyond_the_last[] = {2, 136, 8, 0, 0, 0, 0, 0, 0, 0, 0};
    const uint8_t bits_beyond_the_end[] = {2, 16, 200, 1};
    const uint8_t too_few_bits[] = {2, 135, 7, 0, 0, 0, 0, 0, 0, 0};
    const uint8_t bits_for_two_of_three[] = {2, 16, 16, 16, 1, 0xFF};
    const uint8_t escaped_crumb_without_number[] = {3, 0x03};
    expect_refused(unknown_layout, sizeof unknown_layout, 1);
    expect_refused(constant_without_number, sizeof constant_without_number, 1);
    expect_refused(number_beyond_64_bits, sizeof number_beyond_64_bits, 1);
    expect_refused(token_beyond_the_last, sizeof token_beyond_the_last, 1);
    expect_refused(bits_beyond_the_end, sizeof bits_beyond_the_end, 1);
    expect_refused(too_few_bits, sizeof too_few_bits, 1);
    expect_refused(bits_for_two_of_three, sizeof bits_for_two_of_three, 3);
    expect_refused(escaped_crumb_without_number, sizeof escaped_crumb_without_number, 1);
    expect_refused(unknown_layout, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_numbers_take_one_varint),
        cmocka_unit_test(bytes_are_one_varint_a_row),
        cmocka_unit_test(tokens_and_bits_stand_as_specified),
        cmocka_unit_test(the_longest_tokens_have_62_bits),
        cmocka_unit_test(crumbs_hold_four_rows_to_a_byte),
        cmocka_unit_test(boundary_values_survive_every_layout),
        cmocka_unit_test(random_numbers_of_any_length_survive_every_layout),
        cmocka_unit_test(bytes_that_are_no_stream_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
