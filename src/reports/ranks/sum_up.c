/* Sums by function of a communicator, and by rank. Bandwidths are nccl-tests': the bytes that it
 * counts over the time of the transfer, and for the bus times the part that each link carries.
 */
#include "reports/ranks/ranks_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/reserve.h"
#include "profile/common/statistics.h"

#include "base/poison.h"

/* ---- Bandwidth ---- */

/* NCCL counts the bytes of one rank, nccl-tests those of all. */
static bool is_counted_by_rank(const char *function)
{
    return !strcmp(function, "AllGather") || !strcmp(function, "ReduceScatter") ||
           !strcasecmp(function, "AlltoAll") || !strcmp(function, "Gather") ||
           !strcmp(function, "Scatter");
}

static double bus_factor(const char *function, uint32_t ranks)
{
    double n = ranks;

    if (!strcmp(function, "AllReduce"))
        return 2 * (n - 1) / n;
    return is_counted_by_rank(function) ? (n - 1) / n : 1;
}

static void set_bandwidth(const struct ranks *ranks, struct ranks_group *group)
{
    const struct ranks_communicator *communicator = &ranks->communicators[group->communicator];
    uint32_t count =
        communicator->ranks ? communicator->ranks : (uint32_t)communicator->member_count;
    const char *function = ranks_function(ranks, group->function);

    if (is_counted_by_rank(function))
        group->bytes *= count;
    if (group->transfer <= 0)
        return;
    group->algorithm_bandwidth = (double)group->bytes / group->transfer * 1e9;
    group->bus_bandwidth = group->algorithm_bandwidth * bus_factor(function, count);
}

/* ---- By function ---- */

static int compare_groups(const void *left, const void *right)
{
    const struct ranks_group *a = left;
    const struct ranks_group *b = right;

    if (a->communicator != b->communicator)
        return a->communicator < b->communicator ? -1 : 1;
    if (a->waiting != b->waiting)
        return a->waiting > b->waiting ? -1 : 1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->algorithm != b->algorithm)
        return a->algorithm < b->algorithm ? -1 : 1;
    return (a->protocol > b->protocol) - (a->protocol < b->protocol);
}

/* The groups in the making, found by what they have in common. */
struct summing {
    struct ranks *ranks;
    struct mp_map groups;
};

static uint64_t group_key(const struct ranks_instance *instance)
{
    return mp_mix64((uint64_t)instance->communicator << 32 | instance->function) ^
           ((uint64_t)instance->algorithm << 32 | instance->protocol);
}

/* The group of an instance, a new one if need be; NULL: memory is out. */
static struct ranks_group *group_of(struct summing *summing, const struct ranks_instance *instance)
{
    struct ranks *ranks = summing->ranks;
    uint64_t key = group_key(instance);
    uint32_t found = mp_map_get(&summing->groups, key);

    if (found != MP_MAP_ABSENT)
        return &ranks->groups[found];
    if (mp_reserve((void **)&ranks->groups, ranks->group_count, &ranks->group_capacity,
                   sizeof *ranks->groups) != MP_OK ||
        mp_map_put(&summing->groups, key, (uint32_t)ranks->group_count) != MP_OK)
        return NULL;
    ranks->groups[ranks->group_count] = (struct ranks_group){.communicator = instance->communicator,
                                                             .function = instance->function,
                                                             .algorithm = instance->algorithm,
                                                             .protocol = instance->protocol};
    return &ranks->groups[ranks->group_count++];
}

static struct ranks_member *member_of(const struct ranks *ranks,
                                      const struct ranks_instance *instance, uint32_t rank)
{
    const struct ranks_communicator *communicator = &ranks->communicators[instance->communicator];
    struct ranks_member *members = &ranks->members[communicator->first_member];
    size_t first = 0, end = communicator->member_count;

    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;

        if (members[middle].rank <= rank)
            first = middle;
        else
            end = middle;
    }
    return &members[first];
}

static enum mp_status add_to_sums(struct summing *summing, const struct ranks_instance *instance)
{
    const struct ranks *ranks = summing->ranks;
    struct ranks_group *group = group_of(summing, instance);
    const struct ranks_side *sides = &ranks->sides[instance->first_side];

    if (!group)
        return MP_ERR_MEMORY;
    group->instances++;
    group->bytes += instance->bytes;
    group->late += instance->last != RANKS_NONE;
    group->transfer += (double)instance->transfer / sides[0].fused;
    for (uint32_t i = 0; i < instance->side_count; i++) {
        struct ranks_member *member = member_of(ranks, instance, sides[i].rank);

        group->waiting += (double)sides[i].waiting / sides[i].fused;
        member->instances++;
        member->waiting += (double)sides[i].waiting / sides[i].fused;
        member->transfer += (double)instance->transfer / sides[i].fused;
        if (i == instance->last) {
            member->last++;
            member->late += instance->late / sides[i].fused;
        }
    }
    return MP_OK;
}

/* ---- Skew ---- */

struct skew {
    size_t group;
    uint64_t skew;
};

static int compare_skews(const void *left, const void *right)
{
    const struct skew *a = left;
    const struct skew *b = right;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->skew > b->skew) - (a->skew < b->skew);
}

/* The skews of a group are `count` sorted ones from `skews` on. */
static void set_skew(const struct ranks *ranks, const struct skew *skews, size_t count,
                     uint64_t *values)
{
    struct ranks_group *group = &ranks->groups[skews->group];

    for (size_t i = 0; i < count; i++)
        values[i] = skews[i].skew;
    group->skew_p50 = statistics_percentile(values, count, 50);
    group->skew_p99 = statistics_percentile(values, count, 99);
}

static void set_skews(const struct summing *summing, struct skew *skews, uint64_t *values)
{
    const struct ranks *ranks = summing->ranks;
    size_t count = ranks->instance_count, end;

    for (size_t i = 0; i < count; i++)
        skews[i] = (struct skew){mp_map_get(&summing->groups, group_key(&ranks->instances[i])),
                                 ranks->instances[i].skew};
    qsort(skews, count, sizeof *skews, compare_skews);
    for (size_t first = 0; first < count; first = end) {
        for (end = first + 1; end < count && skews[end].group == skews[first].group;)
            end++;
        set_skew(ranks, &skews[first], end - first, values);
    }
}

static enum mp_status find_skews(const struct summing *summing)
{
    struct skew *skews = calloc(summing->ranks->instance_count, sizeof *skews);
    uint64_t *values = calloc(summing->ranks->instance_count, sizeof *values);
    enum mp_status status = skews && values ? MP_OK : MP_ERR_MEMORY;

    if (status == MP_OK)
        set_skews(summing, skews, values);
    free(skews);
    free(values);
    return status;
}

enum mp_status ranks_sum_up(struct ranks *ranks)
{
    struct summing summing = {.ranks = ranks};
    enum mp_status status = MP_OK;

    if (!ranks->instance_count)
        return MP_OK;
    for (size_t i = 0; i < ranks->instance_count && !status; i++)
        status = add_to_sums(&summing, &ranks->instances[i]);
    if (!status)
        status = find_skews(&summing);
    mp_map_free(&summing.groups);
    MP_TRY(status);
    for (size_t i = 0; i < ranks->group_count; i++)
        set_bandwidth(ranks, &ranks->groups[i]);
    qsort(ranks->groups, ranks->group_count, sizeof *ranks->groups, compare_groups);
    return MP_OK;
}
