/* Counters over time in few enough steps to be drawn: neighbouring samples become one bin. */
#include <math.h>
#include <stdlib.h>

#include "profile/reading.h"
#include "reports/counters/pass.h"
#include "trace/schema.h"

#include "base/poison.h"

/* What is added up for a bin that is not complete. */
struct bin_sums {
    double sum, time; /* value times ns, and ns that have a value */
    double min, max;
};

struct joining {
    const struct counters_pass *pass;
    const struct sample_set *set;
    struct counters_bins *bins;
    struct bin_sums *sums; /* by counter of the set */
};

static void take_values(struct joining *joining, size_t sample)
{
    for (size_t place = 0; place < joining->set->width; place++) {
        struct bin_sums *sums = &joining->sums[place];
        double value = counters_value(joining->pass, joining->set, sample, place);
        double time = (double)joining->set->lengths[sample];

        if (isnan(value))
            continue;
        sums->min = sums->time > 0 ? fmin(sums->min, value) : value;
        sums->max = fmax(sums->max, value);
        sums->sum += value * time;
        sums->time += time;
    }
}

static void end_bin(struct joining *joining)
{
    struct counters_bins *bins = joining->bins;

    for (size_t place = 0; place < bins->width; place++) {
        struct bin_sums *sums = &joining->sums[place];
        double step = joining->pass->result->counters[bins->counters[place]].step;
        struct counters_bin *bin = &bins->values[place * bins->max + bins->count];

        *bin = (struct counters_bin){SAMPLED_UNKNOWN, SAMPLED_UNKNOWN, SAMPLED_UNKNOWN};
        if (sums->time > 0)
            *bin = (struct counters_bin){.mean = sampled_pack(sums->sum / sums->time, step),
                                         .min = sampled_pack(sums->min, step),
                                         .max = sampled_pack(sums->max, step)};
        *sums = (struct bin_sums){0};
    }
    bins->count++;
}

/* One bin for each stretch of `width` ns that has begins of samples. */
static void join_samples(struct joining *joining, uint64_t from, uint64_t until, uint64_t width)
{
    const struct sample_set *set = joining->set;
    struct counters_bins *bins = joining->bins;
    uint64_t stretch = 0, covered = 0;
    bool any = false;

    for (size_t i = 0; i < set->count; i++) {
        uint64_t begin = set->ends[i] - set->lengths[i];
        uint64_t at = begin > from ? (begin - from) / width : 0;

        if (set->ends[i] <= from || begin >= until)
            continue;
        if (!any || at > stretch) { /* a sample that begins before the last one joins it */
            if (any)
                end_bin(joining);
            bins->begins[bins->count] = begin > covered ? begin : covered;
            stretch = at;
            any = true;
        }
        bins->ends[bins->count] = covered = set->ends[i];
        take_values(joining, i);
    }
    if (any)
        end_bin(joining);
}

static enum mp_status make_bins(const struct counters_pass *pass, const struct sample_set *set,
                                const struct counters_window *window, struct counters_bins *bins)
{
    struct joining joining = {.pass = pass, .set = set, .bins = bins};
    uint64_t time = window->until - window->from;

    *bins = (struct counters_bins){.device = set->device, .by = set->by, .width = set->width};
    bins->max = set->count < window->max ? set->count : window->max;
    bins->counters = calloc(set->width, sizeof *bins->counters);
    bins->begins = calloc(bins->max + 1, sizeof *bins->begins);
    bins->ends = calloc(bins->max + 1, sizeof *bins->ends);
    bins->values = calloc((bins->max + 1) * set->width, sizeof *bins->values);
    joining.sums = calloc(set->width, sizeof *joining.sums);
    if (bins->counters && bins->begins && bins->ends && bins->values && joining.sums) {
        for (size_t i = 0; i < set->width; i++)
            bins->counters[i] = set->counters[i];
        join_samples(&joining, window->from, window->until, (time + window->max - 1) / window->max);
    }
    free(joining.sums);
    return joining.sums && bins->values && bins->ends && bins->begins && bins->counters
               ? MP_OK
               : MP_ERR_MEMORY;
}

static enum mp_status make_lines(const struct counters_pass *pass, struct counters_window window,
                                 struct counters_lines *lines)
{
    size_t values = 0;

    for (size_t i = 0; i < pass->set_count; i++)
        values += pass->sets[i].count ? pass->sets[i].width : 0;
    if (!values || window.until <= window.from)
        return MP_OK;
    window.max = window.max > values ? window.max / values : 1;
    lines->sets = calloc(pass->set_count, sizeof *lines->sets);
    if (!lines->sets)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->set_count; i++)
        if (pass->sets[i].count)
            MP_TRY(make_bins(pass, &pass->sets[i], &window, &lines->sets[lines->count++]));
    return MP_OK;
}

static enum mp_status build(struct counters_pass *pass, struct mp_trace *trace,
                            const struct counters_window *window, struct counters_lines *lines,
                            struct mp_error *error)
{
    struct capture_ranges ranges;
    enum mp_status status = ranges_open(&ranges, trace, pass->options->range, &pass->range, error);

    if (!status)
        status = counters_read(pass, trace, error);
    ranges_free(&ranges);
    if (!status && make_lines(pass, *window, lines))
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    return status;
}

enum mp_status counters_lines_build(struct mp_trace *trace, const struct counters_window *window,
                                    struct counters_lines *lines, struct mp_error *error)
{
    const struct counters_options options = {.range = window->range, .by = COUNTERS_BY_LAYER};
    struct counters_pass pass = {.options = &options, .result = &lines->result};
    bool any;

    *lines = (struct counters_lines){.count = 0};
    MP_TRY(reading_has_rows(trace, MP_TABLE_sample, &any, error));
    if (!any)
        return MP_OK;
    definitions_init(&lines->result.definitions, trace);
    quality_init(&lines->result.quality, trace);
    enum mp_status status = build(&pass, trace, window, lines, error);
    counters_pass_free(&pass);
    if (status)
        counters_lines_free(lines);
    return status;
}

void counters_lines_free(struct counters_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->sets[i].counters);
        free(lines->sets[i].begins);
        free(lines->sets[i].ends);
        free(lines->sets[i].values);
    }
    free(lines->sets);
    counters_result_free(&lines->result);
    *lines = (struct counters_lines){.count = 0};
}
