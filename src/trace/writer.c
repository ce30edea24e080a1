/* The writer of a trace: one builder a table, one encoder, one output. Before a chunk of rows
 * is written, the definitions that the rows refer to are written first. After an error it accepts
 * rows and drops them, so that the recorder need not check each one.
 */
#include "trace/writer.h"
#include "trace/chunks.h"
#include "trace/codec.h"
#include "trace/encode.h"
#include "trace/reader.h"

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
    struct mp_chunk_file file;
    const struct mp_chunk_sink *sink; /* takes the chunks instead of the file */
    uint32_t chunk_bytes;
    bool wait_for_room;
    uint64_t event_rows;
    uint64_t chunks;
    uint64_t bytes;
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

/* Another try, if all that was missing is room. */
static void try_again(struct mp_writer *writer)
{
    if (!writer->waits)
        return;
    writer->waits = false;
    writer->failure = (struct mp_error){.status = MP_OK};
}

static enum mp_status output_create(const struct mp_writer_options *options,
                                    struct mp_writer_output **result)
{
    struct mp_writer_output *output = calloc(1, sizeof *output);
    *result = output;
    if (!output)
        return MP_ERR_MEMORY;
    output->file.fd = -1;
    output->sink = options->sink;
    output->chunk_bytes = options->chunk_bytes ? options->chunk_bytes : DEFAULT_CHUNK_BYTES;
    output->wait_for_room = options->wait_for_room;
    output->zstd = ZSTD_createCCtx();
    if (!output->zstd || mp_encoder_create(&output->encoder) != MP_OK)
        return MP_ERR_MEMORY;
    ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_compressionLevel, options->level);
    ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_checksumFlag, 1);
    /* Structure in a column repeats over long distances. Short matches among the noise cost more
     * than the bytes that they replace. On H100 graph replays a minimum of 7 bytes gives 1.33 bytes
     * a record, a minimum of 5 gives 1.41. */
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
        mp_chunk_file_free(&output->file);
        free(output);
    }
    free(writer);
}

/* A new file with this header, or a trace that is continued. */
static enum mp_status begin_file(struct mp_writer *writer, int fd, const char *header,
                                 const struct mp_trace *trace)
{
    struct mp_chunk_file *file = &writer->output->file;
    struct mp_error error;
    enum mp_status status = trace ? mp_chunk_file_resume(file, fd, trace, &error)
                                  : mp_chunk_file_begin(file, fd, header, &error);

    writer->output->dropped = trace ? trace->index.dropped : 0;
    return status ? writer_break(writer, error.status, error.text) : MP_OK;
}

/* All but the file; NULL when memory is out. */
static struct mp_writer *writer_create(const struct mp_writer_options *options)
{
    struct mp_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return NULL;
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    for (size_t i = 0; i < count; i++)
        mp_builder_init(&writer->builders[i], &tables[i]);
    if (output_create(options, &writer->output) == MP_OK)
        return writer;
    writer_free(writer);
    return NULL;
}

static enum mp_status open_writer(int fd, const char *header, const struct mp_trace *trace,
                                  const struct mp_writer_options *options,
                                  struct mp_writer **result, struct mp_error *error)
{
    struct mp_writer *writer = writer_create(options);
    *result = NULL;
    if (!writer) {
        mp_error_set(error, MP_ERR_MEMORY, "out of memory");
        if (!options->sink)
            close(fd);
        return MP_ERR_MEMORY;
    }
    if (!options->sink && begin_file(writer, fd, header, trace) != MP_OK) {
        enum mp_status status =
            mp_error_set(error, writer->failure.status, "%s", writer->failure.text);
        close(fd);
        writer_free(writer);
        return status;
    }
    *result = writer;
    return MP_OK;
}

enum mp_status mp_writer_open(int fd, const char *header, const struct mp_writer_options *options,
                              struct mp_writer **writer, struct mp_error *error)
{
    return open_writer(fd, header, NULL, options, writer, error);
}

enum mp_status mp_writer_resume(int fd, const struct mp_trace *trace,
                                const struct mp_writer_options *options, struct mp_writer **writer,
                                struct mp_error *error)
{
    return open_writer(fd, NULL, trace, options, writer, error);
}

/* Compresses the encoded columns after the chunk header in output->packed, ending a block at every
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

/* How many rows the next chunk may hold if it packs as this one did, with a sixteenth to spare. */
static uint64_t justified_rows(const struct mp_chunk_header *header)
{
    return header->rows * mp_chunk_justified_weight(header) / mp_chunk_weight(header) / 16 * 15;
}

/* Sets the builder's limit so that the next chunk comes close to chunk_bytes, judged by this one.
 */
static void aim(struct mp_builder *builder, const struct mp_chunk_header *header,
                uint32_t chunk_bytes)
{
    uint32_t packed_bytes = header->packed_bytes ? header->packed_bytes : 1;
    uint64_t rows = (uint64_t)header->rows * chunk_bytes / packed_bytes;
    if (rows > (uint64_t)builder->limit * 2 && rows > FEWEST_LIMIT)
        rows = (uint64_t)builder->limit * 2; /* a small chunk says little about a large one */
    if (rows > builder->max_rows)
        rows = builder->max_rows;
    if (rows > justified_rows(header))
        rows = justified_rows(header);
    builder->limit = rows < FEWEST_LIMIT ? FEWEST_LIMIT : (uint32_t)rows;
}

