/* What counters were while groups of work ran: shares of samples, equations, means. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/counters/pass.h"
#include "analyze/counters/solve.h"
#include "base/data/sort.h"

#include "base/poison.h"

#define ALMOST_ALONE 0.95 /* share of a sample from which it speaks for the group */
#define CONFIDENCE   1.96
#define MOST_AT_ONCE 128u /* work on one device, on average */
#define NOBODY       UINT32_MAX

/* A group's part of a sample. */
struct share {
    uint32_t group; /* of the device */
    float part;
};

/* One device. */
struct device_work {
    struct counters_pass *pass;
    uint32_t device;
    struct work_piece *pieces; /* by begin */
    size_t piece_count;
    uint32_t *local; /* by group of the pass: group of the device */
    size_t groups;   /* of the device */
    size_t first;    /* in the result */
    size_t width;    /* counters of the device */
};

/* One set of samples of it. */
struct set_work {
    const struct device_work *device;
    const struct sample_set *set;
    size_t *begins; /* of each sample's shares, and one more */
    struct share *shares;
    float *idle;      /* of each sample */
    uint32_t *owners; /* the group that has it almost alone, or NOBODY */
    double *numbers;  /* all that follows, in one piece */
    double *parts;    /* of a sample, by group */
    struct equations equations;
    double *sums; /* by counter, then by group */
    double *squares, *least, *greatest;
    double *busy_sum, busy_time;
    bool *known; /* by counter: every sample has a value */
    double *prior, *means, *errors, *scratch;
};

/* ---- Work by device ---- */

static bool begins_before(const void *context, uint32_t a, uint32_t b)
{
    const struct work_piece *pieces = context;

    return pieces[a].start < pieces[b].start;
}

/* All pieces by begin. */
static uint32_t *sorted_pieces(const struct counters_pass *pass)
{
    uint32_t *order = reallocarray(NULL, pass->piece_count + 1, sizeof *order);
    uint32_t *scratch = reallocarray(NULL, pass->piece_count + 1, sizeof *scratch);

    for (size_t i = 0; order && i < pass->piece_count; i++)
        order[i] = (uint32_t)i;
    if (order && scratch) {
        mp_sort(order, pass->piece_count, scratch, begins_before, pass->pieces);
    } else {
        free(order);
        order = NULL;
    }
    free(scratch);
    return order;
}

struct tally {
    uint32_t group;
    bool is_cause;
    uint64_t time, calls;
};

static int tally_order(const void *a, const void *b)
{
    const struct tally *one = a, *other = b;

    if (one->is_cause != other->is_cause)
        return one->is_cause ? -1 : 1;
    if (one->time != other->time)
        return one->time < other->time ? 1 : -1;
    return one->group < other->group ? -1 : 1;
}

static struct counters_group *add_group(struct device_work *work, const char *name)
{
    struct counters_result *result = work->pass->result;
    struct counters_group *group = &result->groups[result->group_count++];

    *group =
        (struct counters_group){.device = work->device, .name = name, .cells = result->cell_count};
    for (size_t i = 0; i < work->width; i++)
        result->cells[result->cell_count++] =
            (struct counters_cell){.mean = (double)NAN, .error = (double)NAN};
    work->groups++;
    return group;
}

/* Room for the device's groups and their cells. */
static enum mp_status reserve_groups(struct device_work *work)
{
    struct counters_result *result = work->pass->result;
    size_t groups = work->pass->name_count + 2;
    struct counters_group *grown;
    struct counters_cell *cells;

    if (groups > COUNTERS_MOST_GROUPS)
        groups = COUNTERS_MOST_GROUPS;
    work->width = 0;
    for (size_t i = 0; i < result->counter_count; i++)
        work->width += result->counters[i].device == work->device;
    grown = reallocarray(result->groups, result->group_count + groups, sizeof *grown);
    if (!grown)
        return MP_ERR_MEMORY;
    result->groups = grown;
    cells = reallocarray(result->cells, result->cell_count + groups * work->width, sizeof *cells);
    if (!cells)
        return MP_ERR_MEMORY;
    result->cells = cells;
    return MP_OK;
}

