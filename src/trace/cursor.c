/* Walks over the chunks of a trace, past whatever is damaged.
 *
 * A chunk header has its own checksum, so a header with a correct checksum is one that was written.
 * After damage the cursor looks for the next such header and continues there. The bytes between are
 * counted, never guessed.
 */
#include "base/data/storage.h"
#include "base/io.h"
#include "base/status.h"
#include "base/text/units.h"
#include "trace/codec.h"
#include "trace/reader.h"
#include "trace/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/poison.h"

struct mp_cursor {
    struct mp_trace *trace;
    struct mp_decoder *decoder;
    ZSTD_DCtx *zstd;
    struct mp_buffer packed; /* frame as in the file */
    struct mp_buffer raw;    /* the same decompressed */
    uint32_t masks[MP_TABLE_COUNT];
    uint64_t position;      /* of the next chunk header */
    uint64_t next_sequence; /* that it should have */
    uint64_t unread;        /* begin of the last chunk's frame until it is read whole, then 0 */
    uint64_t excess;        /* weight of the chunks so far that their bytes do not justify */
    uint64_t looked_back;   /* bytes; bounded, or headers inside headers could take any time */
    struct mp_damage damage;
    /* For a followed trace: the last chunk header, to check whether it is still there. */
    uint64_t last_offset;
    uint64_t last_checksum;
    bool has_last;
    bool ended;
};

enum mp_status mp_cursor_open(struct mp_trace *trace, struct mp_cursor **result,
                              struct mp_error *error)
{
    *result = NULL;
    struct mp_cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor) {
        cursor->trace = trace;
        cursor->zstd = ZSTD_createDCtx();
        memset(cursor->masks, 0xFF, sizeof cursor->masks);
    }
    if (!cursor || !cursor->zstd || mp_decoder_create(&cursor->decoder) != MP_OK) {
        mp_cursor_close(cursor);
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    }
    mp_cursor_rewind(cursor);
    *result = cursor;
    return MP_OK;
}

void mp_cursor_close(struct mp_cursor *cursor)
{
    if (!cursor)
        return;
    mp_decoder_free(cursor->decoder);
    ZSTD_freeDCtx(cursor->zstd);
    mp_buffer_free(&cursor->packed);
    mp_buffer_free(&cursor->raw);
    free(cursor);
}

void mp_cursor_rewind(struct mp_cursor *cursor)
{
    cursor->position = cursor->trace->header_bytes;
    cursor->next_sequence = 0;
    cursor->unread = 0;
    cursor->excess = 0;
    cursor->looked_back = 0;
    cursor->damage = (struct mp_damage){.no_index = !cursor->trace->index.present,
                                        .header_lost = cursor->trace->header_lost};
    cursor->has_last = false;
    cursor->ended = false;
}

void mp_cursor_select(struct mp_cursor *cursor, const struct mp_table_info *table,
                      uint32_t column_mask)
{
    size_t count;
    cursor->masks[table - mp_tables(&count)] = column_mask;
}

void mp_cursor_damage(const struct mp_cursor *cursor, struct mp_damage *damage)
{
    *damage = cursor->damage;
}

/* ---- Finding chunks ---- */

/* Where chunks can be: up to the index, or to the end of the file. */
static uint64_t chunks_end(const struct mp_cursor *cursor)
{
    return cursor->trace->index.present ? cursor->trace->index_offset : cursor->trace->bytes;
}

static bool header_is_within_limits(const struct mp_chunk_header *header)
{
    return header->rows > 0 && header->rows <= MP_MAX_CHUNK_ROWS &&
           header->raw_bytes <= MP_MAX_CHUNK_RAW_BYTES &&
           header->packed_bytes <= MP_MAX_CHUNK_PACKED_BYTES;
}

static void note_damage(struct mp_cursor *cursor, uint64_t offset)
{
    if (!cursor->damage.first_offset)
        cursor->damage.first_offset = offset;
}

/* Skips what is damaged at the cursor's position, at least `min` bytes. */
static enum mp_status skip_damage(struct mp_cursor *cursor, uint64_t min)
{
    uint64_t found;
    uint64_t end = chunks_end(cursor);
    uint64_t from = end - cursor->position < min ? end : cursor->position + min;
    note_damage(cursor, cursor->position);
    MP_TRY(mp_scan_chunk(cursor->trace->fd, from, end, &found));
    cursor->damage.bytes_skipped += found - cursor->position;
    cursor->position = found;
    return MP_OK;
}

/* A frame that has lost bytes ends earlier than its header says, so the next header stands inside
 * the supposed frame. Goes back to that header, if there is one at or after `from`. */
