/* Writing a trace file: rows in, chunks out.
 *
 * One thread owns a writer. Rows are appended column by column to the builder of their table; a
 * full builder is encoded, compressed and written with one write(2). Definitions are written before
 * any event chunk that uses them, so that a file cut anywhere explains all that it holds. Nothing
 * is patched in place.
 *
 * The first failure breaks the writer: its status is kept, later rows are counted as lost, and the
 * file keeps its complete chunks. A partly written chunk is cut off again where possible.
 *
 * With `wait_for_room` a full disk is not such a failure. Event rows that cannot be written are
 * counted as lost, definitions are kept, and each flush tries again. As soon as there is room,
 * later rows are complete again, because the definitions are written before them.
 */
#ifndef MP_TRACE_WRITER_H
#define MP_TRACE_WRITER_H

#include "base/status.h"
#include "trace/encode.h"
#include "trace/schema.h"

/* Takes chunks instead of a file. */
struct mp_chunk_sink {
    /* A chunk as it would be in the file, except for its number and checksum (chunks.h fills
     * them in). The writer owns the chunk, so the sink copies what it keeps. Anything but MP_OK
     * breaks the writer. */
    enum mp_status (*take)(void *context, const struct mp_table_info *table, const uint8_t *chunk,
                           size_t bytes);
    void *context;
};

struct mp_writer_options {
    int level;            /* zstd compression level, 1 to 19 */
    uint32_t chunk_bytes; /* a chunk is written at about this many encoded bytes; 0: 65536 */
    bool wait_for_room;   /* go on when a full disk has room again */
    const struct mp_chunk_sink
        *sink; /* then there is no file: no header, no index; NULL: no sink */
};

struct mp_writer_output; /* file, encoder, index: writer.c */

struct mp_writer {
    struct mp_builder builders[MP_TABLE_COUNT];
    struct mp_writer_output *output;
    struct mp_error failure; /* status MP_OK while all is well */
    bool waits;              /* the failure is a full disk and may be temporary */
    uint64_t lost_rows;      /* rows of event tables appended since the failure */
};

/* Starts a trace in the open file `fd`, positioned at 0. The writer owns `fd` from then on, and on
 * failure it is closed. With a sink, `fd` and `header` are ignored. `header` holds "key=value\n"
 * lines (docs/trace-format.md, section 3). */
enum mp_status mp_writer_open(int fd, const char *header, const struct mp_writer_options *options,
                              struct mp_writer **writer, struct mp_error *error);

/* Continues a complete trace: rows follow those that it has. `fd` is the same file, for reading and
 * writing, and the writer's from then on. The caller gives definitions numbers that are not
 * taken. An interruption leaves the trace without an index, but whole. */
enum mp_status mp_writer_resume(int fd, const struct mp_trace *trace,
                                const struct mp_writer_options *options, struct mp_writer **writer,
                                struct mp_error *error);

/* Writes every row that was appended; the recorder calls it at least every 200 ms. */
enum mp_status mp_writer_flush(struct mp_writer *writer);

/* Cuts the file back to its header and forgets all rows, written or not. Definitions are forgotten
 * too: the caller defines again what it uses. */
enum mp_status mp_writer_cut(struct mp_writer *writer);

/* Flushes, writes the index, closes the file and frees the writer. Returns the failure that broke
 * it, if any. NULL is allowed. */
enum mp_status mp_writer_close(struct mp_writer *writer, struct mp_error *error);

/* Closes the file descriptor and frees the writer without writing anything: for a forked child. */
void mp_writer_abandon(struct mp_writer *writer);

/* Continues in `fd`, the same file opened again, because the old descriptor no longer belongs to
 * the writer (so it is not closed). -1: the file no longer exists, which breaks the writer. */
void mp_writer_replace_file(struct mp_writer *writer, int fd);

/* Records lost so far, by the caller's count; every later chunk header carries it. */
void mp_writer_set_dropped(struct mp_writer *writer, uint64_t dropped);

struct mp_writer_totals {
    uint64_t event_rows; /* of event tables, in the file */
    uint64_t bytes;      /* of the file; after mp_writer_flush it is exact except for the index */
    uint64_t chunks;
};
void mp_writer_totals(const struct mp_writer *writer, struct mp_writer_totals *totals);

/* Slow path of the append functions: makes room in the builder by writing it out or growing it.
 * Returns false if the writer is broken; then the row is counted as lost. */
bool mp_writer_make_room(struct mp_writer *writer, struct mp_builder *builder);

static inline void mp_append_text(struct mp_builder *builder, unsigned column, uint32_t row,
                                  struct mp_text text)
{
    uint32_t length = text.length < MP_MAX_TEXT_BYTES ? text.length : MP_MAX_TEXT_BYTES;
    mp_buffer_append(&builder->text, text.bytes, length);
    builder->columns[column][row] = length;
}

/* mp_append_kernel(writer, &row), and one for each table: copies the row, text included. A failure
 * breaks the writer (see above) and is not reported here. */
/* clang-format off */
#define MP_STORE_NUMBER(name) builder->columns[column++][at] = row->name;
#define MP_STORE_TEXT(name) mp_append_text(builder, column++, at, row->name);
#define MP_STORE_UINT MP_STORE_NUMBER
#define MP_STORE_INT MP_STORE_NUMBER
#define MP_STORE_TIME MP_STORE_NUMBER
#define MP_STORE_DURATION MP_STORE_NUMBER
#define MP_STORE_HEX MP_STORE_NUMBER
#define MP_STORE_BOOL MP_STORE_NUMBER
#define MP_STORE_ENUM(names) MP_STORE_NUMBER
#define MP_STORE_REF(table) MP_STORE_NUMBER
/* clang-format on */
#define MP_STORE_CELL(table, id, name, type, unit, codec, doc) MP_STORE_##type(name)
#define MP_APPEND_FUNCTION(id, table, kind, since, doc)                                            \
    static inline void mp_append_##table(struct mp_writer *writer,                                 \
                                         const struct mp_row_##table *row)                         \
    {                                                                                              \
        struct mp_builder *builder = &writer->builders[MP_INDEX_##table];                          \
        bool room = builder->rows < builder->capacity && builder->rows < builder->limit &&         \
                    builder->text.size < MP_BUILDER_TEXT_BYTES && !writer->failure.status;         \
        if (__builtin_expect(!room, 0) && !mp_writer_make_room(writer, builder))                   \
            return;                                                                                \
        uint32_t at = builder->rows;                                                               \
        unsigned column = 0;                                                                       \
        MP_COLUMNS_##table(MP_STORE_CELL) builder->rows = at + 1;                                  \
        (void)column;                                                                              \
    }
MP_TABLES(MP_APPEND_FUNCTION)

#endif
