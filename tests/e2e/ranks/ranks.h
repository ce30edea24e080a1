/* ranks.h: the inside of the program ranks: what it is told to play, and what it says of it. */
#ifndef E2E_RANKS_H
#define E2E_RANKS_H

#include "simgpu/nccl/nccl.h"

enum { MAX_PLANTS = 64 };

/* What makes one rank late once. */
struct plant {
    int rank, iteration, layer;
    const char *cause; /* a name in plants.c */
    long us;
};

struct job {
    int rank, nranks; /* of the world: RANK and WORLD_SIZE */
    long iterations, layers, kernel_us, count, group, split, microbatches;
    long blocks; /* of a kernel's grid */
    long slower; /* percent that the GPU takes longer */
    bool graph, pipeline, both;
    struct plant plants[MAX_PLANTS];
    int plant_count;
    int first, last; /* the iterations that are recorded; -1: the profiler is not called */
    struct plant death;
    const char *name; /* of the communicator */

    CUcontext context;
    CUstream stream, aside;
    CUfunction spin, other;
    ncclComm_t world, team; /* the team is the world unless that is split */
    CUdeviceptr buffer;
};

/* RANK:ITERATION:LAYER:CAUSE:US */
void plant_parse(struct job *job, const char *text);
/* Does what is planted here, before the layer's kernel; gives how much longer the kernel takes. */
long plant_act(struct job *job, int iteration, int layer);
/* The name of what was planted there, "-" without any. */
const char *plant_cause(const struct job *job, int rank, int iteration, int layer);

void job_spin(struct job *job, long us);
/* Iterations of the two kinds. */
void tensor_step(struct job *job, int iteration);
void pipeline_step(struct job *job, int iteration);

/* Prints a line for each operation that was played since the last call: those of a graph belong to
 * one layer after the other, `per_layer` each. */
void truth_tell(const struct job *job, int iteration, int layer, long per_layer);

void check_nccl(ncclResult_t result, const char *call);
#define NCCL_CHECK(call) check_nccl((call), #call)

#endif
