/* Least squares with a prior: the means of groups from samples that mix them. */
#ifndef MP_REPORTS_COUNTERS_SOLVE_H
#define MP_REPORTS_COUNTERS_SOLVE_H

#include <stdbool.h>
#include <stddef.h>

/* The equations of `count` unknowns, row by row: sums over all samples. */
struct equations {
    size_t count;
    double samples;
    double *shares; /* count * count: sum of share i times share j */
};

/* What is known of one counter before and after. */
struct unknowns {
    const double *sums;  /* sum of share i times the value */
    double squares;      /* sum of the value's squares */
    const double *prior; /* what a mean is without samples ... */
    double spread;       /* ... and how far off that may be; > 0 */
    double min_noise;    /* of a value: what rounding alone does */
    double *means;
    double *errors; /* standard deviations */
};

/* Solves for one counter; `scratch` has room for 2 * count * (count + 1) numbers. False when the
 * equations cannot be solved: then nothing is known. */
bool equations_solve(const struct equations *equations, struct unknowns *unknowns, double *scratch);

#endif
