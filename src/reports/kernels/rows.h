/* Inside kernels.c: the rows of the result in the making. */
#ifndef MP_REPORTS_KERNELS_ROWS_H
#define MP_REPORTS_KERNELS_ROWS_H

#include "profile/common/tally.h"
#include "reports/kernels/kernels.h"

/* The launches of one shape on one device. */
struct kernels_launches {
    uint64_t shape_id;
    const struct launch_shape *shape;   /* NULL: not defined */
    uint64_t device;                    /* ordinal; UINT64_MAX: unknown */
    const struct device_limits *limits; /* NULL: unknown */
    const struct tally *tally;          /* has calls */
    struct called_from *callers;        /* with `by`, and the line */
    uint32_t line;
};

/* The sums of a row, kept beside the row. */
struct kernels_sums {
    struct tally tally;
    double percent, waves; /* times ns */
    uint64_t known;        /* ns of the shapes whose occupancy is known */
    uint64_t max,
        largest_known; /* ns of the shape with most time among those whose occupancy is known */
    uint32_t row;
};

struct kernels_making {
    struct kernels *kernels;
    const struct kernels_options *options;
    struct kernels_sums *sums; /* of each row */
    size_t row_capacity, sum_capacity;
    struct mp_map by_name; /* by name and device: the row */
};

/* Adds them to their row. MP_OK or MP_ERR_MEMORY. */
enum mp_status kernels_making_add(struct kernels_making *making,
                                  const struct kernels_launches *launches);

/* Completes and sorts what rows there are, and gives back what is not the result's. */
void kernels_making_end(struct kernels_making *making);

#endif
