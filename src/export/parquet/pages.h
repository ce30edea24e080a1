/* Pages of one column after the other, compressed, into the file. */
#ifndef MP_EXPORT_PARQUET_PAGES_H
#define MP_EXPORT_PARQUET_PAGES_H

#include <stdio.h>
#include <zstd.h>

#include "export/parquet/statistics.h"
#include "export/parquet/values.h"

struct pages {
    FILE *out;
    uint64_t position; /* bytes written, from the beginning of the file */
    ZSTD_CCtx *zstd;
    struct values values;
    struct mp_buffer header, packed;
};

/* What the footer says of a column of a group. */
struct chunk {
    enum encoding encoding; /* of the values */
    bool has_dictionary;
    uint32_t rows;
    uint64_t begin;                     /* of the first page, which is the dictionary's if any */
    uint64_t data_begin;                /* of the data page */
    uint64_t bytes, uncompressed_bytes; /* of the pages with their headers */
    struct statistics statistics;
};

/* Writes bytes as they are. MP_ERR_IO. */
enum mp_status pages_put(struct pages *pages, const void *data, size_t bytes,
                         struct mp_error *error);

/* Writes the column's cells as a dictionary page, if one pays, and a data page. MP_ERR_IO,
 * MP_ERR_MEMORY. */
enum mp_status pages_put_chunk(struct pages *pages, const struct cells *cells, struct chunk *chunk,
                               struct mp_error *error);

void pages_free(struct pages *pages);

#endif
