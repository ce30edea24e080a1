/* Traces made by hand: frames with right checksums around any contents, as docs/trace-format.md,
 * sections 2 to 4, describes them. For forged chunks in tests, and for the fuzzers, whose mutations
 * would not get past a checksum otherwise. Shares the constants of format.h with src/, no code. */
#ifndef MP_TESTS_FUZZ_SEAL_H
#define MP_TESTS_FUZZ_SEAL_H

#include <miniprof/format.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SEAL_HEADER_BYTES 72 /* of a chunk's header */

/* A file header with the text (no NUL) into `out`, which has room for 40 + text_bytes; its size. */
static inline size_t seal_file_header(uint8_t *out, const char *text, size_t text_bytes,
                                      uint32_t version, uint32_t features)
{
    struct mp_file_header header = {
        .skippable_magic = MP_SKIPPABLE_MAGIC,
        .skippable_bytes = (uint32_t)(24 + text_bytes + 8),
        .magic = MP_HEADER_MAGIC,
        .version = version,
        .features = features,
        .text_bytes = (uint32_t)text_bytes,
    };
    memcpy(out, &header, 32);
    if (text_bytes)
        memcpy(out + 32, text, text_bytes);
    uint64_t checksum = XXH64(out + 8, 24 + text_bytes, 0);
    memcpy(out + 32 + text_bytes, &checksum, 8);
    return 40 + text_bytes;
}

/* Gives a chunk header that stands at `header` the checksum of what it says. */
static inline void seal_chunk_header(uint8_t *header)
{
    uint64_t checksum = XXH64(header + 8, 56, 0);
    memcpy(header + 64, &checksum, 8);
}

/* What a forged chunk says of itself; raw_bytes and packed_bytes are set by seal_chunk. */
struct seal_claims {
    uint32_t sequence;
    uint16_t table;
    uint32_t rows;
};

/* A chunk of the given columns into `out` of `room` bytes; its size, or 0 if it does not fit. */
static inline size_t seal_chunk(uint8_t *out, size_t room, struct seal_claims claims,
                                const uint8_t *raw, size_t raw_bytes)
{
    if (room < SEAL_HEADER_BYTES)
        return 0;
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    size_t packed =
        ZSTD_compress2(zstd, out + SEAL_HEADER_BYTES, room - SEAL_HEADER_BYTES, raw, raw_bytes);
    ZSTD_freeCCtx(zstd);
    if (ZSTD_isError(packed))
        return 0;
    struct mp_chunk_header header = {
        .skippable_magic = MP_SKIPPABLE_MAGIC,
        .skippable_bytes = 64,
        .magic = MP_CHUNK_MAGIC,
        .sequence = claims.sequence,
        .table = claims.table,
        .rows = claims.rows,
        .raw_bytes = (uint32_t)raw_bytes,
        .packed_bytes = (uint32_t)packed,
    };
    memcpy(out, &header, SEAL_HEADER_BYTES);
    seal_chunk_header(out);
    return SEAL_HEADER_BYTES + packed;
}

#endif
