/* Statistics over iterations, and which of them stand out; thread by thread; and iterations as
 * windows of the event graph.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/iterations/iterations.h"

#include "base/poison.h"

static const struct {
    const char *name;
    const char *key;
} words[ITERATION_QUANTITIES] = {
    [ITERATION_LATENCY] = {"latency", "latency_ns"},
    [ITERATION_HOST] = {"host time", "host_ns"},
    [ITERATION_API] = {"CUDA calls", "api_ns"},
    [ITERATION_BUSY] = {"GPU busy", "busy_ns"},
    [ITERATION_KERNEL] = {"kernels", "kernel_ns"},
    [ITERATION_HTOD] = {"copies HtoD", "htod_ns"},
    [ITERATION_DTOH] = {"copies DtoH", "dtoh_ns"},
    [ITERATION_COPY_OTHER] = {"other copies", "other_copy_ns"},
    [ITERATION_SET] = {"memory sets", "set_ns"},
    [ITERATION_OVERLAP] = {"copy and kernel at once", "overlap_ns"},
    [ITERATION_OTHERS] = {"GPU busy for others", "others_ns"},
    [ITERATION_IDLE] = {"GPU idle", "idle_ns"},
    [ITERATION_IDLE_LAUNCH] = {"launch-bound", "idle_launch_ns"},
    [ITERATION_IDLE_QUEUED] = {"between queued work", "idle_queued_ns"},
    [ITERATION_IDLE_COPY] = {"waiting for a copy", "idle_copy_ns"},
    [ITERATION_IDLE_HOST] = {"waiting for the host", "idle_host_ns"},
    [ITERATION_IDLE_SYNC] = {"synchronisation", "idle_sync_ns"},
    [ITERATION_IDLE_PEER] = {"waiting for peers", "idle_peer_ns"},
    [ITERATION_IDLE_RECORDING] = {"recording", "idle_recording_ns"},
    [ITERATION_IDLE_UNKNOWN] = {"cause not known", "idle_unknown_ns"},
    [ITERATION_LAUNCHES] = {"number of launches", "launches"},
    [ITERATION_KERNELS] = {"number of kernels", "kernels"},
    [ITERATION_COPIES] = {"number of copies", "copies"},
    [ITERATION_BYTES] = {"bytes copied", "bytes_copied"},
};

const char *iteration_quantity_name(enum iteration_quantity quantity)
{
    return words[quantity].name;
}

const char *iteration_quantity_key(enum iteration_quantity quantity)
{
    return words[quantity].key;
}

/* Launches count by the work that they launched. */
bool iteration_quantity_is_of_host(enum iteration_quantity quantity)
{
    return quantity == ITERATION_LATENCY || quantity == ITERATION_HOST || quantity == ITERATION_API;
}

/* ---- Outliers ---- */

/* The parts of a latency that can name a cause. */
static const enum iteration_quantity parts[] = {
    ITERATION_KERNEL,         ITERATION_HTOD,        ITERATION_DTOH,
    ITERATION_COPY_OTHER,     ITERATION_SET,         ITERATION_OTHERS,
    ITERATION_IDLE_LAUNCH,    ITERATION_IDLE_QUEUED, ITERATION_IDLE_COPY,
    ITERATION_IDLE_HOST,      ITERATION_IDLE_SYNC,   ITERATION_IDLE_UNKNOWN,
    ITERATION_IDLE_RECORDING, ITERATION_IDLE_PEER,
};

static struct iteration_outlier outlier_of(const struct iteration_measures *measures,
                                           uint32_t number, uint32_t median)
{
    struct iteration_outlier outlier = {.iteration = number, .grew = ITERATION_LATENCY};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t value = measures[number].values[parts[i]];
        uint64_t usual = measures[median].values[parts[i]];

        if (value > usual && value - usual > outlier.by) {
            outlier.grew = parts[i];
            outlier.by = value - usual;
        }
    }
    return outlier;
}

/* The factor 1.4826 turns the MAD of normally distributed values into their standard deviation
 * (Rousseeuw and Croux, Alternatives to the median absolute deviation, 1993). */
static uint64_t latency_limit(uint64_t p50, uint64_t deviation)
{
    double far = (double)p50 + 3 * 1.4826 * (double)deviation;
    double min = (double)p50 * 1.05;

    double limit = far > min ? far : min;

    return limit < (double)UINT64_MAX ? (uint64_t)limit : UINT64_MAX; /* times of a forged trace */
}

/* Sorts longest first; of equal latencies the earlier one. */
struct ranked {
    uint64_t latency;
    struct iteration_outlier outlier;
};

MP_COMPARE(compare_ranked, struct ranked,
           MP_ORDER(b->latency, a->latency)
               ?: MP_ORDER(a->outlier.iteration, b->outlier.iteration));

static enum mp_status list_outliers(const struct iteration_measures *measures, uint32_t count,
                                    struct iterations_summary *summary)
{
    struct ranked *ranked = NULL;
    size_t found = 0;

