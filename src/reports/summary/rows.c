/* Fills the rows of a summary and sorts them as nvprof does: most time first. */
#include "reports/summary/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

void summary_row_fill(struct summary_row *row, const char *name, const struct tally *tally,
                      uint64_t group_total)
{
    *row = (struct summary_row){
        .name = name,
        .tally = *tally,
        .mean = (double)tally->total / (double)tally->calls,
        .deviation = tally_deviation(tally),
        .percent = group_total ? 100.0 * (double)tally->total / (double)group_total : 0,
    };
}

static int summary_compare_rows(const void *left, const void *right)
{
    const struct summary_row *a = left;
    const struct summary_row *b = right;

    if (a->tally.total != b->tally.total)
        return a->tally.total < b->tally.total ? 1 : -1;
    return strcmp(a->name, b->name);
}

void summary_rows_sort(struct summary_row *rows, size_t count)
{
    if (count)
        qsort(rows, count, sizeof *rows, summary_compare_rows);
}
