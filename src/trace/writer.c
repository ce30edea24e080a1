#include "trace/writer.h"
#include "base/hash.h"
#include "base/io.h"
#include "trace/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/poison.h"

#define DEFAULT_CHUNK_BYTES 65536
#define FEWEST_LIMIT        256 /* rows: a chunk below would be mostly headers */

struct mp_writer_output {
    struct mp_encoder *encoder;
    ZSTD_CCtx *zstd;
    struct mp_buffer packed; /* chunk header and frame, on their way to the file */
    struct mp_buffer index;  /* struct mp_index_entry for each chunk */
    int fd;
    uint32_t chunk_bytes;
    bool wait_for_room;
    uint32_t sequence;
    uint64_t header_bytes; /* where the first chunk begins */
    uint64_t position;     /* behind the last complete chunk */
    uint64_t event_rows;
    uint64_t dropped;
};

static enum mp_status writer_break(struct mp_writer *writer, enum mp_status status,
                                   const char *text)
{
    if (!writer->failure.status || writer->waits)
        mp_error_set(&writer->failure, status, "%s", text);
    writer->waits = false;
    return writer->failure.status;
}

static enum mp_status break_for_memory(struct mp_writer *writer)
{
    return writer_break(writer, MP_ERR_MEMORY, "out of memory");
}

/* Appends `bytes` to the file. On failure what was written of them is cut off again, so that the
 * file ends with a complete chunk. */
static enum mp_status file_append(struct mp_writer *writer, const void *data, size_t bytes)
{
    struct mp_writer_output *output = writer->output;
    struct mp_error error;
    if (mp_write_all(output->fd, data, bytes, &error) == MP_OK) {
        output->position += bytes;
        return MP_OK;
    }
    bool full = errno == ENOSPC || errno == EDQUOT;
    bool clean = ftruncate(output->fd, (off_t)output->position) == 0 &&
                 lseek(output->fd, (off_t)output->position, SEEK_SET) >= 0;
    writer_break(writer, MP_ERR_IO, error.text);
    writer->waits = full && clean && output->wait_for_room;
    return MP_ERR_IO;
}

/* Another try, if all that was missing is room. */
static void try_again(struct mp_writer *writer)
{
    if (!writer->waits)
        return;
    writer->waits = false;
    writer->failure = (struct mp_error){.status = MP_OK};
}

static enum mp_status write_header(struct mp_writer *writer, const char *text)
{
    size_t text_bytes = strlen(text);
    if (text_bytes > MP_MAX_HEADER_BYTES)
        return writer_break(writer, MP_ERR_LIMIT, "the header is too long");
    struct mp_file_header header = {
        .skippable_magic = MP_SKIPPABLE_MAGIC,
        .skippable_bytes = (uint32_t)(sizeof header - 8 + text_bytes + 8),
        .magic = MP_HEADER_MAGIC,
        .version = MP_FORMAT_VERSION,
        .text_bytes = (uint32_t)text_bytes,
    };
    struct mp_buffer *buffer = &writer->output->packed;
    mp_buffer_append(buffer, &header, sizeof header);
    mp_buffer_append(buffer, text, text_bytes);
    if (buffer->status)
        return break_for_memory(writer);
    uint64_t checksum = mp_checksum64(buffer->data + 8, buffer->size - 8);
    if (mp_buffer_append(buffer, &checksum, sizeof checksum))
        return break_for_memory(writer);
    MP_TRY(file_append(writer, buffer->data, buffer->size));
    writer->output->header_bytes = writer->output->position;
    return MP_OK;
}

