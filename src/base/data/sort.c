/* A stable merge sort of indexes that finds ordered runs first. Records come in long ordered
 * stretches, for which it is nearly linear.
 */
#include "base/data/sort.h"

#include <string.h>

#include "base/poison.h"

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
    size_t wanted;

    while (count < left && !sort->before(sort->context, items[count], items[count - 1]))
        count++;
    if (count >= SHORTEST_RUN || count == left)
        return count;
    wanted = left < SHORTEST_RUN ? left : SHORTEST_RUN;
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
