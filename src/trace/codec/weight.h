/* What a chunk may expand to (docs/trace-format.md, section 4).
 *
 * A column of one repeated number takes a few bytes for 65536 rows, and a repeated text shrinks as
 * much. So the size of a file alone does not say how much memory and time a reader needs. Therefore
 * a chunk has a weight, and its bytes in the file have to justify this weight. The greatest weight
 * in real traces is 109 for each byte (definitions of graph nodes; kernels of graph replays have
 * 50), a tenth of what is allowed.
 */
#ifndef MP_TRACE_CODEC_WEIGHT_H
#define MP_TRACE_CODEC_WEIGHT_H

#include <miniprof/format.h>

/* The chunk's header alone justifies one row of the longest text. */
static_assert(MP_ROW_WEIGHT + MP_MAX_TEXT_BYTES + MP_MAX_COLUMNS * 64 <=
                  MP_MAX_WEIGHT_PER_BYTE * sizeof(struct mp_chunk_header),
              "a chunk can be split until it is justified");

static inline uint64_t mp_chunk_weight(const struct mp_chunk_header *header)
{
    return (uint64_t)header->rows * MP_ROW_WEIGHT + header->raw_bytes;
}

static inline uint64_t mp_chunk_justified_weight(const struct mp_chunk_header *header)
{
    return (sizeof *header + (uint64_t)header->packed_bytes) * MP_MAX_WEIGHT_PER_BYTE;
}

/* By how much the chunk is heavier than its bytes justify; 0 for what miniprof writes. */
static inline uint64_t mp_chunk_excess(const struct mp_chunk_header *header)
{
    uint64_t weight = mp_chunk_weight(header);
    uint64_t justified = mp_chunk_justified_weight(header);
    return weight > justified ? weight - justified : 0;
}

#endif
