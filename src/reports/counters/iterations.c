/* What counters were during iterations: their clocks, their values, and those of idle time by its
 * cause.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/text/strings.h"
#include "profile/reading.h"
#include "reports/counters/pass.h"
#include "reports/iterations/iterations.h"
#include "trace/schema.h"

#include "base/poison.h"

#define KNOWN_ENOUGH 0.5  /* share of an iteration */
#define LOWER        95.0 /* percent of what is usual */
#define OFTEN        10.0 /* percent of the time */

/* ---- Means over any time ---- */

/* Sums up to each sample of a set, so that the mean over any time takes two look-ups. Both columns
 * are the caller's to free, also after a failure. */
struct sums_up_to {
    const struct sample_set *set;
    double *values; /* value times ns */
    double *times;  /* ns that have a value */
};

/* False: no memory. */
static bool sum_up_to(const struct counters_pass *pass, const struct sample_set *set, size_t place,
                      struct sums_up_to *sums)
{
    sums->set = set;
    sums->values = calloc(set->count + 1, sizeof *sums->values);
    sums->times = calloc(set->count + 1, sizeof *sums->times);
    if (!sums->values || !sums->times)
        return false;
    for (size_t i = 0; i < set->count; i++) {
        double value = counters_value(pass, set, i, place);
        double time = isnan(value) ? 0 : (double)set->lengths[i];

        sums->values[i + 1] = sums->values[i] + (time > 0 ? value * time : 0);
        sums->times[i + 1] = sums->times[i] + time;
    }
    return true;
}

/* The sum of values up to a time; adds the time that they cover. */
static double up_to(const struct sums_up_to *sums, uint64_t time, double *covered)
{
    const struct sample_set *set = sums->set;
    size_t low = counters_first_after(set, time), high;
    double share = 0;

    if (low < set->count && set->ends[low] - set->lengths[low] < time)
        share = (double)(time - (set->ends[low] - set->lengths[low])) / (double)set->lengths[low];
    high = low < set->count ? low + 1 : low;
    *covered = sums->times[low] + share * (sums->times[high] - sums->times[low]);
    return sums->values[low] + share * (sums->values[high] - sums->values[low]);
}

/* Not a number: less than half of the time has values. */
static double mean_over(const struct sums_up_to *sums, uint64_t from, uint64_t until)
{
    double before, after;

    if (until <= from)
        return (double)NAN;
    double value = -up_to(sums, from, &before);
    value += up_to(sums, until, &after);
    if (after - before <= 0 || after - before < KNOWN_ENOUGH * (double)(until - from))
        return (double)NAN;
    return value / (after - before);
}

/* ---- Clocks ---- */

/* The median of the numbers among `values`; `sorted` has room for them. */
static double median_of(const double *values, size_t count, double *sorted)
{
    size_t known = 0;

    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            sorted[known++] = values[i];
    qsort(sorted, known, sizeof *sorted, mp_compare_real);
    return known ? sorted[(known - 1) / 2] : (double)NAN;
}

enum what { SM_CLOCK, POWER_CAPPED, TOO_HOT, NOTHING };

static enum what what_is(const struct counters_counter *counter)
{
    static const char *const names[] = {"sm_clock", "power_capped", "too_hot"};

    for (int i = 0; i < NOTHING && counter->name; i++)
        if (mp_text_equal(counter->name, names[i]))
            return (enum what)i;
    return NOTHING;
}

/* `values` has what the counter was in each iteration, and room for as many. */
static void take_values(enum what what, const struct iterations *iterations, double *values,
                        struct counters_clocks *clocks)
{
    size_t count = iterations->count;
    double usual = median_of(values, count, values + count);

    for (size_t i = 0; i < count; i++) {
        struct counters_clocks *clock = &clocks[i];

        if (what == POWER_CAPPED) {
            clock->power_capped = fmax(clock->power_capped, values[i]);
            clock->more_capped = fmax(clock->more_capped, values[i] - usual);
        } else if (what == TOO_HOT) {
            clock->too_hot = fmax(clock->too_hot, values[i]);
            clock->hotter = fmax(clock->hotter, values[i] - usual);
        } else if (usual > 0)
            clock->percent = fmin(clock->percent, 100 * values[i] / usual);
    }
}

static enum mp_status take_counter(const struct counters_pass *pass, const struct sample_set *set,
                                   size_t place, const struct iterations *iterations,
                                   struct counters_clocks *clocks)
{
    double *values = calloc(2 * iterations->count + 1, sizeof *values);
    struct sums_up_to sums = {.values = NULL};
    bool room = values && sum_up_to(pass, set, place, &sums);

