/* Aligns the kernels of one iteration of each side in the order of launch. It shows what was
 * inserted, removed or replaced, which a comparison by name cannot.
 */
#include "reports/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"

#include "base/poison.h"

void diff_sequences_free(struct diff_sequences *sequences)
{
    for (size_t i = 0; i < sequences->count; i++)
        free(sequences->items[i].places);
    free(sequences->items);
    *sequences = (struct diff_sequences){.count = 0};
}

void diff_positions_free(struct diff_positions *positions)
{
    free(positions->sides[0].places);
    free(positions->sides[1].places);
    mp_intern_free(&positions->names);
    free(positions->pairs);
    free(positions->changes);
    *positions = (struct diff_positions){.count = 0};
}

const char *diff_positions_name(const struct diff_positions *positions, int side, uint32_t place)
{
    return mp_intern_get(&positions->names, positions->sides[side].places[place].item, NULL);
}

/* ---- The sequences ---- */

MP_COMPARE(compare_sequences, struct diff_sequence,
           MP_ORDER(a->p50, b->p50) ?: MP_ORDER(a->run, b->run));

static struct diff_sequence take_median(struct diff_sequences *sequences)
{
    struct diff_sequence taken = {.count = 0};

    if (!sequences->count)
        return taken;
    qsort(sequences->items, sequences->count, sizeof *sequences->items, compare_sequences);
    struct diff_sequence *median = &sequences->items[(sequences->count - 1) / 2];
    taken = *median;
    median->places = NULL;
    diff_sequences_free(sequences);
    return taken;
}

/* Gives the places of a side the names of both. */
static enum mp_status rename_places(struct diff_positions *positions, int side,
                                    const struct diff_samples *samples)
{
    struct diff_sequence *sequence = &positions->sides[side];

    for (size_t i = 0; i < sequence->count; i++) {
        size_t bytes;
        const char *name = mp_intern_get(&samples->names, sequence->places[i].item, &bytes);

        sequence->places[i].item = mp_intern_add(&positions->names, name, bytes);
        if (!sequence->places[i].item)
            return MP_ERR_MEMORY;
    }
    return MP_OK;
}

static uint32_t *items_of(const struct diff_sequence *sequence)
{
    uint32_t *items = malloc((sequence->count + 1) * sizeof *items);

    for (size_t i = 0; items && i < sequence->count; i++)
        items[i] = sequence->places[i].item;
    return items;
}

/* ---- Changes ---- */

static void add_pair(struct diff_positions *positions, uint32_t left, uint32_t right)
{
    positions->pairs[positions->count++] = (struct diff_pair){{left, right}};
}

static uint64_t time_of(const struct diff_sequence *sequence, uint32_t begin, uint32_t length)
{
    uint64_t sum = 0;

    for (uint32_t i = begin; i < begin + length; i++)
        sum += sequence->places[i].ns;
    return sum;
}

/* Ends a change that reaches up to these positions; the kernels in it become pairs. */
static enum mp_status end_change(struct diff_positions *positions, struct diff_stretch *change,
                                 uint32_t left, uint32_t right, size_t *capacity)
{
    uint32_t removed = change->length[0] = left - change->begin[0];
    uint32_t added = change->length[1] = right - change->begin[1];
    uint32_t both = removed < added ? removed : added;

    if (!removed && !added)
        return MP_OK;
    MP_TRY(MP_RESERVE(positions->changes, positions->change_count, *capacity));
    change->first = positions->count;
    change->count = removed > added ? removed : added;
    for (uint32_t i = 0; i < change->count; i++)
        add_pair(positions, i < removed ? change->begin[0] + i : ALIGN_NONE,
                 i < added ? change->begin[1] + i : ALIGN_NONE);
    for (int side = 0; side < 2; side++)
        change->ns[side] =
            time_of(&positions->sides[side], change->begin[side], change->length[side]);
    positions->changes[positions->change_count++] = *change;
    positions->replaced += both;
    positions->removed += removed - both;
    positions->added += added - both;
    return MP_OK;
}

static enum mp_status collect(struct diff_positions *positions, const struct align_pair *aligned,
                              size_t count)
{
    struct diff_stretch change = {.count = 0};
    size_t capacity = 0;

    positions->pairs = malloc((count + 1) * sizeof *positions->pairs);
    if (!positions->pairs)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct align_pair *pair = &aligned[i];

        if (pair->left == ALIGN_NONE || pair->right == ALIGN_NONE)
            continue;
        MP_TRY(end_change(positions, &change, pair->left, pair->right, &capacity));
        add_pair(positions, pair->left, pair->right);
        positions->equal++;
        change = (struct diff_stretch){.begin = {pair->left + 1, pair->right + 1}};
    }
    return end_change(positions, &change, (uint32_t)positions->sides[0].count,
                      (uint32_t)positions->sides[1].count, &capacity);
}

/* Of several ways to pair as many, the order of the sides decides one. So they always come in the
 * same order, whichever side is A: the shorter one first, then by name. */
static bool comes_first(const struct diff_positions *positions, int side)
{
    const struct diff_sequence *a = &positions->sides[side];
    const struct diff_sequence *b = &positions->sides[1 - side];

    if (a->count != b->count)
        return a->count < b->count;
    for (size_t i = 0; i < a->count; i++) {
        int order = strcmp(mp_intern_get(&positions->names, a->places[i].item, NULL),
                           mp_intern_get(&positions->names, b->places[i].item, NULL));

        if (order)
            return order < 0;
    }
    return side == 0;
}

static void exchange(struct align_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct align_pair){pairs[i].right, pairs[i].left};
}

static enum mp_status align(struct diff_positions *positions)
{
    int first = comes_first(positions, 0) ? 0 : 1;
    uint32_t *left = items_of(&positions->sides[first]);
    uint32_t *right = items_of(&positions->sides[1 - first]);
    struct align_pair *aligned = NULL;
    size_t count = 0;
    enum mp_status status = MP_ERR_MEMORY;

    if (left && right)
        status = align_sequences(left, positions->sides[first].count, right,
                                 positions->sides[1 - first].count, &aligned, &count);
    free(left);
    free(right);
    if (!status && first)
        exchange(aligned, count);
    if (!status)
        status = collect(positions, aligned, count);
    free(aligned);
    return status;
}

enum mp_status diff_positions_make(struct diff_sequences *a_sequences, const struct diff_samples *a,
                                   struct diff_sequences *b_sequences, const struct diff_samples *b,
                                   struct diff_positions *positions)
{
    *positions = (struct diff_positions){.count = 0};
    positions->sides[0] = take_median(a_sequences);
    positions->sides[1] = take_median(b_sequences);
    enum mp_status status = rename_places(positions, 0, a);
    if (!status)
        status = rename_places(positions, 1, b);
    if (!status)
        status = align(positions);
    if (status)
        diff_positions_free(positions);
    return status;
}
