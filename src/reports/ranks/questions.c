/* Which two ranks of each instance are compared, and since which moment: that of the last operation
 * before it that both took part in.
 */
#include "reports/ranks/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/reserve.h"

#include "base/poison.h"

#define REMEMBERED 4 /* operations of a communicator or pair: some overlap with the next one */

/* When the last operations began, the newest first. */
struct history {
    uint64_t begins[REMEMBERED];
};

struct begin {
    uint64_t time;
    uint32_t side;
};

struct asking {
    struct lateness *lateness;
    struct history *collectives; /* by communicator */
    struct history *pairs;
    size_t pair_count, pair_capacity;
    struct mp_map by_pair;   /* two processes -> pairs */
    uint32_t *communicators; /* of each process, in order */
    size_t *first;           /* by process: where its own begin */
    struct begin *begins;    /* of an instance */
};

/* ---- Which ranks ---- */

static int compare_begins(const void *left, const void *right)
{
    const struct begin *a = left;
    const struct begin *b = right;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->side > b->side) - (a->side < b->side);
}

static bool somebody_waited(const struct ranks_side *sides, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (sides[i].waiting)
            return true;
    }
    return false;
}

/* Several ranks may have come at the same moment: then `ranks` names none. */
static void choose_sides(struct asking *asking, const struct ranks_instance *instance,
                         struct lateness_why *why)
{
    const struct ranks_side *sides = &asking->lateness->ranks->sides[instance->first_side];
    uint32_t count = instance->side_count;
    struct begin *begins = asking->begins;

    why->last = RANKS_NONE;
    if (count < 2)
        return;
    for (uint32_t i = 0; i < count; i++)
        begins[i] = (struct begin){sides[i].start, i};
    qsort(begins, count, sizeof *begins, compare_begins);
    why->typical = begins[(count - 1) / 2].side;
    why->last = instance->last == RANKS_NONE ? begins[count - 1].side : instance->last;
    why->behind = sides[why->last].start - sides[why->typical].start;
    if (!why->behind || !somebody_waited(sides, count))
        why->last = RANKS_NONE;
}

/* ---- Since when ---- */

static void remember(struct history *history, uint64_t begin)
{
    memmove(&history->begins[1], &history->begins[0], (REMEMBERED - 1) * sizeof begin);
    history->begins[0] = begin;
}

static uint64_t newest_until(const struct history *history, uint64_t limit)
{
    for (size_t i = 0; i < REMEMBERED; i++) {
        if (history->begins[i] <= limit)
            return history->begins[i];
    }
    return 0;
}

static uint64_t pair_key(uint32_t a, uint32_t b)
{
    return a < b ? mp_mix64(a) ^ b : mp_mix64(b) ^ a;
}

/* NULL: the two never sent each other anything. */
static struct history *history_of_pair(const struct asking *asking, uint32_t a, uint32_t b)
{
    uint32_t pair = mp_map_get(&asking->by_pair, pair_key(a, b));

    return pair < asking->pair_count ? &asking->pairs[pair] : NULL;
}

/* 0: nothing in common. */
static uint64_t last_in_common(const struct asking *asking, uint32_t a, uint32_t b, uint64_t limit)
{
    size_t i = asking->first[a], k = asking->first[b];
    const struct history *pair = history_of_pair(asking, a, b);
    uint64_t found = pair ? newest_until(pair, limit) : 0;

    while (i < asking->first[a + 1] && k < asking->first[b + 1]) {
        uint32_t left = asking->communicators[i], right = asking->communicators[k];

        if (left == right) {
            uint64_t begin = newest_until(&asking->collectives[left], limit);

            found = begin > found ? begin : found;
        }
        i += left <= right;
        k += right <= left;
    }
    return found;
}

static enum mp_status add_pair(struct asking *asking, uint32_t a, uint32_t b)
{
    MP_TRY(mp_reserve((void **)&asking->pairs, asking->pair_count, &asking->pair_capacity,
                      sizeof *asking->pairs));
    MP_TRY(mp_map_put(&asking->by_pair, pair_key(a, b), (uint32_t)asking->pair_count));
    asking->pairs[asking->pair_count++] = (struct history){0};
    return MP_OK;
}

static enum mp_status note_instance(struct asking *asking, const struct ranks_instance *instance)
{
    const struct ranks_side *sides = &asking->lateness->ranks->sides[instance->first_side];
    uint32_t a = sides[0].process, b = sides[1].process;
    struct history *pair;

