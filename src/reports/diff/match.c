/* Matches the names of two sides and judges each difference. A difference counts when the
 * confidence interval of the shift does not hold 0, and when it is large enough to matter.
 */
#include "reports/diff/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

/* Room for the samples of one item of each side, with zeros. */
struct matching {
    const struct diff_items *sides[DIFF_SIDES];
    uint64_t *scratch[DIFF_SIDES]; /* owned */
    double quantile;               /* of the intervals */
    struct diff_rows *rows;
};

enum diff_change diff_change_of(const struct shift *shift, double usual)
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
    row->change = diff_change_of(&row->shift, fmin(a->mean, b->mean));
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
