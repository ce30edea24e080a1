/* Collects the cells of a column. Texts are numbered as they come, so that equal ones take memory
 * once, and the numbers are the indices of a dictionary already. */
#include "export/parquet/cells.h"

#include <stdlib.h>

#include "base/text/utf8.h"

#include "base/poison.h"

#define FIRST_ROWS 64u

enum mp_status cells_grow(struct cells *cells, uint32_t max)
{
    uint32_t capacity = cells->capacity ? cells->capacity * 2 : FIRST_ROWS;
    uint64_t *values;

    if (capacity > max)
        capacity = max;
    values = reallocarray(cells->values, capacity, sizeof *values);
    if (!values)
        return MP_ERR_MEMORY;
    cells->values = values;
    if (cells->column->flags & PARQUET_OPTIONAL) {
        uint8_t *present = realloc(cells->present, capacity);

        if (!present)
            return MP_ERR_MEMORY;
        cells->present = present;
    }
    cells->capacity = capacity;
    return MP_OK;
}

/* The number of a text that is not in the pool as it stands; 0: no memory. Only such texts are
 * looked at, because all that are in the pool are valid. */
static uint32_t add_new(struct mp_intern *texts, const char *text, size_t *bytes,
                        struct mp_buffer *valid)
{
    if (utf8_is_valid(text, *bytes))
        return mp_intern_add(texts, text, *bytes);
    mp_buffer_clear(valid);
    if (utf8_append_valid(valid, text, *bytes) != MP_OK)
        return 0;
    *bytes = valid->size;
    return mp_intern_add(texts, valid->data, valid->size);
}

enum mp_status cells_add_text(struct cells *cells, const char *text, size_t bytes,
                              struct mp_buffer *valid)
{
    uint32_t number = mp_intern_find(&cells->texts, text, bytes);

    if (!number)
        number = add_new(&cells->texts, text, &bytes, valid);
    if (!number)
        return MP_ERR_MEMORY;
    cells->text_bytes += sizeof(uint32_t) + bytes;
    cells_add(cells, number - 1);
    return MP_OK;
}

void cells_clear(struct cells *cells)
{
    cells->rows = 0;
    cells->count = 0;
    cells->text_bytes = 0;
    mp_intern_reset(&cells->texts);
}

void cells_free(struct cells *cells)
{
    free(cells->values);
    free(cells->present);
    mp_intern_free(&cells->texts);
}
