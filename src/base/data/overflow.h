/* Checked multiplication and addition for sizes that come from a file or from the application. */
#ifndef MP_BASE_DATA_OVERFLOW_H
#define MP_BASE_DATA_OVERFLOW_H

#include <stdbool.h>
#include <stddef.h>

/* *product = a * b; false, with *product unspecified, when it does not fit. */
__attribute__((warn_unused_result)) static inline bool mp_size_mul(size_t a, size_t b,
                                                                   size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* *sum = a + b; false, with *sum unspecified, when it does not fit. */
__attribute__((warn_unused_result)) static inline bool mp_size_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

/* *total = header + count * item: the bytes of a structure with a trailing array. */
__attribute__((warn_unused_result)) static inline bool mp_size_with_array(size_t header,
                                                                          size_t count, size_t item,
                                                                          size_t *total)
{
    return mp_size_mul(count, item, total) && mp_size_add(header, *total, total);
}

#endif
