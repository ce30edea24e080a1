/* The bytes of each encoding, against the examples of the specifications: parquet-format's
 * Encodings.md and Thrift's thrift-compact-protocol.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "export/parquet/build.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void expect(struct mp_buffer *buffer, const uint8_t *bytes, size_t count)
{
    assert_int_equal(buffer->status, MP_OK);
    assert_int_equal(buffer->size, count);
    assert_memory_equal(buffer->data, bytes, count);
    mp_buffer_free(buffer);
}

/* Encodings.md, RLE: "the numbers 1 through 7 using bit width 3" and 0 before them. */
static void bits_are_packed_from_the_lowest(void **state)
{
    const uint64_t values[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint64_t wide[] = {UINT64_MAX, 0, UINT64_C(0x0123456789abcdef)};
    struct mp_buffer out = {.data = NULL};

    (void)state;
    encode_bits(&out, values, 8, 3);
    expect(&out, BYTES(0x88, 0xc6, 0xfa));
    out = (struct mp_buffer){.data = NULL};
    encode_bits(&out, values, 3, 3);
    expect(&out, BYTES(0x88, 0x00));
    out = (struct mp_buffer){.data = NULL};
    encode_bits(&out, wide, 3, 64);
    expect(&out, BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xef,
                       0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01));
    out = (struct mp_buffer){.data = NULL};
    encode_bits(&out, (const uint64_t[]){(UINT64_C(1) << 63) - 1, 1}, 2, 63);
    expect(&out, BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0));
}

static void a_run_is_a_count_and_a_value(void **state)
{
    uint64_t values[100];
    struct mp_buffer out = {.data = NULL};

    (void)state;
    for (size_t i = 0; i < 100; i++)
        values[i] = 0x104;
    encode_hybrid(&out, values, 100, 9);
    expect(&out, BYTES(0xc8, 0x01, 0x04, 0x01)); /* 100 << 1, two bytes of value */
}

static void values_before_a_run_are_packed_in_eights(void **state)
{
    const uint64_t values[] = {1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    struct mp_buffer out = {.data = NULL};

    (void)state;
    encode_hybrid(&out, values, 18, 1); /* 1 0 1 and five zeros; nine zeros; 1 */
    expect(&out, BYTES(0x03, 0x05, 0x12, 0x00, 0x03, 0x01));
    out = (struct mp_buffer){.data = NULL};
    encode_hybrid(&out, values, 12, 1); /* a run of 9 would leave 4: all packed */
    expect(&out, BYTES(0x05, 0x05, 0x00));
    out = (struct mp_buffer){.data = NULL};
    encode_hybrid(&out, values, 1, 1);
    expect(&out, BYTES(0x03, 0x01));
}

/* Encodings.md, delta encoding, examples 1 and 2, but with our blocks of 128. */
static void differences_are_those_of_the_examples(void **state)
{
    struct mp_buffer out = {.data = NULL};

    (void)state;
    encode_delta(&out, (const uint64_t[]){1, 2, 3, 4, 5}, 5, 64);
    expect(&out, BYTES(0x80, 0x01, 4, 5, 2, 2, 0, 0, 0, 0));
    out = (struct mp_buffer){.data = NULL};
    encode_delta(&out, (const uint64_t[]){7, 5, 3, 1, 2, 3, 4, 5}, 8, 64);
    expect(&out, BYTES(0x80, 0x01, 4, 8, 14, 3, 2, 0, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0));
    out = (struct mp_buffer){.data = NULL};
    encode_delta(&out, (const uint64_t[]){7}, 1, 64);
    expect(&out, BYTES(0x80, 0x01, 4, 1, 14));
    out = (struct mp_buffer){.data = NULL};
    encode_delta(&out, NULL, 0, 64);
    expect(&out, BYTES(0x80, 0x01, 4, 0, 0));
}

/* From the greatest number to the least it is one step of 1, around. */
static void differences_wrap_around(void **state)
{
    const uint64_t longs[] = {INT64_MAX, (uint64_t)INT64_MIN};
    const uint64_t ints[] = {INT32_MAX, (uint64_t)INT32_MIN};
    struct mp_buffer out = {.data = NULL};

    (void)state;
    encode_delta(&out, longs, 2, 64);
    expect(&out, BYTES(0x80, 0x01, 4, 2, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
                       2, 0, 0, 0, 0));
    out = (struct mp_buffer){.data = NULL};
    encode_delta(&out, ints, 2, 32);
    expect(&out, BYTES(0x80, 0x01, 4, 2, 0xfe, 0xff, 0xff, 0xff, 0x0f, 2, 0, 0, 0, 0));
}

static void thrift_fields_are_steps_and_varints(void **state)
{
    struct mp_buffer out = {.data = NULL};
    struct thrift thrift;

    (void)state;
    thrift_open(&thrift, &out);
    thrift_i32(&thrift, 1, -1);
    thrift_bool(&thrift, 2, true);
    thrift_bool(&thrift, 4, false);
    thrift_i64(&thrift, 20, 300); /* a step of 16: the id itself */
    thrift_binary(&thrift, 21, "ab", 2);
    thrift_empty(&thrift, 22);
    thrift_open_field(&thrift, 23);
    thrift_i32(&thrift, 3, 0);
    thrift_close(&thrift);
    thrift_i32(&thrift, 24, 1); /* the outer struct's ids go on */
    thrift_close(&thrift);
    expect(&out, BYTES(0x15, 0x01, 0x11, 0x22, 0x06, 0x28, 0xd8, 0x04, 0x18, 2, 'a', 'b', 0x1c, 0,
                       0x1c, 0x35, 0, 0, 0x15, 2, 0));
}

static void thrift_lists_have_short_and_long_counts(void **state)
{
    struct mp_buffer out = {.data = NULL};
    struct thrift thrift;

    (void)state;
    thrift_open(&thrift, &out);
    thrift_list(&thrift, 1, THRIFT_STRUCT, 2);
    thrift_open_element(&thrift);
    thrift_i32(&thrift, 1, 1);
    thrift_close(&thrift);
    thrift_open_element(&thrift);
    thrift_close(&thrift);
    thrift_list(&thrift, 2, THRIFT_I32, 15);
    for (int32_t i = 0; i < 15; i++)
        thrift_element_i32(&thrift, i);
    thrift_list(&thrift, 3, THRIFT_BINARY, 1);
    thrift_element_binary(&thrift, "x", 1);
    thrift_close(&thrift);
    expect(&out, BYTES(0x19, 0x2c, 0x15, 2, 0, 0, 0x19, 0xf5, 15, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18,
                       20, 22, 24, 26, 28, 0x19, 0x18, 1, 'x', 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_packed_from_the_lowest),
        cmocka_unit_test(a_run_is_a_count_and_a_value),
        cmocka_unit_test(values_before_a_run_are_packed_in_eights),
        cmocka_unit_test(differences_are_those_of_the_examples),
        cmocka_unit_test(differences_wrap_around),
        cmocka_unit_test(thrift_fields_are_steps_and_varints),
        cmocka_unit_test(thrift_lists_have_short_and_long_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
