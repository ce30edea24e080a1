/* Adds the summaries of several processes. All sums are integers, so the result does not depend on
 * the order, and the process farthest from the mean is found without rounding.
 */
#include "reports/summary/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/common/tally.h"

#include "base/poison.h"

void summary_merge_init(struct summary_merge *merge, bool keep_parts)
{
    *merge = (struct summary_merge){.keep_parts = keep_parts};
    for (int group = 0; group < SUMMARY_GROUPS; group++)
        dense_init(&merge->groups[group].tallies, sizeof(struct tally), UINT32_MAX);
}

static enum mp_status keep_part(struct merged_group *group, const struct summary_part *part)
{
    MP_TRY(MP_RESERVE(group->parts, group->part_count, group->part_capacity));
    group->parts[group->part_count++] = *part;
    return MP_OK;
}

static enum mp_status add_row(struct merged_group *group, const struct summary_row *row,
                              uint32_t process, bool keep)
{
    uint32_t name = mp_intern_add(&group->all.names, row->name, strlen(row->name));

    if (!name)
        return MP_ERR_MEMORY;
    MP_TRY(dense_reach(&group->tallies, name));
    tally_merge(dense_at(&group->tallies, name), &row->tally);
    if (!keep)
        return MP_OK;
    return keep_part(group,
                     &(struct summary_part){name, process, row->tally.calls, row->tally.total});
}

enum mp_status summary_merge_add(struct summary_merge *merge, const struct summary *summary,
                                 uint32_t process)
{
    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct summary_group *from = &summary->groups[i];

        merge->recorded[i] |= summary->recorded[i];
        for (size_t row = 0; row < from->row_count; row++)
            MP_TRY(add_row(&merge->groups[i], &from->rows[row], process, merge->keep_parts));
    }
    if (merge->processes++)
        kernel_time_merge(&merge->kernels, &summary->kernels);
    else
        merge->kernels = summary->kernels;
    return MP_OK;
}

/* ---- Rows ---- */

MP_COMPARE(compare_parts, struct summary_part,
           MP_ORDER(a->name, b->name) ?: MP_ORDER(a->process, b->process));

static enum mp_status index_parts(struct merged_group *group)
{
    size_t at = 0;

    group->first_parts = calloc((size_t)group->all.names.count + 2, sizeof *group->first_parts);
    if (!group->first_parts)
        return MP_ERR_MEMORY;
    if (group->part_count)
        qsort(group->parts, group->part_count, sizeof *group->parts, compare_parts);
    for (size_t name = 0; name < (size_t)group->all.names.count + 2; name++) {
        while (at < group->part_count && group->parts[at].name < name)
            at++;
        group->first_parts[name] = at;
    }
    return MP_OK;
}

static enum mp_status finish_group(struct merged_group *group)
{
    MP_TRY(summary_group_fill(&group->all, &group->tallies));
    return group->all.row_count ? index_parts(group) : MP_OK;
}

enum mp_status summary_merge_finish(struct summary_merge *merge)
{
    for (int i = 0; i < SUMMARY_GROUPS; i++)
        MP_TRY(finish_group(&merge->groups[i]));
    return MP_OK;
}

void summary_merge_free(struct summary_merge *merge)
{
    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        struct merged_group *group = &merge->groups[i];

        summary_group_free(&group->all);
        dense_free(&group->tallies);
        free(group->parts);
        free(group->first_parts);
    }
    *merge = (struct summary_merge){.processes = 0};
}

const struct summary_part *summary_merge_parts(const struct merged_group *group,
                                               const struct summary_row *row, size_t *count)
{
    uint32_t name = mp_intern_find(&group->all.names, row->name, strlen(row->name));

    *count = group->first_parts[name + 1] - group->first_parts[name];
    return group->parts + group->first_parts[name];
}

/* ---- Outliers ---- */

/* Whether one total is farther from the mean than another. Sums are compared after multiplication
 * by the number of processes, so nothing is rounded. */
static bool is_farther(uint64_t total, uint64_t best, __uint128_t sum, size_t processes)
{
    __uint128_t a = (__uint128_t)total * processes;
    __uint128_t b = (__uint128_t)best * processes;
    __uint128_t far_a = a > sum ? a - sum : sum - a;
    __uint128_t far_b = b > sum ? b - sum : sum - b;

    return far_a != far_b ? far_a > far_b : total > best;
}

struct summary_outlier summary_merge_outlier(const struct summary_merge *merge,
                                             const struct summary_part *parts, size_t count,
                                             const bool *is_read)
{
    struct summary_outlier outlier = {.process = UINT32_MAX};
    __uint128_t sum = 0;
    uint64_t best = 0;
    size_t at = 0;
    size_t seen = 0;

    for (size_t i = 0; i < count; i++)
        sum += parts[i].total;
    for (uint32_t process = 0; seen < merge->processes; process++) {
        if (!is_read[process])
            continue;
        bool there = at < count && parts[at].process == process;
        uint64_t total = there ? parts[at++].total : 0;
        if (!seen++ || is_farther(total, best, sum, merge->processes)) {
            best = total;
            outlier.process = process;
        }
    }
    if (!sum || (__uint128_t)best * merge->processes == sum)
        outlier.process = UINT32_MAX;
    outlier.mean = merge->processes ? (double)sum / (double)merge->processes : 0;
    if (outlier.process != UINT32_MAX)
        outlier.percent = 100.0 * ((double)best - outlier.mean) / outlier.mean;
    return outlier;
}
