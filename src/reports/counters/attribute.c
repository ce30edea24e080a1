/* What counters were while groups of work ran: shares of samples, equations, means. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/text/strings.h"
#include "reports/counters/pass.h"
#include "reports/counters/solve.h"

#include "base/poison.h"

/* ---- How values at one time are one value ----
 *
 * Bytes and busy pipes add up where kernels run at once. A clock, the power or "something runs" is
 * of the whole GPU: there is one value for all that runs.
 */

enum combination {
    COUNTERS_ADD_UP, /* by addition */
    COUNTERS_MEAN,   /* they have a mean, by time: clocks, power, whether anything ran */
    COUNTERS_COMBINATIONS
};

/* Counters that say for how much of the time something was so, by their names. */
static bool is_share_of_time(const char *name)
{
    static const char *const names[] = {"gr_active", "power_capped", "too_hot"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mp_text_equal(name, names[i]))
            return true;
    return false;
}

/* CUPTI's metrics, which may have been asked for by their own names: clocks, whether the GPU is
 * busy, and quotients such as hit rates. Their bytes are those of one sample, and add up. */
static bool is_mean_of_cupti(const char *metric)
{
    return strstr(metric, "__cycles_elapsed.") || strstr(metric, "gr__cycles_active.") ||
           mp_text_ends_with(metric, ".pct") || mp_text_ends_with(metric, ".ratio");
}

static enum combination combination_of(const struct counters_counter *counter)
{
    static const bool is_mean[METRIC_UNIT_CELSIUS + 1] = {
        [METRIC_UNIT_HERTZ] = true,
        [METRIC_UNIT_WATTS] = true,
        [METRIC_UNIT_CELSIUS] = true,
    };
    bool mean = is_mean[counter->unit] || (counter->name && is_share_of_time(counter->name)) ||
                (counter->expression && is_mean_of_cupti(counter->expression)) ||
                (counter->unit == METRIC_UNIT_BYTES && counter->by != SAMPLED_BY_CUPTI);

    return mean ? COUNTERS_MEAN : COUNTERS_ADD_UP;
}

#define ALMOST_ALONE 0.95 /* share of a sample from which it speaks for the group */
#define CONFIDENCE   1.96
#define MAX_AT_ONCE  128u /* work on one device, on average */
#define MAX_STEPS    10   /* a bound wider than these says nothing: 1 % where a step is 0.1 % */
#define STEPS_OF_MAX                                                                               \
    256.0 /* a stored value is at least this many steps of its size (sampled.h)                    \
           */
#define NOBODY UINT32_MAX

/* A group's part of a sample. */
struct share {
    uint32_t group; /* of the device */
    float parts[COUNTERS_COMBINATIONS];
};

/* One set of samples of it. */
struct set_work {
    const struct device_work *device;
    const struct sample_set *set;
    size_t *begins; /* of each sample's shares, and one more */
    struct share *shares;
    float *idle;      /* of each sample */
    uint32_t *owners; /* the group that has it almost alone, or NOBODY */
    double *numbers;  /* all that follows, in one allocation */
    struct equations equations[COUNTERS_COMBINATIONS];
    double *parts[COUNTERS_COMBINATIONS]; /* of a sample, by group */
    double
        *largest[COUNTERS_COMBINATIONS]; /* by group: its part of the sample that has most of it */
    double *sums;                        /* by counter, then by group */
    double *squares, *min, *max;
    double *busy_sum, busy_time;
    bool *known;                   /* by counter: every sample has a value */
    enum combination *combination; /* by counter */
    double *prior, *means, *errors, *scratch;
};

/* ---- Work in order ---- */

static bool begins_before(const void *context, uint32_t a, uint32_t b)
{
    const struct work_span *spans = context;

    return spans[a].start < spans[b].start;
}

/* All spans by begin. */
static uint32_t *sorted_spans(const struct counters_pass *pass)
{
    uint32_t *order = reallocarray(NULL, pass->span_count + 1, sizeof *order);
    uint32_t *scratch = reallocarray(NULL, pass->span_count + 1, sizeof *scratch);

    for (size_t i = 0; order && i < pass->span_count; i++)
        order[i] = (uint32_t)i;
    if (order && scratch) {
        mp_sort(order, pass->span_count, scratch, begins_before, pass->spans);
    } else {
        free(order);
        order = NULL;
    }
    free(scratch);
    return order;
}

/* ---- Shares ---- */

