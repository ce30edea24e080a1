/*
 * value.c: values in memory that streams write and wait for.
 *
 * Every write is kept, with the moment at which its stream comes to it. A wait that comes at moment
 * W ends at W if what was written last by then satisfies it, else at the first later write that
 * does. If there is none yet, the stream is *held*: what follows in it is kept back too, with the
 * moment of its call, until a write that is made later lets it go on.
 *
 *   stream B   wait(1)  kernel         held from here on
 *   stream A   kernel   write(1)       B goes on at the end of A's kernel
 *
 * Only non-blocking streams can be held, and only kernels, sets and values can be put into a held
 * stream. Nobody can wait for it: the program would stand still on a GPU too.
 *
 * What a program has written by itself is found when somebody looks at the address: at a wait, or
 * when a thread would wait for the held stream.
 */
#include "simgpu.h"

#include <stdlib.h>

static const uint64_t tell = 500; /* until an idle stream knows, as for an event */

struct write {
    uint64_t address;
    uint64_t value;
    uint64_t when;
};

static struct write *writes; /* in the order in which they got their moments */
static size_t write_count, write_capacity;

static bool note(uint64_t address, uint64_t value, uint64_t when)
{
    if (write_count == write_capacity) {
        size_t capacity = write_capacity ? 2 * write_capacity : 256;
        struct write *grown = realloc(writes, capacity * sizeof(*grown));

        if (!grown)
            return false;
        writes = grown;
        write_capacity = capacity;
    }
    writes[write_count++] = (struct write){address, value, when};
    return true;
}

static uint64_t narrow(uint64_t value, unsigned bits)
{
    return bits == 32 ? (uint32_t)value : value;
}

/* What the memory holds is a write of the host's, unless it is the last one of a stream. */
static void look(const struct sg_value *value)
{
    const struct write *last = NULL;
    uint64_t held = 0;

    memcpy(&held, sg_pointer(value->address), value->bits / 8);
    for (size_t i = 0; i < write_count; i++)
        if (writes[i].address == value->address)
            last = &writes[i];
    if (!last || narrow(last->value, value->bits) != held)
        note(value->address, held, last ? sg_now() : 0);
}

static bool satisfies(const struct sg_value *wait, uint64_t value)
{
    uint64_t wanted = wait->value;

    value = narrow(value, wait->bits);
    switch (wait->condition) {
    case CU_STREAM_WAIT_VALUE_EQ:
        return value == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
        return (value & wanted) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
        return narrow(~(value | wanted), wait->bits) != 0;
    default:
        return wait->bits == 32 ? (int32_t)(uint32_t)(value - wanted) >= 0
                                : (int64_t)(value - wanted) >= 0;
    }
}

/* When a wait that its stream comes to at `from` is over; UINT64_MAX: not by what is known. */
static uint64_t end_of_wait(const struct sg_value *wait, uint64_t from)
{
    const struct write *before = NULL, *after = NULL;

    for (size_t i = 0; i < write_count; i++) {
        const struct write *write = &writes[i];

        if (write->address != wait->address)
            continue;
        if (write->when <= from && (!before || write->when >= before->when))
            before = write;
        if (write->when > from && satisfies(wait, write->value) &&
            (!after || write->when < after->when))
            after = write;
    }
    if (before && satisfies(wait, before->value))
        return from;
    return after ? after->when : UINT64_MAX;
}

/* The stream comes to its wait or write. False: the wait is not over. */
static bool pass(CUstream stream, const struct sg_value *value)
{
    uint64_t ready = sg_streamReady(stream);
    uint64_t soonest = sg_now() + tell;
    uint64_t when = sg_gridRound(ready > soonest ? ready : soonest);

    if (value->waits)
        when = end_of_wait(value, when);
    else if (note(value->address, value->value, when))
        memcpy(sg_pointer(value->address), &value->value, value->bits / 8);
    if (when == UINT64_MAX)
        return false;
    if (stream->ready < when)
        stream->ready = when;
    stream->kernel = (struct sg_span){0, 0};
    return true;
}

/* What stands first in a held stream happens, as at the moment of its call. */
static bool go_on(CUstream stream)
{
    struct sg_held *first = stream->held;
    uint64_t now = sg_clockSwap(first->origin.submitted);
    bool done = true;

    if (first->op.type == SG_OP_VALUE)
        done = pass(stream, &first->op.value);
    else
        sg_opStart(stream, &first->op, &first->origin);
    sg_clockSwap(now);
    if (done) {
        stream->held = first->next;
        free(first);
    }
    return done;
}

