/* How fast the GPU of each rank is, by what the ranks have in common: kernels of one name, grid and
 * block. A rank's kernel should take what it takes on the others: the median of their medians.
 *
 *     gemm, 64 x 128   rank 0  100 us  rank 1  102 us  rank 2  125 us     fair for rank 2: 100 us
 *     relu, 8 x 256    rank 0    4 us  rank 1    4 us  rank 2    5 us                       4 us
 *
 * So stages of a pipeline may have unequal work: only kernels that several ranks run are compared.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/metrics/sampled.h"
#include "profile/definitions.h"
#include "profile/reading.h"
#include "reports/deps/lookup.h"
#include "reports/job/job.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MIN_COMMON 0.5 /* share of a rank's kernels that others run too */
#define MIN_ALIKE  0.7 /* share of these that are slower by half of the ratio at least */

/* ---- Clocks ---- */

#define MAX_CLOCKS 64 /* counters of the clock: one for each GPU of a process */

struct clock_reading {
    struct definitions definitions;
    struct {
        uint64_t id;
        double step;
    } counters[MAX_CLOCKS];
    size_t count;
    double value, time; /* sums: Hz times ns, ns */
};

static enum mp_status take_counter(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct clock_reading *reading = context;
    const struct mp_counter_columns counter = mp_counter_columns(batch->columns);
    const char *name = definitions_text(&reading->definitions, counter.name[row]);
    uint64_t step = counter.step[row];

    if (!name || strcmp(name, "sm_clock") != 0 || reading->count == MAX_CLOCKS)
        return MP_OK;
    reading->counters[reading->count].id = counter.id[row];
    memcpy(&reading->counters[reading->count++].step, &step, sizeof step);
    return MP_OK;
}

static enum mp_status take_sample(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct clock_reading *reading = context;
    const struct mp_sample_columns sample = mp_sample_columns(batch->columns);
    double length = (double)sample.length[row];

    for (size_t i = 0; i < reading->count; i++) {
        if (reading->counters[i].id != sample.counter[row] || sample.value[row] >= SAMPLED_UNKNOWN)
            continue;
        reading->value += sampled_unpack(sample.value[row], reading->counters[i].step) * length;
        reading->time += length;
    }
    return MP_OK;
}

enum mp_status job_read_clock(struct mp_trace *trace, double *mean, struct mp_error *error)
{
    static const struct reading_table tables[] = {
        {MP_TABLE_counter, MP_MASK(counter, id, name, step), .take_row = take_counter},
        {MP_TABLE_sample, MP_MASK(sample, counter, length, value), .take_row = take_sample},
    };
    struct clock_reading into = {.count = 0};
    const struct reading reading = {
        .trace = trace,
        .what = "the clocks",
        .context = &into,
        READING_TABLES(tables),
        .definitions = &into.definitions,
        .kept = DEFINITIONS_TEXTS,
    };
    bool any;

    *mean = (double)NAN;
    MP_TRY(reading_has_rows(trace, MP_TABLE_sample, &any, error));
    if (!any)
        return MP_OK;
    definitions_init(&into.definitions, trace);
    enum mp_status status = reading_run(&reading, error);
    if (status == MP_OK && into.time > 0)
        *mean = into.value / into.time;
    definitions_free(&into.definitions);
    return status;
}

/* ---- Kernels ---- */

struct timed {
    uint32_t kernel;  /* name and shape, as number */
    uint32_t process; /* of the graph */
    uint32_t activity;
    uint64_t ns;
};

MP_COMPARE(compare_timed, struct timed,
           MP_ORDER(a->kernel, b->kernel) ?: MP_ORDER(a->process, b->process) ?:
           MP_ORDER(a->ns, b->ns) ?: MP_ORDER(a->activity, b->activity));

/* What a rank takes for one kernel, and should. */
struct pair {
    uint32_t process;
    double own, fair; /* ns, of all its launches at the median */
};