static uint64_t sample_begin(const struct sample_set *set, size_t sample)
{
    return set->ends[sample] - set->lengths[sample];
}

size_t counters_first_after(const struct sample_set *set, uint64_t time)
{
    return MP_SEARCH(0, set->count, i, set->ends[i] <= time);
}

/* The part of a sample that lies between two moments. */
static double part_of(const struct sample_set *set, size_t sample, uint64_t from, uint64_t to)
{
    uint64_t begin = sample_begin(set, sample);
    uint64_t end = set->ends[sample];

    from = from > begin ? from : begin;
    to = to < end ? to : end;
    return to > from ? (double)(to - from) / (double)(end - begin) : 0;
}

static struct share share_of(const struct set_work *work, size_t sample,
                             const struct work_span *span)
{
    const struct sample_set *set = work->set;
    uint64_t begin = sample_begin(set, sample), end = set->ends[sample];
    uint64_t from = span->start > begin ? span->start : begin;
    uint64_t to = span->end < end ? span->end : end;
    double mean = concurrency_part(&work->device->concurrency, from, to) / (double)(end - begin);

    return (struct share){.group = work->device->local[span->group],
                          .parts = {[COUNTERS_ADD_UP] = (float)part_of(set, sample, from, to),
                                    [COUNTERS_MEAN] = (float)mean}};
}

/* Counts the shares of each sample, or enters them. False when there are more than work that runs
 * on a device can have: then nothing is attributed. */
static bool walk_spans(struct set_work *work, bool enter)
{
    const struct sample_set *set = work->set;
    size_t max = MAX_AT_ONCE * (work->device->span_count + set->count);
    size_t count = 0;

    for (size_t i = 0; i < work->device->span_count; i++) {
        const struct work_span *span = &work->device->spans[i];
        size_t at = counters_first_after(set, span->start);

        for (; at < set->count && sample_begin(set, at) < span->end; at++) {
            if (++count > max)
                return false;
            if (enter)
                work->shares[work->begins[at]++] = share_of(work, at, span);
            else
                work->begins[at + 1]++;
        }
    }
    return true;
}

/* The idle part of each sample: what no span covers. */
static void find_idle(struct set_work *work)
{
    const struct sample_set *set = work->set;
    uint64_t covered = 0;

    for (size_t i = 0; i < set->count; i++)
        work->idle[i] = 1;
    for (size_t i = 0; i < work->device->span_count; i++) {
        const struct work_span *span = &work->device->spans[i];
        uint64_t from = span->start > covered ? span->start : covered;

        if (span->end <= from)
            continue;
        for (size_t at = counters_first_after(set, from);
             at < set->count && sample_begin(set, at) < span->end; at++)
            work->idle[at] -= (float)part_of(set, at, from, span->end);
        covered = span->end;
    }
}

static enum mp_status find_shares(struct set_work *work)
{
    size_t count = work->set->count;

    work->begins = calloc(count + 2, sizeof *work->begins);
    work->idle = reallocarray(NULL, count + 1, sizeof *work->idle);
    work->owners = reallocarray(NULL, count + 1, sizeof *work->owners);
    if (!work->begins || !work->idle || !work->owners)
        return MP_ERR_MEMORY;
    if (!walk_spans(work, false))
        return MP_ERR_LIMIT;
    for (size_t i = 0; i < count; i++)
        work->begins[i + 1] += work->begins[i];
    work->shares = reallocarray(NULL, work->begins[count] + 1, sizeof *work->shares);
    if (!work->shares)
        return MP_ERR_MEMORY;
    walk_spans(work, true);
    memmove(work->begins + 1, work->begins, count * sizeof *work->begins);
    work->begins[0] = 0;
    find_idle(work);
    return MP_OK;
}

/* ---- Equations ---- */

/* Cuts the next numbers off from the one allocation. */
static double *cut(double **next, size_t count)
{
    double *begin = *next;

    *next += count;
    return begin;
}

static void share_room(struct set_work *work)
{
    size_t groups = work->device->groups, counters = work->set->width;
    double *next = work->numbers;

    for (int i = 0; i < COUNTERS_COMBINATIONS; i++) {
        work->equations[i] =
            (struct equations){.count = groups, .shares = cut(&next, groups * groups)};
        work->parts[i] = cut(&next, groups);
        work->largest[i] = cut(&next, groups);
    }
    work->sums = cut(&next, groups * counters);
    work->squares = cut(&next, counters);
    work->min = cut(&next, counters);
    work->max = cut(&next, counters);
    work->busy_sum = cut(&next, counters);
    work->prior = cut(&next, groups);
    work->means = cut(&next, groups);
    work->errors = cut(&next, groups);
    work->scratch = next;
}