    if (instance->from == RANKS_NONE) {
        remember(&asking->collectives[instance->communicator], instance->begin);
        return MP_OK;
    }
    if (!history_of_pair(asking, a, b))
        MP_TRY(add_pair(asking, a, b));
    pair = history_of_pair(asking, a, b);
    if (pair)
        remember(pair, instance->begin);
    return MP_OK;
}

static enum mp_status ask_about(struct asking *asking, size_t index)
{
    struct lateness *lateness = asking->lateness;
    const struct ranks_instance *instance = &lateness->ranks->instances[index];
    const struct ranks_side *sides = &lateness->ranks->sides[instance->first_side];
    struct lateness_why *why = &lateness->whys[index];

    choose_sides(asking, instance, why);
    if (why->last != RANKS_NONE) {
        const struct ranks_side *typical = &sides[why->typical];
        uint32_t last = sides[why->last].process;

        why->since = last_in_common(asking, last, typical->process, typical->start);
        why->since = why->since ? why->since : typical->start;
        lateness->first_question[last + 1]++;
        lateness->first_question[typical->process + 1]++;
    }
    return note_instance(asking, instance);
}

/* ---- Questions by process ---- */

static void put_question(struct lateness *lateness, uint32_t process,
                         struct lateness_question question)
{
    lateness->questions[lateness->first_question[process]++] = question;
}

/* Counts, at process + 1, become positions; each moves to the next one's as it is filled. */
static enum mp_status sort_questions(struct lateness *lateness)
{
    const struct ranks *ranks = lateness->ranks;
    size_t *first = lateness->first_question;

    for (size_t i = 0; i < lateness->process_count; i++)
        first[i + 1] += first[i];
    lateness->questions = calloc(first[lateness->process_count] + 1, sizeof *lateness->questions);
    if (!lateness->questions)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < ranks->instance_count; i++) {
        const struct lateness_why *why = &lateness->whys[i];
        const struct ranks_side *sides = &ranks->sides[ranks->instances[i].first_side];

        if (why->last == RANKS_NONE)
            continue;
        put_question(lateness, sides[why->last].process,
                     (struct lateness_question){(uint32_t)i, false});
        put_question(lateness, sides[why->typical].process,
                     (struct lateness_question){(uint32_t)i, true});
    }
    memmove(&first[1], &first[0], lateness->process_count * sizeof *first);
    first[0] = 0;
    return MP_OK;
}

/* ---- The way through ---- */

static void list_communicators(struct asking *asking)
{
    const struct ranks *ranks = asking->lateness->ranks;
    size_t count = asking->lateness->process_count;

    for (size_t i = 0; i < ranks->member_count; i++)
        asking->first[ranks->members[i].process + 1]++;
    for (size_t i = 0; i < count; i++)
        asking->first[i + 1] += asking->first[i];
    for (size_t i = 0; i < ranks->member_count; i++)
        asking->communicators[asking->first[ranks->members[i].process]++] =
            ranks->members[i].communicator;
    memmove(&asking->first[1], &asking->first[0], count * sizeof *asking->first);
    asking->first[0] = 0;
}

static enum mp_status ask_all(struct asking *asking)
{
    struct lateness *lateness = asking->lateness;

    list_communicators(asking);
    for (size_t i = 0; i < lateness->ranks->instance_count; i++)
        MP_TRY(ask_about(asking, i));
    return sort_questions(lateness);
}

enum mp_status lateness_ask(struct lateness *lateness)
{
    const struct ranks *ranks = lateness->ranks;
    struct asking asking = {.lateness = lateness};
    enum mp_status status = MP_ERR_MEMORY;

    asking.collectives = calloc(ranks->communicator_count + 1, sizeof *asking.collectives);
    asking.communicators = calloc(ranks->member_count + 1, sizeof *asking.communicators);
    asking.first = calloc(lateness->process_count + 1, sizeof *asking.first);
    asking.begins = calloc(ranks->member_count + 2, sizeof *asking.begins);
    if (asking.collectives && asking.communicators && asking.first && asking.begins)
        status = ask_all(&asking);
    free(asking.collectives);
    free(asking.pairs);
    mp_map_free(&asking.by_pair);
    free(asking.communicators);
    free(asking.first);
    free(asking.begins);
    return status;
}