static enum mp_status look_back(struct mp_cursor *cursor, uint64_t from)
{
    uint64_t end = chunks_end(cursor);
    uint64_t until = cursor->position + sizeof(struct mp_chunk_header) - 1;
    uint64_t found;
    cursor->unread = 0;
    cursor->looked_back += cursor->position - from;
    if (cursor->looked_back > 2 * cursor->trace->bytes)
        return MP_OK;
    MP_TRY(mp_scan_chunk(cursor->trace->fd, from, until < end ? until : end, &found));
    if (found < cursor->position)
        cursor->position = found;
    return MP_OK;
}

/* Whether the bytes at the cursor are the beginning of something that is still being written.
 * `header` holds as much as there is; `left` bytes remain up to the end of the file. Here the index
 * counts as a chunk. */
static bool is_unfinished(const struct mp_cursor *cursor, const struct mp_chunk_header *header,
                          uint64_t left)
{
    if (!cursor->trace->growing)
        return false;
    if (left < sizeof *header)
        return true;
    if (mp_chunk_header_intact(header))
        return header_is_within_limits(header) && header->packed_bytes > left - sizeof *header;
    return header->skippable_magic == MP_SKIPPABLE_MAGIC &&
           !memcmp(header->magic, MP_INDEX_MAGIC, sizeof header->magic);
}

/* Whether damage up to the end of a growing file may turn out to be an unfinished chunk. */
static bool may_be_unfinished(struct mp_cursor *cursor)
{
    uint64_t end = chunks_end(cursor);
    uint64_t found;
    return cursor->trace->growing &&
           mp_scan_chunk(cursor->trace->fd, cursor->position + 1, end, &found) == MP_OK &&
           found == end;
}

/* Reads the next intact chunk header whose chunk fits in the file. */
static enum mp_status next_header(struct mp_cursor *cursor, struct mp_chunk_header *header)
{
    uint64_t end = chunks_end(cursor);
    while (cursor->position < end) {
        uint64_t left = end - cursor->position;
        bool whole = left >= sizeof *header;
        if (whole && mp_pread_exact(cursor->trace->fd, header, sizeof *header, cursor->position,
                                    NULL) != MP_OK)
            return MP_ERR_IO;
        if (is_unfinished(cursor, header, left))
            break;
        bool intact = whole && mp_chunk_header_intact(header);
        if (intact && header_is_within_limits(header) &&
            header->packed_bytes <= left - sizeof *header)
            return MP_OK;
        if (!intact && cursor->unread) {
            MP_TRY(look_back(cursor, cursor->unread));
            continue;
        }
        if (may_be_unfinished(cursor))
            break;
        bool cut = intact && header->packed_bytes > left - sizeof *header;
        if (!whole || cut)
            cursor->damage.truncated = true;
        if (cut) {
            cursor->damage.chunks_damaged++;
            cursor->damage.rows_damaged += header->rows;
        }
        MP_TRY(skip_damage(cursor, intact ? sizeof *header : 1));
    }
    cursor->ended = true;
    if (cursor->trace->index.present && cursor->next_sequence < cursor->trace->index.chunks)
        cursor->damage.chunks_missing += cursor->trace->index.chunks - cursor->next_sequence;
    return MP_END;
}

static void note_sequence(struct mp_cursor *cursor, uint32_t sequence)
{
    if (sequence > cursor->next_sequence)
        cursor->damage.chunks_missing += sequence - cursor->next_sequence;
    cursor->next_sequence = (uint64_t)sequence + 1;
}

static void damaged_chunk(struct mp_cursor *cursor, uint64_t offset, uint32_t rows)
{
    note_damage(cursor, offset);
    cursor->damage.chunks_damaged++;
    cursor->damage.rows_damaged += rows;
}

/* ---- Reading chunks ---- */

/* Reads and decompresses the frame after a header at `offset`; its checksum is zstd's. */
static enum mp_status unpack(struct mp_cursor *cursor, const struct mp_chunk_header *header,
                             uint64_t offset)
{
    mp_buffer_clear(&cursor->packed);
    mp_buffer_clear(&cursor->raw);
    uint8_t *packed = mp_buffer_extend(&cursor->packed, header->packed_bytes);
    uint8_t *raw = mp_buffer_extend(&cursor->raw, (size_t)header->raw_bytes + 1);
    if (!packed || !raw)
        return MP_ERR_MEMORY;
    if (mp_pread_exact(cursor->trace->fd, packed, header->packed_bytes, offset + sizeof *header,
                       NULL) != MP_OK)
        return MP_ERR_IO;
    size_t size =
        ZSTD_decompressDCtx(cursor->zstd, raw, header->raw_bytes, packed, header->packed_bytes);
    if (size != header->raw_bytes)
        return MP_ERR_DAMAGED;
    cursor->unread = 0;
    return MP_OK;
}

