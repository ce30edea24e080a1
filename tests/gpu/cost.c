/* Prints what single calls cost before, in, between and after two capture ranges:
 *
 *     PHASE|KIND|median ns
 *
 * cost [BATCHES]: of each kind in a phase; default 40. With 0 there is one line, start|cuInit|ns:
 * the first call of the driver, in which the recorder starts.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cost_loops.h"

enum { MAX_BATCHES = 10000 };

static double samples[32][MAX_BATCHES];

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static void run_phase(const char *phase, long batches)
{
    long batch;
    int kind;

    for (batch = 0; batch < batches; batch++)
        for (kind = 0; kind < cost_count(); kind++)
            samples[kind][batch] = cost_batch(kind);
    for (kind = 0; kind < cost_count(); kind++) {
        qsort(samples[kind], (size_t)batches, sizeof(double), compare);
        printf("%s|%s|%.1f\n", phase, cost_name(kind), samples[kind][batches / 2]);
    }
    fflush(stdout);
}

static void measure_start(void)
{
    struct timespec begin, end;
    double ns;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (cuInit(0) != CUDA_SUCCESS)
        exit(1);
    clock_gettime(CLOCK_MONOTONIC, &end);
    ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    printf("start|cuInit|%.0f\n", ns);
}

int main(int argc, char **argv)
{
    long batches = argc > 1 ? strtol(argv[1], NULL, 10) : 40;

    if (argc > 2 || batches < 0 || batches > MAX_BATCHES) {
        fprintf(stderr, "usage: cost [BATCHES], 0 to %d\n", MAX_BATCHES);
        return 2;
    }
    if (batches == 0) {
        measure_start();
        return 0;
    }
    cost_open();
    run_phase("before", batches);
    cost_begin_range();
    run_phase("inside", batches);
    cost_end_range();
    run_phase("between", batches);
    cost_begin_range();
    run_phase("inside again", batches);
    cost_end_range();
    run_phase("after", batches);
    return 0;
}
