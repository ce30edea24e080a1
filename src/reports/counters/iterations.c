/* What counters were during iterations, and while nothing ran in them, by the cause. */
#include "reports/iterations/iterations.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/counters/pass.h"

#include "base/poison.h"

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

static void take_idle(void *context, const struct iterations_idle_piece *piece)
{
    struct idle_taking *taking = context;
    const struct iterations *iterations = taking->pass->options->iterations;

    for (size_t i = 0; i < taking->count && !taking->status; i++) {
        struct idle_device *device = &taking->devices[i];
        uint64_t begin = piece->begin > device->until ? piece->begin : device->until;

        if (!uses(&iterations->items[piece->iteration], device->slots) || piece->end <= begin)
            continue;
        device->until = piece->end;
        taking->status = counters_add_device_piece(
            taking->pass, (uint32_t)device->device, begin, piece->end - begin,
            (uint32_t)piece->cause - (uint32_t)ITERATION_IDLE_LAUNCH);
    }
}

enum mp_status counters_add_idle(struct counters_pass *pass)
{
    const struct counters_options *options = pass->options;
    struct idle_taking taking = {.pass = pass};
    enum mp_status status;

    taking.devices = calloc(pass->set_count + 1, sizeof *taking.devices);
    if (!taking.devices)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->set_count; i++)
        if (counters_is_first_of_device(pass, i))
            taking.devices[taking.count++] = (struct idle_device){
                .device = pass->sets[i].device, .slots = slots_of(options, pass->sets[i].device)};
    status = iterations_each_idle(options->deps, options->iterations, take_idle, &taking);
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

/* How far the values behind and before a sample are apart; 0: not known. */
static double change_at(const struct filling *filling, size_t sample)
{
    const struct sample_set *set = filling->set;
    double before, behind;

    if (!sample || sample + 1 >= set->count)
        return 0;
    before = counters_value(filling->pass, set, sample - 1, filling->place);
    behind = counters_value(filling->pass, set, sample + 1, filling->place);
    return isnan(before) || isnan(behind) ? 0 : fabs(behind - before);
}

/* Of the sum of values times ns, squared: the share `part` of a sample may be unlike the rest.
 * Where an iteration ends, values often change. */
static double doubt_of(const struct filling *filling, size_t sample, double part)
{
    double unlike = fmax(filling->unlike, change_at(filling, sample));
    double doubt;

    if (sample >= filling->set->count)
        return 0;
    doubt = part * (1 - part) * unlike * (double)filling->set->lengths[sample];
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
    double mean = counters_mean_over(&filling->sums, iteration->begin, iteration->end);
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
    bool room = counters_sum_up_to(pass, filling->set, filling->place, &filling->sums);

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
        struct counters_group *group;
        char text[24];

        if (!uses(iteration, slots) || iteration->end <= iteration->begin)
            continue;
        snprintf(text, sizeof text, "%" PRIu32, i + 1);
        numbers[(*added)++] = i;
        group = &result->groups[result->group_count++];
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