/* Whether the file may also expand to this chunk. Older writers made chunks of more rows than their
 * bytes justify, so some excess is allowed. */
static bool take_weight(struct mp_cursor *cursor, const struct mp_chunk_header *header)
{
    uint64_t excess = mp_chunk_excess(header);
    if (excess > MP_MAX_EXCESS - cursor->excess)
        return false;
    cursor->excess += excess;
    return true;
}

/* The next chunk header, whatever it says about its chunk; the cursor moves past the chunk. */
static enum mp_status take_any_header(struct mp_cursor *cursor, struct mp_chunk_header *header,
                                      uint64_t *offset)
{
    if (cursor->ended)
        return MP_END;
    enum mp_status status = next_header(cursor, header);
    if (status == MP_ERR_IO && cursor->trace->growing) {
        cursor->ended = true; /* cut back this moment */
        return MP_END;
    }
    MP_TRY(status);
    *offset = cursor->position;
    cursor->last_offset = cursor->position;
    cursor->last_checksum = header->checksum;
    cursor->has_last = true;
    cursor->unread = cursor->position + sizeof *header;
    cursor->position = cursor->unread + header->packed_bytes;
    note_sequence(cursor, header->sequence);
    return MP_OK;
}

/* The header of the next chunk that may be read. */
static enum mp_status take_header(struct mp_cursor *cursor, struct mp_chunk_header *header,
                                  uint64_t *offset)
{
    for (;;) {
        MP_TRY(take_any_header(cursor, header, offset));
        if (take_weight(cursor, header))
            return MP_OK;
        damaged_chunk(cursor, *offset, header->rows);
    }
}

static void describe_chunk(const struct mp_chunk_header *header, uint64_t offset,
                           struct mp_chunk *chunk)
{
    *chunk = (struct mp_chunk){
        .table = mp_table_by_id(header->table),
        .offset = offset,
        .sequence = header->sequence,
        .rows = header->rows,
        .raw_bytes = header->raw_bytes,
        .packed_bytes = header->packed_bytes,
        .file_bytes = header->packed_bytes + (uint32_t)sizeof *header,
        .table_id = header->table,
        .first_time = header->first_time,
        .last_time = header->last_time,
        .dropped = header->dropped,
    };
}

enum mp_status mp_cursor_next_chunk(struct mp_cursor *cursor, struct mp_chunk *chunk, bool verify)
{
    struct mp_chunk_header header;
    uint64_t offset;
    for (;;) {
        MP_TRY(take_header(cursor, &header, &offset));
        describe_chunk(&header, offset, chunk);
        if (!chunk->table)
            cursor->damage.chunks_unknown++;
        enum mp_status status = verify ? unpack(cursor, &header, offset) : MP_OK;
        if (status != MP_ERR_DAMAGED)
            return status;
        damaged_chunk(cursor, offset, header.rows);
    }
}

static uint32_t mask_of(const struct mp_cursor *cursor, const struct mp_table_info *table)
{
    size_t count;
    return cursor->masks[table - mp_tables(&count)];
}

/* Decodes the chunk at `offset` into a batch whose table is set, and its columns into the caller's
 * memory as mp_decode does; counts it if it is damaged. */
static enum mp_status read_rows(struct mp_cursor *cursor, const struct mp_chunk_header *header,
                                uint64_t offset, uint64_t *const *into, struct mp_batch *batch)
{
    enum mp_status status = unpack(cursor, header, offset);
    if (status == MP_OK)
        status = mp_decode(cursor->decoder, cursor->raw.data, header->raw_bytes, header->rows,
                           mask_of(cursor, batch->table), into, batch);
    batch->first_time = header->first_time;
    batch->last_time = header->last_time;
    if (status == MP_ERR_DAMAGED)
        damaged_chunk(cursor, offset, header->rows);
    return status;
}

enum mp_status mp_cursor_next(struct mp_cursor *cursor, struct mp_batch *batch)
{
    struct mp_chunk_header header;
    uint64_t offset;
    for (;;) {
        MP_TRY(take_header(cursor, &header, &offset));
        batch->table = mp_table_by_id(header.table);
        if (!batch->table) {
            cursor->damage.chunks_unknown++;
            continue;
        }
        if (!mask_of(cursor, batch->table))
            continue;
        enum mp_status status = read_rows(cursor, &header, offset, NULL, batch);
        if (status == MP_ERR_IO && cursor->trace->growing) {
            cursor->ended = true; /* cut back this moment */
            return MP_END;
        }
        if (status != MP_ERR_DAMAGED)
            return status;
    }
}

/* ---- Following ---- */

