/* The values of a column as the bytes of its pages, by the encoding that suits them. */
#ifndef MP_EXPORT_PARQUET_VALUES_H
#define MP_EXPORT_PARQUET_VALUES_H

#include "base/data/buffer.h"
#include "base/data/map.h"
#include "export/parquet/cells.h"
#include "export/parquet/encode.h"

/* What encoding takes besides the cells; kept from column to column. A zeroed struct is empty. */
struct values {
    enum encoding encoding;   /* of `data` */
    struct mp_buffer data;    /* the data page before compression: levels, values */
    struct mp_buffer entries; /* the dictionary page, PLAIN */
    uint32_t entry_count;     /* of ENCODING_RLE_DICTIONARY; else 0: no dictionary */
    uint64_t *numbers;        /* room for levels, for indices of numbers, for lengths of texts */
    uint32_t number_capacity;
    struct mp_map index; /* of a number in its dictionary */
};

/* Encodes the cells. MP_ERR_MEMORY. */
enum mp_status values_encode(struct values *values, const struct cells *cells);

void values_free(struct values *values);

#endif
