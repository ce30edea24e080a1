/* What differs between two sides, name by name.
 *
 * The difference is the difference of the means: time of a call multiplied by calls an iteration.
 * So the differences of all names add up. Whether a name is slower or faster is decided by the
 * shift (shift.h) of its time in an iteration, which a few unusual iterations do not move. Two
 * conditions must hold: the interval of the shift excludes 0, and the shift is at least
 * DIFF_NOTABLE of the name's time in A. Because there are many names, one in twenty 95 % intervals
 * would be wrong. So intervals are of 99.9 % if there are enough samples (10 and 10, say), and of
 * 95 % otherwise.
 */
#ifndef MP_REPORTS_DIFF_MATCH_H
#define MP_REPORTS_DIFF_MATCH_H

#include <stdbool.h>

#include "profile/common/shift.h"
#include "reports/diff/samples.h"

#define DIFF_NOTABLE 0.01

enum diff_change {
    DIFF_UNCHANGED, /* noise, or too little to matter */
    DIFF_ADDED,     /* no call in A */
    DIFF_REMOVED,   /* no call in B */
    DIFF_SLOWER,
    DIFF_FASTER,
    DIFF_UNKNOWN, /* too few iterations to tell */
    DIFF_CHANGES
};

enum { DIFF_A, DIFF_B, DIFF_SIDES };

struct diff_row {
    const char *name;         /* not owned */
    double calls[DIFF_SIDES]; /* an iteration; 0: the name is not there */
    double mean[DIFF_SIDES];  /* ns an iteration */
    double difference;        /* ns an iteration, B minus A */
    struct shift shift;       /* all 0 if the name was added or removed */
    enum diff_change change;
};

struct diff_rows {
    struct diff_row *rows; /* owned */
    size_t count;
    size_t changes[DIFF_CHANGES]; /* rows of each kind */
    bool strict;                  /* intervals are of 99.9 %, else of 95 % */
};

/* Pairs items by name; each name is there at most once on a side. Names are owned by the items.
 * Rows are sorted by the absolute difference, then by name. MP_ERR_MEMORY; else diff_rows_free. */
enum mp_status diff_match(const struct diff_items *a, const struct diff_items *b,
                          struct diff_rows *rows);

/* Pairs items by their position: both have the same names in the same order. */
enum mp_status diff_match_in_order(const struct diff_items *a, const struct diff_items *b,
                                   struct diff_rows *rows);

void diff_rows_free(struct diff_rows *rows);

/* The kind of change that a shift is, compared with a usual time of A. */
enum diff_change diff_change_of(const struct shift *shift, double usual);

#endif
