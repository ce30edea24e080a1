/* Prints what single calls cost before, in, between and after two capture ranges, and what the
 * process had to pay to get there:
 *
 *     PHASE|KIND|median ns|least ns
 *     start|cuInit|ns|ns             the first call of the driver: the collector starts in it
 *     memory|host|bytes|bytes        of the process, Pss without shared pages, at the end
 *     memory|device|bytes|bytes      in use on the GPU, by anybody
 *
 * cost [ROUNDS]: batches of each kind in a phase; default 40.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cost_loops.h"

enum { MOST_ROUNDS = 10000 };

static double samples[32][MOST_ROUNDS];

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static void run_phase(const char *phase, long rounds)
{
    long round;
    int kind;

    for (round = 0; round < rounds; round++)
        for (kind = 0; kind < cost_count(); kind++)
            samples[kind][round] = cost_batch(kind);
    for (kind = 0; kind < cost_count(); kind++) {
        qsort(samples[kind], (size_t)rounds, sizeof(double), compare);
        printf("%s|%s|%.1f|%.1f\n", phase, cost_name(kind), samples[kind][rounds / 2],
               samples[kind][0]);
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
    printf("start|cuInit|%.0f|%.0f\n", ns, ns);
}

static void print_memory(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kilobytes = 0;
    size_t available, total;

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "Private_Dirty:", 14) == 0)
            kilobytes = strtol(line + 14, NULL, 10);
    if (file)
        fclose(file);
    printf("memory|host|%ld|%ld\n", kilobytes * 1024, kilobytes * 1024);
    if (cuMemGetInfo(&available, &total) == CUDA_SUCCESS)
        printf("memory|device|%zu|%zu\n", total - available, total - available);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 40;

    if (argc > 2 || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: cost [ROUNDS], 1 to %d\n", MOST_ROUNDS);
        return 2;
    }
    measure_start();
    cost_open();
    run_phase("before", rounds);
    cost_begin_range();
    run_phase("inside", rounds);
    cost_end_range();
    run_phase("between", rounds);
    cost_begin_range();
    run_phase("inside again", rounds);
    cost_end_range();
    run_phase("after", rounds);
    print_memory();
    return 0;
}