    if (room) {
        for (size_t i = 0; i < iterations->count; i++)
            values[i] = mean_over(&sums, iterations->items[i].begin, iterations->items[i].end);
        take_values(what_is(&pass->result->counters[set->counters[place]]), iterations, values,
                    clocks);
    }
    free(sums.values);
    free(sums.times);
    free(values);
    return room ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status take_all(const struct counters_pass *pass,
                               const struct iterations *iterations, struct counters_clocks **clocks)
{
    static const struct counters_clocks unknown = {(double)NAN, (double)NAN, (double)NAN,
                                                   (double)NAN, (double)NAN};

    for (size_t s = 0; s < pass->set_count; s++) {
        const struct sample_set *set = &pass->sets[s];

        for (size_t place = 0; place < set->width && set->count; place++) {
            if (what_is(&pass->result->counters[set->counters[place]]) == NOTHING)
                continue;
            if (!*clocks) {
                *clocks = calloc(iterations->count + 1, sizeof **clocks);
                for (size_t i = 0; *clocks && i < iterations->count; i++)
                    (*clocks)[i] = unknown;
            }
            if (!*clocks)
                return MP_ERR_MEMORY;
            MP_TRY(take_counter(pass, set, place, iterations, *clocks));
        }
    }
    return MP_OK;
}

enum mp_status counters_clocks(struct mp_trace *trace, const struct iterations *iterations,
                               struct counters_clocks **clocks, struct mp_error *error)
{
    const struct counters_options options = {.by = COUNTERS_BY_LAYER}; /* reads no work */
    struct counters_result result = {.counters = NULL};
    struct counters_pass pass = {.options = &options, .result = &result};
    bool any;

    *clocks = NULL;
    MP_TRY(reading_has_rows(trace, MP_TABLE_sample, &any, error));
    if (!any || !iterations->count)
        return MP_OK;
    definitions_init(&result.definitions, trace);
    quality_init(&result.quality, trace);
    enum mp_status status = counters_read(&pass, trace, error);
    if (!status)
        status = take_all(&pass, iterations, clocks);
    if (status == MP_ERR_MEMORY)
        mp_error_set(error, status, "out of memory");
    counters_pass_free(&pass);
    counters_result_free(&result);
    if (status) {
        free(*clocks);
        *clocks = NULL;
    }
    return status;
}

bool counters_clocks_are_low(const struct counters_clocks *clocks, const char **why)
{
    bool capped = clocks->more_capped >= OFTEN, hot = clocks->hotter >= OFTEN;
    bool slow = clocks->percent < LOWER;

    *why = hot || (slow && clocks->too_hot >= OFTEN)           ? "heat"
           : capped || (slow && clocks->power_capped >= OFTEN) ? "power"
                                                               : "unknown";
    return hot || capped || slow;
}

#define CAUSES     (ITERATION_IDLE_UNKNOWN - ITERATION_IDLE_LAUNCH + 1)
#define CONFIDENCE 1.96

/* The bits of struct iteration's devices that stand for a device. */
static uint64_t slots_of(const struct counters_options *options, uint64_t device)
{
    uint64_t slots = 0;

    for (uint32_t i = 0; i < options->deps->lane_count; i++) {
        const struct deps_lane *lane = &options->deps->lanes[i];

        if (!lane->is_thread && lane->device == device)
            slots |= UINT64_C(1) << options->iterations->device_slots[i];
    }
    return slots;
}

static bool uses(const struct iteration *iteration, uint64_t slots)
{
    return !iteration->devices || (iteration->devices & slots);
}

/* ---- Idle time ---- */

enum mp_status counters_add_causes(struct counters_pass *pass)
{
    for (int cause = ITERATION_IDLE_LAUNCH; cause <= ITERATION_IDLE_UNKNOWN; cause++) {
        uint32_t group;

        /* Keys of other groups are not as small. */
        MP_TRY(counters_group(pass, (uint64_t)(cause - ITERATION_IDLE_LAUNCH) << 3,
                              iteration_quantity_name((enum iteration_quantity)cause), &group));
    }
    pass->cause_count = CAUSES;
    return MP_OK;
}

/* A sampled device, while its idle time is taken. */
struct idle_device {
    uint64_t device;
    uint64_t slots;
    uint64_t until; /* idle time up to here is taken: iterations may overlap */
};

struct idle_taking {
    struct counters_pass *pass;
    struct idle_device *devices;
    size_t count;
    enum mp_status status;
};

static void take_idle(void *context, const struct iterations_idle_span *span)
{
    struct idle_taking *taking = context;
    const struct iterations *iterations = taking->pass->options->iterations;

    for (size_t i = 0; i < taking->count && !taking->status; i++) {
        struct idle_device *device = &taking->devices[i];
        uint64_t begin = span->begin > device->until ? span->begin : device->until;

        if (!uses(&iterations->items[span->iteration], device->slots) || span->end <= begin)
            continue;
        device->until = span->end;
        taking->status =
            counters_add_work(taking->pass, (uint32_t)device->device, begin, span->end - begin,
                              (uint32_t)span->cause - (uint32_t)ITERATION_IDLE_LAUNCH);
    }
}

enum mp_status counters_add_idle(struct counters_pass *pass)
{
    const struct counters_options *options = pass->options;
    struct idle_taking taking = {.pass = pass};

