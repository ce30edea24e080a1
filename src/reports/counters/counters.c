/* The passes: capture ranges, samples and work, layers or idle time if wanted, then the sums. And
 * what kernels or layers were like at a glance.
 */
#include "reports/counters/counters.h"

#include <math.h>
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/text/strings.h"
#include "reports/counters/pass.h"
#include "reports/deps/deps.h"
#include "reports/layers/layers.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Whole devices ---- */

/* When the device's first work began; UINT64_MAX: it is not known. */
static uint64_t first_work_of(const struct counters_pass *pass, uint64_t device)
{
    const struct deps *deps = pass->options->deps;
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < pass->span_count; i++)
        if (pass->spans[i].device == device && pass->spans[i].group >= pass->cause_count &&
            pass->spans[i].start < first)
            first = pass->spans[i].start;
    for (uint32_t i = 0; deps && i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];

        if (!lane->is_thread && lane->device == device && lane->count &&
            deps->activities[lane->first].begin < first)
            first = deps->activities[lane->first].begin;
    }
    return first;
}

/* The time of a capture range, from `known` on, that no sample has. Of CUPTI's and GPM's samples
 * those that the begin or the end of the range cut are not in the trace, nor is the first one
 * after the begin: these are not missing. NVML's readings reach beyond it. */
static uint64_t missing_of(const struct sample_set *set, const struct capture_range *range,
                           uint64_t known, uint64_t cut)
{
    uint64_t missing = 0, at = mp_max(range->begin_time, known);
    bool first = true;

    for (size_t i = 0; i < set->count; i++) {
        uint64_t begin = set->ends[i] - set->lengths[i];

        if (begin >= range->end_time || set->ends[i] <= range->begin_time)
            continue;
        if (begin > at && (!first || begin - at > cut))
            missing += begin - at;
        at = mp_max(at, set->ends[i]);
        first = false;
    }
    return range->end_time != UINT64_MAX && range->end_time > at && range->end_time - at > cut
               ? missing + (range->end_time - at)
               : missing;
}

/* Nobody samples a device before it has a context, and nothing is known of that moment but that it
 * came before the first sample and before the first work. */
static uint64_t missing_time(const struct counters_pass *pass, const struct sample_set *set,
                             const struct capture_ranges *ranges)
{
    uint64_t interval = pass->result->counters[set->counters[0]].interval;
    uint64_t cut = 2 * mp_max(interval, set->count ? set->lengths[0] : 0);
    uint64_t known = first_work_of(pass, set->device), missing = 0;

    if (set->earliest == UINT64_MAX)
        return 0; /* its source measured nothing at all */
    if (set->earliest < known)
        known = set->earliest;
    for (size_t r = 0; r < ranges_count(ranges); r++) {
        const struct capture_range *range = dense_at(&ranges->items, r);

        if (!pass->range || pass->range == range)
            missing += missing_of(set, range, known, cut);
    }
    return missing;
}

static enum mp_status sum_up_set(struct counters_pass *pass, const struct sample_set *set,
                                 const struct capture_ranges *ranges)
{
    double *values = calloc(set->count + 1, sizeof *values);
    uint64_t missing = missing_time(pass, set, ranges);

    if (!values)
        return MP_ERR_MEMORY;
    for (size_t place = 0; place < set->width; place++) {
        struct counters_counter *counter = &pass->result->counters[set->counters[place]];
        double sum = 0;
        size_t count = 0;

        for (size_t i = 0; i < set->count; i++) {
            double value = counters_value(pass, set, i, place);

            if (isnan(value))
                continue;
            values[count++] = value;
            sum += value * (double)set->lengths[i];
            counter->covered += set->lengths[i];
        }
        counter->missing = missing;
        counter->samples = count;
        counter->all = (struct counters_cell){
            .mean = counter->covered ? sum / (double)counter->covered : (double)NAN,
            .samples = (double)count};
        counters_percentiles(values, count, &counter->all);
    }
    free(values);
    return MP_OK;
}

