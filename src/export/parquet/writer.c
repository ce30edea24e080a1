/* Collects rows to groups, and puts around the groups what makes a file of them: a magic before
 * them; after them the footer, its length and the magic again.
 */
#include "export/parquet/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

/* ---- Pages ---- */

/* A page is a header, then its bytes as one zstd frame. A column of a group has one data page: with
 * 122,880 values it has about the megabyte that parquet-format advises. */

/* parquet.thrift, PageType. */
enum page_type { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };

/* Writes bytes as they are. MP_ERR_IO. */
static enum mp_status pages_put(struct pages *pages, const void *data, size_t bytes,
                                struct mp_error *error)
{
    if (bytes && fwrite(data, 1, bytes, pages->out) != bytes)
        return mp_error_set(error, MP_ERR_IO, "cannot write: %m");
    pages->position += bytes;
    return MP_OK;
}

static enum mp_status pack(struct pages *pages, const struct mp_buffer *page,
                           struct mp_error *error)
{
    size_t bound = ZSTD_compressBound(page->size), bytes;

    mp_buffer_clear(&pages->packed);
    if (!mp_buffer_reserve(&pages->packed, bound))
        return mp_error_set(error, MP_ERR_MEMORY, "no memory to compress %zu bytes", page->size);
    bytes = ZSTD_compress2(pages->zstd, pages->packed.data, bound, page->data, page->size);
    if (ZSTD_isError(bytes))
        return mp_error_set(error, MP_ERR_MEMORY, "cannot compress: %s", ZSTD_getErrorName(bytes));
    pages->packed.size = bytes;
    return MP_OK;
}

/* DictionaryPageHeader and the beginning of DataPageHeader. */
static void put_counts(struct thrift *thrift, uint32_t count, enum encoding encoding)
{
    thrift_i32(thrift, 1, (int32_t)count);
    thrift_i32(thrift, 2, (int32_t)encoding);
}

/* parquet.thrift, PageHeader. */
static void make_header(struct pages *pages, enum page_type type, size_t bytes, uint32_t count,
                        enum encoding encoding)
{
    struct thrift thrift;

    mp_buffer_clear(&pages->header);
    thrift_open(&thrift, &pages->header);
    thrift_i32(&thrift, 1, (int32_t)type);
    thrift_i32(&thrift, 2, (int32_t)bytes);
    thrift_i32(&thrift, 3, (int32_t)pages->packed.size);
    thrift_open_field(&thrift, type == DATA_PAGE ? 5 : 7);
    put_counts(&thrift, count, encoding);
    if (type == DATA_PAGE) {
        thrift_i32(&thrift, 3, ENCODING_RLE); /* of definition levels */
        thrift_i32(&thrift, 4, ENCODING_RLE); /* of repetition levels: there are none */
    }
    thrift_close(&thrift);
    thrift_close(&thrift);
}

static enum mp_status put_page(struct pages *pages, enum page_type type,
                               const struct mp_buffer *page, uint32_t count, enum encoding encoding,
                               struct chunk *chunk, struct mp_error *error)
{
    MP_TRY(pack(pages, page, error));
    make_header(pages, type, page->size, count, encoding);
    if (pages->header.status != MP_OK)
        return mp_error_set(error, pages->header.status, "no memory for a page's header");
    chunk->uncompressed_bytes += pages->header.size + page->size;
    MP_TRY(pages_put(pages, pages->header.data, pages->header.size, error));
    return pages_put(pages, pages->packed.data, pages->packed.size, error);
}

/* Writes the column's cells as a dictionary page, if one pays, and a data page. MP_ERR_IO,
 * MP_ERR_MEMORY. */
static enum mp_status pages_put_chunk(struct pages *pages, const struct cells *cells,
                                      struct chunk *chunk, struct mp_error *error)
{
    struct values *values = &pages->values;