    taking.devices = calloc(pass->set_count + 1, sizeof *taking.devices);
    if (!taking.devices)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->set_count; i++)
        if (counters_is_first_of_device(pass, i))
            taking.devices[taking.count++] = (struct idle_device){
                .device = pass->sets[i].device, .slots = slots_of(options, pass->sets[i].device)};
    enum mp_status status =
        iterations_each_idle(options->deps, options->iterations, take_idle, &taking);
    free(taking.devices);
    return status ? status : taking.status;
}

/* ---- Iterations ---- */

/* One counter of a set, while its cells are filled in. */
struct filling {
    const struct counters_pass *pass;
    const struct sample_set *set;
    size_t place;
    struct sums_up_to sums;
    double *values; /* room for all of a set */
    double unlike;  /* how far neighbouring samples are apart */
    double spread;  /* the greatest value */
};

/* How much of the sample at a time lies before it: 0 to 1, 0 between samples. */
static double part_before(const struct sample_set *set, size_t sample, uint64_t time)
{
    uint64_t begin = sample < set->count ? set->ends[sample] - set->lengths[sample] : time;

    return time > begin ? (double)(time - begin) / (double)set->lengths[sample] : 0;
}

/* How far the values before and after a sample are apart; 0: not known. */
static double change_at(const struct filling *filling, size_t sample)
{
    const struct sample_set *set = filling->set;

    if (!sample || sample + 1 >= set->count)
        return 0;
    double before = counters_value(filling->pass, set, sample - 1, filling->place);
    double behind = counters_value(filling->pass, set, sample + 1, filling->place);
    return isnan(before) || isnan(behind) ? 0 : fabs(behind - before);
}

/* Of the sum of values times ns, squared: the share `part` of a sample may be unlike the rest.
 * Where an iteration ends, values often change. */
static double doubt_of(const struct filling *filling, size_t sample, double part)
{
    double unlike = fmax(filling->unlike, change_at(filling, sample));

    if (sample >= filling->set->count)
        return 0;
    double doubt = part * (1 - part) * unlike * (double)filling->set->lengths[sample];
    return doubt * doubt;
}

static void measure_unlike(struct filling *filling)
{
    double last = (double)NAN, sum = 0;
    size_t count = 0;

    filling->spread = 0;
    for (size_t i = 0; i < filling->set->count; i++) {
        double value = counters_value(filling->pass, filling->set, i, filling->place);

        if (isnan(value))
            continue;
        filling->spread = fmax(filling->spread, value);
        if (!isnan(last)) {
            sum += (value - last) * (value - last);
            count++;
        }
        last = value;
    }
    filling->unlike = count ? sqrt(sum / (double)count) : 0;
}

static void fill_cell(const struct filling *filling, const struct iteration *iteration,
                      struct counters_cell *cell)
{
    const struct sample_set *set = filling->set;
    size_t first = counters_first_after(set, iteration->begin);
    size_t last = counters_first_after(set, iteration->end);
    double before = part_before(set, first, iteration->begin);
    double behind = part_before(set, last, iteration->end);
    double mean = mean_over(&filling->sums, iteration->begin, iteration->end);
    double time = (double)(iteration->end - iteration->begin);
    double spread = filling->spread, error;
    size_t count = 0;