/* Writes the chunk in output->packed to the file, or passes it to the sink. */
static enum mp_status hand_over(struct mp_writer *writer, const struct mp_builder *builder)
{
    struct mp_writer_output *output = writer->output;
    struct mp_error error;
    if (output->sink) {
        MP_TRY(output->sink->take(output->sink->context, builder->table, output->packed.data,
                                  output->packed.size) == MP_OK
                   ? MP_OK
                   : break_for_memory(writer));
    } else if (mp_chunk_file_append(&output->file, output->packed.data, output->packed.size,
                                    &error) != MP_OK) {
        writer_break(writer, error.status, error.text);
        writer->waits =
            error.status == MP_ERR_IO && output->file.may_have_room && output->wait_for_room;
        return error.status;
    }
    output->chunks++;
    output->bytes += output->packed.size;
    return MP_OK;
}

/* Makes a chunk of all rows of the builder in output->packed. */
static enum mp_status make_chunk(struct mp_writer *writer, struct mp_builder *builder,
                                 struct mp_chunk_header *header)
{
    struct mp_writer_output *output = writer->output;
    struct mp_encoded encoded;
    if (builder->text.status || mp_encode(output->encoder, builder, &encoded))
        return break_for_memory(writer);
    *header = (struct mp_chunk_header){
        .skippable_magic = MP_SKIPPABLE_MAGIC,
        .skippable_bytes = sizeof *header - 8,
        .magic = MP_CHUNK_MAGIC,
        .table = builder->table->id,
        .rows = builder->rows,
        .raw_bytes = (uint32_t)encoded.sink->buffer.size,
        .first_time = encoded.first_time,
        .last_time = encoded.last_time,
        .dropped = output->dropped,
    };
    mp_buffer_clear(&output->packed);
    if (!mp_buffer_extend(&output->packed, sizeof *header))
        return break_for_memory(writer);
    MP_TRY(pack(writer, encoded.sink));
    header->packed_bytes = (uint32_t)(output->packed.size - sizeof *header);
    memcpy(output->packed.data, header, sizeof *header);
    return MP_OK;
}

/* Makes a chunk of its first `rows` rows, or of fewer: as many as the chunk's bytes justify. */
static enum mp_status make_part(struct mp_writer *writer, struct mp_builder *builder, uint32_t rows,
                                struct mp_chunk_header *header)
{
    const uint32_t all_rows = builder->rows;
    const size_t all_text = builder->text.size;
    enum mp_status status;
    for (;;) {
        const size_t text = mp_builder_text_bytes(builder, rows);
        builder->rows = rows;
        builder->text.size = text;
        status = make_chunk(writer, builder, header);
        builder->rows = all_rows;
        builder->text.size = all_text;
        if (status != MP_OK || rows == 1 || !mp_chunk_excess(header))
            return status;
        uint64_t fewer = justified_rows(header);
        if (fewer > rows - (rows + 7) / 8)
            fewer = rows - (rows + 7) / 8;
        rows = fewer ? (uint32_t)fewer : 1;
    }
}

/* Writes all rows of the builder: one chunk, or several where one would expand to more than its
 * bytes justify. */
static enum mp_status write_chunks(struct mp_writer *writer, struct mp_builder *builder)
{
    struct mp_writer_output *output = writer->output;
    uint32_t rows = builder->rows;
    while (builder->rows) {
        struct mp_chunk_header header;
        if (rows > builder->rows)
            rows = builder->rows;
        MP_TRY(make_part(writer, builder, rows, &header));
        MP_TRY(hand_over(writer, builder));
        if (builder->table->kind == MP_TABLE_EVENT)
            output->event_rows += header.rows;
        bool split = header.rows < builder->rows;
        if (split || header.rows >= builder->limit / 2)
            aim(builder, &header, output->chunk_bytes);
        rows = header.rows;
        mp_builder_drop(builder, header.rows);
    }
    return MP_OK;
}

static enum mp_status write_kind(struct mp_writer *writer, enum mp_table_kind kind)
{
    for (unsigned i = 0; i < MP_TABLE_COUNT && !writer->failure.status; i++) {
        struct mp_builder *builder = &writer->builders[i];
        if (builder->rows && builder->table->kind == kind)
            write_chunks(writer, builder);
    }
    return writer->failure.status;
}

/* A broken writer keeps no rows; those of event tables count as lost. A writer that waits for room
 * keeps the definitions. */
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

/* Makes room for a definition while the disk is full. False if there are more than a chunk can
 * hold. */
static bool keep_definition(struct mp_writer *writer, struct mp_builder *builder)
{
    if (builder->rows >= builder->max_rows || builder->text.size >= MP_BUILDER_TEXT_BYTES) {
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
        write_chunks(writer, builder);
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
    if (!output->sink && mp_chunk_file_cut(&output->file, &writer->failure) != MP_OK)
        return writer->failure.status;
    output->event_rows = 0;
    output->chunks = 0;
    output->bytes = 0;
    return MP_OK;
}

static void end_file(struct mp_writer *writer)
{
    struct mp_writer_output *output = writer->output;
    struct mp_error error;
    if (!writer->failure.status &&
        mp_chunk_file_end(&output->file, output->dropped, &error) != MP_OK)
        writer_break(writer, error.status, error.text);
    if (close(output->file.fd) != 0 && !writer->failure.status)
        mp_error_set(&writer->failure, MP_ERR_IO, "cannot close the file: %m");
}

enum mp_status mp_writer_close(struct mp_writer *writer, struct mp_error *error)
{
    if (!writer)
        return MP_OK;
    mp_writer_flush(writer);
    if (!writer->output->sink)
        end_file(writer);
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
    if (!writer->output->sink)
        close(writer->output->file.fd);
    writer_free(writer);
}

void mp_writer_replace_file(struct mp_writer *writer, int fd)
{
    struct mp_chunk_file *file = &writer->output->file;
    file->fd = fd;
    if (fd < 0 || lseek(fd, (off_t)file->position, SEEK_SET) < 0)
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
        .bytes = writer->output->file.header_bytes + writer->output->bytes,
        .chunks = writer->output->chunks,
    };
}
