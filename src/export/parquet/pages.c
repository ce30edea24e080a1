/* A page is a header, then its bytes as one zstd frame. A column of a group has one data page: with
 * 122,880 values it has about the megabyte that parquet-format advises.
 */
#include "export/parquet/pages.h"

#include "export/parquet/thrift.h"

#include "base/poison.h"

/* parquet.thrift, PageType. */
enum page_type { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };

enum mp_status pages_put(struct pages *pages, const void *data, size_t bytes,
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

enum mp_status pages_put_chunk(struct pages *pages, const struct cells *cells, struct chunk *chunk,
                               struct mp_error *error)
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

void pages_free(struct pages *pages)
{
    ZSTD_freeCCtx(pages->zstd);
    values_free(&pages->values);
    mp_buffer_free(&pages->header);
    mp_buffer_free(&pages->packed);
}
