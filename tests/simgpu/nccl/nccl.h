/*
 * nccl.h: NCCL's public API as far as the stand-in has it, by its documented signatures, and what
 * the stand-in tells a test about the operations that it has played.
 *
 * A program that was built with NVIDIA's header runs with the stand-in too: names, values and
 * layouts are the same.
 */
#ifndef SIMGPU_NCCL_H
#define SIMGPU_NCCL_H

#include "../hooks.h"

#include <stddef.h>

typedef struct ncclComm *ncclComm_t;

#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7
} ncclResult_t;

typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 } ncclRedOp_t;

typedef enum {
    ncclInt8 = 0,
    ncclUint8 = 1,
    ncclInt32 = 2,
    ncclUint32 = 3,
    ncclInt64 = 4,
    ncclUint64 = 5,
    ncclFloat16 = 6,
    ncclFloat32 = 7,
    ncclFloat64 = 8,
    ncclBfloat16 = 9,
    ncclFloat8e4m3 = 10,
    ncclFloat8e5m2 = 11
} ncclDataType_t;

#define NCCL_SPLIT_NOCOLOR (-1)

/* The members that all versions from 2.27 on begin with; `size` says how many there are. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    int blocking;
    int cgaClusterSize;
    int minCTAs;
    int maxCTAs;
    const char *netName;
    int splitShare;
    int trafficClass;
    const char *commName;
} ncclConfig_t;

/* ---- communicators ---- */

SIMGPU_EXPORT ncclResult_t ncclGetVersion(int *version);
SIMGPU_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
SIMGPU_EXPORT const char *ncclGetErrorString(ncclResult_t result);
SIMGPU_EXPORT const char *ncclGetLastError(ncclComm_t comm);
SIMGPU_EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id,
                                            int rank);
SIMGPU_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id,
                                                  int rank, ncclConfig_t *config);
SIMGPU_EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                                         ncclConfig_t *config);
SIMGPU_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm);
SIMGPU_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm);
SIMGPU_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm);
SIMGPU_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result);
SIMGPU_EXPORT ncclResult_t ncclCommCount(ncclComm_t comm, int *count);
SIMGPU_EXPORT ncclResult_t ncclCommCuDevice(ncclComm_t comm, int *device);
SIMGPU_EXPORT ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank);

/* ---- operations ---- */

SIMGPU_EXPORT ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count,
                                         ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                         CUstream stream);
SIMGPU_EXPORT ncclResult_t ncclReduce(const void *send, void *recv, size_t count,
                                      ncclDataType_t type, ncclRedOp_t op, int root,
                                      ncclComm_t comm, CUstream stream);
SIMGPU_EXPORT ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count,
                                         ncclDataType_t type, int root, ncclComm_t comm,
                                         CUstream stream);
SIMGPU_EXPORT ncclResult_t ncclAllGather(const void *send, void *recv, size_t sendcount,
                                         ncclDataType_t type, ncclComm_t comm, CUstream stream);
SIMGPU_EXPORT ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t recvcount,
                                             ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                             CUstream stream);
SIMGPU_EXPORT ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                                    ncclComm_t comm, CUstream stream);
SIMGPU_EXPORT ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer,
                                    ncclComm_t comm, CUstream stream);
SIMGPU_EXPORT ncclResult_t ncclGroupStart(void);
SIMGPU_EXPORT ncclResult_t ncclGroupEnd(void);

/* ---- what was played ---- */

#define SIMNCCL_RANKS 64

/* One operation on one rank. Times are those that all processes share (simgpu_common_ns), in ns. */
struct simnccl_instance {
    uint64_t communicator; /* its hash, which is in NVTX's and the plugin's data too */
    const char *function;  /* "AllReduce", "Send", ... */
    uint64_t number;       /* from 0: of this communicator's collectives; of a pair's transfers */
    uint64_t bytes;        /* the message, as NVTX says it */
    int rank, nranks;      /* of the communicator */
    int peer;              /* of Send and Recv; the root of Broadcast and Reduce; else -1 */
    uint64_t transfer;     /* how long it takes once those that it waits for have come */
    uint64_t end;
    /* When each rank's kernel began, by its rank there; of Send and Recv only the two of the pair.
     */
    uint64_t arrival[SIMNCCL_RANKS];
};

/* Operations that this process has played so far, graph replays included. */
SIMGPU_EXPORT size_t simnccl_instances(void);
/* One of them, in the order in which the kernels were launched; false beyond the last. */
SIMGPU_EXPORT bool simnccl_instance(size_t index, struct simnccl_instance *instance);

#endif