/* ---- The whole ---- */

static uint64_t counter_value(const struct counters_result *result, const char *wanted)
{
    size_t position = 0;
    const char *name;
    uint64_t value;

    while (quality_next_counter(&result->quality, &result->definitions, &position, &name, &value))
        if (name && mp_text_equal(name, wanted))
            return value;
    return 0;
}

/* Kernels were there only to tell idle time from work. */
static void keep_idle(struct counters_result *result)
{
    size_t kept = 0;

    for (size_t i = 0; i < result->group_count; i++) {
        struct counters_group group = result->groups[i];

        if (group.idle)
            group.name = "[other idle time]";
        if (group.is_cause || group.idle)
            result->groups[kept++] = group;
    }
    result->group_count = kept;
}

static enum mp_status work_out(struct counters_pass *pass, const struct capture_ranges *ranges)
{
    struct counters_result *result = pass->result;

    for (size_t i = 0; i < pass->set_count; i++)
        MP_TRY(sum_up_set(pass, &pass->sets[i], ranges));
    if (pass->options->by == COUNTERS_BY_ITERATION)
        MP_TRY(counters_of_iterations(pass));
    else
        MP_TRY(counters_attribute(pass));
    if (pass->options->by == COUNTERS_BY_IDLE)
        keep_idle(result);
    for (size_t i = 0; i < result->group_count; i++)
        counters_classify(result, &result->groups[i]);
    result->overflows = counter_value(result, "sample_overflows");
    result->asked = result->counter_count > 0;
    return MP_OK;
}

static enum mp_status build(struct counters_pass *pass, struct mp_trace *trace,
                            struct capture_ranges *ranges, struct mp_error *error)
{
    MP_TRY(ranges_open(ranges, trace, pass->options->range, &pass->range, error));
    pass->result->range_count = ranges_count(ranges);
    pass->result->quality.only = pass->options->range;
    if (pass->options->by == COUNTERS_BY_IDLE && counters_add_causes(pass))
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    MP_TRY(counters_read(pass, trace, error));
    if (pass->options->by == COUNTERS_BY_IDLE && counters_add_idle(pass))
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    if (pass->options->by == COUNTERS_BY_LAYER)
        MP_TRY(counters_read_layers(pass, trace, error));
    enum mp_status status = work_out(pass, ranges);
    return status ? mp_error_set(error, status, "out of memory") : MP_OK;
}

enum mp_status counters_build(struct mp_trace *trace, const struct counters_options *options,
                              struct counters_result *result, struct mp_error *error)
{
    struct counters_pass pass = {.options = options, .result = result};
    struct capture_ranges ranges;

    *result = (struct counters_result){.counters = NULL};
    definitions_init(&result->definitions, trace);
    quality_init(&result->quality, trace);
    enum mp_status status = build(&pass, trace, &ranges, error);
    ranges_free(&ranges);
    counters_pass_free(&pass);
    if (status)
        counters_result_free(result);
    return status;
}

/* ---- At a glance: kernels, or layers with the layers in them ---- */

#define KNOWN_ENOUGH 0.9 /* share of the time */

/* Groups, added up by their time. */
struct sums {
    double values[COUNTERS_TELLING];
    double errors[COUNTERS_TELLING]; /* squares */
    double times[COUNTERS_TELLING];  /* ns of those that are known */
};

static void add_group(struct sums *sums, const struct counters_result *result,
                      const struct counters_group *group)
{
    for (int i = 0; i < COUNTERS_TELLING; i++) {
        double mean = counters_mean_of(result, group, (enum counters_telling)i);
        double error = counters_error_of(result, group, (enum counters_telling)i);

        if (isnan(mean))
            continue;
        sums->values[i] += mean * (double)group->time;
        sums->errors[i] += error * (double)group->time * error * (double)group->time;
        sums->times[i] += (double)group->time;
    }
}

