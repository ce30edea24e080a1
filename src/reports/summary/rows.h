/* Rows of a group: the sums of one name, and the order of the rows. */
#ifndef MP_REPORTS_SUMMARY_ROWS_H
#define MP_REPORTS_SUMMARY_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/common/tally.h"

struct summary_row {
    const char *name; /* not owned */
    uint64_t calls;
    uint64_t total; /* ns */
    uint64_t min;
    uint64_t max;
    double mean;    /* ns */
    double percent; /* of the group's total */
};

/* Fills a row from a tally that has calls. */
void summary_row_fill(struct summary_row *row, const char *name, const struct tally *tally,
                      uint64_t group_total);

/* Sorts by total time, greatest first, then by name. */
void summary_rows_sort(struct summary_row *rows, size_t count);

#endif