/* Whether the last chunk that was read is where it was. */
static bool last_is_there(const struct mp_cursor *cursor)
{
    struct mp_chunk_header header;
    if (!cursor->has_last)
        return cursor->trace->bytes >= cursor->position;
    return cursor->trace->bytes >= cursor->position &&
           mp_pread_exact(cursor->trace->fd, &header, sizeof header, cursor->last_offset, NULL) ==
               MP_OK &&
           mp_chunk_header_intact(&header) && header.checksum == cursor->last_checksum;
}

enum mp_status mp_cursor_follow(struct mp_cursor *cursor, enum mp_growth *growth,
                                struct mp_error *error)
{
    uint64_t before = cursor->trace->bytes;
    bool grew = cursor->trace->growing;
    bool removed;
    *growth = MP_GROWTH_NONE;
    if (!cursor->trace->path)
        return mp_error_set(error, MP_ERR_ARGUMENT, "the trace was not opened to be followed");
    MP_TRY(mp_reader_refresh(cursor->trace, &removed, error));
    if (!last_is_there(cursor)) {
        mp_cursor_rewind(cursor);
        *growth = MP_GROWTH_RESTARTED;
        return MP_OK;
    }
    cursor->ended = cursor->ended && !grew;
    cursor->damage.no_index = !cursor->trace->index.present;
    if (cursor->trace->index.present)
        *growth = MP_GROWTH_ENDED;
    else if (removed)
        *growth = MP_GROWTH_REMOVED;
    else if (cursor->trace->bytes != before)
        *growth = MP_GROWTH_MORE;
    return MP_OK;
}

enum mp_status mp_cursor_read_chunk(struct mp_cursor *cursor, uint64_t offset,
                                    struct mp_batch *batch)
{
    return mp_cursor_read_chunk_into(cursor, offset, NULL, MP_MAX_CHUNK_ROWS, batch);
}

enum mp_status mp_cursor_read_chunk_into(struct mp_cursor *cursor, uint64_t offset,
                                         uint64_t *const *columns, uint32_t rows,
                                         struct mp_batch *batch)
{
    struct mp_chunk_header header;
    uint64_t end = chunks_end(cursor);
    uint64_t unread = cursor->unread;
    if (offset > end || end - offset < sizeof header)
        return MP_ERR_DAMAGED;
    if (mp_pread_exact(cursor->trace->fd, &header, sizeof header, offset, NULL) != MP_OK)
        return MP_ERR_IO;
    if (!mp_chunk_header_intact(&header) || !header_is_within_limits(&header) ||
        header.packed_bytes > end - offset - sizeof header)
        return MP_ERR_DAMAGED;
    batch->table = mp_table_by_id(header.table);
    if (!batch->table || !mask_of(cursor, batch->table))
        return MP_ERR_ARGUMENT;
    if (header.rows > rows)
        return MP_ERR_LIMIT;
    enum mp_status status = read_rows(cursor, &header, offset, columns, batch);
    cursor->unread = unread; /* of the walk over the file, to which this chunk does not belong */
    return status;
}

/* ---- Words ---- */

/* Appends ", 1 one" or ", N many" for a count that is not 0. */
static void describe_count(char *text, size_t size, uint64_t count, const char *one,
                           const char *many)
{
    size_t length = strlen(text);
    if (count && length < size)
        snprintf(text + length, size - length, ", %s %s", mp_count(count).text,
                 count == 1 ? one : many);
}

bool mp_damage_describe(const struct mp_damage *damage, char *text, size_t size)
{
    bool lost = damage->bytes_skipped || damage->chunks_damaged || damage->chunks_missing ||
                damage->truncated || damage->header_lost;
    if (size)
        text[0] = '\0';
    if (!lost && !damage->no_index)
        return false;
    if (!lost) {
        snprintf(text, size,
                 "the trace has no index: the program did not end in order; "
                 "all complete chunks were read");
        return true;
    }
    snprintf(text, size, "the trace is damaged%s%s%s",
             damage->header_lost ? ", its header is lost" : "",
             damage->truncated ? ", its end is cut off" : "",
             damage->no_index ? ", it has no index" : "");
    describe_count(text, size, damage->chunks_damaged, "chunk unreadable", "chunks unreadable");
    describe_count(text, size, damage->rows_damaged, "row lost", "rows lost");
    describe_count(text, size, damage->chunks_missing, "chunk missing", "chunks missing");
    describe_count(text, size, damage->bytes_skipped, "byte skipped", "bytes skipped");
    size_t length = strlen(text);
    if (length >= size)
        return true;
    if (damage->first_offset)
        snprintf(text + length, size - length, ", first at offset %" PRIu64 "; the rest was read",
                 damage->first_offset);
    else
        snprintf(text + length, size - length, "; the rest was read");
    return true;
}
