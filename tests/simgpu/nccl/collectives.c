/*
 * collectives.c: the operations as a program calls them: an NVTX range around each. No data is
 * moved: the buffers keep what they hold.
 */
#include "inside.h"

size_t sn_typeBytes(ncclDataType_t type)
{
    static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

    return (unsigned)type < sizeof(bytes) ? bytes[type] : 0;
}

static ncclResult_t call(struct sn_op op)
{
    ncclResult_t result;

    op.bytes = op.count * sn_typeBytes(op.type);
    sn_nvtxPushOp(&op);
    result = sn_enqueue(&op);
    sn_nvtxPop();
    return result;
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, CUstream stream)
{
    return call((struct sn_op){SN_ALL_REDUCE, send, recv, count, type, op, -1, comm, stream, 0,
                               NULL, 0, 0});
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, CUstream stream)
{
    return call(
        (struct sn_op){SN_REDUCE, send, recv, count, type, op, root, comm, stream, 0, NULL, 0, 0});
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, CUstream stream)
{
    return call((struct sn_op){SN_BROADCAST, send, recv, count, type, ncclSum, root, comm, stream,
                               0, NULL, 0, 0});
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t sendcount, ncclDataType_t type,
                           ncclComm_t comm, CUstream stream)
{
    return call((struct sn_op){SN_ALL_GATHER, send, recv, sendcount, type, ncclSum, -1, comm,
                               stream, 0, NULL, 0, 0});
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t recvcount, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, CUstream stream)
{
    return call((struct sn_op){SN_REDUCE_SCATTER, send, recv, recvcount, type, op, -1, comm, stream,
                               0, NULL, 0, 0});
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, CUstream stream)
{
    return call((struct sn_op){SN_SEND, send, NULL, count, type, ncclSum, peer, comm, stream, 0,
                               NULL, 0, 0});
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      CUstream stream)
{
    return call((struct sn_op){SN_RECV, NULL, recv, count, type, ncclSum, peer, comm, stream, 0,
                               NULL, 0, 0});
}
