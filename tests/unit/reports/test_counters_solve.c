/* Means from samples that mix several kernels, against the means that the samples were made of. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reports/counters/solve.h"
#include "unit/trace_fixture.h"

#define GROUPS 5u

struct problem {
    double shares[GROUPS * GROUPS];
    double sums[GROUPS];
    double squares;
    double samples;
};

static void add_sample(struct problem *problem, const double *parts, double value)
{
    for (size_t i = 0; i < GROUPS; i++) {
        for (size_t j = 0; j < GROUPS; j++)
            problem->shares[i * GROUPS + j] += parts[i] * parts[j];
        problem->sums[i] += parts[i] * value;
    }
    problem->squares += value * value;
    problem->samples++;
}

static bool solve(struct problem *problem, double *means, double *errors)
{
    const double prior[GROUPS] = {40, 40, 40, 40, 40};
    double scratch[2 * GROUPS * (GROUPS + 1)];
    const struct equations equations = {GROUPS, problem->samples, problem->shares};
    struct unknowns unknowns = {.sums = problem->sums,
                                .squares = problem->squares,
                                .prior = prior,
                                .spread = 100,
                                .min_noise = 0.05,
                                .means = means,
                                .errors = errors};

    return equations_solve(&equations, &unknowns, scratch);
}

static double chance(uint64_t *seed)
{
    return (double)(fixture_random(seed) >> 11) / 9007199254740992.0;
}

static void mixed_samples_tell_the_means(void **state)
{
    static const double truth[GROUPS] = {0, 20, 45, 70, 95};
    struct problem problem = {.samples = 0};
    double means[GROUPS], errors[GROUPS];
    uint64_t seed = 7;

    (void)state;
    for (unsigned sample = 0; sample < 500; sample++) {
        double parts[GROUPS], sum = 0, value = 0;

        for (size_t i = 0; i < GROUPS; i++)
            sum += parts[i] = chance(&seed);
        for (size_t i = 0; i < GROUPS; i++)
            value += (parts[i] /= sum) * truth[i];
        add_sample(&problem, parts, value + 2 * (chance(&seed) - 0.5));
    }
    assert_true(solve(&problem, means, errors));
    for (size_t i = 0; i < GROUPS; i++) {
        assert_true(fabs(means[i] - truth[i]) < 4 * errors[i]);
        assert_true(errors[i] > 0.02 && errors[i] < 0.4);
    }
}

static void what_always_runs_together_is_not_told_apart(void **state)
{
    struct problem problem = {.samples = 0};
    double means[GROUPS], errors[GROUPS];
    uint64_t seed = 7;

    (void)state;
    for (unsigned sample = 0; sample < 500; sample++) {
        double part = chance(&seed);
        const double parts[GROUPS] = {1 - part, part / 2, part / 2, 0, 0};

        add_sample(&problem, parts, 80 * part / 2 + 20 * part / 2);
    }
    assert_true(solve(&problem, means, errors));
    assert_true(errors[0] < 0.1 && fabs(means[0]) < 0.1);
    assert_true(errors[1] > 50 && errors[2] > 50); /* only their sum is known */
    assert_true(fabs(means[1] + means[2] - 100) < 0.1);
    assert_true(errors[3] > 90 && fabs(means[3] - 40) < 0.1); /* it never ran: as before */
}

static void equal_samples_are_no_proof(void **state)
{
    const double parts[GROUPS] = {0.2, 0.4, 0.4, 0, 0};
    struct problem problem = {.samples = 0};
    double means[GROUPS], errors[GROUPS];

    (void)state;
    for (unsigned sample = 0; sample < 1000; sample++)
        add_sample(&problem, parts, 50);
    assert_true(solve(&problem, means, errors));
    for (size_t i = 0; i < GROUPS; i++)
        assert_true(errors[i] > 30);
}

static void nothing_is_solved_without_samples(void **state)
{
    struct problem problem = {.samples = 0};
    double means[GROUPS], errors[GROUPS];

    (void)state;
    assert_false(solve(&problem, means, errors));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed_samples_tell_the_means),
        cmocka_unit_test(what_always_runs_together_is_not_told_apart),
        cmocka_unit_test(equal_samples_are_no_proof),
        cmocka_unit_test(nothing_is_solved_without_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
