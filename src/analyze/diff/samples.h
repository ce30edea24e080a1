/* What one side of a comparison knows of each name: how often it is called in an iteration, and how
 * long it takes there, as samples. Names are those of anything: kernels, layers, quantities.
 *
 *     diff_samples_item   the number of a name                        once a name
 *     diff_samples_run    the times of a run, by item and iteration   once a run
 *     diff_items_make     all of it as a plain array
 *
 * Of a run with more than DIFF_MOST_SAMPLES iterations as many of each item's times are kept, by
 * rank: ordered by length, and evenly taken from among these. Intervals then are as wide as those
 * of so many iterations. Where runs are the samples, a run's is the median of its iterations.
 * Memory: 16 bytes for each of the times that are kept and not 0, and 24 and its text a name; while
 * a run is taken 8 bytes for each of its times.
 */
#ifndef MP_ANALYZE_DIFF_SAMPLES_H
#define MP_ANALYZE_DIFF_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"

#define DIFF_MOST_SAMPLES 1000

/* An item in one iteration, or in one sample. */
struct diff_cell {
    uint64_t value; /* ns; quantities: of their own unit */
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
    size_t samples;      /* of each item, with those that are 0 */
};

void diff_samples_free(struct diff_samples *samples);

/* The number of a name. MP_ERR_MEMORY. */
enum mp_status diff_samples_item(struct diff_samples *samples, const char *name, uint32_t *item);

/* Adds a run of `iterations`, not 0; in those that have no cell an item takes 0. `median`: one
 * sample, else one an iteration. MP_ERR_MEMORY. */
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

#endif
