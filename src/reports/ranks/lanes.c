/* How far the numbers of ranks are shifted, where they were recorded from different moments on.
 *
 * A lane is what one rank did on one communicator, or for one pair of ranks, in the order of the
 * calls; of a captured call it is the replays of its node. The lanes of one communicator are laid
 * beside each other until they fit:
 *
 *     rank 0   ... 5   6   7   8   9           a shift fits if each two operations with one number
 *     rank 1           1   2   3   4  ...      are of one function and size, and overlap in time
 *                  shift 5
 *
 * One in ten may contradict, as when a rank is killed: with a wrong shift nearly all do. NCCL's own
 * numbers give the shift; without them 0 is right wherever it fits, or else the one that fits and
 * no other does. Between hosts the clocks may be apart by any offset, so there "overlap" means that
 * one offset lets all of them overlap; a shift must have enough operations in common then.
 *
 * NCCL may buffer a send, which then ends before its receive begins. Of such a pair it is only sure
 * that the receive does not end before the send has begun, and that lets many shifts fit. So it
 * counts where both ranks have as many operations, or NCCL's numbers give the shift.
 */
#include "reports/ranks/inside.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"

#include "base/poison.h"

#define MAX_SHIFTS_APART 1000   /* tried between hosts, where each try costs a pass */
#define MAX_DRIFT        0.0002 /* of two clocks: ten times what crystals have */
#define MIN_COMMON       3      /* operations that decide between hosts */
#define SAMPLES          16     /* operations whose overlaps propose shifts on one clock */
#define MAX_OVERLAPS     4      /* of one of them; one or two in an intact file */
#define FEW              10     /* one in ten may contradict: a job's end, a lost record */

struct lane {
    struct op *ops;
    size_t count;
    size_t all; /* with what shares its shift: captured calls */
    uint32_t clock;
    bool placed;
    int64_t shift;
};

struct lanes {
    struct lane *lanes; /* owned */
    size_t count;
    bool replays; /* lanes of replays; else of calls */
};

static int64_t ordinal(const struct lanes *lanes, const struct op *op)
{
    return (int64_t)(lanes->replays ? op->replay : op->number);
}

/* ---- Whether a shift fits ---- */

/* What is known of how far the times of lane b are behind those of lane a. */
struct fit {
    bool buffered; /* sends may be */
    size_t pairs, wrong;
    int64_t min, max; /* ns */
    bool bounded;
};

static bool is_same_call(const struct op *a, const struct op *b)
{
    return a->bytes == b->bytes && (a->function == b->function || a->from != RANKS_NONE);
}

/* Narrows the offset by two operations of one instance. */
static void narrow(const struct ranks *ranks, struct fit *fit, const struct op *a,
                   const struct op *b)
{
    int64_t min = (int64_t)(a->start - b->end), max = (int64_t)(a->end - b->start);

    if (a->from == RANKS_NONE && !ranks_is_synchronous(ranks_function(ranks, a->function)))
        return;
    if (fit->buffered && a->rank == a->from)
        max = INT64_MAX;
    else if (fit->buffered)
        min = INT64_MIN;
    fit->min = !fit->bounded || min > fit->min ? min : fit->min;
    fit->max = !fit->bounded || max < fit->max ? max : fit->max;
    fit->bounded = true;
}

