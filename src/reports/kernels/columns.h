/* Inside kernels.c: which columns the table has in each format, and what they show of a row.
 */
#ifndef MP_REPORTS_KERNELS_COLUMNS_H
#define MP_REPORTS_KERNELS_COLUMNS_H

#include <inttypes.h>

#include "reports/kernels/kernels.h"
#include "table/table.h"

/* The columns of one table. */
struct kernels_columns {
    const struct kernels *kernels;
    struct report_column columns[REPORT_MAX_COLUMNS];
    uint8_t cells[REPORT_MAX_COLUMNS]; /* enum kernels_cell */
    size_t count;
};

#define KERNELS_DEVICE_BYTES 96

/* The texts that cells of a row point to. */
struct kernels_texts {
    char grid[40];
    char block[40];
    char cluster[40];
    char device[KERNELS_DEVICE_BYTES];
};

/* Those that have something to show; in CSV and JSON all of them. */
void kernels_columns_choose(struct kernels_columns *columns, const struct report_out *out,
                            const struct kernels *kernels, bool by_name);

/* Cells of a row; they point to `texts` and to the result. */
void kernels_columns_fill(const struct kernels_columns *columns, const struct kernels_row *row,
                          struct kernels_texts *texts,
                          struct report_cell cells[REPORT_MAX_COLUMNS]);

#endif
