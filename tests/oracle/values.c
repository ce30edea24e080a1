/* values.c: values in memory that streams write and wait for. */
#include "values.h"

#include <stddef.h>
#include <stdint.h>

enum { ADDRESSES = 1024 };

static uint64_t *values;

/* What an address holds at first follows from its number. */
CUresult values_make(void)
{
    CUresult result = cuMemHostAlloc((void **)&values, ADDRESSES * sizeof(*values), 0);

    for (int i = 0; i < ADDRESSES && !result; i++)
        values[i] = i % 4 == 0 ? UINT64_MAX - 1 : i % 4 == 3 ? UINT64_MAX : 0;
    return result;
}

/* cuda.h of CUDA 11 has the older versions of these, which simgpu lacks. */
#if CUDA_VERSION >= 12000
static CUresult put_alone(CUstream stream, const CUstreamBatchMemOpParams *op)
{
    const struct CUstreamMemOpWaitValueParams_st *value = &op->waitValue;

    if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32)
        return cuStreamWaitValue32(stream, value->address, value->value, value->flags);
    if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
        return cuStreamWaitValue64(stream, value->address, value->value64, value->flags);
    if (op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
        return cuStreamWriteValue32(stream, value->address, value->value, value->flags);
    return cuStreamWriteValue64(stream, value->address, value->value64, value->flags);
}

CUresult values_put(struct line *line, CUstream stream)
{
    const uint64_t *address = &values[lines_next(line)];
    CUstreamBatchMemOpParams op = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32};
    long batch, bits, condition;

    lines_next(line); /* the step, for the oracle */
    batch = lines_next(line);
    bits = lines_next(line);
    condition = lines_next(line);
    op.waitValue.address = (CUdeviceptr)(uintptr_t)address;
    op.waitValue.value64 = (uint64_t)lines_next(line);
    if (condition >= 0) {
        op.operation = bits == 64 ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
        op.waitValue.flags = (unsigned)condition;
    } else if (bits == 64) {
        op.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    }
    return batch ? cuStreamBatchMemOp(stream, 1, &op, 0) : put_alone(stream, &op);
}
#else
CUresult values_put(struct line *line, CUstream stream)
{
    (void)line;
    (void)stream;
    return CUDA_ERROR_NOT_SUPPORTED;
}
#endif
