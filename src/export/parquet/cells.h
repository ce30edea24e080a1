/* The cells of one column that are not written yet: those of the present group of rows. */
#ifndef MP_EXPORT_PARQUET_CELLS_H
#define MP_EXPORT_PARQUET_CELLS_H

#include <stdbool.h>

#include "base/data/buffer.h"
#include "base/data/map.h"
#include "export/parquet/parquet.h"

struct cells {
    const struct parquet_column *column;
    uint64_t *values; /* those that are not NULL, sign-extended; a DOUBLE's bits; of a STRING its
                       * number in `texts`, less 1 */
    uint8_t *present; /* of an OPTIONAL column a byte a row: 0 is NULL; else NULL */
    uint32_t capacity;
    uint32_t rows;
    uint32_t count;         /* values */
    struct mp_intern texts; /* distinct ones, valid UTF-8 */
    uint64_t text_bytes;    /* of all cells, as PLAIN has them */
};

/* Room for one more row, and for at most `most`; MP_ERR_MEMORY. */
enum mp_status cells_grow(struct cells *cells, uint32_t max);

/* Adds a text; `valid` is room for one that must be made valid. MP_ERR_MEMORY. */
enum mp_status cells_add_text(struct cells *cells, const char *text, size_t bytes,
                              struct mp_buffer *valid);

/* Adds a value or NULL, for which there is room. */
static inline void cells_add(struct cells *cells, uint64_t value)
{
    if (cells->present)
        cells->present[cells->rows] = 1;
    cells->values[cells->count++] = value;
    cells->rows++;
}

static inline void cells_add_null(struct cells *cells)
{
    cells->present[cells->rows++] = 0;
}

/* Forgets all cells and keeps the memory. */
void cells_clear(struct cells *cells);

void cells_free(struct cells *cells);

#endif
