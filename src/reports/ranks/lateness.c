/* From the paths of two ranks to the cause, and from causes to sums.
 */
#include "reports/ranks/inside.h"

#include <stdlib.h>

#include "base/data/reserve.h"

#include "base/poison.h"

#define SMALL 100 /* rows of less than 1 / SMALL of a communicator's sum are folded */

/* ---- One trace ---- */

enum mp_status lateness_init(struct lateness *lateness, const struct ranks *ranks,
                             size_t process_count)
{
    *lateness = (struct lateness){.ranks = ranks, .process_count = process_count};
    lateness->whys = calloc(ranks->instance_count + 1, sizeof *lateness->whys);
    lateness->first_question = calloc(process_count + 1, sizeof *lateness->first_question);
    if (!lateness->whys || !lateness->first_question)
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
        status = lateness_name_ranges(lateness, trace, &deps.definitions, &moments, error);
    free(moments.items);
    deps_free(&deps);
    return status;
}

/* ---- One path less the other ---- */

static int compare_entries(const void *left, const void *right)
{
    const struct lateness_entry *a = left;
    const struct lateness_entry *b = right;

    if (a->instance != b->instance)
        return a->instance < b->instance ? -1 : 1;
    if (a->cause != b->cause)
        return a->cause < b->cause ? -1 : 1;
    return (a->activity > b->activity) - (a->activity < b->activity);
}

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
static void find_cause(struct lateness_why *why, const struct lateness_entry *entries, size_t count)
{
    int64_t sums[LATENESS_CAUSES] = {0};
    uint32_t range = why->activity;
    uint64_t share;

    why->activity = 0;
    for (size_t i = 0; i < count; i++)
        sums[entries[i].cause] += entries[i].time;
    for (unsigned cause = 0; cause < LATENESS_CAUSES; cause++) {
        if (sums[cause] > sums[why->cause])
            why->cause = (uint8_t)cause;
    }
    if (why->cause == LATENESS_NONE)
        return;
    share = (uint64_t)sums[why->cause];
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
        find_cause(&lateness->whys[i], &lateness->entries[first], at - first);
    }
}

/* ---- Sums ---- */

static int compare_kinds(const void *left, const void *right)
{
    const struct lateness_row *a = left;
    const struct lateness_row *b = right;

    if (a->communicator != b->communicator)
        return a->communicator < b->communicator ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->cause != b->cause)
        return a->cause < b->cause ? -1 : 1;
    return (a->activity > b->activity) - (a->activity < b->activity);
}

/* The remainder of a communicator stands behind its other rows. */
static int compare_rows(const void *left, const void *right)
{
    const struct lateness_row *a = left;
    const struct lateness_row *b = right;

    if (a->communicator != b->communicator)
        return a->communicator < b->communicator ? -1 : 1;
    if ((a->rank == RANKS_NONE) != (b->rank == RANKS_NONE))
        return b->rank == RANKS_NONE ? -1 : 1;
    if (a->behind != b->behind)
        return a->behind > b->behind ? -1 : 1;
    return compare_kinds(left, right);
}

static enum mp_status list_rows(struct lateness *lateness)
{
    for (size_t i = 0; i < lateness->ranks->instance_count; i++) {
        const struct ranks_instance *instance = &lateness->ranks->instances[i];
        const struct lateness_why *why = &lateness->whys[i];
        const struct ranks_side *side;

        if (why->last == RANKS_NONE)
            continue;
        side = &lateness->ranks->sides[instance->first_side + why->last];
        MP_TRY(mp_reserve((void **)&lateness->rows, lateness->row_count, &lateness->row_capacity,
                          sizeof *lateness->rows));
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
    free(lateness->whys);
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
