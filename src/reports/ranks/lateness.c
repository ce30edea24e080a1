/* Which ranks to compare, and from the paths of two ranks to the cause and the sums of causes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"
#include "base/data/storage.h"
#include "reports/ranks/inside.h"

#include "base/poison.h"

#define SMALL 100 /* rows of less than 1 / SMALL of a communicator's sum are folded */

/* ---- One trace ---- */

enum mp_status lateness_init(struct lateness *lateness, const struct ranks *ranks,
                             size_t process_count)
{
    *lateness = (struct lateness){.ranks = ranks, .process_count = process_count};
    lateness->reasons = calloc(ranks->instance_count + 1, sizeof *lateness->reasons);
    lateness->first_question = calloc(process_count + 1, sizeof *lateness->first_question);
    if (!lateness->reasons || !lateness->first_question)
        return MP_ERR_MEMORY;
    return lateness_ask(lateness);
}

bool lateness_asks(const struct lateness *lateness, size_t process)
{
    return lateness->first_question[process] < lateness->first_question[process + 1];
}

enum mp_status lateness_add(struct lateness *lateness, struct mp_trace *trace, size_t process,
                            struct mp_error *error)
{
    const struct deps_options options = {.style = NAMES_NVPROF};
    struct lateness_moments moments = {0};
    struct deps deps;
    enum mp_status status = deps_load(trace, &options, &deps, error);

    if (status != MP_OK)
        return status;
    for (size_t i = lateness->first_question[process];
         i < lateness->first_question[process + 1] && !status; i++)
        status = lateness_walk(lateness, &deps, &lateness->questions[i], &moments);
    if (status)
        mp_error_set(error, status, "cannot follow the critical paths: out of memory");
    else
        status = lateness_name_ranges(lateness, trace, &deps.profile->definitions, &moments, error);
    free(moments.items);
    deps_free(&deps);
    return status;
}

/* ---- One path less the other ---- */

MP_COMPARE(compare_entries, struct lateness_entry,
           MP_ORDER(a->instance, b->instance) ?: MP_ORDER(a->cause, b->cause) ?:
           MP_ORDER(a->activity, b->activity));

/* The activity of a cause that took most; host code without one keeps its NVTX range. */
static uint32_t main_activity(const struct lateness_entry *entries, size_t count,
                              enum lateness_cause cause, uint32_t range)
{
    bool is_host =
        cause == LATENESS_HOST || cause == LATENESS_BLOCKED || cause == LATENESS_NO_PROCESSOR;
    int64_t max = 0;
    uint32_t found = 0;

    for (size_t i = 0, end; i < count; i = end) {
        int64_t time = 0;

        for (end = i; end < count && entries[end].cause == entries[i].cause &&
                      entries[end].activity == entries[i].activity;
             end++)
            time += entries[end].time;
        if (entries[i].cause == cause && time > max) {
            max = time;
            found = entries[i].activity;
        }
    }
    return !found && is_host ? range : found;
}

/* The entries are those of the instance, of both ranks. */
static void find_cause(struct lateness_reason *why, const struct lateness_entry *entries,
                       size_t count)
{
    int64_t sums[LATENESS_CAUSES] = {0};
    uint32_t range = why->activity;

    why->activity = 0;
    for (size_t i = 0; i < count; i++)
        sums[entries[i].cause] += entries[i].time;
    for (unsigned cause = 0; cause < LATENESS_CAUSES; cause++) {
        if (sums[cause] > sums[why->cause])
            why->cause = (uint8_t)cause;
    }
    if (why->cause == LATENESS_NONE)
        return;
    uint64_t share = (uint64_t)sums[why->cause];
    why->share = share < why->behind ? share : why->behind;
    why->activity = main_activity(entries, count, (enum lateness_cause)why->cause, range);
}

static void find_causes(struct lateness *lateness)
{
    size_t at = 0;

    if (lateness->entry_count)
        qsort(lateness->entries, lateness->entry_count, sizeof *lateness->entries, compare_entries);
    for (size_t i = 0; i < lateness->ranks->instance_count; i++) {
        size_t first = at;

        while (at < lateness->entry_count && lateness->entries[at].instance == i)
            at++;
        find_cause(&lateness->reasons[i], &lateness->entries[first], at - first);
    }
}

/* ---- Sums ---- */

MP_COMPARE(compare_kinds, struct lateness_row,
           MP_ORDER(a->communicator, b->communicator) ?: MP_ORDER(a->rank, b->rank) ?:
           MP_ORDER(a->cause, b->cause) ?: MP_ORDER(a->activity, b->activity));

/* The remainder of a communicator comes after its other rows. */
MP_COMPARE(compare_rows, struct lateness_row,
           MP_ORDER(a->communicator, b->communicator) ?:
           MP_ORDER(a->rank == RANKS_NONE, b->rank == RANKS_NONE) ?:
           MP_ORDER(b->behind, a->behind) ?: compare_kinds(left, right));