static enum mp_status output_create(int fd, const struct mp_writer_options *options,
                                    struct mp_writer_output **result)
{
    struct mp_writer_output *output = calloc(1, sizeof *output);
    *result = output;
    if (!output)
        return MP_ERR_MEMORY;
    output->fd = fd;
    output->chunk_bytes = options->chunk_bytes ? options->chunk_bytes : DEFAULT_CHUNK_BYTES;
    output->wait_for_room = options->wait_for_room;
    output->zstd = ZSTD_createCCtx();
    if (!output->zstd || mp_encoder_create(&output->encoder) != MP_OK)
        return MP_ERR_MEMORY;
    ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_compressionLevel, options->level);
    ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_checksumFlag, 1);
    /* What repeats in a column repeats for long; short matches among the noise cost more than the
     * bytes that they stand for. On H100 graph replays 1.33 bytes a record against 1.41 with 5
     * bytes. */
    ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_minMatch, 7);
    return MP_OK;
}

static void writer_free(struct mp_writer *writer)
{
    for (unsigned i = 0; i < MP_TABLE_COUNT; i++)
        mp_builder_free(&writer->builders[i]);
    struct mp_writer_output *output = writer->output;
    if (output) {
        mp_encoder_free(output->encoder);
        ZSTD_freeCCtx(output->zstd);
        mp_buffer_free(&output->packed);
        mp_buffer_free(&output->index);
        free(output);
    }
    free(writer);
}

enum mp_status mp_writer_open(int fd, const char *header, const struct mp_writer_options *options,
                              struct mp_writer **result, struct mp_error *error)
{
    *result = NULL;
    struct mp_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        close(fd);
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    }
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    for (size_t i = 0; i < count; i++)
        mp_builder_init(&writer->builders[i], &tables[i]);
    enum mp_status status = output_create(fd, options, &writer->output);
    if (status)
        break_for_memory(writer);
    else
        status = write_header(writer, header);
    if (status) {
        mp_error_set(error, status, "%s", writer->failure.text);
        close(fd);
        writer_free(writer);
        return status;
    }
    *result = writer;
    return MP_OK;
}

/* Compresses the encoded columns behind the chunk header in output->packed, ending a block at every
 * cut. */
