/* What one side knows of each name: its time in each iteration; and what differs between two sides.
 * The values of one name stand back
 * to back. A counting sort puts them there, because there are many names and few of them have many
 * values.
 */
#include "reports/diff/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/common/statistics.h"

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
        MP_TRY(MP_RESERVE(samples->sums, samples->sum_count, samples->sum_capacity));
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
        MP_TRY(MP_RESERVE(samples->cells, samples->cell_count, samples->cell_capacity));
        samples->cells[samples->cell_count++] =
            (struct diff_cell){.value = value < SHIFT_MAX ? value : SHIFT_MAX, .item = item};
    }
    return MP_OK;
}

enum mp_status diff_samples_run(struct diff_samples *samples, const struct diff_cell *cells,
                                size_t count, size_t iterations, bool median)
{
    uint32_t items = samples->names.count;
    size_t kept = median ? 1 : iterations < DIFF_MAX_SAMPLES ? iterations : DIFF_MAX_SAMPLES;
    struct stretches stretches;
    enum mp_status status = stretches_make(cells, count, items, &stretches);

    for (uint32_t item = 1; item <= items && !status; item++) {
        size_t begin = stretches.begins[item - 1];
        size_t own = stretches.begins[item] - begin;

        if (!own)
            continue;
        mp_sort_u64(stretches.values + begin, own);
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

/* ---- Both sides ----
 *
 * Names are matched and each difference is judged. A difference counts when the
 * confidence interval of the shift does not hold 0, and when it is large enough to matter.
 */

/* Room for the samples of one item of each side, with zeros. */
struct matching {
    const struct diff_items *sides[DIFF_SIDES];
    uint64_t *scratch[DIFF_SIDES]; /* owned */
    double quantile;               /* of the intervals */
    struct diff_rows *rows;
};

/* The kind of change that a shift is, compared with a usual time of A. */
static enum diff_change change_of(const struct shift *shift, double usual)
{
    if (!shift->bounded)
        return fabs(shift->center) > 0 ? DIFF_UNKNOWN : DIFF_UNCHANGED;
    if (fabs(shift->center) < DIFF_NOTABLE * usual)
        return DIFF_UNCHANGED;
    if (shift->low > 0)
        return DIFF_SLOWER;
    return shift->high < 0 ? DIFF_FASTER : DIFF_UNCHANGED;
}

static void spread(const struct matching *matching, int side, const struct diff_item *item)
{
    uint64_t *values = matching->scratch[side];
    size_t zeros = matching->sides[side]->samples - item->count;

    memset(values, 0, zeros * sizeof *values);
    if (item->count)
        memcpy(values + zeros, item->samples, item->count * sizeof *values);
}

static bool is_there(const struct diff_item *item)
{
    return item && item->calls > 0;
}

static void match_judge(const struct matching *matching, const struct diff_item *a,
                        const struct diff_item *b, struct diff_row *row)
{
    if (!a || !b || !is_there(a) || !is_there(b)) {
        row->change = is_there(a) ? DIFF_REMOVED : DIFF_ADDED;
        return;
    }
    spread(matching, DIFF_A, a);
    spread(matching, DIFF_B, b);
    row->shift = shift_between_at(matching->scratch[DIFF_A], matching->sides[DIFF_A]->samples,
                                  matching->scratch[DIFF_B], matching->sides[DIFF_B]->samples,
                                  matching->quantile);
    row->change = change_of(&row->shift, fmin(a->mean, b->mean));
}

/* Either may be NULL. */
static void match_add(const struct matching *matching, const struct diff_item *a,
                      const struct diff_item *b)
{
    struct diff_row *row = &matching->rows->rows[matching->rows->count];

    if (!is_there(a) && !is_there(b))
        return;
    matching->rows->count++;
    *row = (struct diff_row){.name = a ? a->name : b->name};
    if (a) {
        row->calls[DIFF_A] = a->calls;
        row->mean[DIFF_A] = a->mean;
    }
    if (b) {
        row->calls[DIFF_B] = b->calls;
        row->mean[DIFF_B] = b->mean;
    }
    row->difference = row->mean[DIFF_B] - row->mean[DIFF_A];
    match_judge(matching, a, b, row);
    matching->rows->changes[row->change]++;
}

static int match_compare_rows(const void *left, const void *right)
{
    const struct diff_row *a = left;
    const struct diff_row *b = right;
    double x = fabs(a->difference);
    double y = fabs(b->difference);

    if (x > y || x < y)
        return x > y ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* ---- Names ---- */

/* Pairs items of B with items of A: partners[i] is the item of A + 1, or 0. */
static enum mp_status find_partners(const struct diff_items *a, const struct diff_items *b,
                                    uint32_t *partners)
{
    struct mp_intern names = {.count = 0};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < a->count && !status; i++)
        status = mp_intern_add(&names, a->items[i].name, strlen(a->items[i].name)) ? MP_OK
                                                                                   : MP_ERR_MEMORY;
    for (size_t i = 0; i < b->count && !status; i++)
        partners[i] = mp_intern_find(&names, b->items[i].name, strlen(b->items[i].name));
    mp_intern_free(&names);
    return status;
}

static void match(const struct matching *matching, const uint32_t *partners, bool *taken)
{
    const struct diff_items *a = matching->sides[DIFF_A];
    const struct diff_items *b = matching->sides[DIFF_B];

    for (size_t i = 0; i < b->count; i++) {
        const struct diff_item *partner = partners[i] ? &a->items[partners[i] - 1] : NULL;

        if (partner)
            taken[partners[i] - 1] = true;
        match_add(matching, partner, &b->items[i]);
    }
    for (size_t i = 0; i < a->count; i++)
        if (!taken[i])
            match_add(matching, &a->items[i], NULL);
    qsort(matching->rows->rows, matching->rows->count, sizeof *matching->rows->rows,
          match_compare_rows);
}

static enum mp_status match_names(const struct matching *matching)
{
    const struct diff_items *a = matching->sides[DIFF_A];
    const struct diff_items *b = matching->sides[DIFF_B];
    uint32_t *partners = calloc(b->count + 1, sizeof *partners);
    bool *taken = calloc(a->count + 1, sizeof *taken);
    enum mp_status status = partners && taken ? find_partners(a, b, partners) : MP_ERR_MEMORY;

    if (!status)
        match(matching, partners, taken);
    free(partners);
    free(taken);
    return status;
}

/* ---- The whole ---- */

static enum mp_status matching_init(struct matching *matching, const struct diff_items *a,
                                    const struct diff_items *b, struct diff_rows *rows)
{
    *rows =
        (struct diff_rows){.strict = shift_can_bound(a->samples, b->samples, SHIFT_99_9_PERCENT)};
    *matching = (struct matching){.sides = {a, b},
                                  .quantile = rows->strict ? SHIFT_99_9_PERCENT : SHIFT_95_PERCENT,
                                  .rows = rows};
    matching->scratch[DIFF_A] = malloc((a->samples + 1) * sizeof(uint64_t));
    matching->scratch[DIFF_B] = malloc((b->samples + 1) * sizeof(uint64_t));
    rows->rows = calloc(a->count + b->count + 1, sizeof *rows->rows);
    return matching->scratch[DIFF_A] && matching->scratch[DIFF_B] && rows->rows ? MP_OK
                                                                                : MP_ERR_MEMORY;
}

static enum mp_status matching_end(struct matching *matching, enum mp_status status)
{
    free(matching->scratch[DIFF_A]);
    free(matching->scratch[DIFF_B]);
    if (status)
        diff_rows_free(matching->rows);
    return status;
}

enum mp_status diff_match(const struct diff_items *a, const struct diff_items *b,
                          struct diff_rows *rows)
{
    struct matching matching;
    enum mp_status status = matching_init(&matching, a, b, rows);

    if (!status)
        status = match_names(&matching);
    return matching_end(&matching, status);
}

enum mp_status diff_match_in_order(const struct diff_items *a, const struct diff_items *b,
                                   struct diff_rows *rows)
{
    struct matching matching;
    enum mp_status status = matching_init(&matching, a, b, rows);

    for (size_t i = 0; i < a->count && i < b->count && !status; i++)
        match_add(&matching, &a->items[i], &b->items[i]);
    return matching_end(&matching, status);
}

void diff_rows_free(struct diff_rows *rows)
{
    free(rows->rows);
    *rows = (struct diff_rows){.count = 0};
}
