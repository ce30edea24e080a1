/* Operations of one instance come together: who waited for whom, and who was last. Then the sums by
 * function and by rank.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"
#include "base/data/storage.h"
#include "profile/common/statistics.h"
#include "reports/ranks/inside.h"

#include "base/poison.h"

static int compare_keys(const struct op *a, const struct op *b)
{
    const uint64_t left[] = {a->hash, a->from, a->to, a->replay != 0, a->number, a->replay};
    const uint64_t right[] = {b->hash, b->from, b->to, b->replay != 0, b->number, b->replay};

    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    }
    return 0;
}

MP_COMPARE(compare_ops, struct op, compare_keys(a, b) ?: MP_ORDER(a->rank, b->rank));

void ranks_sort(struct ranks *ranks)
{
    if (ranks->op_count)
        qsort(ranks->ops, ranks->op_count, sizeof *ranks->ops, compare_ops);
}

size_t ranks_instance_ops(const struct ranks *ranks, size_t first)
{
    size_t end = first + 1;

    while (end < ranks->op_count && !compare_keys(&ranks->ops[first], &ranks->ops[end]))
        end++;
    return end - first;
}

/* ---- Who waits for whom ---- */

static bool is_buffered(const struct op *ops, size_t count)
{
    const struct op *send = ops[0].rank == ops[0].from ? &ops[0] : &ops[count - 1];
    const struct op *receive = send == ops ? &ops[count - 1] : ops;

    return ops[0].from != RANKS_NONE && send->end < receive->start;
}

static enum ranks_pattern pattern_of(const struct ranks *ranks, const struct op *ops, size_t count)
{
    const char *function = ranks_function(ranks, ops[0].function);

    if (is_buffered(ops, count))
        return RANKS_BUFFERED;
    if (!strcmp(function, "Broadcast") || !strcmp(function, "Scatter"))
        return RANKS_ROOT_SENDS;
    if (!strcmp(function, "Reduce") || !strcmp(function, "Gather"))
        return RANKS_ROOT_RECEIVES;
    return RANKS_ALL;
}

bool ranks_waits(const struct ranks_instance *instance, uint32_t rank)
{
    switch (instance->pattern) {
    case RANKS_ROOT_SENDS:
        return rank != instance->root;
    case RANKS_ROOT_RECEIVES:
        return rank == instance->root;
    case RANKS_BUFFERED:
        return rank == instance->to;
    case RANKS_ALL:
        break;
    }
    return true;
}

bool ranks_is_awaited(const struct ranks_instance *instance, uint32_t rank)
{
    return instance->pattern == RANKS_ALL || !ranks_waits(instance, rank);
}

/* Begins of the kernels of an instance. */
struct begins {
    uint64_t first, last, end;
    uint64_t awaited; /* the last one that somebody waits for */
    uint64_t before;  /* the last one of the others, the one at `latest` left out */
    size_t latest;    /* side that is awaited longest */
};

static struct begins find_begins(const struct ranks_instance *instance,
                                 const struct ranks_side *sides)
{
    struct begins begins = {.first = UINT64_MAX};
    size_t count = instance->side_count;

    for (size_t i = 0; i < count; i++) {
        const struct ranks_side *side = &sides[i];

        begins.first = side->start < begins.first ? side->start : begins.first;
        begins.last = side->start > begins.last ? side->start : begins.last;
        begins.end = side->end > begins.end ? side->end : begins.end;
        if (ranks_is_awaited(instance, side->rank) && side->start > begins.awaited) {
            begins.awaited = side->start;
            begins.latest = i;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (i != begins.latest && sides[i].start > begins.before)
            begins.before = sides[i].start;
    }
    return begins;
}

bool ranks_somebody_waited(const struct ranks_side *sides, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sides[i].waiting)
            return true;
    }
    return false;
}

static void measure_sides(struct ranks_instance *instance, struct ranks_side *sides)
{
    size_t count = instance->side_count;
    struct begins begins = find_begins(instance, sides);

    for (size_t i = 0; i < count; i++) {
        struct ranks_side *side = &sides[i];
        uint64_t until = begins.awaited < side->end ? begins.awaited : side->end;

        if (i != begins.latest && ranks_waits(instance, side->rank) && until > side->start)
            side->waiting = until - side->start;
    }
    instance->last = RANKS_NONE;
    if (begins.awaited > begins.before && ranks_somebody_waited(sides, count)) {
        instance->last = (uint32_t)begins.latest;
        instance->late = begins.awaited - begins.before;
    }
    instance->begin = begins.last;
    instance->skew = begins.last - begins.first;
    instance->transfer = begins.end > begins.last ? begins.end - begins.last : 0;
}

/* ---- Instances ---- */

