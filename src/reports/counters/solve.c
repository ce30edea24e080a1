/* Cholesky's method on (shares + ratio * 1) m = sums + ratio * prior. The ratio is that of the
 * noise to the prior's spread, squared. A first solution with hardly any prior tells the noise.
 */
#include "reports/counters/solve.h"

#include <math.h>
#include <string.h>

#include "base/poison.h"

/* The lower triangle L with L * transposed(L) = shares + ratio * 1. */
static bool decompose(const struct equations *equations, double ratio, double *lower)
{
    size_t n = equations->count;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = equations->shares[i * n + j] + (i == j ? ratio : 0);

            for (size_t k = 0; k < j; k++)
                sum -= lower[i * n + k] * lower[j * n + k];
            if (i == j && !(sum > 0))
                return false;
            lower[i * n + j] = i == j ? sqrt(sum) : sum / lower[j * n + j];
        }
    }
    return true;
}

/* From `means`, which hold the right side. */
static void substitute(const double *lower, size_t n, double *means)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            means[i] -= lower[i * n + k] * means[k];
        means[i] /= lower[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            means[i] -= lower[k * n + i] * means[k];
        means[i] /= lower[i * n + i];
    }
}

static bool solve(const struct equations *equations, const struct unknowns *unknowns, double ratio,
                  double *lower)
{
    if (!decompose(equations, ratio, lower))
        return false;
    for (size_t i = 0; i < equations->count; i++)
        unknowns->means[i] = unknowns->sums[i] + ratio * unknowns->prior[i];
    substitute(lower, equations->count, unknowns->means);
    return true;
}

/* The variance of what the means leave unexplained. */
static double noise_of(const struct equations *equations, const struct unknowns *unknowns)
{
    size_t n = equations->count;
    double rest = unknowns->squares;
    double free = equations->samples - (double)n;

    for (size_t i = 0; i < n; i++) {
        double row = 0;

        for (size_t j = 0; j < n; j++)
            row += equations->shares[i * n + j] * unknowns->means[j];
        rest += unknowns->means[i] * (row - 2 * unknowns->sums[i]);
    }
    return fmax(rest / (free > 1 ? free : 1), unknowns->min_noise * unknowns->min_noise);
}

/* The diagonal of the inverse, from the inverse of the triangle, column by column. */
static void fill_errors(const double *lower, size_t n, double noise, double *column, double *errors)
{
    for (size_t k = 0; k < n; k++) {
        double sum = 0;

        memset(column, 0, n * sizeof *column);
        column[k] = 1 / lower[k * n + k];
        sum = column[k] * column[k];
        for (size_t i = k + 1; i < n; i++) {
            double value = 0;

            for (size_t j = k; j < i; j++)
                value -= lower[i * n + j] * column[j];
            column[i] = value / lower[i * n + i];
            sum += column[i] * column[i];
        }
        errors[k] = sqrt(noise * sum);
    }
}

bool equations_solve(const struct equations *equations, struct unknowns *unknowns, double *scratch)
{
    size_t n = equations->count;
    double *lower = scratch;
    double *column = scratch + n * n;
    double trace = 0, noise;

    for (size_t i = 0; i < n; i++)
        trace += equations->shares[i * n + i];
    if (!(trace > 0) || !solve(equations, unknowns, 1e-9 * trace, lower))
        return false;
    noise = noise_of(equations, unknowns);
    if (!solve(equations, unknowns, noise / (unknowns->spread * unknowns->spread), lower))
        return false;
    fill_errors(lower, n, noise, column, unknowns->errors);
    return true;
}
