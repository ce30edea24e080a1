/* Operations of one instance come together, and the begins of their kernels say who kept whom
 * waiting.
 *
 *     all-reduce, all-gather, ...   everybody waits for the last one
 *     broadcast                     everybody waits for the root
 *     reduce                        the root waits for the last one
 *     send and receive              each waits for the other
 *     ... of which NCCL buffers the send, which ends before its receive begins:
 *                                   the receive waits for the send
 */
#include "reports/ranks/ranks_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"

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

static int compare_ops(const void *left, const void *right)
{
    const struct op *a = left;
    const struct op *b = right;
    int order = compare_keys(a, b);

    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

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

static bool somebody_waited(const struct ranks_side *sides, size_t count)
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
    if (begins.awaited > begins.before && somebody_waited(sides, count)) {
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
        MP_TRY(mp_reserve((void **)&ranks->sides, ranks->side_count, &ranks->side_capacity,
                          sizeof *ranks->sides));
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
    MP_TRY(mp_reserve((void **)&ranks->instances, ranks->instance_count, &ranks->instance_capacity,
                      sizeof instance));
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

static int compare_instances(const void *left, const void *right)
{
    const struct ranks_instance *a = left;
    const struct ranks_instance *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->first_side > b->first_side) - (a->first_side < b->first_side);
}

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