struct pacing {
    const struct job *job;
    struct mp_intern names; /* without the rank, with the shape */
    uint32_t *kernels;   /* by name of the graph: its number without the rank; 0: not known yet */
    struct timed *timed; /* all owned */
    size_t count, capacity;
    uint64_t *medians; /* of the processes that run a kernel; room for two of each */
    struct pair *pairs;
    size_t pair_count, pair_capacity;
    double *times; /* by process: of all kernels, ns */
    struct job_paces *paces;
};

/* A name with its shape as one number; 0: no memory. */
static uint32_t kernel_number(struct pacing *pacing, const struct deps_activity *work)
{
    const char *name = deps_name(&pacing->job->deps, work), *after = strchr(name, ':');
    struct {
        uint32_t name, shape;
    } key = {.shape = work->shape};

    if (!pacing->kernels[work->name]) {
        name = after ? after + 1 : name;
        pacing->kernels[work->name] = mp_intern_add(&pacing->names, name, strlen(name));
    }
    key.name = pacing->kernels[work->name];
    return key.name ? mp_intern_add(&pacing->names, (const char *)&key, sizeof key) : 0;
}

static enum mp_status time_kernel(struct pacing *pacing, uint32_t index)
{
    const struct deps *deps = &pacing->job->deps;
    const struct deps_activity *work = &deps->activities[index];
    uint32_t process = deps->lanes[work->lane].process;
    uint32_t kernel = kernel_number(pacing, work);

    if (!kernel)
        return MP_ERR_MEMORY;
    MP_TRY(MP_RESERVE(pacing->timed, pacing->count, pacing->capacity));
    pacing->timed[pacing->count++] =
        (struct timed){kernel, process, index, work->end - work->begin};
    pacing->times[process] += (double)(work->end - work->begin);
    return MP_OK;
}

static enum mp_status time_kernels(struct pacing *pacing, const struct deps_window *window)
{
    const struct deps *deps = &pacing->job->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->kind == DEPS_KERNEL && !(work->flags & DEPS_ARRIVES) &&
            work->begin >= window->begin && work->end <= window->end)
            MP_TRY(time_kernel(pacing, i));
    }
    if (pacing->count)
        qsort(pacing->timed, pacing->count, sizeof *pacing->timed, compare_timed);
    return MP_OK;
}

/* ---- One kernel ---- */

/* How many from `first` on are of its kernel, or of its process too. */
static size_t alike(const struct pacing *pacing, size_t first, bool process)
{
    const struct timed *one = &pacing->timed[first];
    size_t end = first;

    while (end < pacing->count && pacing->timed[end].kernel == one->kernel &&
           (!process || pacing->timed[end].process == one->process))
        end++;
    return end - first;
}

/* The lower median of the medians but one. */
static uint64_t median_but(struct pacing *pacing, size_t count, size_t but)
{
    uint64_t *others = pacing->medians + pacing->job->deps.process_count;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (i != but)
            others[kept++] = pacing->medians[i];
    }
    qsort(others, kept, sizeof *others, mp_compare_u64);
    return others[(kept - 1) / 2];
}

/* What each launch from `first` on takes beyond its fair time. */
static void take_excess(struct pacing *pacing, size_t first, size_t count, uint64_t fair)
{
    for (size_t i = first; i < first + count; i++) {
        const struct timed *one = &pacing->timed[i];
        uint64_t excess = one->ns > fair ? one->ns - fair : 0;

        pacing->paces->excess[one->activity] =
            (uint32_t)(excess < UINT32_MAX ? excess : UINT32_MAX);
        pacing->paces->items[one->process].excess += excess;
    }
}

static enum mp_status compare_kernel(struct pacing *pacing, size_t first, size_t count)
{
    size_t processes = 0, at = 0;