static enum mp_status make_room(struct set_work *work)
{
    size_t groups = work->device->groups, counters = work->set->width;
    size_t count = COUNTERS_COMBINATIONS * groups * (groups + 2) + groups * counters +
                   4 * counters + 3 * groups + 2 * groups * (groups + 1);

    work->numbers = calloc(count, sizeof *work->numbers);
    work->known = calloc(counters, sizeof *work->known);
    work->combination = calloc(counters, sizeof *work->combination);
    if (!work->numbers || !work->known || !work->combination)
        return MP_ERR_MEMORY;
    share_room(work);
    for (size_t i = 0; i < counters; i++) {
        work->known[i] = true;
        work->combination[i] =
            combination_of(&work->device->pass->result->counters[work->set->counters[i]]);
    }
    return MP_OK;
}

/* The parts of a sample by group; `touched` receives the groups that have one, idle first. */
static size_t fill_parts(struct set_work *work, size_t sample, uint32_t *touched)
{
    size_t count = 0;

    for (int i = 0; i < COUNTERS_COMBINATIONS; i++)
        work->parts[i][COUNTERS_IDLE] = work->idle[sample] > 0 ? (double)work->idle[sample] : 0;
    touched[count++] = COUNTERS_IDLE;
    for (size_t i = work->begins[sample]; i < work->begins[sample + 1]; i++) {
        const struct share *share = &work->shares[i];

        if (work->parts[COUNTERS_ADD_UP][share->group] == 0 && share->parts[COUNTERS_ADD_UP] > 0)
            touched[count++] = share->group;
        for (int m = 0; m < COUNTERS_COMBINATIONS; m++)
            work->parts[m][share->group] += (double)share->parts[m];
    }
    return count;
}

static void add_values(struct set_work *work, size_t sample, const uint32_t *touched, size_t count)
{
    const struct device_work *device = work->device;
    double busy = 1 - work->parts[COUNTERS_ADD_UP][COUNTERS_IDLE];

    for (size_t c = 0; c < work->set->width; c++) {
        double value = counters_value(device->pass, work->set, sample, c);
        const double *parts = work->parts[work->combination[c]];

        if (isnan(value)) {
            work->known[c] = false;
            continue;
        }
        for (size_t i = 0; i < count; i++)
            work->sums[c * device->groups + touched[i]] += parts[touched[i]] * value;
        work->squares[c] += value * value;
        work->busy_sum[c] += busy * value;
        work->max[c] = fmax(work->max[c], value);
        work->min[c] = sample ? fmin(work->min[c], value) : value;
    }
    work->busy_time += busy;
}

static void add_parts(struct set_work *work, enum combination combination, const uint32_t *touched,
                      size_t count)
{
    const double *parts = work->parts[combination];
    struct equations *equations = &work->equations[combination];

    for (size_t i = 0; i < count; i++) {
        double *row = &equations->shares[touched[i] * equations->count];

        for (size_t j = 0; j < count; j++)
            row[touched[j]] += parts[touched[i]] * parts[touched[j]];
        work->largest[combination][touched[i]] =
            fmax(work->largest[combination][touched[i]], parts[touched[i]]);
    }
    equations->samples++;
}

/* The group that has the sample almost alone. Two at a time own nothing. */
static uint32_t owner_of(const struct set_work *work, const uint32_t *touched, size_t count)
{
    const double *parts = work->parts[COUNTERS_ADD_UP];
    uint32_t owner = NOBODY;
    double others = 0;

    for (size_t i = 0; i < count; i++) {
        if (parts[touched[i]] >= ALMOST_ALONE)
            owner = touched[i];
        others += parts[touched[i]];
    }
    if (owner != NOBODY && others - parts[owner] > 1 - ALMOST_ALONE + 1e-6)
        owner = NOBODY;
    return owner;
}

static enum mp_status add_up(struct set_work *work)
{
    uint32_t *touched = calloc(work->device->groups + 1, sizeof *touched);

    if (!touched)
        return MP_ERR_MEMORY;
    for (size_t sample = 0; sample < work->set->count; sample++) {
        size_t count = fill_parts(work, sample, touched);

        work->owners[sample] = owner_of(work, touched, count);
        for (int combination = 0; combination < COUNTERS_COMBINATIONS; combination++)
            add_parts(work, (enum combination)combination, touched, count);
        add_values(work, sample, touched, count);
        for (int combination = 0; combination < COUNTERS_COMBINATIONS; combination++)
            for (size_t i = 0; i < count; i++)
                work->parts[combination][touched[i]] = 0;
    }
    free(touched);
    return MP_OK;
}