    if (values_encode(values, cells) != MP_OK)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory to encode '%.100s'",
                            cells->column->name);
    *chunk = (struct chunk){.encoding = values->encoding,
                            .has_dictionary = values->entry_count > 0,
                            .rows = cells->rows,
                            .begin = pages->position};
    if (chunk->has_dictionary)
        MP_TRY(put_page(pages, DICTIONARY_PAGE, &values->entries, values->entry_count,
                        ENCODING_PLAIN, chunk, error));
    chunk->data_begin = pages->position;
    MP_TRY(put_page(pages, DATA_PAGE, &values->data, cells->rows, values->encoding, chunk, error));
    chunk->bytes = pages->position - chunk->begin;
    statistics_find(cells, &chunk->statistics);
    return MP_OK;
}

static void pages_free(struct pages *pages)
{
    ZSTD_freeCCtx(pages->zstd);
    values_free(&pages->values);
    mp_buffer_free(&pages->header);
    mp_buffer_free(&pages->packed);
}

/* ---- The writer ---- */

#define MAGIC         "PAR1"
#define MAGIC_BYTES   4
#define DEFAULT_LEVEL 1 /* docs/measurements.md, 16 */

struct parquet_writer {
    const struct parquet_table *table;
    struct cells *cells;     /* of each column */
    struct chunk *chunks;    /* likewise: of the group that is written */
    uint32_t group_rows;     /* of a full group */
    uint32_t rows;           /* of the present group */
    uint64_t group_texts;    /* bytes of distinct texts in it */
    unsigned put;            /* cells of the present row */
    uint64_t written;        /* rows of earlier groups */
    struct mp_buffer groups; /* their part of the footer */
    uint32_t group_count;
    struct mp_buffer valid; /* a text made valid */
    struct mp_buffer notes; /* keys and values, each with a NUL */
    unsigned note_count;
    struct pages pages;
    struct mp_error failure; /* the first */
};

/* ---- Failures ---- */

static void fail_memory(struct parquet_writer *writer)
{
    mp_error_set(&writer->failure, MP_ERR_MEMORY, "no memory for rows of '%.100s'",
                 writer->table->name);
}

static void fail_cell(struct parquet_writer *writer, unsigned column, const char *what)
{
    mp_error_set(&writer->failure, MP_ERR_ARGUMENT, "row %" PRIu64 " of '%.60s': column '%.60s' %s",
                 writer->written + writer->rows, writer->table->name,
                 writer->table->columns[column].name, what);
}

/* ---- Groups ---- */

static enum mp_status write_group(struct parquet_writer *writer)
{
    const struct parquet_table *table = writer->table;
    struct mp_error *failure = &writer->failure;

    if (writer->group_count == INT32_MAX)
        return mp_error_set(failure, MP_ERR_LIMIT, "too many groups of rows");
    for (unsigned i = 0; i < table->column_count; i++) {
        MP_TRY(pages_put_chunk(&writer->pages, &writer->cells[i], &writer->chunks[i], failure));
        cells_clear(&writer->cells[i]);
    }
    footer_append_group(&writer->groups, table, writer->chunks, writer->rows);
    if (writer->groups.status != MP_OK)
        return mp_error_set(failure, writer->groups.status, "no memory for the footer");
    writer->group_count++;
    writer->written += writer->rows;
    writer->rows = 0;
    writer->group_texts = 0;
    return MP_OK;
}

/* ---- Cells ---- */

static bool make_room(struct parquet_writer *writer, struct cells *cells)
{
    if (cells_grow(cells, writer->group_rows) == MP_OK)
        return true;
    fail_memory(writer);
    return false;
}

/* The column's cells, with room for the present row's; NULL after a failure, old or new. */
static struct cells *next_cell(struct parquet_writer *writer, unsigned column)
{
    if (writer->failure.status != MP_OK)
        return NULL;
    if (column >= writer->table->column_count) {
        mp_error_set(&writer->failure, MP_ERR_ARGUMENT, "'%.100s' has no column %u",
                     writer->table->name, column);
        return NULL;
    }
    struct cells *cells = &writer->cells[column];
    if (cells->rows != writer->rows) {
        fail_cell(writer, column, "has two values");
        return NULL;
    }
    if (cells->rows == cells->capacity && !make_room(writer, cells))
        return NULL;
    writer->put++;
    return cells;
}

