/* Medians of the rounds, and how far they are apart. */
#include "calibrate/spread.h"

#include <stdlib.h>

#include "base/poison.h"

#define WIDE_NS 300

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double at_least_0(double value)
{
    return value > 0 ? value : 0;
}

/* Cost `i` of all rounds: the median, and how far the rounds reach. */
static bool sum_up(struct costs *rounds, size_t count, size_t i, struct calibration *result)
{
    double values[CALIBRATE_MAX_ROUNDS];
    double *min;
    double *max;
    double *value;

    for (size_t round = 0; round < count; round++) {
        double *of_round;
        if (!costs_at(&rounds[round], i, NULL, &of_round, NULL))
            return false;
        values[round] = at_least_0(*of_round);
    }
    qsort(values, count, sizeof *values, compare);
    costs_at(&result->min, i, NULL, &min, NULL);
    costs_at(&result->max, i, NULL, &max, NULL);
    costs_at(&result->values, i, NULL, &value, NULL);
    *min = values[0];
    *max = values[count - 1];
    *value = (values[(count - 1) / 2] + values[count / 2]) / 2;
    return true;
}

void calibration_sum_up(struct costs *rounds, size_t count, struct calibration *result)
{
    for (size_t i = 0; sum_up(rounds, count, i, result);)
        i++;
}

size_t calibration_wide(struct calibration *result)
{
    size_t wide = 0;
    double *value;
    double *min;
    double *max;

    for (size_t i = 0; costs_at(&result->values, i, NULL, &value, NULL); i++) {
        costs_at(&result->min, i, NULL, &min, NULL);
        costs_at(&result->max, i, NULL, &max, NULL);
        wide += *max - *min > WIDE_NS && *max - *min > *value / 2;
    }
    return wide;
}