/* The first operation of the lane with at least this ordinal. */
static size_t find_ordinal(const struct lanes *lanes, const struct lane *lane, int64_t wanted)
{
    size_t first = 0, end = lane->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (ordinal(lanes, &lane->ops[middle]) < wanted)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static bool is_possible(const struct lane *a, const struct lane *b, const struct fit *fit)
{
    double span = (double)(a->ops[a->count - 1].end - a->ops[0].start);

    if (!fit->bounded)
        return true;
    if (a->clock == b->clock)
        return fit->min <= 0 && fit->max >= 0;
    return (double)fit->min <= (double)fit->max + span * MAX_DRIFT;
}

/* Takes two operations with one number; one that contradicts the others is only counted. */
static void take_pair(const struct ranks *ranks, const struct lane *a, const struct lane *b,
                      size_t i, size_t j, struct fit *fit)
{
    struct fit with = *fit;

    fit->pairs++;
    with.pairs++;
    narrow(ranks, &with, &a->ops[i], &b->ops[j]);
    if (is_same_call(&a->ops[i], &b->ops[j]) && is_possible(a, b, &with))
        *fit = with;
    else
        fit->wrong++;
}

/* Whether lane b, with its ordinals raised by `shift`, fits lane a; *pairs: how many they share. */
static bool fits(const struct ranks *ranks, const struct lanes *lanes, const struct lane *a,
                 const struct lane *b, int64_t shift, bool buffered, size_t *pairs)
{
    struct fit fit = {.buffered = buffered};
    size_t shorter = a->count < b->count ? a->count : b->count;
    size_t i = find_ordinal(lanes, a, ordinal(lanes, &b->ops[0]) + shift);
    size_t j = find_ordinal(lanes, b, ordinal(lanes, &a->ops[0]) - shift);

    while (i < a->count && j < b->count && fit.wrong * FEW <= shorter) {
        int64_t left = ordinal(lanes, &a->ops[i]), right = ordinal(lanes, &b->ops[j]) + shift;

        if (left == right)
            take_pair(ranks, a, b, i, j, &fit);
        i += left <= right;
        j += right <= left;
    }
    *pairs = fit.pairs;
    return fit.wrong * FEW <= fit.pairs;
}

/* ---- Which shift ---- */

static uint64_t sequence_key(const struct op *op)
{
    return mp_mix64(op->function) ^ op->sequence;
}

/* By NCCL's own numbers. */
static enum mp_status shift_by_sequence(const struct lane *a, const struct lane *b, int64_t *shift,
                                        bool *found)
{
    struct mp_map numbers = {0};
    enum mp_status status = MP_OK;

    *found = false;
    for (size_t i = 0; i < a->count && i < MP_MAP_ABSENT && !status; i++) {
        if (a->ops[i].sequence)
            status = mp_map_put(&numbers, sequence_key(&a->ops[i]), (uint32_t)i);
    }
    for (size_t j = 0; j < b->count && !status && !*found; j++) {
        uint32_t i =
            b->ops[j].sequence ? mp_map_get(&numbers, sequence_key(&b->ops[j])) : MP_MAP_ABSENT;

        *found = i != MP_MAP_ABSENT;
        if (*found)
            *shift = (int64_t)(a->ops[i].number - b->ops[j].number);
    }
    mp_map_free(&numbers);
    return status;
}

/* Shifts that fit. */
struct search {
    const struct ranks *ranks;
    const struct lanes *lanes;
    const struct lane *a, *b;
    size_t min_common;
    size_t found; /* different ones */
    int64_t shift, tried;
    bool any_tried;
};

static void try_shift(struct search *search, int64_t shift)
{
    size_t pairs;

    if (search->any_tried && (shift == search->tried || (search->found && shift == search->shift)))
        return;
    search->tried = shift;
    search->any_tried = true;
    if (!fits(search->ranks, search->lanes, search->a, search->b, shift, false, &pairs) ||
        pairs < search->min_common)
        return;
    search->shift = shift;
    search->found++;
}

/* The first operation of a lane that ends at this time or later. */
static size_t find_end(const struct lane *lane, uint64_t time)
{
    size_t first = 0, end = lane->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (lane->ops[middle].end < time)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* On one clock: the shifts by which some of b's operations come to those that they overlap with. */
static void search_overlaps(struct search *search)
{
    const struct lane *a = search->a, *b = search->b;

    for (size_t k = 0; k < SAMPLES; k++) {
        const struct op *op = &b->ops[(b->count - 1) * k / (SAMPLES - 1)];
        size_t first = find_end(a, op->start), last = first + MAX_OVERLAPS;

        for (size_t i = first; i < a->count && i < last && a->ops[i].start <= op->end; i++)
            try_shift(search, ordinal(search->lanes, &a->ops[i]) - ordinal(search->lanes, op));
    }
}

/* Between hosts: all that are not too far. */
static void search_range(struct search *search)
{
    const struct lanes *lanes = search->lanes;
    const struct lane *a = search->a, *b = search->b;
    int64_t min = ordinal(lanes, &a->ops[0]) - ordinal(lanes, &b->ops[b->count - 1]);
    int64_t max = ordinal(lanes, &a->ops[a->count - 1]) - ordinal(lanes, &b->ops[0]);

    min = min < -MAX_SHIFTS_APART ? -MAX_SHIFTS_APART : min;
    max = max > MAX_SHIFTS_APART ? MAX_SHIFTS_APART : max;
    for (int64_t shift = min; shift <= max && search->found < 2; shift++)
        try_shift(search, shift);
}

/* The only shift that fits; false: none does, or several do. */
static bool search_shift(const struct ranks *ranks, const struct lanes *lanes, const struct lane *a,
                         const struct lane *b, int64_t *shift)
{
    struct search search = {.ranks = ranks, .lanes = lanes, .a = a, .b = b, .min_common = 1};
    size_t shorter = a->count < b->count ? a->count : b->count;

    if (a->clock == b->clock) {
        search_overlaps(&search);
    } else {
        search.min_common = shorter / 4 > MIN_COMMON ? shorter / 4 : MIN_COMMON;
        search_range(&search);
    }
    *shift = search.found ? search.shift : 0;
    return search.found == 1;
}

/* Places lane b by lane a, if they have something in common. */
static enum mp_status place_by(const struct ranks *ranks, const struct lanes *lanes,
                               const struct lane *a, struct lane *b, bool *common)
{
    int64_t shift = 0;
    bool found = false;
    size_t pairs = 0;

    if (!lanes->replays)
        MP_TRY(shift_by_sequence(a, b, &shift, &found));
    b->placed = fits(ranks, lanes, a, b, shift, false, &pairs) && pairs;
    *common |= pairs > 0;
    if (!b->placed && !found)
        b->placed = search_shift(ranks, lanes, a, b, &shift);
    if (!b->placed && a->ops->from != RANKS_NONE && (found || a->count == b->count))
        b->placed = fits(ranks, lanes, a, b, shift, true, &pairs) && pairs;
    b->shift = a->shift + shift;
    return MP_OK;
}

/* Takes the operations of a lane out. */
static void drop_lane(struct ranks *ranks, struct lane *lane)
{
    ranks->unmatched.shifted += lane->all;
    for (size_t i = 0; i < lane->all; i++)
        lane->ops[i].process = RANKS_NONE;
}

static void apply_shift(const struct lanes *lanes, struct lane *lane, int64_t raise)
{
    for (size_t i = 0; i < lane->all; i++) {
        uint64_t *number = lanes->replays ? &lane->ops[i].replay : &lane->ops[i].number;

        *number += (uint64_t)(lane->shift + raise);
    }
}

/* Finds the shifts of the lanes that belong together, and applies them. */
static enum mp_status place_lanes(struct ranks *ranks, struct lanes *lanes)
{
    int64_t min = INT64_MAX;

    for (size_t i = 0; i < lanes->count; i++) {
        struct lane *lane = &lanes->lanes[i];
        bool common = false;

        lane->placed = i == 0 || !lane->count;
        for (size_t k = 0; k < i && !lane->placed; k++) {
            if (lanes->lanes[k].placed && lanes->lanes[k].count)
                MP_TRY(place_by(ranks, lanes, &lanes->lanes[k], lane, &common));
        }
        if (!lane->placed)
            lane->shift = 0;
        lane->placed |= !common;
        if (!lane->placed)
            drop_lane(ranks, lane);
        else if (lane->count && ordinal(lanes, &lane->ops[0]) + lane->shift < min)
            min = ordinal(lanes, &lane->ops[0]) + lane->shift;
    }
    for (size_t i = 0; i < lanes->count; i++) {
        if (lanes->lanes[i].placed)
            apply_shift(lanes, &lanes->lanes[i], min < 1 ? 1 - min : 0);
    }
    return MP_OK;
}

/* ---- The lanes of all ranks ---- */

static int compare_pairs(const struct op *a, const struct op *b)
{
    return MP_ORDER(a->hash, b->hash) ?: MP_ORDER(a->from, b->from) ?: MP_ORDER(a->to, b->to);
}

/* By rank, calls before captured ones, then by number. */
MP_COMPARE(compare_calls, struct op,
           compare_pairs(a, b) ?: MP_ORDER(a->rank, b->rank) ?:
           ((a->replay != 0) - (b->replay != 0)) ?: MP_ORDER(a->number, b->number));

/* Captured calls after the others, each by rank and replay. */
MP_COMPARE(compare_replays, struct op,
           compare_pairs(a, b) ?: ((a->replay != 0) - (b->replay != 0)) ?:
           MP_ORDER(a->number, b->number) ?: MP_ORDER(a->rank, b->rank) ?:
           MP_ORDER(a->replay, b->replay));

static bool is_same_family(const struct lanes *lanes, const struct op *a, const struct op *b)
{
    if (compare_pairs(a, b) != 0)
        return false;
    return !lanes->replays || (a->number == b->number && a->replay && b->replay);
}

/* Appends the lane that begins at `first`; returns where the next one begins. */
static size_t add_lane(const struct ranks *ranks, const struct trace_set *set, struct lanes *lanes,
                       size_t first)
{
    struct op *ops = &ranks->ops[first];
    struct lane *lane = &lanes->lanes[lanes->count++];
    size_t room = ranks->op_count - first;

    *lane = (struct lane){.ops = ops};
    lane->clock = (uint32_t)set->processes[ops[0].process].clock_number;
    while (lane->all < room && is_same_family(lanes, &ops[0], &ops[lane->all]) &&
           ops[lane->all].rank == ops[0].rank) {
        lane->count += lanes->replays || !ops[lane->all].replay;
        lane->all++;
    }
    return first + lane->all;
}

static enum mp_status shift_stage(struct ranks *ranks, const struct trace_set *set,
                                  struct lanes *lanes)
{
    for (size_t first = 0; first < ranks->op_count;) {
        size_t begin = first;

        lanes->count = 0;
        if (lanes->replays && !ranks->ops[first].replay) {
            first++;
            continue;
        }
        while (first < ranks->op_count &&
               is_same_family(lanes, &ranks->ops[begin], &ranks->ops[first]))
            first = add_lane(ranks, set, lanes, first);
        MP_TRY(place_lanes(ranks, lanes));
    }
    return MP_OK;
}

static void ranks_compact(struct ranks *ranks)
{
    size_t kept = 0;

    for (size_t i = 0; i < ranks->op_count; i++) {
        if (ranks->ops[i].process != RANKS_NONE)
            ranks->ops[kept++] = ranks->ops[i];
    }
    ranks->op_count = kept;
}

enum mp_status ranks_shift(struct ranks *ranks, const struct trace_set *set)
{
    struct lanes lanes = {0};

    if (!ranks->op_count)
        return MP_OK;
    lanes.lanes = calloc(ranks->member_count, sizeof *lanes.lanes);
    if (!lanes.lanes)
        return MP_ERR_MEMORY;
    qsort(ranks->ops, ranks->op_count, sizeof *ranks->ops, compare_calls);
    enum mp_status status = shift_stage(ranks, set, &lanes);
    ranks_compact(ranks);
    lanes.replays = true;
    if (!status && ranks->op_count) {
        qsort(ranks->ops, ranks->op_count, sizeof *ranks->ops, compare_replays);
        status = shift_stage(ranks, set, &lanes);
    }
    ranks_compact(ranks);
    free(lanes.lanes);
    return status;
}
