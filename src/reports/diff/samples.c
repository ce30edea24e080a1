/* What one side knows of each name: its time in each iteration. The values of one name stand back
 * to back. A counting sort puts them there, because there are many names and few of them have many
 * values.
 */
#include "reports/diff/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "profile/common/shift.h"

#include "base/poison.h"

void diff_samples_free(struct diff_samples *samples)
{
    mp_intern_free(&samples->names);
    free(samples->sums);
    free(samples->cells);
    *samples = (struct diff_samples){.samples = 0};
}

enum mp_status diff_samples_item(struct diff_samples *samples, const char *name, uint32_t *item)
{
    *item = mp_intern_add(&samples->names, name, strlen(name));
    if (!*item)
        return MP_ERR_MEMORY;
    while (samples->sum_count < samples->names.count) {
        MP_TRY(mp_reserve((void **)&samples->sums, samples->sum_count, &samples->sum_capacity,
                          sizeof *samples->sums));
        samples->sums[samples->sum_count++] = (struct diff_sum){.calls = 0};
    }
    return MP_OK;
}

/* ---- Cells by item ---- */

/* Values of cells; those of an item stand back to back: of item i from begins[i - 1] to begins[i].
 */
struct stretches {
    size_t *begins;   /* owned */
    uint64_t *values; /* owned */
};

static void stretches_free(struct stretches *stretches)
{
    free(stretches->begins);
    free(stretches->values);
}

/* A counting sort. MP_ERR_MEMORY; stretches_free in any case. */
static enum mp_status stretches_make(const struct diff_cell *cells, size_t count, uint32_t items,
                                     struct stretches *stretches)
{
    *stretches = (struct stretches){.begins = calloc((size_t)items + 2, sizeof(size_t)),
                                    .values = malloc((count + 1) * sizeof(uint64_t))};
    if (!stretches->begins || !stretches->values)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        stretches->begins[cells[i].item + 1]++;
    for (uint32_t i = 1; i <= items + 1; i++)
        stretches->begins[i] += stretches->begins[i - 1];
    for (size_t i = 0; i < count; i++)
        stretches->values[stretches->begins[cells[i].item]++] = cells[i].value;
    return MP_OK;
}

static int compare_values(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Keeps `kept` of an item's times in this many iterations. `count` times are given, sorted; the
 * others are 0. */
static enum mp_status samples_keep(struct diff_samples *samples, uint32_t item,
                                   const uint64_t *values, size_t count, size_t iterations,
                                   size_t kept)
{
    size_t zeros = iterations - count;

    for (size_t i = 0; i < kept; i++) {
        size_t rank = ((2 * i + 1) * iterations - 1) / (2 * kept);
        uint64_t value = rank < zeros ? 0 : values[rank - zeros];

        if (!value)
            continue;
        MP_TRY(mp_reserve((void **)&samples->cells, samples->cell_count, &samples->cell_capacity,
                          sizeof *samples->cells));
        samples->cells[samples->cell_count++] = (struct diff_cell){
            .value = value < SHIFT_GREATEST ? value : SHIFT_GREATEST, .item = item};
    }
    return MP_OK;
}

static size_t kept_of(size_t iterations, bool median)
{
    if (median)
        return 1;
    return iterations < DIFF_MAX_SAMPLES ? iterations : DIFF_MAX_SAMPLES;
}

enum mp_status diff_samples_run(struct diff_samples *samples, const struct diff_cell *cells,
                                size_t count, size_t iterations, bool median)
{
    uint32_t items = samples->names.count;
    size_t kept = kept_of(iterations, median);
    struct stretches stretches;
    enum mp_status status = stretches_make(cells, count, items, &stretches);

    for (uint32_t item = 1; item <= items && !status; item++) {
        size_t begin = stretches.begins[item - 1];
        size_t own = stretches.begins[item] - begin;

        if (!own)
            continue;
        qsort(stretches.values + begin, own, sizeof *stretches.values, compare_values);
        status = samples_keep(samples, item, stretches.values + begin, own, iterations, kept);
    }
    stretches_free(&stretches);
    for (size_t i = 0; i < count; i++) {
        samples->sums[cells[i].item - 1].calls += cells[i].calls;
        samples->sums[cells[i].item - 1].value += cells[i].value;
    }
    samples->iterations += iterations;
    samples->samples += kept;
    return status;
}

/* ---- As a plain array ---- */

static void samples_fill(const struct diff_samples *samples, const size_t *begins,
                         struct diff_items *items)
{
    double iterations = samples->iterations ? (double)samples->iterations : 1;

    for (uint32_t i = 0; i < samples->names.count; i++)
        items->items[i] = (struct diff_item){
            .name = mp_intern_get(&samples->names, i + 1, NULL),
            .calls = (double)samples->sums[i].calls / iterations,
            .mean = (double)samples->sums[i].value / iterations,
            .samples = items->values + begins[i],
            .count = begins[i + 1] - begins[i],
        };
}

enum mp_status diff_items_make(const struct diff_samples *samples, struct diff_items *items)
{
    struct stretches stretches;
    enum mp_status status =
        stretches_make(samples->cells, samples->cell_count, samples->names.count, &stretches);

    *items = (struct diff_items){.count = samples->names.count, .samples = samples->samples};
    items->items = calloc(items->count + 1, sizeof *items->items);
    if (!status && !items->items)
        status = MP_ERR_MEMORY;
    if (status) {
        stretches_free(&stretches);
        diff_items_free(items);
        return status;
    }
    items->values = stretches.values;
    samples_fill(samples, stretches.begins, items);
    free(stretches.begins);
    return MP_OK;
}

void diff_items_free(struct diff_items *items)
{
    free(items->items);
    free(items->values);
    *items = (struct diff_items){.count = 0};
}