/* Adds the groups of a name on the device, or on any; returns their time. */
static double add_named(struct sums *sums, const struct counters_result *result, uint64_t device,
                        const char *name)
{
    double time = 0;

    for (size_t i = 0; i < result->group_count; i++) {
        const struct counters_group *group = &result->groups[i];

        if ((device != COUNTERS_ANY_DEVICE && group->device != device) || !group->name ||
            !mp_text_equal(group->name, name))
            continue;
        add_group(sums, result, group);
        time += (double)group->time;
    }
    return time;
}

static struct counters_brief brief_of(const struct sums *sums, const struct counters_result *result,
                                      double time, const char *name)
{
    struct counters_brief brief;

    for (int i = 0; i < COUNTERS_TELLING; i++) {
        bool known = time > 0 && sums->times[i] >= KNOWN_ENOUGH * time;

        brief.values[i] = known ? sums->values[i] / sums->times[i] : (double)NAN;
        brief.errors[i] = known ? sqrt(sums->errors[i]) / sums->times[i] : (double)NAN;
    }
    brief.class = counters_class_of(result, brief.values, name);
    return brief;
}

struct counters_brief counters_brief_of(const struct counters_result *result, uint64_t device,
                                        const char *name)
{
    struct sums sums = {.times = {0}};
    double time = add_named(&sums, result, device, name);

    return brief_of(&sums, result, time, name);
}

/* ---- Layers ---- */

static enum mp_status add_layers(struct sums *sums, const struct counters_result *result,
                                 const struct layers_result *layers)
{
    struct mp_buffer path = {0};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < layers->count && !status; i++) {
        mp_buffer_clear(&path);
        layers_put_path(&path, layers, (uint32_t)i);
        mp_buffer_append_byte(&path, '\0');
        status = path.status;
        if (!status && layers->layers[i].self->device)
            add_named(&sums[i], result, COUNTERS_ANY_DEVICE, (const char *)path.data);
    }
    mp_buffer_free(&path);
    return status;
}

/* Each layer stands before those inside it. */
static void add_to_parents(struct sums *sums, const struct layers_result *layers)
{
    for (size_t i = layers->count; i-- > 0;) {
        uint32_t parent = layers->layers[i].parent;

        for (int k = 0; k < COUNTERS_TELLING && parent != LAYER_NONE; k++) {
            sums[parent].values[k] += sums[i].values[k];
            sums[parent].errors[k] += sums[i].errors[k];
            sums[parent].times[k] += sums[i].times[k];
        }
    }
}

static struct counters_brief *brief_layers(const struct counters_result *result,
                                           const struct layers_result *layers)
{
    struct sums *sums = calloc(layers->count + 1, sizeof *sums);
    struct counters_brief *briefs = calloc(layers->count + 1, sizeof *briefs);
    enum mp_status status = sums && briefs ? add_layers(sums, result, layers) : MP_ERR_MEMORY;

    if (!status) {
        add_to_parents(sums, layers);
        for (size_t i = 0; i < layers->count; i++)
            briefs[i] = brief_of(&sums[i], result, (double)layers->layers[i].total->device, NULL);
    } else {
        free(briefs);
        briefs = NULL;
    }
    free(sums);
    return briefs;
}

enum mp_status counters_of_layers(struct mp_trace *trace, const struct layers_options *options,
                                  const struct layers_result *layers,
                                  struct counters_brief **briefs, struct mp_error *error)
{
    const struct counters_options by_layer = {
        .range = options->range, .by = COUNTERS_BY_LAYER, .style = options->style, .as = options};
    struct counters_result result;

    *briefs = NULL;
    if (layers->by_position || !profile_has_rows(layers->profile, MP_TABLE_sample))
        return MP_OK;
    MP_TRY(counters_build(trace, &by_layer, &result, error));
    *briefs = brief_layers(&result, layers);
    counters_result_free(&result);
    return *briefs ? MP_OK : mp_error_set(error, MP_ERR_MEMORY, "out of memory");
}
