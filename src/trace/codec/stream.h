/* A stream: the residuals of a column for all rows of a chunk, as bytes.
 *
 *     CONSTANT  layout byte, one LEB128
 *     BYTES     layout byte, a LEB128 for each row: zstd finds what repeats
 *     BITS      layout byte, a token byte for each row, LEB128 length of the extra bits, these.
 *               For noise: zstd's Huffman stage sees only the tokens, the bits stay as they are
 *     CRUMBS    layout byte, four rows to a byte, the first in the lowest bits. 3 stands for a
 *               greater value: these follow after all rows as LEB128, minus 3. For values with
 *               less than a bit of information, because a Huffman code takes at least a bit
 *
 * Tokens: a value below 16 is its own token. Above, with n the position of its highest bit, the
 * token is 16 + 2 (n - 4) + the bit below the highest. The n - 1 lower bits are the extra bits,
 * appended least significant first.
 */
#ifndef MP_TRACE_CODEC_STREAM_H
#define MP_TRACE_CODEC_STREAM_H

#include "base/data/storage.h"
#include "base/status.h"

#include <miniprof/format.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that an encoder writes, and where zstd blocks should end. Columns with different statistics
 * then do not share a Huffman table. A zeroed struct is empty. */
struct mp_sink {
    struct mp_buffer buffer;
    size_t cuts[4 * MP_MAX_COLUMNS + 2];
    unsigned cut_count;
};

/* Ends a zstd block here, unless it would be too small to be worth it. */
void mp_sink_cut(struct mp_sink *sink);

/* Appends `rows` values in the given layout (CONSTANT is chosen when they are all equal). */
enum mp_status mp_stream_encode(struct mp_sink *sink, enum mp_layout layout, const uint64_t *values,
                                uint32_t rows);

/* Decodes a stream from *at, not beyond `end`, and moves *at behind it. MP_ERR_DAMAGED if it does
 * not hold `rows` values. */
enum mp_status mp_stream_decode(const uint8_t **at, const uint8_t *end, uint64_t *values,
                                uint32_t rows);

#endif
