/* The reader on files whose checksums fit, whatever they say: a mutation unpacks one chunk, changes
 * its columns or the numbers of its header, and seals it again. */
#include "seal.h"
#include "walk.h"

#define MOST_CHUNKS 256
#define RAW_BYTES   (1u << 18) /* of a chunk that is mutated */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    walk_bytes(data, size);
    return 0;
}

/* Where the chunks begin; returns how many. */
static unsigned find_chunks(const uint8_t *data, size_t size, size_t *chunks)
{
    unsigned count = 0;
    for (size_t at = 0; at + SEAL_HEADER_BYTES <= size && count < MOST_CHUNKS; at++)
        if (!memcmp(data + at + 8, MP_CHUNK_MAGIC, 8))
            chunks[count++] = at;
    return count;
}

/* Changes the numbers from the sequence on, but not the lengths nor the table's upper byte, which
 * would only have the chunk passed over. */
static void mutate_header(uint8_t *header, unsigned seed)
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
static size_t mutate_columns(uint8_t *data, size_t size, size_t max_size, size_t at)
{
    static uint8_t raw[RAW_BYTES];
    static uint8_t sealed[2 * RAW_BYTES];
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

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t chunks[MOST_CHUNKS];
    unsigned count = find_chunks(data, size, chunks);
    if (!count || seed % 16 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    size_t at = chunks[seed / 16 % count];
    size_t mutated = seed % 4 ? mutate_columns(data, size, max_size, at) : 0;
    if (mutated)
        return mutated;
    mutate_header(data + at, seed / 4);
    return size;
}
