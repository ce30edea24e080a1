/* Sorts indexes, finds what repeats in a sequence, and counts numbers for their percentiles. */
#include "base/data/algorithms.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

int mp_compare_u64(const void *a, const void *b)
{
    return MP_ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
}

int mp_compare_real(const void *a, const void *b)
{
    return MP_ORDER(*(const double *)a, *(const double *)b);
}

/* ---- Sorting numbers ----
 *
 * Quicksort with a pivot of three, which needs no memory and calls nothing to compare.
 */

#define FEW_VALUES 16

static void swap(uint64_t *a, uint64_t *b)
{
    uint64_t value = *a;

    *a = *b;
    *b = value;
}

static void sort_few(uint64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t at = i; at && values[at - 1] > values[at]; at--)
            swap(&values[at - 1], &values[at]);
}

/* Hoare's partition around the median of three: how many values stand left. */
static size_t partition(uint64_t *values, size_t count)
{
    uint64_t *middle = &values[(count - 1) / 2];
    size_t low = 0;
    size_t high = count - 1;

    if (values[low] > *middle)
        swap(&values[low], middle);
    if (*middle > values[high])
        swap(middle, &values[high]);
    if (values[low] > *middle)
        swap(&values[low], middle);
    for (uint64_t pivot = *middle;; low++, high--) {
        while (values[low] < pivot)
            low++;
        while (values[high] > pivot)
            high--;
        if (low >= high)
            return high + 1;
        swap(&values[low], &values[high]);
    }
}

/* Recurses into the smaller part, so it is at most log2(count) calls deep. qsort takes what is cut
 * badly. */
void mp_sort_u64(uint64_t *values, size_t count)
{
    for (unsigned left = 128; count > FEW_VALUES && left; left--) {
        size_t below = partition(values, count);

        if (below <= count - below) {
            mp_sort_u64(values, below);
            values += below;
            count -= below;
        } else {
            mp_sort_u64(values + below, count - below);
            count = below;
        }
    }
    if (count > FEW_VALUES)
        qsort(values, count, sizeof *values, mp_compare_u64);
    else
        sort_few(values, count);
}

/* ---- Sorting indexes ----
 *
 * A stable merge sort of indexes that finds ordered runs first. Records come in long ordered
 * stretches, for which it is nearly linear.
 */

#define SHORTEST_RUN 24 /* shorter ones are lengthened by insertion */
#define MAX_RUNS                                                                                   \
    96 /* runs that are open at a time; each is over twice as long as the next, so 64 are never    \
          reached */

struct run {
    size_t first;
    size_t count;
};

struct sort {
    uint32_t *items;
    uint32_t *scratch;
    mp_sort_before *before;
    const void *context;
    struct run runs[MAX_RUNS];
    size_t open;
};