    for (uint32_t i = 0; i < count; i++)
        found += measures[i].values[ITERATION_LATENCY] > summary->limit;
    ranked = calloc(found + 1, sizeof *ranked);
    summary->outliers = calloc(found + 1, sizeof *summary->outliers);
    if (!ranked || !summary->outliers) {
        free(ranked);
        return MP_ERR_MEMORY;
    }
    found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t latency = measures[i].values[ITERATION_LATENCY];

        if (latency > summary->limit)
            ranked[found++] = (struct ranked){latency, outlier_of(measures, i, summary->median)};
    }
    qsort(ranked, found, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < found; i++)
        summary->outliers[i] = ranked[i].outlier;
    summary->outlier_count = found;
    free(ranked);
    return MP_OK;
}

/* ---- Sums ---- */

static void sum_quantities(const struct iteration_measures *measures, uint32_t count,
                           uint64_t *values, struct iterations_summary *summary)
{
    for (int quantity = 0; quantity < ITERATION_QUANTITIES; quantity++) {
        for (uint32_t i = 0; i < count; i++)
            values[i] = measures[i].values[quantity];
        summary->statistics[quantity] = statistics_of(values, count);
    }
}

static void find_limit(const struct iteration_measures *measures, uint32_t count, uint64_t *values,
                       struct iterations_summary *summary)
{
    uint64_t p50 = summary->statistics[ITERATION_LATENCY].p50;

    for (uint32_t i = count; i-- > 0;) {
        uint64_t latency = measures[i].values[ITERATION_LATENCY];

        if (latency == p50)
            summary->median = i;
        values[i] = latency > p50 ? latency - p50 : p50 - latency;
    }
    summary->limit = latency_limit(p50, statistics_of(values, count).p50);
    if (summary->headline.split != ITERATIONS_ALIKE) /* no one median to be far from */
        summary->limit = summary->statistics[ITERATION_LATENCY].max;
}

/* From the first begin to the last end in a capture range, and from begin to begin: what lies
 * between ranges was not recorded. */
static void find_rate(const struct deps *deps, const struct iterations *iterations,
                      struct iterations_summary *summary)
{
    const struct capture_range *range, *before = NULL;
    uint64_t begin = 0, end = 0, begins = 0;
    size_t count = iterations->count, steps = 0;

    summary->begin = iterations->items[0].begin;
    for (size_t i = 0; i < count; i++) {
        const struct iteration *one = &iterations->items[i];

        range = ranges_at(&deps->profile->ranges, one->begin);
        if (!i || range != before) {
            summary->recorded += end - begin;
            begin = one->begin > end ? one->begin : end; /* work may run on after a range */
        } else {
            begins += one->begin - one[-1].begin;
            steps++;
        }
        end = one->end > end ? one->end : end;
        summary->end = end > summary->end ? end : summary->end;
        before = range;
    }
    summary->recorded += end - begin;
    if (summary->recorded)
        summary->throughput = (double)count * 1e9 / (double)summary->recorded;
    if (steps)
        summary->period = (double)begins / (double)steps;
}

/* ---- At once ---- */

/* Begins are in order; the ends are sorted into `values`. One that begins where another ends is
 * not open with it. */
static void find_at_once(const struct iterations *iterations, uint64_t *values,
                         struct iterations_summary *summary)
{
    size_t count = iterations->count;
    size_t ended = 0;
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        values[i] = iterations->items[i].end;
        sum += (double)(iterations->items[i].end - iterations->items[i].begin);
    }
    mp_sort_u64(values, count);
    for (size_t i = 0; i < count; i++) {
        while (ended < i && values[ended] <= iterations->items[i].begin)
            ended++;
        if (i + 1 - ended > summary->max_at_once)
            summary->max_at_once = (uint32_t)(i + 1 - ended);
    }
    if (summary->recorded)
        summary->at_once = sum / (double)summary->recorded;
}

enum mp_status iterations_sum_up(const struct deps *deps, const struct iterations *iterations,
                                 const struct iteration_measures *measures,
                                 struct iterations_summary *summary)
{
    uint32_t count = (uint32_t)iterations->count;
    uint64_t *values = calloc((size_t)count + 1, sizeof *values);

    *summary = (struct iterations_summary){.outlier_count = 0};
    if (!values)
        return MP_ERR_MEMORY;
    enum mp_status status = iterations_find_headline(deps, iterations, &summary->headline);
    if (status) {
        free(values);
        return status;
    }
    sum_quantities(measures, count, values, summary);
    find_limit(measures, count, values, summary);
    find_rate(deps, iterations, summary);
    find_at_once(iterations, values, summary);
    free(values);
    status = list_outliers(measures, count, summary);
    if (status)
        iterations_summary_free(summary);
    return status;
}

void iterations_summary_free(struct iterations_summary *summary)
{
    free(summary->outliers);
    summary->outliers = NULL;
    summary->outlier_count = 0;
}

/* ---- Threads ---- */

MP_COMPARE(by_busy, struct iterations_row,
           MP_ORDER(b->busy, a->busy) ?: MP_ORDER(a->thread, b->thread));

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
