/*
 * group.c: operations wait in their thread's group until its outermost end, and are launched there
 * together: one kernel for a communicator's collectives, one for its transfers. An operation
 * outside of any group is a group by itself. Communicators come in the order of their hashes, so
 * that all ranks launch in the same order.
 */
#include "inside.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_COST = 3000, GROUP_COST = 200, MAX_TRANSFERS = 32 };

static _Thread_local struct {
    int depth;
    struct sn_op *ops;
    size_t count, capacity;
    void *event; /* the plugin's */
    ncclResult_t failure;
} group;

static int by_communicator(const void *a, const void *b)
{
    const struct sn_op *left = a, *right = b;
    bool left_moves = sn_isTransfer(left->call), right_moves = sn_isTransfer(right->call);

    if (left->comm->hash != right->comm->hash)
        return left->comm->hash < right->comm->hash ? -1 : 1;
    if (left_moves != right_moves)
        return left_moves ? 1 : -1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static bool in_one_kernel(const struct sn_op *a, const struct sn_op *b)
{
    return a->comm == b->comm && sn_isTransfer(a->call) == sn_isTransfer(b->call);
}

static ncclResult_t launch_all(void)
{
    const struct sn_op *ops = group.ops;
    ncclResult_t result = ncclSuccess;

    qsort(group.ops, group.count, sizeof(*group.ops), by_communicator);
    for (size_t from = 0, to; !result && from < group.count; from = to) {
        for (to = from + 1; to < group.count && in_one_kernel(&ops[from], &ops[to]);)
            to++;
        result = sn_launch(ops[from].comm, &ops[from], to - from, group.event);
    }
    return result;
}

static ncclResult_t end_group(void)
{
    ncclResult_t result = group.failure;

    if (--group.depth > 0)
        return ncclSuccess;
    sn_pluginGroupEnds(group.event);
    if (!result && group.count)
        result = launch_all();
    sn_pluginGroupStop(group.event);
    free(group.ops);
    memset(&group, 0, sizeof(group));
    return result;
}

static ncclResult_t add(struct sn_op *op, int depth)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;

    if (cuStreamIsCapturing(op->stream, &capture))
        return ncclUnhandledCudaError;
    op->captured = capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (group.count == group.capacity) {
        size_t capacity = group.capacity ? group.capacity * 2 : 8;
        void *more = realloc(group.ops, capacity * sizeof(*group.ops));

        if (!more)
            return ncclSystemError;
        group.ops = more;
        group.capacity = capacity;
    }
    if (!op->comm->is_idle) {
        if (!group.event)
            group.event = sn_pluginGroup(op, depth);
        op->api_event = sn_pluginApi(op, group.event);
        sn_pluginStop(op->api_event);
    }
    op->index = group.count;
    group.ops[group.count++] = *op;
    return ncclSuccess;
}

/* Of the transfers to one peer, since their places in the shared memory are few. */
static bool is_too_much(const struct sn_op *op)
{
    unsigned same = 0;

    for (size_t i = 0; sn_isTransfer(op->call) && i < group.count; i++)
        same += group.ops[i].comm == op->comm && group.ops[i].call == op->call &&
                group.ops[i].peer == op->peer;
    return same >= MAX_TRANSFERS;
}

static bool needs_peer(enum sn_call call)
{
    return sn_isTransfer(call) || call == SN_BROADCAST || call == SN_REDUCE;
}

static ncclResult_t check(const struct sn_op *op)
{
    const char *wrong = NULL;

    if (!op->comm || op->comm->ended)
        wrong = "no communicator, or a destroyed one";
    else if ((unsigned)op->type > ncclFloat8e5m2 || (unsigned)op->op > ncclAvg)
        wrong = "an unknown type or reduction";
    else if (needs_peer(op->call) && (op->peer < 0 || op->peer >= op->comm->nranks))
        wrong = "a rank that is not there";
    else if (is_too_much(op))
        wrong = "more than 32 transfers to one rank in a group";
    if (!wrong)
        return atomic_load(&op->comm->failure);
    fprintf(stderr, "simnccl: nccl%s: %s\n", sn_functionName(op->call), wrong);
    return ncclInvalidArgument;
}

ncclResult_t sn_enqueue(struct sn_op *op)
{
    ncclResult_t result = check(op);
    bool alone = group.depth == 0;

    sn_spend(CALL_COST);
    if (result) {
        group.failure = alone ? ncclSuccess : result;
        return result;
    }
    group.depth += alone;
    result = add(op, alone ? 1 : 2);
    group.failure = result ? result : group.failure;
    return alone ? end_group() : result;
}

ncclResult_t ncclGroupStart(void)
{
    sn_nvtxPush(SN_GROUP_START);
    sn_spend(GROUP_COST);
    group.depth++;
    sn_nvtxPop();
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    ncclResult_t result = ncclInvalidUsage;

    sn_nvtxPush(SN_GROUP_END);
    sn_spend(GROUP_COST);
    if (group.depth > 0)
        result = end_group();
    else
        fprintf(stderr, "simnccl: ncclGroupEnd without ncclGroupStart\n");
    sn_nvtxPop();
    return result;
}
