/* How fast the SMs ran during each iteration, and what lowered their clocks. */
#include <math.h>
#include <stdlib.h>

#include "base/text/strings.h"
#include "profile/reading.h"
#include "reports/counters/pass.h"
#include "reports/iterations/iterations.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define KNOWN_ENOUGH 0.5  /* share of an iteration */
#define LOWER        95.0 /* percent of what is usual */
#define OFTEN        10.0 /* percent of the time */

bool counters_sum_up_to(const struct counters_pass *pass, const struct sample_set *set,
                        size_t place, struct sums_up_to *sums)
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

double counters_mean_over(const struct sums_up_to *sums, uint64_t from, uint64_t until)
{
    double before, after;
    double value;

    if (until <= from)
        return (double)NAN;
    value = -up_to(sums, from, &before);
    value += up_to(sums, until, &after);
    if (after - before <= 0 || after - before < KNOWN_ENOUGH * (double)(until - from))
        return (double)NAN;
    return value / (after - before);
}

/* ---- Iterations ---- */

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The median of the numbers among `values`; `sorted` has room for them. */
static double median_of(const double *values, size_t count, double *sorted)
{
    size_t known = 0;

    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            sorted[known++] = values[i];
    qsort(sorted, known, sizeof *sorted, ascending);
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
    bool room = values && counters_sum_up_to(pass, set, place, &sums);

    if (room) {
        for (size_t i = 0; i < iterations->count; i++)
            values[i] =
                counters_mean_over(&sums, iterations->items[i].begin, iterations->items[i].end);
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
    enum mp_status status;
    bool any;

    *clocks = NULL;
    MP_TRY(reading_has_rows(trace, MP_TABLE_sample, &any, error));
    if (!any || !iterations->count)
        return MP_OK;
    definitions_init(&result.definitions, trace);
    quality_init(&result.quality, trace);
    status = counters_read(&pass, trace, error);
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
