/* Rows of a summary: the sums of one name, and the order of the rows. */
#ifndef MP_REPORTS_SUMMARY_ROWS_H
#define MP_REPORTS_SUMMARY_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/common/tally.h"

struct summary_row {
    const char *name;   /* not owned */
    struct tally tally; /* with it rows of several traces add up exactly */
    double mean;        /* ns */
    double deviation;   /* ns: tally_deviation */
    double percent;     /* of the group's total */
};

/* Fills a row from a tally that has calls. */
void summary_row_fill(struct summary_row *row, const char *name, const struct tally *tally,
                      uint64_t group_total);

/* Sorts as nvprof does: most time first, then by name. */
void summary_rows_sort(struct summary_row *rows, size_t count);

#endif