/* The device's groups: nothing, all others, and those with most time. */
static void make_groups(struct device_work *work, struct tally *tallies, size_t count)
{
    struct counters_group *idle, *others;

    work->first = work->pass->result->group_count;
    idle = add_group(work, NULL);
    idle->idle = true;
    others = add_group(work, NULL);
    for (size_t i = 0; i < count; i++) {
        struct counters_group *group = others;

        if (!tallies[i].time)
            continue;
        work->local[tallies[i].group] = COUNTERS_OTHERS;
        if (work->groups < COUNTERS_MOST_GROUPS) {
            work->local[tallies[i].group] = (uint32_t)work->groups;
            group = add_group(work, work->pass->names[tallies[i].group]);
            group->is_cause = tallies[i].is_cause;
        }
        group->time += tallies[i].time;
        group->calls += tallies[i].calls;
    }
}

static enum mp_status tally_groups(struct device_work *work)
{
    size_t count = work->pass->name_count;
    struct tally *tallies = calloc(count + 1, sizeof *tallies);

    work->local = calloc(count + 1, sizeof *work->local);
    if (!tallies || !work->local || reserve_groups(work)) {
        free(tallies);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        tallies[i] = (struct tally){.group = (uint32_t)i, .is_cause = i < work->pass->cause_count};
    for (size_t i = 0; i < work->piece_count; i++) {
        tallies[work->pieces[i].group].time += work->pieces[i].end - work->pieces[i].start;
        tallies[work->pieces[i].group].calls++;
    }
    qsort(tallies, count, sizeof *tallies, tally_order);
    make_groups(work, tallies, count);
    free(tallies);
    return MP_OK;
}

/* ---- Shares ---- */

static uint64_t sample_begin(const struct sample_set *set, size_t sample)
{
    return set->ends[sample] - set->lengths[sample];
}

size_t counters_first_after(const struct sample_set *set, uint64_t time)
{
    size_t low = 0, high = set->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (set->ends[middle] > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
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

/* Counts the shares of each sample, or enters them. False when there are more than work that runs
 * on a device can have: then nothing is attributed. */
static bool walk_pieces(struct set_work *work, bool enter)
{
    const struct sample_set *set = work->set;
    size_t most = MOST_AT_ONCE * (work->device->piece_count + set->count);
    size_t count = 0;

    for (size_t i = 0; i < work->device->piece_count; i++) {
        const struct work_piece *piece = &work->device->pieces[i];
        size_t at = counters_first_after(set, piece->start);

        for (; at < set->count && sample_begin(set, at) < piece->end; at++) {
            if (++count > most)
                return false;
            if (enter)
                work->shares[work->begins[at]++] =
                    (struct share){work->device->local[piece->group],
                                   (float)part_of(set, at, piece->start, piece->end)};
            else
                work->begins[at + 1]++;
        }
    }
    return true;
}

/* The idle part of each sample: what no piece covers. */
static void find_idle(struct set_work *work)
{
    const struct sample_set *set = work->set;
    uint64_t covered = 0;

    for (size_t i = 0; i < set->count; i++)
        work->idle[i] = 1;
    for (size_t i = 0; i < work->device->piece_count; i++) {
        const struct work_piece *piece = &work->device->pieces[i];
        uint64_t from = piece->start > covered ? piece->start : covered;

        if (piece->end <= from)
            continue;
        for (size_t at = counters_first_after(set, from);
             at < set->count && sample_begin(set, at) < piece->end; at++)
            work->idle[at] -= (float)part_of(set, at, from, piece->end);
        covered = piece->end;
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
    if (!walk_pieces(work, false))
        return MP_ERR_LIMIT;
    for (size_t i = 0; i < count; i++)
        work->begins[i + 1] += work->begins[i];
    work->shares = reallocarray(NULL, work->begins[count] + 1, sizeof *work->shares);
    if (!work->shares)
        return MP_ERR_MEMORY;
    walk_pieces(work, true);
    memmove(work->begins + 1, work->begins, count * sizeof *work->begins);
    work->begins[0] = 0;
    find_idle(work);
    return MP_OK;
}

/* ---- Equations ---- */

static enum mp_status make_room(struct set_work *work)
{
    size_t groups = work->device->groups, counters = work->set->width;
    size_t count =
        groups * groups + groups * counters + 4 * counters + 4 * groups + 2 * groups * (groups + 1);
    double *next = work->numbers = calloc(count, sizeof *work->numbers);

    work->known = calloc(counters, sizeof *work->known);
    if (!next || !work->known)
        return MP_ERR_MEMORY;
    work->equations = (struct equations){.count = groups, .shares = next};
    work->sums = next += groups * groups;
    work->squares = next += groups * counters;
    work->least = next += counters;
    work->greatest = next += counters;
    work->busy_sum = next += counters;
    work->parts = next += counters;
    work->prior = next += groups;
    work->means = next += groups;
    work->errors = next += groups;
    work->scratch = next + groups;
    for (size_t i = 0; i < counters; i++)
        work->known[i] = true;
    return MP_OK;
}

/* The parts of a sample by group; `touched` receives the groups that have one. */
static size_t fill_parts(struct set_work *work, size_t sample, uint32_t *touched)
{
    size_t count = 0;

    work->parts[COUNTERS_IDLE] = work->idle[sample] > 0 ? work->idle[sample] : 0;
    touched[count++] = COUNTERS_IDLE;
    for (size_t i = work->begins[sample]; i < work->begins[sample + 1]; i++) {
        const struct share *share = &work->shares[i];

        if (work->parts[share->group] == 0 && share->part > 0)
            touched[count++] = share->group;
        work->parts[share->group] += (double)share->part;
    }
    return count;
}

static void add_values(struct set_work *work, size_t sample, const uint32_t *touched, size_t count)
{
    const struct device_work *device = work->device;
    double busy = 1 - work->parts[COUNTERS_IDLE];

    for (size_t c = 0; c < work->set->width; c++) {
        double value = counters_value(device->pass, work->set, sample, c);

        if (isnan(value)) {
            work->known[c] = false;
            continue;
        }
        for (size_t i = 0; i < count; i++)
            work->sums[c * device->groups + touched[i]] += work->parts[touched[i]] * value;
        work->squares[c] += value * value;
        work->busy_sum[c] += busy * value;
        work->greatest[c] = fmax(work->greatest[c], value);
        work->least[c] = sample ? fmin(work->least[c], value) : value;
    }
    work->busy_time += busy;
}

static enum mp_status add_up(struct set_work *work)
{
    size_t groups = work->device->groups;
    uint32_t *touched = calloc(groups + 1, sizeof *touched);

    if (!touched)
        return MP_ERR_MEMORY;
    for (size_t sample = 0; sample < work->set->count; sample++) {
        size_t count = fill_parts(work, sample, touched);

        work->owners[sample] = NOBODY;
        for (size_t i = 0; i < count; i++) {
            for (size_t j = 0; j < count; j++)
                work->equations.shares[touched[i] * groups + touched[j]] +=
                    work->parts[touched[i]] * work->parts[touched[j]];
            if (work->parts[touched[i]] >= ALMOST_ALONE)
                work->owners[sample] = touched[i];
        }
        /* Two at a time own nothing. */
        if (work->owners[sample] != NOBODY && count > 1 &&
            work->begins[sample + 1] - work->begins[sample] > 1) {
            double others = -work->parts[work->owners[sample]];

            for (size_t i = 0; i < count; i++)
                others += work->parts[touched[i]];
            if (others > 1 - ALMOST_ALONE + 1e-6)
                work->owners[sample] = NOBODY;
        }
        add_values(work, sample, touched, count);
        for (size_t i = 0; i < count; i++)
            work->parts[touched[i]] = 0;
    }
    work->equations.samples = (double)work->set->count;
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

/* False: farther outside of what the counter can say than chance explains. Two kernels that always
 * follow each other come out like that, one too high and the other too low, where samples and work
 * are a little apart in time. */
static bool is_possible(const struct counters_counter *counter, double mean, double error)
{
    double most = counter->unit == METRIC_UNIT_PERCENT ? 100 : HUGE_VAL;

    return mean >= -error - counter->step && mean <= most + error + counter->step;
}

static void find_means(struct set_work *work, size_t place)
{
    size_t groups = work->device->groups;
    const struct counters_counter *counter =
        &work->device->pass->result->counters[work->set->counters[place]];
    double step = counter->step;
    double spread = fmax(work->greatest[place], step);
    const struct counters_group *rows = &work->device->pass->result->groups[work->device->first];
    double busy = work->busy_time > 0 ? work->busy_sum[place] / work->busy_time : 0;
    struct unknowns unknowns = {
        .sums = &work->sums[place * groups],
        .squares = work->squares[place],
        .prior = work->prior,
        .spread = spread,
        .least_noise = step / 3 + 0.001 * spread,
        .means = work->means,
        .errors = work->errors,
    };

    for (size_t i = 0; i < groups; i++)
        work->prior[i] = i == COUNTERS_IDLE || rows[i].is_cause ? work->least[place] : busy;
    if (work->known[place] && !(work->greatest[place] > 0)) {
        for (size_t i = 0; i < groups; i++)
            cell_of(work, i, place)->mean = cell_of(work, i, place)->error = 0;
        return;
    }
    if (!work->known[place] || !equations_solve(&work->equations, &unknowns, work->scratch))
        return;
    for (size_t i = 0; i < groups; i++) {
        struct counters_cell *cell = cell_of(work, i, place);

        if (work->errors[i] > COUNTERS_NOT_KNOWN * spread ||
            (i != COUNTERS_IDLE &&
             !is_possible(counter, work->means[i], CONFIDENCE * work->errors[i])))
            continue;
        cell->mean = fmax(work->means[i], 0);
        cell->error = CONFIDENCE * work->errors[i];
    }
}

/* ---- Samples of one group ---- */

static int value_order(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

void counters_percentiles(double *values, size_t count, struct counters_cell *cell)
{
    cell->whole = count;
    if (!count)
        return;
    qsort(values, count, sizeof *values, value_order);
    cell->p50 = values[(count - 1) / 2];
    cell->p95 = values[(count * 95 + 99) / 100 - 1];
    cell->greatest = values[count - 1];
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
                cell_of(work, work->shares[i].group, c)->samples += (double)work->shares[i].part;
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
    for (size_t c = 0; c < work->set->width; c++)
        find_means(work, c);
    count_samples(work);
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
}

/* ---- All devices ---- */

static enum mp_status attribute_device(struct device_work *work)
{
    struct counters_pass *pass = work->pass;

    MP_TRY(tally_groups(work));
    for (size_t i = 0; i < pass->set_count; i++) {
        struct set_work set = {.device = work, .set = &pass->sets[i]};
        enum mp_status status;

        if (set.set->device != work->device || !set.set->count)
            continue;
        status = attribute_set(&set);
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
    uint32_t *order = sorted_pieces(pass);
    struct device_work work = {.pass = pass};
    enum mp_status status = MP_OK;

    work.pieces = order ? reallocarray(NULL, pass->piece_count + 1, sizeof *work.pieces) : NULL;
    if (!work.pieces)
        status = MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->set_count && status == MP_OK; i++) {
        if (!counters_is_first_of_device(pass, i))
            continue;
        work.device = (uint32_t)pass->sets[i].device;
        work.piece_count = work.groups = 0;
        for (size_t j = 0; j < pass->piece_count; j++)
            if (pass->pieces[order[j]].device == work.device)
                work.pieces[work.piece_count++] = pass->pieces[order[j]];
        status = attribute_device(&work);
        free(work.local);
        work.local = NULL;
    }
    free(work.pieces);
    free(order);
    return status;
}
