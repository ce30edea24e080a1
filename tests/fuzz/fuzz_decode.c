/* The decoder alone, on any bytes: no file, no checksum, no zstd between the fuzzer and it.
 *
 *     u8 table (index in mp_tables), u8 and u16 of rows, u32 column mask, then the columns
 *
 * With bit 31 of the mask the columns are decoded into memory of the caller, exactly large enough.
 * A trace among the seeds is turned into that by the first mutation: one of its chunks. */
#include "seal.h"
#include "walk.h"

#include "trace/codec.h"

#define PREFIX_BYTES 8

/* Decodes into columns of exactly `rows` values each, or into the decoder's memory. */
static enum mp_status decode(struct mp_decoder *decoder, const uint8_t *bytes, size_t size,
                             uint32_t rows, uint32_t mask, struct mp_batch *batch,
                             uint64_t *into[MP_MAX_COLUMNS])
{
    for (unsigned i = 0; i < batch->table->column_count; i++)
        into[i] = mask >> 31 ? malloc(rows * sizeof *into[i]) : NULL;
    return mp_decode(decoder, bytes, size, rows, mask, into, batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mp_decoder *decoder;
    static volatile uint64_t seen;
    size_t count;
    uint16_t rows;
    uint32_t mask;
    const struct mp_table_info *tables = mp_tables(&count);
    if (size < PREFIX_BYTES || (!decoder && mp_decoder_create(&decoder) != MP_OK))
        return 0;
    memcpy(&rows, data + 2, sizeof rows);
    memcpy(&mask, data + 4, sizeof mask);
    struct mp_batch batch = {.table = &tables[data[0] % count]};
    /* Large chunks take long and show nothing new: most rows are few. */
    uint32_t batch_rows = data[1] < 250 ? rows % 300 + 1u : rows + 1u;
    size_t columns = size - PREFIX_BYTES;
    uint8_t *exact = malloc(columns + 1); /* so that a read beyond the end is seen */
    memcpy(exact + 1, data + PREFIX_BYTES, columns);
    uint64_t *into[MP_MAX_COLUMNS] = {NULL};
    if (decode(decoder, exact + 1, columns, batch_rows, mask, &batch, into) == MP_OK)
        seen = walk_batch(&batch);
    (void)seen;
    for (unsigned i = 0; i < MP_MAX_COLUMNS; i++)
        free(into[i]);
    free(exact);
    return 0;
}

/* The chunk that follows at or after `from` as an input of this fuzzer; 0 if there is none. */
static size_t take_chunk(uint8_t *data, size_t size, size_t max_size, size_t from)
{
    struct mp_chunk_header header;
    size_t at = from;
    while (at + sizeof header <= size && memcmp(data + at + 8, MP_CHUNK_MAGIC, 8) != 0)
        at++;
    if (at + sizeof header > size || max_size < PREFIX_BYTES)
        return 0;
    memcpy(&header, data + at, sizeof header);
    uint8_t *raw = malloc(max_size);
    size_t bytes = 0;
    if (header.packed_bytes <= size - at - sizeof header)
        bytes = ZSTD_decompress(raw, max_size - PREFIX_BYTES, data + at + sizeof header,
                                header.packed_bytes);
    size_t count;
    const struct mp_table_info *table = mp_table_by_id(header.table);
    if (!table || !bytes || ZSTD_isError(bytes)) {
        free(raw);
        return 0;
    }
    uint16_t rows = (uint16_t)(header.rows - 1);
    memset(data, 0xFF, PREFIX_BYTES); /* all columns */
    data[0] = (uint8_t)(table - mp_tables(&count));
    data[1] = header.rows <= 300 ? 0 : 255;
    memcpy(data + 2, &rows, sizeof rows);
    memcpy(data + PREFIX_BYTES, raw, bytes);
    free(raw);
    return PREFIX_BYTES + bytes;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    const uint32_t magic = MP_SKIPPABLE_MAGIC;
    if (size > 40 && !memcmp(data, &magic, sizeof magic)) {
        size_t taken = take_chunk(data, size, max_size, seed % size);
        if (taken)
            return taken;
    }
    return LLVMFuzzerMutate(data, size, max_size);
}