/* ---- Means ---- */

static struct counters_cell *cell_of(const struct set_work *work, size_t group, size_t place)
{
    struct counters_result *result = work->device->pass->result;

    return counters_cell(result, &result->groups[work->device->first + group],
                         &result->counters[work->set->counters[place]]);
}

static double max_of(const struct counters_counter *counter)
{
    return counter->unit == METRIC_UNIT_PERCENT ? 100 : HUGE_VAL;
}

/* False: farther outside of what the counter can say than chance and the rounding of stored values
 * explain. Two kernels that always follow each other come out like that, one too high and the other
 * too low, where samples and work are a little apart in time. */
static bool is_possible(const struct counters_counter *counter, double spread, double mean,
                        double error)
{
    double doubt = error + fmax(counter->step, spread / STEPS_OF_MAX);

    return mean >= -doubt && mean <= max_of(counter) + doubt;
}

/* All values are 0. So a group's mean times its part of a sample is below half a step; where the
 * group has so little of each sample that this may be much, nothing is known of it. */
static void find_zeros(const struct set_work *work, size_t place, double step)
{
    const double *largest = work->largest[work->combination[place]];

    for (size_t i = 0; i < work->device->groups; i++) {
        struct counters_cell *cell = cell_of(work, i, place);

        if (!(largest[i] * 2 * MAX_STEPS >= 1))
            continue;
        cell->mean = 0;
        cell->error = step / (2 * largest[i]);
    }
}

/* What is taken to be known before: idle time as in the sample with least, work as all of it. */
static void fill_prior(const struct set_work *work, size_t place)
{
    const struct counters_group *rows = &work->device->pass->result->groups[work->device->first];
    double busy = work->busy_time > 0 ? work->busy_sum[place] / work->busy_time : 0;

    for (size_t i = 0; i < work->device->groups; i++)
        work->prior[i] = i == COUNTERS_IDLE || rows[i].is_cause ? work->min[place] : busy;
}

static void find_means(struct set_work *work, size_t place)
{
    size_t groups = work->device->groups;
    const struct counters_counter *counter =
        &work->device->pass->result->counters[work->set->counters[place]];
    double step = counter->step;
    double spread = fmax(work->max[place], step);
    struct unknowns unknowns = {
        .sums = &work->sums[place * groups],
        .squares = work->squares[place],
        .prior = work->prior,
        .spread = spread,
        .min_noise = step / 3 + 0.001 * spread,
        .means = work->means,
        .errors = work->errors,
    };

    fill_prior(work, place);
    if (!work->known[place])
        return;
    if (!(work->max[place] > 0)) {
        find_zeros(work, place, step);
        return;
    }
    if (!equations_solve(&work->equations[work->combination[place]], &unknowns, work->scratch))
        return;
    for (size_t i = 0; i < groups; i++) {
        struct counters_cell *cell = cell_of(work, i, place);

        /* Work that fills less than one sample altogether would get what the other work leaves
         * unexplained: a kernel of 4 us came out at 296 GB/s over PCIe. */
        if (cell->samples < 1 || work->errors[i] > COUNTERS_NOT_KNOWN * spread ||
            (i != COUNTERS_IDLE &&
             !is_possible(counter, spread, work->means[i], CONFIDENCE * work->errors[i])))
            continue;
        cell->mean = fmin(fmax(work->means[i], 0), max_of(counter));
        cell->error = CONFIDENCE * work->errors[i];
    }
}

/* ---- Samples of one group ---- */

void counters_percentiles(double *values, size_t count, struct counters_cell *cell)
{
    cell->whole = count;
    if (!count)
        return;
    qsort(values, count, sizeof *values, mp_compare_real);
    cell->p50 = values[(count - 1) / 2];
    cell->p95 = values[(count * 95 + 99) / 100 - 1];
    cell->max = values[count - 1];
}

