/* What one side of a comparison knows of each name: how often it is called in an iteration, and its
 * times there as samples. Names are those of kernels, layers or quantities.
 *
 *     diff_samples_item   the number of a name                        once a name
 *     diff_samples_run    the times of a run, by item and iteration   once a run
 *     diff_items_make     all of it as a plain array
 *
 * If a run has more than DIFF_MAX_SAMPLES iterations, only that many times of each item are kept:
 * the times are ordered by length, and taken evenly from that order. The intervals are then as wide
 * as those of DIFF_MAX_SAMPLES iterations. If runs are the samples, a run's sample is the median of
 * its iterations. Memory: 16 bytes for each kept time that is not 0, and 24 bytes and the text for
 * each name. While a run is added: 8 bytes for each of its times.
 */
#ifndef MP_REPORTS_DIFF_SAMPLES_H
#define MP_REPORTS_DIFF_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/common/statistics.h"

#define DIFF_MAX_SAMPLES 1000

/* An item in one iteration, or in one sample. */
struct diff_cell {
    uint64_t value; /* ns; for quantities in their own unit */
    uint32_t item;  /* from 1 */
    uint32_t calls;
};

struct diff_sum {
    uint64_t calls;
    uint64_t value;
};

/* Zeroed, it is empty. */
struct diff_samples {
    struct mp_intern names;
    struct diff_sum *sums; /* by item - 1; owned */
    size_t sum_count, sum_capacity;
    struct diff_cell *cells; /* that are kept and not 0; owned */
    size_t cell_count, cell_capacity;
    uint64_t iterations; /* of all runs */
    size_t samples;      /* of each item, including those that are 0 */
};

void diff_samples_free(struct diff_samples *samples);

/* The number of a name. MP_ERR_MEMORY. */
enum mp_status diff_samples_item(struct diff_samples *samples, const char *name, uint32_t *item);

/* Adds a run of `iterations`, not 0. In an iteration without a cell an item takes 0. With `median`
 * the run is one sample, otherwise each iteration is one. MP_ERR_MEMORY. */
enum mp_status diff_samples_run(struct diff_samples *samples, const struct diff_cell *cells,
                                size_t count, size_t iterations, bool median);

/* ---- As a plain array ---- */

struct diff_item {
    const char *name;        /* not owned */
    double calls;            /* an iteration, mean */
    double mean;             /* ns an iteration */
    const uint64_t *samples; /* ns an iteration, those that are not 0; not owned */
    size_t count;
};

struct diff_items {
    struct diff_item *items; /* owned */
    size_t count;
    size_t samples;   /* of each item, with those that are 0 */
    uint64_t *values; /* owned */
};

/* From `samples`, which must outlive them. MP_ERR_MEMORY; else diff_items_free. */
enum mp_status diff_items_make(const struct diff_samples *samples, struct diff_items *items);

void diff_items_free(struct diff_items *items);

/* ---- What differs between two sides, name by name ----
 *
 * The difference is the difference of the means: time of a call multiplied by calls an iteration.
 * So the differences of all names add up. Whether a name is slower or faster is decided by the
 * shift (statistics.h) of its time in an iteration, which a few unusual iterations do not move. Two
 * conditions must hold: the interval of the shift excludes 0, and the shift is at least
 * DIFF_NOTABLE of the name's time in A. Because there are many names, one in twenty 95 % intervals
 * would be wrong. So intervals are of 99.9 % if there are enough samples (10 and 10, say), and of
 * 95 % otherwise.
 */

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

#endif
