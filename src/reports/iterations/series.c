/* Where a period stands in a sequence: of kernels (kernels.c) or of segments (requests.c).
 *
 *     range 1   w x a b c a b c a b c a b      range 2   a b c a b c y a b c
 *     found         |---| |---| |---|                    |---| |---|   |---|
 *
 * The period is looked for in the capture range that has most items, since the program may stop and
 * begin to record anywhere in it. If that one is too short, it is looked for in all of them
 * together. Then it counts wherever all of it stands: after an interruption, and in the other
 * ranges.
 */
#include <stdlib.h>

#include "base/data/storage.h"
#include "reports/iterations/build.h"

#include "base/poison.h"

/* ---- Where in a period an iteration begins ----
 *
 *     recorded   a a a b a a a b a a a b      12 items of period 4
 *     at 0       |-----| |-----| |-----|      all of them
 *     at 3       . . . |-----| |-----| .      where the thread pauses longest, such as for `a`
 *
 * The program itself says where recording begins and ends, and it says so between two iterations.
 * So if what was recorded is a whole number of periods and nothing else, the first item begins an
 * iteration. Otherwise the longest pause says where: there the program waits and begins again.
 */

static bool is_all(const struct mp_period *period, size_t items)
{
    return !period->first && period->count == items && period->count % period->period == 0;
}

/* The place of the period at which iterations begin; `items`: of the sequence that was searched. */
static uint32_t find_place(const struct mp_period *period, size_t items, iterations_pause *pause,
                           const void *context)
{
    uint32_t best = 0;

    if (is_all(period, items))
        return 0;
    double max = pause(context, 0);
    for (uint32_t place = 1; place < period->period; place++) {
        double here = pause(context, place);

        if (here > max) {
            max = here;
            best = place;
        }
    }
    return best;
}

/* ---- The period ---- */

/* The items from *first up to *end are those of the capture range that has most. */
static void find_longest(const struct iterations_series *series, uint32_t *first, uint32_t *end)
{
    const struct capture_ranges *ranges = &series->finder->deps->profile->ranges;
    const struct capture_range *before = NULL;
    uint32_t begin = 0;

    *first = *end = 0;
    for (uint32_t i = 0; i <= series->count; i++) {
        const struct capture_range *range =
            i < series->count ? ranges_at(ranges, series->moment_at(series->context, i)) : NULL;

        if (i && i < series->count && range == before)
            continue;
        if (i - begin > *end - *first) {
            *first = begin;
            *end = i;
        }
        begin = i;
        before = range;
    }
}

static bool is_alike(const struct iterations_series *series, uint32_t a, uint32_t b)
{
    return series->is_alike(series->context, a, b);
}

/* Extends the stretch to the items around it, of the first of which nothing is known of what came
 * before. */
static void widen(struct iterations_series *series)
{
    struct mp_period *period = &series->period;

    while (period->first > series->first &&
           is_alike(series, period->first - 1, period->first - 1 + period->period)) {
        period->first--;
        period->count++;
    }
    while (period->first + period->count < series->end &&
           is_alike(series, period->first + period->count,
                    period->first + period->count - period->period))
        period->count++;
}

static enum mp_status find_inside(struct iterations_series *series, uint32_t first, uint32_t end,
                                  unsigned repeats)
{
    series->first = first;
    series->end = end;
    MP_TRY(mp_period_find(series->symbols + first, end - first, repeats, &series->period));
    series->period.first += first;
    return MP_OK;
}

enum mp_status iterations_find_period(struct iterations_series *series, unsigned repeats)
{
    uint32_t first, end;

    find_longest(series, &first, &end);
    MP_TRY(find_inside(series, first, end, repeats));
    if (!series->period.period && end - first < series->count)
        MP_TRY(find_inside(series, 0, series->count, repeats));
    if (series->period.period)
        widen(series);
    return MP_OK;
}

/* ---- Where it stands ---- */

static enum mp_status add_start(struct iterations_series *series, uint32_t at)
{
    MP_TRY(MP_RESERVE(series->starts, series->start_count, series->start_capacity));
    series->starts[series->start_count++] = at;
    return MP_OK;
}

/* The failure function of Knuth, Morris and Pratt (Fast pattern matching in strings, 1977) for the
 * items of a period after its first one, whose symbol says what was before. NULL: no memory. */
static uint32_t *borders_of(const uint32_t *pattern, uint32_t length)
{
    uint32_t *borders = calloc((size_t)length + 1, sizeof *borders);
    uint32_t matched = 0;

    for (uint32_t i = 1; borders && i < length; i++) {
        while (matched && pattern[i] != pattern[matched])
            matched = borders[matched - 1];
        matched += pattern[i] == pattern[matched];
        borders[i] = matched;
    }
    return borders;
}

/* Whole periods from the item `from` up to `to` that are like the one at `model`, the first ones
 * that do not overlap. */
static enum mp_status add_whole(struct iterations_series *series, uint32_t model, uint32_t from,
                                uint32_t to)
{
    const uint32_t *symbols = series->symbols;
    const uint32_t *pattern = &symbols[model + 1];
    uint32_t length = series->period.period - 1;
    uint32_t *borders = borders_of(pattern, length);
    uint32_t matched = 0, free_from = from;
    enum mp_status status = borders ? MP_OK : MP_ERR_MEMORY;

    for (uint32_t i = from; i < to && !status; i++) {
        while (matched && (matched == length || symbols[i] != pattern[matched]))
            matched = borders[matched - 1];
        matched += length && symbols[i] == pattern[matched];
        if (matched < length || i < free_from + length)
            continue;
        if (is_alike(series, i - length, model)) {
            status = add_start(series, i - length);
            free_from = i + 1;
            matched = 0;
        } else if (matched) {
            matched = borders[matched - 1];
        }
    }
    free(borders);
    return status;
}

/* All periods of the stretch, and others before and after it. */
enum mp_status iterations_find_starts(struct iterations_series *series, iterations_pause *pause)
{
    const struct mp_period *period = &series->period;
    struct mp_period inside = *period;
    uint32_t first;

    inside.first -= series->first;
    first =
        period->first + find_place(&inside, series->end - series->first, pause, series->context);
    uint32_t end = first;
    series->start_count = 0;
    if (first + period->period > period->first + period->count)
        return MP_OK;
    MP_TRY(add_whole(series, first, 0, first));
    for (; end + period->period <= period->first + period->count; end += period->period)
        MP_TRY(add_start(series, end));
    return add_whole(series, first, end, series->count);
}

uint32_t iterations_next_start(const struct iterations_series *series, size_t index)
{
    uint32_t next = series->starts[index] + series->period.period;

    return index + 1 < series->start_count && series->starts[index + 1] == next ? next : UINT32_MAX;
}

void iterations_series_free(struct iterations_series *series)
{
    free(series->symbols);
    free(series->starts);
}
