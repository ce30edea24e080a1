/* The iterations thread by thread, and as windows of the event graph. */
#include <stdlib.h>
#include <string.h>

#include "reports/iterations/iterations.h"

#include "base/poison.h"

/* ---- Threads ---- */

static int by_busy(const void *left, const void *right)
{
    const struct iterations_row *a = left;
    const struct iterations_row *b = right;

    if (a->busy != b->busy)
        return a->busy < b->busy ? 1 : -1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Latencies thread by thread: `first` says where each thread's begin. */
struct grouping {
    const struct iterations *iterations;
    const struct iteration_measures *measures;
    uint32_t lanes; /* with one for threads that are not known */
    size_t *first;  /* by lane, and one more */
    uint64_t *latencies;
    uint64_t *busy; /* by lane */
};

static uint32_t group_of(const struct grouping *grouping, size_t index)
{
    uint32_t thread = grouping->iterations->items[index].thread;

    return thread == DEPS_NONE ? grouping->lanes - 1 : thread;
}

static enum mp_status group(struct grouping *grouping)
{
    size_t count = grouping->iterations->count;
    size_t *next = calloc((size_t)grouping->lanes + 1, sizeof *next);

    grouping->first = calloc((size_t)grouping->lanes + 2, sizeof *grouping->first);
    grouping->latencies = calloc(count + 1, sizeof *grouping->latencies);
    grouping->busy = calloc((size_t)grouping->lanes + 1, sizeof *grouping->busy);
    if (!next || !grouping->first || !grouping->latencies || !grouping->busy) {
        free(next);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        grouping->first[group_of(grouping, i) + 1]++;
    for (uint32_t lane = 0; lane < grouping->lanes; lane++)
        grouping->first[lane + 1] += grouping->first[lane];
    for (size_t i = 0; i < count; i++) {
        uint32_t lane = group_of(grouping, i);
        const uint64_t *values = grouping->measures[i].values;

        grouping->latencies[grouping->first[lane] + next[lane]++] = values[ITERATION_LATENCY];
        grouping->busy[lane] += values[ITERATION_BUSY];
    }
    free(next);
    return MP_OK;
}

static void fill_in(const struct grouping *grouping, struct iterations_row *threads)
{
    size_t found = 0;

    for (uint32_t lane = 0; lane < grouping->lanes; lane++) {
        size_t count = grouping->first[lane + 1] - grouping->first[lane];

        if (!count)
            continue;
        threads[found++] = (struct iterations_row){
            .thread = lane + 1 == grouping->lanes ? DEPS_NONE : lane,
            .latency = statistics_of(grouping->latencies + grouping->first[lane], count),
            .count = count,
            .busy = grouping->busy[lane],
        };
    }
    qsort(threads, found, sizeof *threads, by_busy);
}

enum mp_status iterations_by_thread(const struct deps *deps, const struct iterations *iterations,
                                    const struct iteration_measures *measures,
                                    struct iterations_row **threads)
{
    struct grouping grouping = {
        .iterations = iterations, .measures = measures, .lanes = deps->thread_count + 1};
    enum mp_status status = group(&grouping);

    *threads = calloc((size_t)iterations->threads + 1, sizeof **threads);
    if (!*threads)
        status = MP_ERR_MEMORY;
    if (!status)
        fill_in(&grouping, *threads);
    free(grouping.first);
    free(grouping.latencies);
    free(grouping.busy);
    if (status) {
        free(*threads);
        *threads = NULL;
    }
    return status;
}

/* ---- Windows ---- */

enum mp_status iterations_windows(const struct deps *deps, const struct iterations *iterations,
                                  struct deps_windows *windows)
{
    *windows =
        (struct deps_windows){.count = iterations->count, .unfinished = iterations->unfinished};
    windows->items = calloc(iterations->count + 1, sizeof *windows->items);
    windows->of = malloc(((size_t)deps->count + 1) * sizeof *windows->of);
    if (!windows->items || !windows->of) {
        deps_windows_free(windows);
        return MP_ERR_MEMORY;
    }
    memcpy(windows->of, iterations->of, deps->count * sizeof *windows->of);
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (iterations->way == ITERATIONS_REQUESTS) /* ends where its thread has the result */
            windows->of[i] = DEPS_NONE;
    }
    for (size_t i = 0; i < iterations->count; i++) {
        const struct iteration *iteration = &iterations->items[i];

        windows->items[i] = (struct deps_window){.id = i + 1,
                                                 .begin = iteration->begin,
                                                 .end = iteration->end,
                                                 .host_end = iteration->host_end,
                                                 .from = iteration->begin,
                                                 .until = iteration->end,
                                                 .thread = iteration->thread};
    }
    return MP_OK;
}
