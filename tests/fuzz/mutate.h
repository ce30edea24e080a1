/* A mutation that unpacks one chunk of a trace, changes its columns or the numbers of its header,
 * and seals it again: so that a fuzzer gets past the checksums. */
#ifndef MP_TESTS_FUZZ_MUTATE_H
#define MP_TESTS_FUZZ_MUTATE_H

#include "seal.h"
#include "target.h"

#define MUTATE_MAX_CHUNKS 256
#define MUTATE_RAW_BYTES  (1u << 18) /* of a chunk that is mutated */

/* Where the chunks begin; returns how many. */
static inline unsigned mutate_find_chunks(const uint8_t *data, size_t size, size_t *chunks)
{
    unsigned count = 0;
    for (size_t at = 0; at + SEAL_HEADER_BYTES <= size && count < MUTATE_MAX_CHUNKS; at++)
        if (!memcmp(data + at + 8, MP_CHUNK_MAGIC, 8))
            chunks[count++] = at;
    return count;
}

/* Changes the numbers from the sequence on, but not the lengths nor the table's upper byte, which
 * would only have the chunk passed over. */
static inline void mutate_header(uint8_t *header, unsigned seed)
{
    if (seed % 2)
        LLVMFuzzerMutate(header + 24, 4, 4);
    else if (seed % 3)
        LLVMFuzzerMutate(header + 20, 1, 1);
    else
        LLVMFuzzerMutate(header + 16, 56, 56);
    seal_chunk_header(header);
}

/* The file with the chunk at `at` replaced by one of the mutated columns; 0 if that cannot be. */
static inline size_t mutate_columns(uint8_t *data, size_t size, size_t max_size, size_t at)
{
    static uint8_t raw[MUTATE_RAW_BYTES];
    static uint8_t sealed[2 * MUTATE_RAW_BYTES];
    struct mp_chunk_header header;
    memcpy(&header, data + at, sizeof header);
    if (header.packed_bytes > size - at - sizeof header)
        return 0;
    size_t raw_bytes =
        ZSTD_decompress(raw, sizeof raw, data + at + sizeof header, header.packed_bytes);
    if (ZSTD_isError(raw_bytes))
        return 0;
    raw_bytes = LLVMFuzzerMutate(raw, raw_bytes, sizeof raw);
    struct seal_claims claims = {header.sequence, header.table, header.rows};
    size_t chunk = seal_chunk(sealed, sizeof sealed, claims, raw, raw_bytes);
    size_t tail = at + sizeof header + header.packed_bytes;
    if (!chunk || at + chunk + (size - tail) > max_size)
        return 0;
    memmove(data + at + chunk, data + tail, size - tail);
    memcpy(data + at, sealed, chunk);
    return at + chunk + (size - tail);
}

/* For LLVMFuzzerCustomMutator. */
static inline size_t mutate_trace(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t chunks[MUTATE_MAX_CHUNKS];
    unsigned count = mutate_find_chunks(data, size, chunks);
    if (!count || seed % 16 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    size_t at = chunks[seed / 16 % count];
    size_t mutated = seed % 4 ? mutate_columns(data, size, max_size, at) : 0;
    if (mutated)
        return mutated;
    mutate_header(data + at, seed / 4);
    return size;
}

#endif
