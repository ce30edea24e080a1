/*
 * selftest_ranks.h: tests of the stand-in for NCCL: each rank is a process of its own.
 */
#ifndef SIMGPU_NCCL_SELFTEST_RANKS_H
#define SIMGPU_NCCL_SELFTEST_RANKS_H

#include "../selftest.h"
#include "nccl.h"

/* Transfers of the tests take LATENCY ns plus a ns for each byte on the wire. */
enum { LATENCY = 6400 };

/* Forks that many processes, of which each calls `body` with its rank; the test fails if one of
 * them does, but for `victim`, which is killed. */
void ranks_run(int count, int victim, void (*body)(int rank, int count));
/* Opens the GPU and the communicator of all ranks. */
ncclComm_t ranks_open(int rank, int count);
/* So many floats, summed up over all ranks. */
ncclResult_t ranks_reduce(size_t count, ncclComm_t comm, CUstream stream);
/* The nth operation of this process. */
struct simnccl_instance ranks_instance(size_t nth);
/* The latest arrival. */
uint64_t ranks_last(const struct simnccl_instance *instance);
/* The nth record of a kernel of NCCL. */
const record_kernel *ranks_kernel(size_t nth);

#endif