    cell->samples = (double)(last - first) + behind - before;
    for (size_t i = before > 0 ? first + 1 : first; i < last; i++) {
        double value = counters_value(filling->pass, set, i, filling->place);

        if (!isnan(value))
            filling->values[count++] = value;
    }
    counters_percentiles(filling->values, count, cell);
    error = CONFIDENCE * sqrt(doubt_of(filling, first, before) + doubt_of(filling, last, behind)) /
            time;
    if (isnan(mean) || cell->samples < 1 || error > CONFIDENCE * COUNTERS_NOT_KNOWN * spread)
        return;
    cell->mean = mean;
    cell->error = error;
}

static enum mp_status fill_counter(struct filling *filling, const struct counters_group *groups,
                                   const uint32_t *numbers, size_t count)
{
    const struct counters_pass *pass = filling->pass;
    struct counters_result *result = pass->result;
    bool room = sum_up_to(pass, filling->set, filling->place, &filling->sums);

    measure_unlike(filling);
    for (size_t i = 0; i < count && room; i++)
        fill_cell(filling, &pass->options->iterations->items[numbers[i]],
                  counters_cell(result, &groups[i],
                                &result->counters[filling->set->counters[filling->place]]));
    free(filling->sums.values);
    free(filling->sums.times);
    return room ? MP_OK : MP_ERR_MEMORY;
}

/* The device's iterations as groups, whose numbers are kept, and their cells without values. */
static enum mp_status add_groups(struct counters_pass *pass, uint64_t device, uint32_t *numbers,
                                 size_t *added)
{
    const struct iterations *iterations = pass->options->iterations;
    struct counters_result *result = pass->result;
    uint64_t slots = slots_of(pass->options, device);
    size_t width = 0;

    for (size_t i = 0; i < result->counter_count; i++)
        width += result->counters[i].device == device;
    for (uint32_t i = 0; i < iterations->count && *added < COUNTERS_MAX_ITERATIONS; i++) {
        const struct iteration *iteration = &iterations->items[i];
        char text[24];

        if (!uses(iteration, slots) || iteration->end <= iteration->begin)
            continue;
        snprintf(text, sizeof text, "%" PRIu32, i + 1);
        numbers[(*added)++] = i;
        struct counters_group *group = &result->groups[result->group_count++];
        *group = (struct counters_group){.device = device,
                                         .name = mp_arena_copy(&result->names, text, strlen(text)),
                                         .calls = 1,
                                         .time = iteration->end - iteration->begin,
                                         .cells = result->cell_count};
        if (!group->name)
            return MP_ERR_MEMORY;
        for (size_t c = 0; c < width; c++)
            result->cells[result->cell_count++] =
                (struct counters_cell){.mean = (double)NAN, .error = (double)NAN};
    }
    return MP_OK;
}

static enum mp_status fill_device(struct counters_pass *pass, uint64_t device, uint32_t *numbers)
{
    size_t first = pass->result->group_count, count = 0;

    MP_TRY(add_groups(pass, device, numbers, &count));
    for (size_t i = 0; i < pass->set_count; i++) {
        struct filling filling = {.pass = pass, .set = &pass->sets[i]};
        enum mp_status status = MP_OK;

        if (filling.set->device != device || !filling.set->count)
            continue;
        filling.values = calloc(filling.set->count, sizeof *filling.values);
        if (!filling.values)
            return MP_ERR_MEMORY;
        for (; filling.place < filling.set->width && !status; filling.place++)
            status = fill_counter(&filling, &pass->result->groups[first], numbers, count);
        free(filling.values);
        MP_TRY(status);
    }
    return MP_OK;
}

enum mp_status counters_of_iterations(struct counters_pass *pass)
{
    struct counters_result *result = pass->result;
    size_t count = pass->options->iterations->count, devices = 0;
    enum mp_status status = MP_OK;
    uint32_t *numbers;

    if (count > COUNTERS_MAX_ITERATIONS) {
        result->left_out = count - COUNTERS_MAX_ITERATIONS;
        count = COUNTERS_MAX_ITERATIONS;
    }
    for (size_t i = 0; i < pass->set_count; i++)
        devices += counters_is_first_of_device(pass, i);
    numbers = calloc(count + 1, sizeof *numbers);
    result->groups = calloc(devices * count + 1, sizeof *result->groups);
    result->cells = calloc(result->counter_count * count + 1, sizeof *result->cells);
    if (!numbers || !result->groups || !result->cells)
        status = MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->set_count && !status; i++)
        if (counters_is_first_of_device(pass, i))
            status = fill_device(pass, pass->sets[i].device, numbers);
    free(numbers);
    return status;
}
