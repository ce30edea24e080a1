/* storage.h (varints, sizes), hash.h: expected bytes from the LEB128 and xxHash specifications. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/data/hash.h"
#include "base/data/storage.h"

struct varint_case {
    uint64_t value;
    size_t size;
    uint8_t bytes[MP_VARINT_MAX_BYTES];
};

/* 624485 is the example of the DWARF standard, appendix C. */
static const struct varint_case varints[] = {
    {0, 1, {0x00}},
    {1, 1, {0x01}},
    {127, 1, {0x7f}},
    {128, 2, {0x80, 0x01}},
    {300, 2, {0xac, 0x02}},
    {16383, 2, {0xff, 0x7f}},
    {16384, 3, {0x80, 0x80, 0x01}},
    {624485, 3, {0xe5, 0x8e, 0x26}},
    {UINT32_MAX, 5, {0xff, 0xff, 0xff, 0xff, 0x0f}},
    {1ull << 63, 10, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}},
    {UINT64_MAX, 10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
};
#define VARINTS (sizeof(varints) / sizeof(*varints))

static void varints_have_the_bytes_of_leb128(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < VARINTS; i++) {
        uint8_t out[MP_VARINT_MAX_BYTES];
        const uint8_t *cursor = varints[i].bytes;
        uint64_t value = 0;

        assert_int_equal(mp_varint_size(varints[i].value), varints[i].size);
        assert_int_equal(mp_varint_put(out, varints[i].value), varints[i].size);
        assert_memory_equal(out, varints[i].bytes, varints[i].size);
        assert_true(mp_varint_get(&cursor, cursor + varints[i].size, &value));
        assert_true(value == varints[i].value);
        assert_ptr_equal(cursor, varints[i].bytes + varints[i].size);
    }
}

static void a_varint_cut_anywhere_is_refused_and_nothing_moves(void **state)
{
    size_t i, cut;

    (void)state;
    for (i = 0; i < VARINTS; i++) {
        for (cut = 0; cut < varints[i].size; cut++) {
            const uint8_t *cursor = varints[i].bytes;
            uint64_t value = 77;

            assert_false(mp_varint_get(&cursor, varints[i].bytes + cut, &value));
            assert_ptr_equal(cursor, varints[i].bytes);
            assert_true(value == 77);
        }
    }
}

static void a_varint_of_more_than_64_bits_is_refused(void **state)
{
    static const uint8_t bit64[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02};
    static const uint8_t eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                     0x80, 0x80, 0x80, 0x80, 0x00};
    const uint8_t *cursor = bit64;
    uint64_t value;

    (void)state;
    assert_false(mp_varint_get(&cursor, bit64 + sizeof(bit64), &value));
    cursor = eleven;
    assert_false(mp_varint_get(&cursor, eleven + sizeof(eleven), &value));
}

static void zigzag_folds_small_magnitudes_onto_small_numbers(void **state)
{
    static const struct {
        int64_t value;
        uint64_t folded;
    } cases[] = {
        {0, 0}, {-1, 1}, {1, 2}, {-2, 3}, {INT64_MAX, UINT64_MAX - 1}, {INT64_MIN, UINT64_MAX},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_true(mp_zigzag_encode(cases[i].value) == cases[i].folded);
        assert_true(mp_zigzag_decode(cases[i].folded) == cases[i].value);
    }
}

static void deltas_come_back_for_all_pairs_of_extremes(void **state)
{
    static const uint64_t values[] = {0, 1, 2, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
    size_t i, j;

    (void)state;
    for (i = 0; i < sizeof(values) / sizeof(*values); i++) {
        for (j = 0; j < sizeof(values) / sizeof(*values); j++)
            assert_true(mp_undelta(values[j], mp_delta(values[i], values[j])) == values[i]);
    }
    assert_true(mp_delta(5, 7) == 3);
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
    size_t result;

    (void)state;
    assert_true(mp_size_mul(SIZE_MAX / 2, 2, &result));
    assert_true(result == SIZE_MAX - 1);
    assert_false(mp_size_mul(SIZE_MAX / 2 + 1, 2, &result));
    assert_true(mp_size_add(SIZE_MAX - 1, 1, &result));
    assert_false(mp_size_add(SIZE_MAX, 1, &result));
    assert_true(mp_size_with_array(16, 3, 8, &result));
    assert_int_equal(result, 40);
    assert_false(mp_size_with_array(16, SIZE_MAX / 8, 8, &result));
    assert_false(mp_size_with_array(0, SIZE_MAX, 2, &result));
}

/* doc/xxhash_spec.md of xxHash: XXH64 of "" and of "abc" with seed 0; the XXH3 value is what
 * `xxhsum -H3` prints. */
static void checksums_are_the_published_ones(void **state)
{
    (void)state;
    assert_true(mp_checksum64("", 0) == UINT64_C(0xef46db3751d8e999));
    assert_true(mp_checksum64("abc", 3) == UINT64_C(0x44bc2cf5ad770999));
    assert_true(mp_hash64("", 0, 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(mp_hash64("abc", 3, 1) != mp_hash64("abc", 3, 0));
}

/* The finalizer applied to its own constant's first steps: splitmix64 with seed 0 starts with
 * e220a8397b1dcdaf. */
static void mixing_is_splitmix64(void **state)
{
    (void)state;
    assert_true(mp_mix64(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(mp_mix64(0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_have_the_bytes_of_leb128),
        cmocka_unit_test(a_varint_cut_anywhere_is_refused_and_nothing_moves),
        cmocka_unit_test(a_varint_of_more_than_64_bits_is_refused),
        cmocka_unit_test(zigzag_folds_small_magnitudes_onto_small_numbers),
        cmocka_unit_test(deltas_come_back_for_all_pairs_of_extremes),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(checksums_are_the_published_ones),
        cmocka_unit_test(mixing_is_splitmix64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
