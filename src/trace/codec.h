/* How the columns of tables.def become bytes that compress well, and come back: what encoder and
 * decoder share, and the decoder.
 */
#ifndef MP_TRACE_CODEC_H
#define MP_TRACE_CODEC_H

#include <miniprof/format.h>
#include <miniprof/trace.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/storage.h"
#include "base/status.h"

/* ---- Predictions ----
 *
 * A value is predicted from the rows before it. Only the difference to the prediction (the
 * residual) is stored: noise as a token and raw bits, structure as bytes in which zstd finds
 * repetitions.
 *
 *     lane      rows of one stream or thread follow each other; each has its own "last value"
 *     context   rows with the same keys behave alike: the same kernel takes the same time
 *
 * State is fixed in size, addressed by hash and reset in every chunk. So collisions and damage cost
 * bytes, never correctness. Encoder and decoder run the same update, in wrapping 64-bit arithmetic.
 */

/* A column's codec as tables.def states it: positions of other columns of the table, or -1. */
struct mp_codec {
    uint8_t kind;    /* enum mp_codec_kind */
    uint8_t predict; /* MP_PREDICT_* */
    int8_t lane;
    int8_t key1;
    int8_t key2;
};

/* A codec for each column of the table, in their order. Only the encoder needs them; a decoder
 * follows what the file says. */
const struct mp_codec *mp_table_codecs(const struct mp_table_info *table);

struct mp_predictor {
    uint64_t lane_last[1 << MP_LANE_BITS];
    uint64_t lane_keys[1 << MP_LANE_BITS];
    uint64_t context[1 << MP_CONTEXT_BITS];
    uint8_t seen[1 << MP_CONTEXT_BITS];
};

/* A device's times advance in steps (32 ns on an H100), and CUPTI maps them to the host's clock by
 * a straight line. A grid undoes this mapping: time = anchor + floor((tick * step + fraction) /
 * 2^32) + offset + correction. The correction is mostly 0. If corrections stay on one side, the
 * offset follows them. step = 2^32 means plain nanoseconds. */
struct mp_grid {
    uint64_t anchor;
    uint64_t step;     /* ns in 32.32 fixed point */
    uint32_t fraction; /* ns * 2^32 */
};

#define MP_GRID_UNIT ((uint64_t)1 << 32)

/* ---- Whole columns: values to residuals and back ---- */

/* The columns that a codec refers to. NULL if it names none: then the key is 0 in every row. */
struct mp_keys {
    const uint64_t *lane;
    const uint64_t *key1;
    const uint64_t *key2;
};

/* Residuals of a NUMBER column. `state` is scratch space. */
void mp_number_residuals(struct mp_predictor *state, unsigned predict, const struct mp_keys *keys,
                         const uint64_t *values, uint64_t *residuals, uint32_t rows);

/* The inverse; `values` holds the residuals and receives the values. */
void mp_number_values(struct mp_predictor *state, unsigned predict, const struct mp_keys *keys,
                      uint64_t *values, uint32_t rows);

/* An interval column pair in ticks of a grid: begin and, where the table has one, span. */
struct mp_interval {
    struct mp_keys start_keys;
    struct mp_keys span_keys;
    unsigned start_predict;
    unsigned span_predict;
    uint64_t *start;            /* times */
    uint64_t *span;             /* durations, or NULL */
    uint64_t *start_residuals;  /* of the gap to the lane's previous end, in ticks */
    uint64_t *span_residuals;   /* of the span, in ticks */
    uint64_t *start_correction; /* difference between the grid and the time, ns */
    uint64_t *span_correction;
    uint32_t rows;
};

/* `state` holds two predictors: of the begins and of the spans. */
void mp_interval_residuals(struct mp_predictor state[2], const struct mp_grid *grid,
                           const struct mp_interval *interval);
void mp_interval_values(struct mp_predictor state[2], const struct mp_grid *grid,
                        const struct mp_interval *interval);

/* Finds the grid on which times lie; step = MP_GRID_UNIT if there is none. `hint` is the step that
 * other times of the device had; 0 if none is known. */
struct mp_grid mp_grid_find(const uint64_t *start, const uint64_t *span, uint32_t rows,
                            uint64_t hint);

/* ---- Streams ----
 *
 * A stream is the residuals of a column for all rows of a chunk, as bytes.
 *
 *     CONSTANT  layout byte, one LEB128
 *     BYTES     layout byte, a LEB128 for each row: zstd finds what repeats
 *     BITS      layout byte, a token byte for each row, LEB128 length of the extra bits, these.
 *               For noise: zstd's Huffman stage sees only the tokens, the bits stay as they are
 *     CRUMBS    layout byte, four rows to a byte, the first in the lowest bits. 3 stands for a
 *               larger value: these follow after all rows as LEB128, minus 3. For values with
 *               less than a bit of information, because a Huffman code takes at least a bit
 *
 * Tokens: a value below 16 is its own token. Above, with n the position of its highest bit, the
 * token is 16 + 2 (n - 4) + the bit below the highest. The n - 1 lower bits are the extra bits,
 * appended least significant first.
 */

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

/* Decodes a stream from *at, not beyond `end`, and moves *at past it. MP_ERR_DAMAGED if it does
 * not hold `rows` values. */
enum mp_status mp_stream_decode(const uint8_t **at, const uint8_t *end, uint64_t *values,
                                uint32_t rows);

/* ---- What a chunk may expand to (docs/trace-format.md, section 4) ----
 *
 * A column of one repeated number takes a few bytes for 65536 rows, and a repeated text shrinks as
 * much. So the size of a file alone does not say how much memory and time a reader needs. Therefore
 * a chunk has a weight, and its bytes in the file have to justify this weight. The largest weight
 * in real traces is 109 for each byte (definitions of graph nodes; kernels of graph replays have
 * 50), a tenth of what is allowed.
 */

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

/* ---- Decoding ----
 *
 * From the decompressed bytes of a chunk to columns of numbers. Everything is checked: even with a
 * correct checksum the bytes may be anything.
 */

struct mp_decoder;

enum mp_status mp_decoder_create(struct mp_decoder **decoder);
void mp_decoder_free(struct mp_decoder *decoder);

/* Decodes the selected columns (bit i: table->columns[i]) into `batch`. The caller has set the
 * batch's table; its other fields then point into the decoder and `bytes`. A column i for which
 * into[i] is not NULL is decoded there instead, where `rows` values have room; `into` may be NULL.
 * MP_ERR_DAMAGED, MP_ERR_MEMORY. */
enum mp_status mp_decode(struct mp_decoder *decoder, const uint8_t *bytes, size_t size,
                         uint32_t rows, uint32_t column_mask, uint64_t *const *into,
                         struct mp_batch *batch);

#endif
