/* What is said first of iterations: how long one takes, and whether one number can say that.
 *
 *     queued    |-- 1 --------|              the host is ahead of the GPU: latencies grow with the
 *                |-- 2 ------------|         queue, so the time from end to end counts
 *                 |-- 3 ----------------|
 *
 * Capture ranges whose times differ are kept apart: they are phases of the program, or tries. Else
 * times that fall into modes are. A median between two modes is the time of no iteration.
 */
#include <math.h>
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "reports/iterations/iterations.h"

#include "base/poison.h"

/* Ranges differ if the middle halves of two of them do not meet, and their medians are this far
 * apart; each has this many iterations. */
#define MIN_DIFFERENCE 1.05
#define MIN_OF_RANGE   5

/* A mode has at least this share of all times, and this many. Nine tenths of each of two modes lie
 * this far apart. */
#define MIN_SHARE   0.2
#define MIN_OF_MODE 8
#define MIN_APART   1.25
#define MAX_BETWEEN 0.03
#define MAX_MODES   4

/* The time of an iteration, its population, and whether its thread begins the next one before it
 * has ended. */
struct timed {
    uint64_t value;
    uint32_t group;
    bool ahead;
};

MP_COMPARE(compare_timed, struct timed,
           MP_ORDER(a->group, b->group) ?: MP_ORDER(a->value, b->value));

/* ---- One number ---- */

/* Whether a thread begins most iterations while the one before still runs. `last_of`: by thread,
 * the iteration before, + 1. */
static bool are_queued(const struct iterations *iterations, uint32_t *last_of, struct timed *items)
{
    size_t queued = 0;

    for (size_t i = 0; i < iterations->count; i++) {
        const struct iteration *one = &iterations->items[i];

        if (one->thread == DEPS_NONE)
            continue;
        uint32_t *last = &last_of[one->thread];
        if (*last && iterations->items[*last - 1].end > one->begin) {
            items[*last - 1].ahead = true;
            queued++;
        }
        *last = (uint32_t)i + 1;
    }
    return queued * 2 > iterations->count;
}

/* ---- Times and populations ---- */

/* The population of each iteration: capture ranges in order, blocks of --baseline as one. Returns
 * how many there are; ids[ITERATIONS_KINDS] are those of the first ranges. */
static uint32_t find_groups(const struct deps *deps, const struct iterations *iterations,
                            struct timed *items, uint64_t ids[ITERATIONS_KINDS])
{
    const struct capture_range *before = NULL;
    uint32_t groups = 0;

    for (size_t i = 0; i < iterations->count; i++) {
        const struct capture_range *range =
            ranges_at(&deps->profile->ranges, iterations->items[i].begin);

        if (!groups || (range && range != before && !range->goes_on)) {
            if (groups < ITERATIONS_KINDS)
                ids[groups] = range ? range->id : 0;
            groups++;
        }
        before = range ? range : before;
        items[i].group = groups - 1;
    }
    return groups;
}

/* Of items whose `value` is the time from begin to end, or for `queued` the end: times, sorted by
 * population and then by length. Returns how many there are: of queued ones the first of a
 * population has none. */
static size_t find_times(struct timed *items, size_t count, bool queued)
{
    size_t kept = 0;

    if (count)
        qsort(items, count, sizeof *items, compare_timed);
    for (size_t i = 1; queued && i < count; i++) {
        if (items[i].group == items[i - 1].group)
            items[kept++] = (struct timed){.value = items[i].value - items[i - 1].value,
                                           .group = items[i].group};
    }
    count = queued ? kept : count;
    if (count)
        qsort(items, count, sizeof *items, compare_timed);
    return count;
}

static enum mp_status median_of(const struct timed *items, size_t count, uint64_t *p50)
{
    uint64_t *values = calloc(count + 1, sizeof *values);

    if (!values)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        values[i] = items[i].value;
    *p50 = statistics_of(values, count).p50;
    free(values);
    return MP_OK;
}

enum mp_status iterations_usual(const struct deps *deps, const struct iterations *iterations,
                                const struct deps_window *moved, bool queued, uint64_t *p50)
{
    struct timed *items = calloc(iterations->count + 1, sizeof *items);
    uint64_t ids[ITERATIONS_KINDS];

    if (!items)
        return MP_ERR_MEMORY;
    find_groups(deps, iterations, items, ids);
    for (size_t i = 0; i < iterations->count; i++)
        items[i].value = queued ? moved[i].end : moved[i].end - moved[i].begin;
    enum mp_status status = median_of(items, find_times(items, iterations->count, queued), p50);
    free(items);
    return status;
}