static enum mp_status list_rows(struct lateness *lateness)
{
    for (size_t i = 0; i < lateness->ranks->instance_count; i++) {
        const struct ranks_instance *instance = &lateness->ranks->instances[i];
        const struct lateness_reason *why = &lateness->reasons[i];

        if (why->last == RANKS_NONE)
            continue;
        const struct ranks_side *side = &lateness->ranks->sides[instance->first_side + why->last];
        MP_TRY(MP_RESERVE(lateness->rows, lateness->row_count, lateness->row_capacity));
        lateness->rows[lateness->row_count++] =
            (struct lateness_row){.communicator = instance->communicator,
                                  .rank = side->rank,
                                  .process = side->process,
                                  .activity = why->activity,
                                  .cause = why->cause,
                                  .instances = 1,
                                  .behind = why->behind / side->fused};
    }
    return MP_OK;
}

/* Sorted rows of one kind become one. */
static void merge_rows(struct lateness *lateness)
{
    struct lateness_row *rows = lateness->rows;
    size_t kept = 0;

    if (!lateness->row_count)
        return;
    qsort(rows, lateness->row_count, sizeof *rows, compare_kinds);
    for (size_t i = 1; i < lateness->row_count; i++) {
        if (compare_kinds(&rows[kept], &rows[i])) {
            rows[++kept] = rows[i];
            continue;
        }
        rows[kept].instances += rows[i].instances;
        rows[kept].behind += rows[i].behind;
    }
    lateness->row_count = kept + 1;
}

/* Rows that are small lose their rank, or, if they have none, their cause. */
static void fold_small(struct lateness *lateness)
{
    struct lateness_row *rows = lateness->rows;

    for (size_t first = 0, end; first < lateness->row_count; first = end) {
        uint64_t sum = 0;

        for (end = first;
             end < lateness->row_count && rows[end].communicator == rows[first].communicator; end++)
            sum += rows[end].behind;
        for (size_t i = first; i < end; i++) {
            if (rows[i].behind >= sum / SMALL)
                continue;
            if (rows[i].rank == RANKS_NONE) {
                rows[i].cause = LATENESS_OTHER;
                rows[i].activity = 0;
            }
            rows[i].rank = rows[i].process = RANKS_NONE;
        }
    }
    merge_rows(lateness);
}

enum mp_status lateness_finish(struct lateness *lateness)
{
    find_causes(lateness);
    MP_TRY(list_rows(lateness));
    merge_rows(lateness);
    fold_small(lateness);
    fold_small(lateness);
    if (lateness->row_count)
        qsort(lateness->rows, lateness->row_count, sizeof *lateness->rows, compare_rows);
    return MP_OK;
}

void lateness_free(struct lateness *lateness)
{
    free(lateness->reasons);
    free(lateness->rows);
    free(lateness->questions);
    free(lateness->first_question);
    free(lateness->entries);
    mp_intern_free(&lateness->names);
    *lateness = (struct lateness){0};
}

const char *lateness_name(const struct lateness *lateness, uint32_t activity)
{
    return mp_intern_get(&lateness->names, activity, NULL);
}

const char *lateness_cause_key(enum lateness_cause cause)
{
    static const char *const keys[LATENESS_CAUSES] = {[LATENESS_KERNEL] = "kernel",
                                                      [LATENESS_LAUNCH] = "launch",
                                                      [LATENESS_HOST] = "host",
                                                      [LATENESS_BLOCKED] = "blocked",
                                                      [LATENESS_NO_PROCESSOR] = "unscheduled",
                                                      [LATENESS_COPY] = "copy",
                                                      [LATENESS_COLLECTIVE] = "collective",
                                                      [LATENESS_CALL] = "call",
                                                      [LATENESS_OTHER] = "other"};

    return keys[cause];
}

/* ---- The questions ---- */

/* Which two ranks of each instance are compared, and since which moment: that of the last operation
 * before it that both took part in.
 */

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

MP_COMPARE(compare_begins, struct begin, MP_ORDER(a->time, b->time) ?: MP_ORDER(a->side, b->side));

/* Several ranks may have come at the same moment: then `ranks` names none. */
static void choose_sides(struct asking *asking, const struct ranks_instance *instance,
                         struct lateness_reason *why)
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
    if (!why->behind || !ranks_somebody_waited(sides, count))
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
    MP_TRY(MP_RESERVE(asking->pairs, asking->pair_count, asking->pair_capacity));
    MP_TRY(mp_map_put(&asking->by_pair, pair_key(a, b), (uint32_t)asking->pair_count));
    asking->pairs[asking->pair_count++] = (struct history){0};
    return MP_OK;
}

static enum mp_status note_instance(struct asking *asking, const struct ranks_instance *instance)
{
    const struct ranks_side *sides = &asking->lateness->ranks->sides[instance->first_side];
    uint32_t a = sides[0].process, b = sides[1].process;

    if (instance->from == RANKS_NONE) {
        remember(&asking->collectives[instance->communicator], instance->begin);
        return MP_OK;
    }
    if (!history_of_pair(asking, a, b))
        MP_TRY(add_pair(asking, a, b));
    struct history *pair = history_of_pair(asking, a, b);
    if (pair)
        remember(pair, instance->begin);
    return MP_OK;
}

static enum mp_status ask_about(struct asking *asking, size_t index)
{
    struct lateness *lateness = asking->lateness;
    const struct ranks_instance *instance = &lateness->ranks->instances[index];
    const struct ranks_side *sides = &lateness->ranks->sides[instance->first_side];
    struct lateness_reason *why = &lateness->reasons[index];

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
        const struct lateness_reason *why = &lateness->reasons[i];
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