void parquet_put_int(struct parquet_writer *writer, unsigned column, int64_t value)
{
    struct cells *cells = next_cell(writer, column);

    if (!cells)
        return;
    switch (cells->column->type) {
    case PARQUET_BOOL:
        cells_add(cells, value != 0);
        break;
    case PARQUET_INT64:
        cells_add(cells, (uint64_t)value);
        break;
    case PARQUET_INT32:
        if (value == (int32_t)value)
            cells_add(cells, (uint64_t)value);
        else
            fail_cell(writer, column, "has a number over 32 bits");
        break;
    case PARQUET_DOUBLE:
    case PARQUET_STRING:
        fail_cell(writer, column, "is none of whole numbers");
        break;
    }
}

void parquet_put_double(struct parquet_writer *writer, unsigned column, double value)
{
    struct cells *cells = next_cell(writer, column);
    uint64_t bits;

    if (!cells)
        return;
    memcpy(&bits, &value, sizeof bits);
    if (cells->column->type == PARQUET_DOUBLE)
        cells_add(cells, bits);
    else
        fail_cell(writer, column, "is none of doubles");
}

static void put_text(struct parquet_writer *writer, struct cells *cells, const char *text,
                     size_t bytes)
{
    uint32_t before = cells->texts.count;

    if (cells_add_text(cells, bytes ? text : "", bytes, &writer->valid) != MP_OK)
        fail_memory(writer);
    else if (cells->texts.count != before)
        writer->group_texts += bytes;
}

void parquet_put_text(struct parquet_writer *writer, unsigned column, const char *text,
                      size_t bytes)
{
    struct cells *cells = next_cell(writer, column);

    if (!cells)
        return;
    if (cells->column->type != PARQUET_STRING)
        fail_cell(writer, column, "is none of text");
    else if (bytes > PARQUET_MAX_TEXT_BYTES)
        mp_error_set(&writer->failure, MP_ERR_LIMIT, "a text of %zu bytes; at most %u", bytes,
                     PARQUET_MAX_TEXT_BYTES);
    else
        put_text(writer, cells, text, bytes);
}

void parquet_put_null(struct parquet_writer *writer, unsigned column)
{
    struct cells *cells = next_cell(writer, column);

    if (!cells)
        return;
    if (cells->column->flags & PARQUET_OPTIONAL)
        cells_add_null(cells);
    else
        fail_cell(writer, column, "must have a value");
}

/* ---- Rows ---- */

static void fill_row(struct parquet_writer *writer)
{
    for (unsigned i = 0; i < writer->table->column_count; i++) {
        if (writer->cells[i].rows == writer->rows)
            parquet_put_null(writer, i);
    }
}

enum mp_status parquet_end_row(struct parquet_writer *writer)
{
    if (writer->put != writer->table->column_count)
        fill_row(writer);
    writer->put = 0;
    if (writer->failure.status != MP_OK)
        return writer->failure.status;
    writer->rows++;
    if (writer->rows == writer->group_rows || writer->group_texts >= PARQUET_GROUP_TEXT)
        return write_group(writer);
    return MP_OK;
}

/* ---- Begin and end ---- */

/* Copies the notes, with what is no UTF-8 replaced. */
static enum mp_status take_notes(struct parquet_writer *writer,
                                 const struct parquet_options *options)
{
    for (unsigned i = 0; i < options->note_count; i++) {
        const char *texts[] = {options->notes[i].key, options->notes[i].value};

        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            utf8_append_valid(&writer->notes, texts[k], strlen(texts[k]));
            mp_buffer_append_byte(&writer->notes, '\0');
        }
    }
    writer->note_count = options->note_count;
    return writer->notes.status;
}

static enum mp_status allocate(struct parquet_writer *writer, const struct parquet_options *options)
{
    unsigned count = writer->table->column_count;
    struct pages *pages = &writer->pages;