/* `items` are sorted. */
static struct iterations_kind kind_of(const struct timed *items, size_t count, uint64_t range)
{
    return (struct iterations_kind){.range = range,
                                    .count = count,
                                    .min = items[0].value,
                                    .max = items[count - 1].value,
                                    .p25 = items[count / 4].value,
                                    .p50 = items[(count - 1) / 2].value,
                                    .p75 = items[count - 1 - count / 4].value};
}

/* ---- By range ---- */

static bool differ(const struct iterations_kind *a, const struct iterations_kind *b)
{
    const struct iterations_kind *low = a->p50 < b->p50 ? a : b;
    const struct iterations_kind *high = low == a ? b : a;

    return a->count >= MIN_OF_RANGE && b->count >= MIN_OF_RANGE && low->p75 < high->p25 &&
           (double)high->p50 > MIN_DIFFERENCE * (double)low->p50;
}

/* Ranges with too few iterations are left out; all of them if they do not differ. */
static void keep_large(struct iterations_headline *headline)
{
    size_t kept = 0;

    for (size_t i = 0; i < headline->kind_count && headline->split == ITERATIONS_BY_RANGE; i++) {
        if (headline->kinds[i].count >= MIN_OF_RANGE)
            headline->kinds[kept++] = headline->kinds[i];
    }
    headline->kind_count = kept;
}

static void split_by_range(const struct timed *items, size_t count,
                           const uint64_t ids[ITERATIONS_KINDS],
                           struct iterations_headline *headline)
{
    size_t end;

    for (size_t first = 0; first < count; first = end) {
        for (end = first; end < count && items[end].group == items[first].group; end++)
            ;
        headline->kinds[headline->kind_count++] =
            kind_of(&items[first], end - first, ids[items[first].group]);
    }
    for (size_t i = 0; i < headline->kind_count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (differ(&headline->kinds[i], &headline->kinds[k]))
                headline->split = ITERATIONS_BY_RANGE;
        }
    }
    keep_large(headline);
}

/* ---- By mode ---- */

/* Where two groups of sorted times have most variance of their logarithms between them (Otsu, A
 * threshold selection method from gray-level histograms, 1979), each with `least` of them. */
static size_t best_split(const struct timed *items, size_t count, size_t min)
{
    double sum = 0, below = 0, max = 0;
    size_t best = 0;

    for (size_t i = 0; i < count; i++)
        sum += log((double)items[i].value + 1);
    for (size_t i = 0; i + min < count; i++) {
        size_t n = i + 1;

        below += log((double)items[i].value + 1);
        if (n < min)
            continue;
        double low = below / (double)n;
        double high = (sum - below) / (double)(count - n);
        double between = (double)n * (double)(count - n) * (high - low) * (high - low);
        if (between > max) {
            max = between;
            best = n;
        }
    }
    return best;
}

/* How many of the sorted times lie before `limit`. */
static size_t count_before(const struct timed *items, size_t count, double limit)
{
    size_t before = 0;

    while (before < count && (double)items[before].value < limit)
        before++;
    return before;
}

/* Where two modes meet; 0: there is only one. Between their medians, in logarithms, lies a valley:
 * its middle third has hardly any time, where even times would have a sixth of all. */
static size_t find_split(const struct timed *items, size_t count, size_t min)
{
    size_t at = count >= 2 * min ? best_split(items, count, min) : 0;
    size_t middle = at / 2, upper = at + (count - at) / 2;

    if (!at)
        return 0;
    double low = (double)items[middle].value + 1;
    double high = (double)items[upper].value + 1;
    double third = cbrt(high / low);
    size_t between =
        count_before(items, count, high / third) - count_before(items, count, low * third);
    return high >= MIN_APART * low && (double)between <= MAX_BETWEEN * (double)count ? at : 0;
}

/* Whether most of them only last longer because the next ones run with them. */
static bool run_ahead(const struct timed *items, size_t count)
{
    size_t ahead = 0;

    for (size_t i = 0; i < count; i++)
        ahead += items[i].ahead;
    return 2 * ahead > count;
}

/* Splits in two while that is possible; the kinds come in order of time. */
static void split_by_mode(const struct timed *items, size_t count, size_t min,
                          struct iterations_headline *headline)
{
    size_t at = headline->kind_count + 1 < MAX_MODES ? find_split(items, count, min) : 0;