/* Sorts the samples by their owners: `of[begins[g]]` to `of[begins[g + 1]]` are those of g. */
static void sort_by_owner(const struct set_work *work, size_t *begins, size_t *of)
{
    size_t groups = work->device->groups;

    memset(begins, 0, (groups + 2) * sizeof *begins);
    for (size_t i = 0; i < work->set->count; i++)
        if (work->owners[i] != NOBODY)
            begins[work->owners[i] + 2]++;
    for (size_t g = 0; g < groups; g++)
        begins[g + 2] += begins[g + 1];
    for (size_t i = 0; i < work->set->count; i++)
        if (work->owners[i] != NOBODY)
            of[begins[work->owners[i] + 1]++] = i;
}

static enum mp_status find_percentiles(const struct set_work *work)
{
    size_t groups = work->device->groups;
    size_t *begins = calloc(groups + 2, sizeof *begins);
    size_t *of = calloc(work->set->count + 1, sizeof *of);
    double *values = calloc(work->set->count + 1, sizeof *values);

    if (begins && of && values) {
        sort_by_owner(work, begins, of);
        for (size_t g = 0; g < groups; g++) {
            for (size_t c = 0; c < work->set->width; c++) {
                size_t count = 0;

                for (size_t i = begins[g]; i < begins[g + 1]; i++) {
                    double value = counters_value(work->device->pass, work->set, of[i], c);

                    if (!isnan(value))
                        values[count++] = value;
                }
                counters_percentiles(values, count, cell_of(work, g, c));
            }
        }
    }
    free(begins);
    free(of);
    free(values);
    return begins && of && values ? MP_OK : MP_ERR_MEMORY;
}

/* How many samples each group has, and how long nothing ran. */
static void count_samples(const struct set_work *work)
{
    struct counters_group *idle = &work->device->pass->result->groups[work->device->first];
    double time = 0;

    for (size_t sample = 0; sample < work->set->count; sample++) {
        for (size_t i = work->begins[sample]; i < work->begins[sample + 1]; i++)
            for (size_t c = 0; c < work->set->width; c++)
                cell_of(work, work->shares[i].group, c)->samples +=
                    (double)work->shares[i].parts[COUNTERS_ADD_UP];
        for (size_t c = 0; c < work->set->width; c++)
            cell_of(work, COUNTERS_IDLE, c)->samples += (double)work->idle[sample];
        time += (double)work->idle[sample] * (double)work->set->lengths[sample];
    }
    if (!idle->time)
        idle->time = (uint64_t)time;
}

static enum mp_status attribute_set(struct set_work *work)
{
    enum mp_status status = find_shares(work);

    if (status)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    MP_TRY(make_room(work));
    MP_TRY(add_up(work));
    count_samples(work);
    for (size_t c = 0; c < work->set->width; c++)
        find_means(work, c);
    return find_percentiles(work);
}

static void set_work_free(struct set_work *work)
{
    free(work->begins);
    free(work->shares);
    free(work->idle);
    free(work->owners);
    free(work->numbers);
    free(work->known);
    free(work->combination);
}

/* ---- All devices ---- */

static enum mp_status attribute_device(struct device_work *work)
{
    struct counters_pass *pass = work->pass;

    MP_TRY(device_work_group(work));
    MP_TRY(concurrency_build(&work->concurrency, work->spans, work->span_count));
    for (size_t i = 0; i < pass->set_count; i++) {
        struct set_work set = {.device = work, .set = &pass->sets[i]};

        if (set.set->device != work->device || !set.set->count)
            continue;
        enum mp_status status = attribute_set(&set);
        set_work_free(&set);
        MP_TRY(status);
    }
    return MP_OK;
}

bool counters_is_first_of_device(const struct counters_pass *pass, size_t set)
{
    for (size_t i = 0; i < set; i++)
        if (pass->sets[i].device == pass->sets[set].device)
            return false;
    return true;
}

enum mp_status counters_attribute(struct counters_pass *pass)
{
    uint32_t *order = sorted_spans(pass);
    struct device_work work = {.pass = pass};
    enum mp_status status = MP_OK;

    work.spans = order ? reallocarray(NULL, pass->span_count + 1, sizeof *work.spans) : NULL;
    if (!work.spans)
        status = MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->set_count && status == MP_OK; i++) {
        if (!counters_is_first_of_device(pass, i))
            continue;
        work.device = (uint32_t)pass->sets[i].device;
        work.span_count = work.groups = 0;
        for (size_t j = 0; j < pass->span_count; j++)
            if (pass->spans[order[j]].device == work.device)
                work.spans[work.span_count++] = pass->spans[order[j]];
        status = attribute_device(&work);
        concurrency_free(&work.concurrency);
        free(work.local);
        work.local = NULL;
    }
    free(work.spans);
    free(order);
    return status;
}
