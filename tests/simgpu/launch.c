/*
 * launch.c: kernel launches. The shape is checked against the device's limits, as the driver does,
 * and parameters are copied when the call is made.
 */
#include "simgpu.h"

#include <stdlib.h>
#include <string.h>

/* `extra` holds one packed buffer and its size, in key-value pairs. */
static CUresult copy_packed(struct sg_launch *launch, void **extra)
{
    const void *packed = NULL;
    size_t bytes = 0;

    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            packed = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            memcpy(&bytes, extra[1], sizeof(bytes));
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!packed || bytes < launch->function->param_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(launch->params, packed, launch->function->param_bytes);
    return CUDA_SUCCESS;
}

static CUresult copy_params(struct sg_launch *launch, void **params, void **extra)
{
    const struct CUfunc_st *function = launch->function;

    if (!function->param_count)
        return CUDA_SUCCESS;
    if (!params)
        return extra ? copy_packed(launch, extra) : CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < function->param_count; i++)
        memcpy(launch->params + function->param_offset[i], params[i], function->param_size[i]);
    return CUDA_SUCCESS;
}

static bool is_valid_shape(const struct sg_launch *launch)
{
    uint64_t threads = 1;

    for (int i = 0; i < 3; i++) {
        if (!launch->grid[i] || !launch->block[i])
            return false;
        threads *= launch->block[i];
    }
    return threads <= 1024;
}

CUresult sg_kernelBuild(struct sg_op *op, void **params, void **extra)
{
    struct sg_launch *launch = &op->launch;
    CUresult result;

    op->type = SG_OP_KERNEL;
    if (!launch->function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!is_valid_shape(launch))
        return CUDA_ERROR_INVALID_VALUE;
    launch->params = calloc(1, launch->function->param_bytes + 1);
    if (!launch->params)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = copy_params(launch, params, extra);
    if (result)
        sg_opFree(op);
    return result;
}

static CUresult launch_kernel(struct sg_op *op, CUstream handle, void **params, void **extra)
{
    CUresult result = sg_kernelBuild(op, params, extra);

    if (result)
        return result;
    result = sg_submit(sg_stream(sg_context(), handle), op, NULL);
    if (result)
        sg_opFree(op);
    return result;
}

/* The number of parameters is CUDA's. NOLINTBEGIN(readability-function-size) */
const char *sg_launchedName(enum sg_api_index index, const void *params)
{
    CUfunction function = NULL;

    if (index == SG_API_cuLaunchKernel)
        function = ((const cuLaunchKernel_params *)params)->f;
    else if (index == SG_API_cuLaunchCooperativeKernel)
        function = ((const cuLaunchCooperativeKernel_params *)params)->f;
    else if (index == SG_API_cuLaunchKernelEx)
        function = ((const cuLaunchKernelEx_params *)params)->f;
    return function ? function->name : NULL;
}

SG_FUNCTION(cuLaunchKernel,
            (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
             unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
             unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra),
            f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
            hStream, kernelParams, extra)
{
    struct sg_op op = {.launch = {.function = f,
                                  .grid = {gridDimX, gridDimY, gridDimZ},
                                  .block = {blockDimX, blockDimY, blockDimZ},
                                  .shared = sharedMemBytes}};

    return launch_kernel(&op, hStream, kernelParams, extra);
}

SG_FUNCTION(cuLaunchCooperativeKernel,
            (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
             unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
             unsigned int sharedMemBytes, CUstream hStream, void **kernelParams),
            f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
            hStream, kernelParams)
{
    struct sg_op op = {
        .launch = {.function = f,
                   .grid = {gridDimX, gridDimY, gridDimZ},
                   .block = {blockDimX, blockDimY, blockDimZ},
                   .shared = sharedMemBytes,
                   .launch_type = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE}};

    return launch_kernel(&op, hStream, kernelParams, NULL);
}

/* NOLINTEND(readability-function-size) */

/* By how much the launch may overlap its predecessor. The attribute's value is a flag. Values above
 * 1 say it in ns. */
static uint64_t overlap_of(const CUlaunchConfig *config)
{
    for (unsigned i = 0; config->attrs && i < config->numAttrs; i++) {
        int allowed = config->attrs[i].value.programmaticStreamSerializationAllowed;

        if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            continue;
        if (allowed > 1)
            return (uint64_t)allowed;
        return allowed ? sg_usualLead() : 0;
    }
    return 0;
}

SG_FUNCTION(cuLaunchKernelEx,
            (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra), config,
            f, kernelParams, extra)
{
    struct sg_op op = {.type = SG_OP_KERNEL};

    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    op.launch =
        (struct sg_launch){.function = f,
                           .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                           .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                           .shared = config->sharedMemBytes,
                           .lead = overlap_of(config)};
    return launch_kernel(&op, config->hStream, kernelParams, extra);
}

/* cuda.h has either the one or the other, with CUDA_KERNEL_NODE_PARAMS to match. */
#ifdef cuGraphAddKernelNode
SG_FUNCTION(cuGraphAddKernelNode_v2,
            (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
             size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams),
            phGraphNode, hGraph, dependencies, numDependencies, nodeParams)
#else
SG_FUNCTION(cuGraphAddKernelNode,
            (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
             size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams),
            phGraphNode, hGraph, dependencies, numDependencies, nodeParams)
#endif
{
    struct sg_op op = {.type = SG_OP_KERNEL};
    struct sg_nodes deps = {.count = 0};
    CUresult result = CUDA_SUCCESS;

    if (!phGraphNode || !hGraph || !nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    op.launch = (struct sg_launch){
        .function = nodeParams->func,
        .grid = {nodeParams->gridDimX, nodeParams->gridDimY, nodeParams->gridDimZ},
        .block = {nodeParams->blockDimX, nodeParams->blockDimY, nodeParams->blockDimZ},
        .shared = nodeParams->sharedMemBytes};
    for (size_t i = 0; i < numDependencies && !result; i++)
        result = sg_nodesAdd(&deps, dependencies[i]);
    if (!result)
        result = sg_kernelBuild(&op, nodeParams->kernelParams, nodeParams->extra);
    if (!result && (result = sg_graphAdd(hGraph, &deps, NULL, &op, phGraphNode)))
        sg_opFree(&op);
    free(deps.items);
    return result;
}