    if (!at || run_ahead(&items[at], count - at)) {
        headline->kinds[headline->kind_count++] = kind_of(items, count, 0);
        return;
    }
    headline->split = ITERATIONS_BY_MODE;
    split_by_mode(items, at, min, headline);
    split_by_mode(&items[at], count - at, min, headline);
}

static void find_modes(struct timed *items, size_t count, struct iterations_headline *headline)
{
    size_t min = (size_t)ceil(MIN_SHARE * (double)count);

    for (size_t i = 0; i < count; i++)
        items[i].group = 0;
    qsort(items, count, sizeof *items, compare_timed);
    split_by_mode(items, count, min < MIN_OF_MODE ? MIN_OF_MODE : min, headline);
    if (headline->split != ITERATIONS_BY_MODE)
        headline->kind_count = 0;
}

/* ---- All of it ---- */

/* `items` has times by population, `groups` of them. */
static void split(const struct iterations *iterations, struct timed *items, size_t count,
                  uint32_t groups, const uint64_t ids[ITERATIONS_KINDS],
                  struct iterations_headline *headline)
{
    if (groups > 1 && groups <= ITERATIONS_KINDS && iterations->way != ITERATIONS_RANGES)
        split_by_range(items, count, ids, headline);
    if (headline->split == ITERATIONS_ALIKE && count)
        find_modes(items, count, headline);
}

static enum mp_status find_in(const struct deps *deps, const struct iterations *iterations,
                              struct timed *items, struct iterations_headline *headline)
{
    uint64_t ids[ITERATIONS_KINDS] = {0};
    uint32_t groups = find_groups(deps, iterations, items, ids);

    for (size_t i = 0; i < iterations->count; i++) {
        const struct iteration *one = &iterations->items[i];

        items[i].value = headline->queued ? one->end : one->end - one->begin;
    }
    headline->count = find_times(items, iterations->count, headline->queued);
    MP_TRY(median_of(items, headline->count, &headline->p50));
    split(iterations, items, headline->count, groups, ids, headline);
    return MP_OK;
}

enum mp_status iterations_find_headline(const struct deps *deps,
                                        const struct iterations *iterations,
                                        struct iterations_headline *headline)
{
    uint32_t *last_of = calloc((size_t)deps->thread_count + 1, sizeof *last_of);
    struct timed *items = calloc(iterations->count + 1, sizeof *items);
    enum mp_status status = last_of && items ? MP_OK : MP_ERR_MEMORY;

    *headline = (struct iterations_headline){.split = ITERATIONS_ALIKE};
    if (!status) {
        headline->queued = are_queued(iterations, last_of, items);
        status = find_in(deps, iterations, items, headline);
    }
    free(last_of);
    free(items);
    return status;
}

/* ---- The kind that counts ---- */

static bool is_of(const struct iterations_headline *headline, const struct iterations_kind *kind,
                  const struct iteration *one, uint64_t range)
{
    uint64_t time = one->end - one->begin;

    return headline->split == ITERATIONS_BY_RANGE ? range == kind->range
                                                  : time >= kind->min && time <= kind->max;
}

enum mp_status iterations_find_main_kind(const struct deps *deps,
                                         const struct iterations *iterations,
                                         const struct iterations_headline *headline, uint8_t *in,
                                         const struct iterations_kind **max)
{
    const struct iterations_kind *longest = headline->kinds;
    struct timed *items;
    uint64_t ids[ITERATIONS_KINDS] = {0};

    *max = NULL;
    if (headline->split == ITERATIONS_ALIKE ||
        (headline->split == ITERATIONS_BY_MODE && headline->queued))
        return MP_OK;
    items = calloc(iterations->count + 1, sizeof *items);
    if (!items)
        return MP_ERR_MEMORY;
    for (size_t i = 1; i < headline->kind_count; i++) {
        const struct iterations_kind *kind = &headline->kinds[i];
        if ((double)kind->count * (double)kind->p50 > (double)longest->count * (double)longest->p50)
            longest = kind;
    }
    find_groups(deps, iterations, items, ids);
    for (size_t i = 0; i < iterations->count; i++) {
        uint32_t group = items[i].group;
        in[i] = is_of(headline, longest, &iterations->items[i],
                      group < ITERATIONS_KINDS ? ids[group] : 0);
    }
    free(items);
    *max = longest;
    return MP_OK;
}
