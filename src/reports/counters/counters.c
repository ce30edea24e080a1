/* The passes: capture ranges, samples and work, layers or idle time if wanted, then the sums. */
#include "reports/counters/counters.h"

#include <math.h>
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/text/strings.h"
#include "profile/reading.h"
#include "reports/counters/pass.h"
#include "reports/deps/deps.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct counters_cell *counters_cell(const struct counters_result *result,
                                    const struct counters_group *group,
                                    const struct counters_counter *counter)
{
    return &result->cells[group->cells + counter->place];
}

const struct counters_cell *counters_find(const struct counters_result *result,
                                          const struct counters_group *group, const char *name)
{
    for (size_t i = 0; i < result->counter_count; i++) {
        const struct counters_counter *counter = &result->counters[i];

        if (counter->device == group->device && counter->name && counter->by != SAMPLED_BY_NOBODY &&
            mp_text_equal(counter->name, name))
            return counters_cell(result, group, counter);
    }
    return NULL;
}

void counters_pass_free(struct counters_pass *pass)
{
    for (size_t i = 0; i < pass->set_count; i++) {
        free(pass->sets[i].ends);
        free(pass->sets[i].lengths);
        free(pass->sets[i].values);
    }
    free(pass->sets);
    free(pass->spans);
    free(pass->names);
    mp_map_free(&pass->places);
    mp_map_free(&pass->by_name);
}

void counters_result_free(struct counters_result *result)
{
    free(result->counters);
    free(result->groups);
    free(result->cells);
    quality_free(&result->quality);
    definitions_free(&result->definitions);
    mp_arena_free(&result->names);
    *result = (struct counters_result){.counters = NULL};
}

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
    enum mp_status status;

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
    status = work_out(pass, ranges);
    return status ? mp_error_set(error, status, "out of memory") : MP_OK;
}

enum mp_status counters_build(struct mp_trace *trace, const struct counters_options *options,
                              struct counters_result *result, struct mp_error *error)
{
    struct counters_pass pass = {.options = options, .result = result};
    struct capture_ranges ranges;
    enum mp_status status;

    *result = (struct counters_result){.counters = NULL};
    definitions_init(&result->definitions, trace);
    quality_init(&result->quality, trace);
    status = build(&pass, trace, &ranges, error);
    ranges_free(&ranges);
    counters_pass_free(&pass);
    if (status)
        counters_result_free(result);
    return status;
}

enum mp_status counters_build_any(struct mp_trace *trace, const struct counters_options *options,
                                  struct counters_result *result, bool *any, struct mp_error *error)
{
    *result = (struct counters_result){.counters = NULL};
    MP_TRY(reading_has_rows(trace, MP_TABLE_sample, any, error));
    return *any ? counters_build(trace, options, result, error) : MP_OK;
}