/* Inserts each of items[sorted] to items[count - 1] into the sorted part before it. */
static void insert_all(const struct sort *sort, uint32_t *items, size_t sorted, size_t count)
{
    for (size_t i = sorted; i < count; i++) {
        uint32_t item = items[i];
        size_t at = i;

        for (; at && sort->before(sort->context, item, items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* The ordered run that begins at `first`, of `left` items at most. */
static size_t find_run(const struct sort *sort, size_t first, size_t left)
{
    uint32_t *items = sort->items + first;
    size_t count = 1;

    while (count < left && !sort->before(sort->context, items[count], items[count - 1]))
        count++;
    if (count >= SHORTEST_RUN || count == left)
        return count;
    size_t wanted = left < SHORTEST_RUN ? left : SHORTEST_RUN;
    insert_all(sort, items, count, wanted);
    return wanted;
}

/* Returns how many of items[0..count) stand before `item`. Equal items count too, because they came
 * first. */
static size_t count_not_after(const struct sort *sort, const uint32_t *items, size_t count,
                              uint32_t item)
{
    size_t low = 0;

    while (count) {
        size_t half = count / 2;

        if (sort->before(sort->context, item, items[low + half])) {
            count = half;
        } else {
            low += half + 1;
            count -= half + 1;
        }
    }
    return low;
}

static void merge(const struct sort *sort, struct run left, size_t right_count)
{
    uint32_t *right = sort->items + left.first + left.count;
    /* Items that are already in their place need not be moved. */
    size_t skip = count_not_after(sort, sort->items + left.first, left.count, *right);
    uint32_t *out = sort->items + left.first + skip;
    const uint32_t *from = sort->scratch;
    const uint32_t *from_end = from + left.count - skip;
    const uint32_t *right_end = right + right_count;

    memcpy(sort->scratch, out, (left.count - skip) * sizeof *out);
    while (from < from_end && right < right_end)
        *out++ = sort->before(sort->context, *right, *from) ? *right++ : *from++;
    memcpy(out, from, (size_t)(from_end - from) * sizeof *out);
}

static void merge_last_two(struct sort *sort)
{
    struct run *left = &sort->runs[sort->open - 2];
    size_t right_count = sort->runs[sort->open - 1].count;

    merge(sort, *left, right_count);
    left->count += right_count;
    sort->open--;
}

void mp_sort(uint32_t *items, size_t count, uint32_t *scratch, mp_sort_before *before,
             const void *context)
{
    struct sort sort = {.items = items, .scratch = scratch, .before = before, .context = context};

    for (size_t first = 0; first < count;) {
        size_t run = find_run(&sort, first, count - first);

        sort.runs[sort.open++] = (struct run){first, run};
        first += run;
        while (sort.open > 1 &&
               sort.runs[sort.open - 2].count <= 2 * sort.runs[sort.open - 1].count)
            merge_last_two(&sort);
    }
    while (sort.open > 1)
        merge_last_two(&sort);
}

/* ---- Periods ----
 *
 * Finds what repeats in a sequence, in linear time. A stretch over half of the sequence holds the
 * middle item, so the Z function is run from the middle to both sides.
 */

/* A sequence read from its begin or from its end. */
struct view {
    const uint32_t *items;
    size_t count;
    bool backwards;
};

static uint32_t item(const struct view *view, size_t at)
{
    return view->items[view->backwards ? view->count - 1 - at : at];
}

/* The Z function: for each position, how many items from there on equal the first items of the
 * pattern. `self` is the Z function of the pattern itself (NULL: the sequence is the pattern). The
 * match that reaches farthest right ends at `to` and began at `from`, so the items in it are known
 * from the pattern. */
static void match(const struct view *pattern, const uint32_t *self, const struct view *text,
                  uint32_t *lengths)
{
    size_t from = 0;
    size_t to = 0;
    size_t first = self ? 0 : 1;

    if (!self && text->count)
        lengths[0] = (uint32_t)text->count;
    for (size_t i = first; i < text->count; i++) {
        size_t length = 0;

        if (i < to) {
            length = (self ? self : lengths)[i - from];
            if (length > to - i)
                length = to - i;
        }
        while (length < pattern->count && i + length < text->count &&
               item(pattern, length) == item(text, i + length))
            length++;
        lengths[i] = (uint32_t)length;
        if (i + length > to) {
            from = i;
            to = i + length;
        }
    }
}

/* How far the sequence agrees with itself, from its middle and from another place. */
struct agreement {
    size_t count;
    size_t middle;
    uint32_t *forwards;  /* by the other place */
    uint32_t *backwards; /* by count minus the other place */
};

/* The stretch in which each item equals the one `period` after it. It joins how far the middle and
 * the other place agree to the right, and to the left. */
static struct mp_period stretch(const struct agreement *agreement, size_t period, bool right)
{
    size_t low = right ? agreement->middle : agreement->middle - period;
    size_t other = right ? agreement->middle + period : low;
    size_t after = other < agreement->count ? agreement->forwards[other] : 0;
    size_t before = other ? agreement->backwards[agreement->count - other] : 0;

    return (struct mp_period){(uint32_t)period, (uint32_t)(low - before),
                              (uint32_t)(before + period + after)};
}

static bool is_enough(const struct agreement *agreement, const struct mp_period *found,
                      unsigned repeats)
{
    return found->count / found->period >= repeats && found->count >= agreement->count / 2 &&
           found->count >= agreement->count - found->count;
}

static void period_choose(const struct agreement *agreement, unsigned repeats,
                          struct mp_period *result)
{
    size_t max = agreement->count / repeats;

    for (size_t period = 1; period <= max; period++) {
        struct mp_period best = {0, 0, 0};

        if (agreement->middle + period <= agreement->count)
            best = stretch(agreement, period, true);
        if (period <= agreement->middle) {
            struct mp_period left = stretch(agreement, period, false);

            if (left.count > best.count)
                best = left;
        }
        if (best.period && is_enough(agreement, &best, repeats)) {
            *result = best;
            return;
        }
    }
}

static void agree(const uint32_t *items, struct agreement *agreement, uint32_t *self)
{
    size_t middle = agreement->middle;
    struct view right = {items + middle, agreement->count - middle, false};
    struct view left = {items, middle, true};
    struct view all = {items, agreement->count, false};

    match(&right, NULL, &right, self);
    match(&right, self, &all, agreement->forwards);
    all.backwards = true;
    match(&left, NULL, &left, self);
    match(&left, self, &all, agreement->backwards);
}

enum mp_status mp_period_find(const uint32_t *items, size_t count, unsigned repeats,
                              struct mp_period *period)
{
    struct agreement agreement = {.count = count, .middle = count / 2};
    uint32_t *self;
    enum mp_status status = MP_ERR_MEMORY;

    *period = (struct mp_period){0, 0, 0};
    if (count > INT32_MAX)
        return MP_ERR_LIMIT;
    if (!repeats || count < repeats)
        return MP_OK;
    agreement.forwards = reallocarray(NULL, count, sizeof *agreement.forwards);
    agreement.backwards = reallocarray(NULL, count, sizeof *agreement.backwards);
    self = reallocarray(NULL, count - agreement.middle, sizeof *self);
    if (agreement.forwards && agreement.backwards && self) {
        agree(items, &agreement, self);
        period_choose(&agreement, repeats, period);
        status = MP_OK;
    }
    free(agreement.forwards);
    free(agreement.backwards);
    free(self);
    return status;
}

/* ---- Percentiles ----
 *
 * Counts numbers in buckets that grow with the number. All counts are atomics without order, so
 * that any thread and a signal handler can add at the same time.
 */

#define PARTS 16u /* buckets of a power of two */

static unsigned bucket_of(uint64_t number)
{
    if (number < PARTS)
        return (unsigned)number;
    unsigned power = 63u - (unsigned)__builtin_clzll(number); /* 4 at least */
    return PARTS + (power - 4) * PARTS + (unsigned)(number >> (power - 4)) - PARTS;
}

static uint64_t max_of(unsigned bucket)
{
    if (bucket < PARTS)
        return bucket;
    unsigned power = (bucket - PARTS) / PARTS;
    uint64_t first = (uint64_t)(PARTS + (bucket - PARTS) % PARTS) << power;
    return first + ((UINT64_C(1) << power) - 1);
}

void mp_histogram_add(struct mp_histogram *histogram, uint64_t number)
{
    atomic_fetch_add_explicit(&histogram->counts[bucket_of(number)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->total, 1, memory_order_relaxed);
}

uint64_t mp_histogram_count(const struct mp_histogram *histogram)
{
    return atomic_load_explicit(&histogram->total, memory_order_relaxed);
}

uint64_t mp_histogram_percentile(const struct mp_histogram *histogram, unsigned percent)
{
    uint64_t total = mp_histogram_count(histogram);
    uint64_t rank = total / 100 * percent + (total % 100 * percent + 99) / 100;
    uint64_t seen = 0;
    unsigned last = 0;

    if (!total)
        return 0;
    for (unsigned i = 0; i < MP_HISTOGRAM_BUCKETS && seen < rank; i++) {
        uint64_t count = atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);

        seen += count;
        last = count ? i : last;
    }
    return max_of(last);
}
