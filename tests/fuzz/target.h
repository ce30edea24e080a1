/* What every fuzzer has: libFuzzer's entry points, and how it says that something does not hold. */
#ifndef MP_TESTS_FUZZ_TARGET_H
#define MP_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The target's. The second and third are optional. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t max_size, unsigned seed);

/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Ends the run with this input as a finding unless it holds. */
static inline void expect(bool holds)
{
    if (!holds)
        abort();
}

#endif