    for (size_t i = first, many; i < first + count; i += many) {
        many = alike(pacing, i, true);
        pacing->medians[processes++] = pacing->timed[i + (many - 1) / 2].ns;
    }
    for (size_t i = first, many; i < first + count && processes > 1; i += many, at++) {
        uint64_t fair = median_but(pacing, processes, at);

        many = alike(pacing, i, true);
        MP_TRY(MP_RESERVE(pacing->pairs, pacing->pair_count, pacing->pair_capacity));
        pacing->pairs[pacing->pair_count++] =
            (struct pair){pacing->timed[i].process, (double)pacing->medians[at] * (double)many,
                          (double)fair * (double)many};
        take_excess(pacing, i, many, fair);
    }
    return MP_OK;
}

/* ---- Each rank ---- */

static double clock_ratio(const struct job *job, uint32_t process, double *sorted)
{
    size_t known = 0;

    if (!job->clocks || isnan(job->clocks[process]))
        return (double)NAN;
    for (uint32_t i = 0; i < job->deps.process_count; i++) {
        if (i != process && !isnan(job->clocks[i]))
            sorted[known++] = job->clocks[i];
    }
    if (!known)
        return (double)NAN;
    qsort(sorted, known, sizeof *sorted, mp_compare_real);
    return job->clocks[process] / sorted[(known - 1) / 2];
}

/* The ratio of a rank, unless it is that of a few kernels only. */
static void judge_process(const struct pacing *pacing, uint32_t process)
{
    struct job_pace *pace = &pacing->paces->items[process];
    double own = 0, fair = 0, like = 0;

    for (size_t i = 0; i < pacing->pair_count; i++) {
        own += pacing->pairs[i].process == process ? pacing->pairs[i].own : 0;
        fair += pacing->pairs[i].process == process ? pacing->pairs[i].fair : 0;
    }
    if (fair <= 0 || own < MIN_COMMON * pacing->times[process])
        return;
    double half = 1 + (own / fair - 1) / 2;
    for (size_t i = 0; i < pacing->pair_count; i++) {
        const struct pair *pair = &pacing->pairs[i];

        like += pair->process == process && pair->own >= half * pair->fair ? pair->own : 0;
    }
    if (own <= fair || like >= MIN_ALIKE * own)
        pace->ratio = own / fair;
}

static enum mp_status find_all(struct pacing *pacing, const struct deps_window *window)
{
    uint32_t processes = pacing->job->deps.process_count;
    double *sorted = (double *)calloc((size_t)processes + 1, sizeof *sorted);

    if (!sorted)
        return MP_ERR_MEMORY;
    enum mp_status status = time_kernels(pacing, window);
    for (size_t i = 0, count; i < pacing->count && !status; i += count) {
        count = alike(pacing, i, false);
        status = compare_kernel(pacing, i, count);
    }
    for (uint32_t i = 0; i < processes && !status; i++) {
        judge_process(pacing, i);
        pacing->paces->items[i].clock = clock_ratio(pacing->job, i, sorted);
    }
    free(sorted);
    return status;
}

enum mp_status job_find_paces(const struct job *job, const struct deps_window *window,
                              struct job_paces *paces)
{
    uint32_t processes = job->deps.process_count;
    struct pacing pacing = {.job = job, .paces = paces};
    enum mp_status status = MP_ERR_MEMORY;

    *paces = (struct job_paces){
        .items = calloc((size_t)processes + 1, sizeof *paces->items),
        .excess = calloc((size_t)job->deps.count + 1, sizeof *paces->excess),
    };
    pacing.kernels = calloc((size_t)job->deps.names.count + 1, sizeof *pacing.kernels);
    pacing.medians = calloc(2 * (size_t)processes + 1, sizeof *pacing.medians);
    pacing.times = calloc((size_t)processes + 1, sizeof *pacing.times);
    if (paces->items && paces->excess && pacing.kernels && pacing.medians && pacing.times)
        status = find_all(&pacing, window);
    mp_intern_free(&pacing.names);
    free(pacing.kernels);
    free(pacing.timed);
    free(pacing.medians);
    free(pacing.pairs);
    free(pacing.times);
    return status;
}

void job_paces_free(struct job_paces *paces)
{
    free(paces->items);
    free(paces->excess);
    *paces = (struct job_paces){.items = NULL};
}