    writer->group_rows = options->group_rows ? options->group_rows : PARQUET_GROUP_ROWS;
    writer->cells = calloc(count, sizeof *writer->cells);
    writer->chunks = calloc(count, sizeof *writer->chunks);
    pages->zstd = ZSTD_createCCtx();
    if (!writer->cells || !writer->chunks || !pages->zstd || take_notes(writer, options) != MP_OK)
        return MP_ERR_MEMORY;
    ZSTD_CCtx_setParameter(pages->zstd, ZSTD_c_compressionLevel,
                           options->level ? options->level : DEFAULT_LEVEL);
    for (unsigned i = 0; i < count; i++)
        writer->cells[i].column = &writer->table->columns[i];
    return MP_OK;
}

enum mp_status parquet_begin(FILE *out, const struct parquet_table *table,
                             const struct parquet_options *options, struct parquet_writer **writer,
                             struct mp_error *error)
{
    struct parquet_writer *new = calloc(1, sizeof *new);
    enum mp_status status = new ? MP_OK : MP_ERR_MEMORY;

    *writer = NULL;
    if (new) {
        new->table = table;
        new->pages.out = out;
        status = allocate(new, options ? options : &(struct parquet_options){0});
    }
    if (status != MP_OK)
        mp_error_set(error, status, "no memory for rows of '%.100s'", table->name);
    else
        status = pages_put(&new->pages, MAGIC, MAGIC_BYTES, error);
    if (status == MP_OK)
        *writer = new;
    else
        parquet_abandon(new);
    return status;
}

/* Where the strings of the notes are. */
static void find_notes(const struct mp_buffer *texts, struct parquet_note *notes, unsigned count)
{
    const char *at = (const char *)texts->data;

    for (unsigned i = 0; i < count; i++) {
        notes[i].key = at;
        notes[i].value = at + strlen(at) + 1;
        at = notes[i].value + strlen(notes[i].value) + 1;
    }
}

static enum mp_status write_footer(struct parquet_writer *writer)
{
    struct parquet_note *notes = calloc(writer->note_count + 1, sizeof *notes);
    struct footer footer = {writer->table,       writer->written, &writer->groups,
                            writer->group_count, notes,           writer->note_count};
    struct mp_buffer bytes = {.limit = INT32_MAX};
    enum mp_status status = MP_ERR_MEMORY;

    if (notes) {
        find_notes(&writer->notes, notes, writer->note_count);
        footer_append(&bytes, &footer);
        mp_buffer_append(&bytes, &(uint32_t){(uint32_t)bytes.size}, sizeof(uint32_t));
        mp_buffer_append(&bytes, MAGIC, MAGIC_BYTES);
        status = bytes.status;
    }
    if (status == MP_OK)
        status = pages_put(&writer->pages, bytes.data, bytes.size, &writer->failure);
    else
        mp_error_set(&writer->failure, status, "no memory for the footer");
    mp_buffer_free(&bytes);
    free(notes);
    return status;
}

static enum mp_status finish(struct parquet_writer *writer)
{
    if (writer->failure.status != MP_OK)
        return writer->failure.status;
    if (writer->put)
        return mp_error_set(&writer->failure, MP_ERR_ARGUMENT,
                            "the last row of '%.100s' has no end", writer->table->name);
    if (writer->rows)
        MP_TRY(write_group(writer));
    MP_TRY(write_footer(writer));
    if (fflush(writer->pages.out) != 0)
        return mp_error_set(&writer->failure, MP_ERR_IO, "cannot write: %m");
    return MP_OK;
}

enum mp_status parquet_end(struct parquet_writer *writer, struct mp_error *error)
{
    enum mp_status status = finish(writer);

    if (status != MP_OK && error)
        *error = writer->failure;
    parquet_abandon(writer);
    return status;
}

void parquet_abandon(struct parquet_writer *writer)
{
    if (!writer)
        return;
    for (unsigned i = 0; writer->cells && i < writer->table->column_count; i++)
        cells_free(&writer->cells[i]);
    free(writer->cells);
    free(writer->chunks);
    mp_buffer_free(&writer->groups);
    mp_buffer_free(&writer->valid);
    mp_buffer_free(&writer->notes);
    pages_free(&writer->pages);
    free(writer);
}
