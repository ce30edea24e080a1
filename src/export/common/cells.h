/* A row as named cells, for formats that are tables or lists of keys: JSON lines, CSV.
 *
 *     kind, process, start_ns, dur_ns, name, ...   what all rows have
 *     device, context, stream                      of work
 *     grid_x, ... local_memory_bytes               of kernels
 *     bytes, copy_kind, ...                        the other columns of the row's table
 *
 * Names have the unit at their end: ns, bytes. Times are ns since 1970. References are resolved,
 * enumerations are words, handles and addresses are hexadecimal text.
 */
#ifndef MP_EXPORT_COMMON_CELLS_H
#define MP_EXPORT_COMMON_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "export/common/format.h"

#define EXPORT_CELLS_MAX  64
#define EXPORT_CELL_BYTES 32

enum export_cell_type {
    EXPORT_CELL_NONE,
    EXPORT_CELL_NUMBER,
    EXPORT_CELL_REAL,
    EXPORT_CELL_BOOL,
    EXPORT_CELL_TEXT
};

struct export_cell {
    const char *key;
    enum export_cell_type type;
    uint64_t number; /* of a bool too */
    double real;
    const char *text; /* valid UTF-8; of the trace, or in `buffer` */
    size_t bytes;
    char buffer[EXPORT_CELL_BYTES];
};

struct export_cells {
    struct export_cell items[EXPORT_CELLS_MAX];
    size_t count;
    const char *names[EXPORT_CELLS_MAX][EXPORT_CELL_BYTES]; /* of enumerations, looked up */
    char keys[EXPORT_CELLS_MAX][EXPORT_CELL_BYTES];
    const struct mp_table_info *table; /* that the keys are of; NULL: none yet */
    size_t fixed;                      /* of the items; the others are these columns: */
    uint8_t columns[EXPORT_CELLS_MAX];
    enum export_kind kind;
};

/* Makes the cells those of a kind, all NONE: only their keys are filled in. */
void export_cells_of(struct export_cells *cells, enum export_kind kind);

/* Fills in the cells of a row. MP_OK, MP_ERR_MEMORY. */
enum mp_status export_cells_fill(struct export_cells *cells, const struct export_process *process,
                                 const struct export_row *row);

/* The cell of that key; NULL: a row of this kind has none. */
const struct export_cell *export_cells_find(const struct export_cells *cells, const char *key);

#endif
