/* Bounds of a column's values, by which readers skip groups of rows. */
#ifndef MP_EXPORT_PARQUET_STATISTICS_H
#define MP_EXPORT_PARQUET_STATISTICS_H

#include "export/parquet/cells.h"

#define STATISTICS_TEXT_BYTES 64u /* longer texts are cut */

struct bound {
    uint8_t data[STATISTICS_TEXT_BYTES]; /* as PLAIN has the value, without a length */
    uint32_t bytes;
    bool known;
    bool exact; /* is a value of the column, not only beyond all of them */
};

struct statistics {
    struct bound min, max;
    uint32_t null_count;
};

/* Finds them. Unknown bounds: without values, among doubles with a NaN, and above a long text for
 * which there is no short one. */
void statistics_find(const struct cells *cells, struct statistics *statistics);

#endif