/* Until no held stream can go on. */
static void settle(void)
{
    bool again = true;

    while (again) {
        again = false;
        for (CUcontext context = sg_contextList(); context; context = context->next)
            for (CUstream stream = context->streams; stream; stream = stream->next)
                while (stream->held && go_on(stream))
                    again = true;
    }
}

CUresult sg_hold(CUstream stream, struct sg_op *op, const struct sg_origin *origin)
{
    struct sg_held **last = &stream->held;
    struct sg_held *held;

    if (!(stream->flags & CU_STREAM_NON_BLOCKING) ||
        (op->type != SG_OP_KERNEL && op->type != SG_OP_SET && op->type != SG_OP_VALUE))
        return CUDA_ERROR_NOT_SUPPORTED;
    held = calloc(1, sizeof(*held));
    if (!held)
        return CUDA_ERROR_OUT_OF_MEMORY;
    held->op = *op;
    held->origin = *origin;
    while (*last)
        last = &(*last)->next;
    *last = held;
    return CUDA_SUCCESS;
}

CUresult sg_valuePut(CUstream stream, struct sg_op *op, const struct sg_origin *origin)
{
    if (op->value.waits)
        look(&op->value);
    if (!pass(stream, &op->value))
        return sg_hold(stream, op, origin);
    if (!op->value.waits)
        settle();
    return CUDA_SUCCESS;
}

void sg_valueWriteAt(const struct sg_value *value, uint64_t when)
{
    if (!value->waits && note(value->address, value->value, when)) {
        memcpy(sg_pointer(value->address), &value->value, value->bits / 8);
        settle();
    }
}

CUresult sg_heldForbid(CUcontext context, CUstream stream)
{
    CUstream first = context ? context->streams : stream;
    bool any = false;

    for (CUstream s = first; s; s = context ? s->next : NULL)
        if (s->held)
            look(&s->held->op.value);
    settle();
    for (CUstream s = first; s; s = context ? s->next : NULL)
        any = any || s->held;
    return any ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult put(CUstream handle, const struct sg_value *value)
{
    struct sg_op op = {.type = SG_OP_VALUE, .value = *value};
    CUstream stream = sg_stream(sg_context(), handle);

    if (!sg_isDeviceRange(value->address, value->bits / 8) || value->address % (value->bits / 8))
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture && value->waits)
        return CUDA_ERROR_NOT_SUPPORTED;
    return sg_submit(stream, &op, NULL);
}

/* cuda.h of CUDA 11 has the older versions of these. */
#if CUDA_VERSION >= 12000
static unsigned condition(unsigned flags)
{
    return flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;
}

SG_FUNCTION(cuStreamWaitValue32_v2,
            (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), stream, addr,
            value, flags)
{
    return put(stream, &(struct sg_value){addr, value, 32, true, condition(flags)});
}

SG_FUNCTION(cuStreamWaitValue64_v2,
            (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), stream, addr,
            value, flags)
{
    return put(stream, &(struct sg_value){addr, value, 64, true, condition(flags)});
}

SG_FUNCTION(cuStreamWriteValue32_v2,
            (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), stream, addr,
            value, flags)
{
    (void)flags;
    return put(stream, &(struct sg_value){addr, value, 32, false, 0});
}

SG_FUNCTION(cuStreamWriteValue64_v2,
            (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), stream, addr,
            value, flags)
{
    (void)flags;
    return put(stream, &(struct sg_value){addr, value, 64, false, 0});
}

static CUresult put_one(CUstream stream, const CUstreamBatchMemOpParams *op)
{
    switch (op->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return put(stream, &(struct sg_value){op->waitValue.address, op->waitValue.value, 32, true,
                                              condition(op->waitValue.flags)});
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return put(stream, &(struct sg_value){op->waitValue.address, op->waitValue.value64, 64,
                                              true, condition(op->waitValue.flags)});
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return put(stream,
                   &(struct sg_value){op->writeValue.address, op->writeValue.value, 32, false, 0});
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return put(stream, &(struct sg_value){op->writeValue.address, op->writeValue.value64, 64,
                                              false, 0});
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    default:
        return CUDA_SUCCESS;
    }
}

SG_FUNCTION(cuStreamBatchMemOp_v2,
            (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
             unsigned int flags),
            stream, count, paramArray, flags)
{
    CUresult result = CUDA_SUCCESS;

    if (!paramArray || count > 256 || flags)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && !result; i++)
        result = put_one(stream, &paramArray[i]);
    return result;
}
#endif