static enum mp_status pack(struct mp_writer *writer, const struct mp_sink *sink)
{
    struct mp_writer_output *output = writer->output;
    size_t raw = sink->buffer.size;
    size_t room = ZSTD_compressBound(raw) + 64 + 8 * (size_t)sink->cut_count;
    uint8_t *at = mp_buffer_reserve(&output->packed, room);
    if (!at)
        return break_for_memory(writer);
    ZSTD_CCtx_reset(output->zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(output->zstd, raw);
    ZSTD_outBuffer out = {at, room, 0};
    ZSTD_inBuffer in = {sink->buffer.data, 0, 0};
    for (unsigned i = 0; i <= sink->cut_count; i++) {
        bool last = i == sink->cut_count;
        in.size = last ? raw : sink->cuts[i];
        size_t left =
            ZSTD_compressStream2(output->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_flush);
        if (left) /* an error, or more room needed than the bound */
            return writer_break(writer, MP_ERR_MEMORY, "compression failed");
    }
    output->packed.size += out.pos;
    return MP_OK;
}

/* Aims the builder's next chunk at chunk_bytes, going by how this one packed. */
static void aim(struct mp_builder *builder, uint32_t packed_bytes, uint32_t chunk_bytes)
{
    uint64_t rows = (uint64_t)builder->rows * chunk_bytes / (packed_bytes ? packed_bytes : 1);
    if (rows > (uint64_t)builder->limit * 2 && rows > FEWEST_LIMIT)
        rows = (uint64_t)builder->limit * 2; /* a small chunk says little about a large one */
    if (rows > builder->most_rows)
        rows = builder->most_rows;
    builder->limit = rows < FEWEST_LIMIT ? FEWEST_LIMIT : (uint32_t)rows;
}

static enum mp_status index_add(struct mp_writer *writer, const struct mp_chunk_header *header)
{
    struct mp_index_entry entry = {
        .offset = writer->output->position,
        .rows = header->rows,
        .packed_bytes = header->packed_bytes,
        .table = header->table,
        .raw_bytes = header->raw_bytes,
        .first_time = header->first_time,
        .last_time = header->last_time,
    };
    if (mp_buffer_append(&writer->output->index, &entry, sizeof entry))
        return break_for_memory(writer);
    return MP_OK;
}

static enum mp_status write_chunk(struct mp_writer *writer, struct mp_builder *builder)
{
    struct mp_writer_output *output = writer->output;
    struct mp_encoded encoded;
    if (builder->text.status || mp_encode(output->encoder, builder, &encoded))
        return break_for_memory(writer);
    struct mp_chunk_header header = {
        .skippable_magic = MP_SKIPPABLE_MAGIC,
        .skippable_bytes = sizeof header - 8,
        .magic = MP_CHUNK_MAGIC,
        .sequence = output->sequence,
        .table = builder->table->id,
        .rows = builder->rows,
        .raw_bytes = (uint32_t)encoded.sink->buffer.size,
        .first_time = encoded.first_time,
        .last_time = encoded.last_time,
        .dropped = output->dropped,
    };
    mp_buffer_clear(&output->packed);
    if (!mp_buffer_extend(&output->packed, sizeof header))
        return break_for_memory(writer);
    MP_TRY(pack(writer, encoded.sink));
    header.packed_bytes = (uint32_t)(output->packed.size - sizeof header);
    header.checksum = mp_checksum64(header.magic, offsetof(struct mp_chunk_header, checksum) -
                                                      offsetof(struct mp_chunk_header, magic));
    memcpy(output->packed.data, &header, sizeof header);
    MP_TRY(index_add(writer, &header));
    if (file_append(writer, output->packed.data, output->packed.size) != MP_OK) {
        output->index.size -= sizeof(struct mp_index_entry);
        return writer->failure.status;
    }
    output->sequence++;
    if (builder->table->kind == MP_TABLE_EVENT)
        output->event_rows += builder->rows;
    if (builder->rows >= builder->limit / 2)
        aim(builder, header.packed_bytes, output->chunk_bytes);
    mp_builder_clear(builder);
    return MP_OK;
}

static enum mp_status write_kind(struct mp_writer *writer, enum mp_table_kind kind)
{
    for (unsigned i = 0; i < MP_TABLE_COUNT && !writer->failure.status; i++) {
        struct mp_builder *builder = &writer->builders[i];
        if (builder->rows && builder->table->kind == kind)
            write_chunk(writer, builder);
    }
    return writer->failure.status;
}

/* A broken writer keeps no rows; those of event tables count as lost. One that waits keeps the
 * definitions. */
static void lose_rows(struct mp_writer *writer)
{
    for (unsigned i = 0; i < MP_TABLE_COUNT; i++) {
        struct mp_builder *builder = &writer->builders[i];
        if (builder->table->kind == MP_TABLE_EVENT)
            writer->lost_rows += builder->rows;
        if (!writer->waits || builder->table->kind != MP_TABLE_DEFINITION)
            mp_builder_clear(builder);
    }
}

/* Room for a definition while the disk is full. False if there are more than a chunk holds. */
static bool keep_definition(struct mp_writer *writer, struct mp_builder *builder)
{
    if (builder->rows >= builder->most_rows || builder->text.size >= MP_BUILDER_TEXT_BYTES) {
        writer_break(writer, MP_ERR_LIMIT, "too many names came while the disk was full");
        return false;
    }
    if (builder->rows >= builder->capacity && mp_builder_grow(builder) != MP_OK) {
        break_for_memory(writer);
        return false;
    }
    return true;
}

bool mp_writer_make_room(struct mp_writer *writer, struct mp_builder *builder)
{
    bool full = builder->rows >= builder->limit || builder->text.size >= MP_BUILDER_TEXT_BYTES;
    if (!writer->failure.status && full && write_kind(writer, MP_TABLE_DEFINITION) == MP_OK &&
        builder->rows)
        write_chunk(writer, builder);
    if (!writer->failure.status && builder->rows >= builder->capacity &&
        mp_builder_grow(builder) != MP_OK)
        break_for_memory(writer);
    if (!writer->failure.status)
        return true;
    if (writer->waits && builder->table->kind == MP_TABLE_DEFINITION &&
        keep_definition(writer, builder))
        return true;
    lose_rows(writer);
    writer->lost_rows += builder->table->kind == MP_TABLE_EVENT;
    return false;
}

enum mp_status mp_writer_flush(struct mp_writer *writer)
{
    try_again(writer);
    if (write_kind(writer, MP_TABLE_DEFINITION) != MP_OK ||
        write_kind(writer, MP_TABLE_EVENT) != MP_OK || write_kind(writer, MP_TABLE_NOTE) != MP_OK)
        lose_rows(writer);
    return writer->failure.status;
}

enum mp_status mp_writer_cut(struct mp_writer *writer)
{
    struct mp_writer_output *output = writer->output;
    for (unsigned i = 0; i < MP_TABLE_COUNT; i++) {
        mp_builder_clear(&writer->builders[i]);
        writer->builders[i].grid_misses = 0; /* a build phase is unlike what follows */
    }
    try_again(writer);
    if (writer->failure.status)
        return writer->failure.status;
    if (ftruncate(output->fd, (off_t)output->header_bytes) != 0 ||
        lseek(output->fd, (off_t)output->header_bytes, SEEK_SET) < 0) {
        mp_error_set(&writer->failure, MP_ERR_IO, "cannot cut the file back: %m");
        return MP_ERR_IO;
    }
    output->position = output->header_bytes;
    output->sequence = 0;
    output->event_rows = 0;
    mp_buffer_clear(&output->index);
    return MP_OK;
}

static enum mp_status write_index(struct mp_writer *writer)
{
    struct mp_writer_output *output = writer->output;
    struct mp_buffer *buffer = &output->packed;
    struct mp_index_header header = {
        .skippable_magic = MP_SKIPPABLE_MAGIC,
        .skippable_bytes = (uint32_t)(sizeof header - 8 + output->index.size + 16),
        .magic = MP_INDEX_MAGIC,
        .entries = output->sequence,
        .dropped = output->dropped,
    };
    mp_buffer_clear(buffer);
    mp_buffer_append(buffer, &header, sizeof header);
    mp_buffer_append(buffer, output->index.data, output->index.size);
    if (buffer->status)
        return break_for_memory(writer);
    uint64_t tail[2] = {mp_checksum64(buffer->data + 8, buffer->size - 8),
                        buffer->size + sizeof tail};
    if (mp_buffer_append(buffer, tail, sizeof tail))
        return break_for_memory(writer);
    return file_append(writer, buffer->data, buffer->size);
}

enum mp_status mp_writer_close(struct mp_writer *writer, struct mp_error *error)
{
    if (!writer)
        return MP_OK;
    if (mp_writer_flush(writer) == MP_OK)
        write_index(writer);
    if (close(writer->output->fd) != 0 && !writer->failure.status)
        mp_error_set(&writer->failure, MP_ERR_IO, "cannot close the file: %m");
    enum mp_status status = writer->failure.status;
    if (status)
        mp_error_set(error, status, "%s", writer->failure.text);
    writer_free(writer);
    return status;
}

void mp_writer_abandon(struct mp_writer *writer)
{
    if (!writer)
        return;
    close(writer->output->fd);
    writer_free(writer);
}

void mp_writer_replace_file(struct mp_writer *writer, int fd)
{
    writer->output->fd = fd;
    if (fd < 0 || lseek(fd, (off_t)writer->output->position, SEEK_SET) < 0)
        writer_break(writer, MP_ERR_IO, "the program has closed the file");
}

void mp_writer_set_dropped(struct mp_writer *writer, uint64_t dropped)
{
    writer->output->dropped = dropped;
}

void mp_writer_totals(const struct mp_writer *writer, struct mp_writer_totals *totals)
{
    *totals = (struct mp_writer_totals){
        .event_rows = writer->output->event_rows,
        .bytes = writer->output->position,
        .chunks = writer->output->sequence,
    };
}