static bool is_one_call(const struct op *ops, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (ops[i].bytes != ops[0].bytes || ops[i].root != ops[0].root)
            return false;
        if (ops[0].from == RANKS_NONE ? ops[i].function != ops[0].function
                                      : ops[i].function == ops[0].function)
            return false;
    }
    return true;
}

/* Whether what holds for one clock holds: no kernel ended before the last one began. */
static bool is_overlapping(const struct ranks *ranks, const struct op *ops, size_t count)
{
    uint64_t begin = 0, end = UINT64_MAX;

    if (ranks->clock_count > 1 || !ranks_is_synchronous(ranks_function(ranks, ops->function)))
        return true;
    for (size_t i = 0; i < count; i++) {
        begin = ops[i].start > begin ? ops[i].start : begin;
        end = ops[i].end < end ? ops[i].end : end;
    }
    return begin <= end;
}

static enum mp_status add_sides(struct ranks *ranks, const struct op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        MP_TRY(MP_RESERVE(ranks->sides, ranks->side_count, ranks->side_capacity));
        ranks->sides[ranks->side_count++] = (struct ranks_side){.process = ops[i].process,
                                                                .rank = ops[i].rank,
                                                                .fused = ops[i].fused,
                                                                .start = ops[i].start,
                                                                .end = ops[i].end,
                                                                .recorded = ops[i].recorded};
    }
    return MP_OK;
}

static enum mp_status add_instance(struct ranks *ranks, uint32_t communicator, const struct op *ops,
                                   size_t count)
{
    struct ranks_instance instance = {.communicator = communicator,
                                      .function = ops[0].function,
                                      .algorithm = ops[0].algorithm,
                                      .protocol = ops[0].protocol,
                                      .from = ops[0].from,
                                      .to = ops[0].to,
                                      .root = ops[0].root,
                                      .pattern = pattern_of(ranks, ops, count),
                                      .number = ops[0].number,
                                      .replay = ops[0].replay,
                                      .bytes = ops[0].bytes,
                                      .first_side = ranks->side_count,
                                      .side_count = (uint32_t)count};

    for (size_t i = 0; i < count && ops[0].from != RANKS_NONE; i++) {
        if (ops[i].rank == ops[i].from)
            instance.function = ops[i].function;
    }
    MP_TRY(add_sides(ranks, ops, count));
    measure_sides(&instance, &ranks->sides[instance.first_side]);
    MP_TRY(MP_RESERVE(ranks->instances, ranks->instance_count, ranks->instance_capacity));
    ranks->instances[ranks->instance_count++] = instance;
    return MP_OK;
}

static enum mp_status take_ops(struct ranks *ranks, uint32_t communicator, size_t first,
                               size_t count)
{
    const struct op *ops = &ranks->ops[first];
    size_t wanted = ops->from == RANKS_NONE ? ranks->communicators[communicator].member_count : 2;

    if (wanted < 2 || count != wanted) {
        ranks->unmatched.partial++;
        return MP_OK;
    }
    if (!is_one_call(ops, count) || !is_overlapping(ranks, ops, count)) {
        ranks->unmatched.different++;
        return MP_OK;
    }
    return add_instance(ranks, communicator, ops, count);
}

MP_COMPARE(compare_instances, struct ranks_instance,
           MP_ORDER(a->begin, b->begin) ?: MP_ORDER(a->first_side, b->first_side));

enum mp_status ranks_make_instances(struct ranks *ranks)
{
    uint32_t communicator = 0;

    for (size_t first = 0; first < ranks->op_count;) {
        size_t count = ranks_instance_ops(ranks, first);

        while (ranks->communicators[communicator].hash != ranks->ops[first].hash)
            communicator++;
        MP_TRY(take_ops(ranks, communicator, first, count));
        first += count;
    }
    if (ranks->instance_count)
        qsort(ranks->instances, ranks->instance_count, sizeof *ranks->instances, compare_instances);
    return MP_OK;
}

/* Sums by function of a communicator, and by rank. Bandwidths are nccl-tests': the bytes that it
 * counts over the time of the transfer, and for the bus times the part that each link carries.
 */

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

MP_COMPARE(compare_groups, struct ranks_group,
           MP_ORDER(a->communicator, b->communicator) ?: MP_ORDER(b->waiting, a->waiting) ?:
           MP_ORDER(a->function, b->function) ?: MP_ORDER(a->algorithm, b->algorithm) ?:
           MP_ORDER(a->protocol, b->protocol));

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
    if (MP_RESERVE(ranks->groups, ranks->group_count, ranks->group_capacity) != MP_OK ||
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

MP_COMPARE(compare_skews, struct skew, MP_ORDER(a->group, b->group) ?: MP_ORDER(a->skew, b->skew));

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
