/*
 * model.h: the network of the inference sample.
 *
 * Layers come in blocks of four, as in a residual network:
 *
 *            +--> conv (main stream) --> relu --+
 *     x -----+                                  +--> add --> x of the next block
 *            +--> gemm (side stream) -----------+
 *
 * Each layer is one kernel on `MODEL_ELEMENTS` integers, so the result is exact and the same
 * whatever the number of streams, with or without a CUDA graph, and on any GPU.
 */
#ifndef SAMPLES_MODEL_H
#define SAMPLES_MODEL_H

#include "common.h"

#include <nvtx3/nvToolsExt.h>

enum { MODEL_ELEMENTS = 16384, MODEL_MAX_LAYERS = 1000, MODEL_MAX_STREAMS = 8 };

enum model_role { ROLE_MAIN, ROLE_BRANCH, ROLE_RELU, ROLE_JOIN, ROLE_COUNT };

enum { TACTIC_COUNT = 16 };

/* What all workers share: code and names. */
struct model {
    CUmodule module;
    CUfunction kernels[ROLE_COUNT];
    CUfunction tactics[TACTIC_COUNT];
    nvtxDomainHandle_t domain;
    nvtxStringHandle_t names[MODEL_MAX_LAYERS];
    int layers;
    unsigned kernel_us;
};

/* What one host thread needs to run iterations. */
struct worker {
    const struct model *model;
    int index;
    int stream_count;
    CUstream streams[MODEL_MAX_STREAMS];
    CUevent fork, join;
    CUdeviceptr x, main_a, main_b, branch;
    CUdeviceptr output; /* where the last layer of the main path has written */
    uint32_t *host_in, *host_out;
    bool pinned;
    CUgraphExec graph; /* NULL unless the layers are launched as a graph */
    uint32_t seed;
    uint32_t checksum;
};

void model_load(struct model *model, int layers, unsigned kernel_us);
void model_unload(struct model *model);
/* Times `count` tactic kernels, as an engine builder does. */
void model_build(const struct model *model, int count);

void worker_init(struct worker *worker, const struct model *model, int index, int streams,
                 bool pinned, uint32_t seed);
void worker_capture(struct worker *worker);
void worker_free(struct worker *worker);
/* One inference: copy in, layers, copy out, wait. `count_it` adds the output to the checksum. */
void worker_iterate(struct worker *worker, int iteration, bool count_it);

#endif
