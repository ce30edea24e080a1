/*
 * launch.c: NCCL's kernels: their names, and their launch.
 */
#include "inside.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 16, THREADS = 512, MODULE_BYTES = 1 << 16, NAME_BYTES = 128 };

static const char *const op_names[] = {"Sum", "Prod", "MinMax", "MinMax", "PreMulSum"};
static const char *const type_names[] = {"u8",  "u8",  "u32", "u32",  "u64",    "u64",
                                         "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};

void sn_spend(uint64_t ns)
{
    simgpu_wait_until_ns(simgpu_clock_ns() + ns);
}

static bool is_reduction(enum sn_call call)
{
    return call == SN_ALL_REDUCE || call == SN_REDUCE_SCATTER || call == SN_REDUCE;
}

/* As a compiler mangles ncclDevKernel_...(ncclDevKernelArgsStorage<4096ul>). */
static void kernel_name(char *name, size_t bytes, enum sn_call call, unsigned op, unsigned type)
{
    char plain[NAME_BYTES / 2];

    if (sn_isTransfer(call))
        snprintf(plain, sizeof(plain), "ncclDevKernel_SendRecv");
    else if (is_reduction(call))
        snprintf(plain, sizeof(plain), "ncclDevKernel_%s_%s_%s_RING_LL", sn_functionName(call),
                 op_names[op], type_names[type]);
    else
        snprintf(plain, sizeof(plain), "ncclDevKernel_%s_RING_LL", sn_functionName(call));
    snprintf(name, bytes, "_Z%zu%s24ncclDevKernelArgsStorageILm4096EE", strlen(plain), plain);
}

static void add_entry(char *ptx, enum sn_call call, unsigned op, unsigned type)
{
    char name[NAME_BYTES];
    size_t used = strlen(ptx);

    kernel_name(name, sizeof(name), call, op, type);
    snprintf(ptx + used, MODULE_BYTES - used, ".visible .entry %s(.param .u64 work)\n{\nret;\n}\n",
             name);
}

ncclResult_t sn_kernelsLoad(ncclComm_t comm)
{
    static const enum sn_call calls[] = {SN_ALL_GATHER,     SN_ALL_REDUCE, SN_BROADCAST,
                                         SN_REDUCE_SCATTER, SN_REDUCE,     SN_SEND};
    char *ptx = calloc(1, MODULE_BYTES);
    CUresult result;

    if (!ptx)
        return ncclSystemError;
    snprintf(ptx, MODULE_BYTES, ".version 6.0\n.target sm_50\n.address_size 64\n");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        for (unsigned op = 0; op < 5; op++)
            for (unsigned type = 0; type < 12; type++)
                if (is_reduction(calls[i]) || op + type == 0)
                    add_entry(ptx, calls[i], op, type);
    result = cuModuleLoadData(&comm->module, ptx);
    free(ptx);
    return result ? ncclUnhandledCudaError : ncclSuccess;
}

static CUfunction find_kernel(ncclComm_t comm, const struct sn_op *op)
{
    enum sn_call call = op->call == SN_RECV ? SN_SEND : op->call;
    bool reduces = is_reduction(call);
    CUfunction *kernel = &comm->kernels[call][reduces ? op->op : 0][reduces ? op->type : 0];
    char name[NAME_BYTES];

    if (*kernel)
        return *kernel;
    kernel_name(name, sizeof(name), call, op->op, op->type);
    if (cuModuleGetFunction(kernel, comm->module, name))
        return NULL;
    simgpu_kernel_meets(*kernel, sn_play);
    return *kernel;
}

/* A graph may be launched again for as long as the process lives, and host functions come late. */
static void keep(struct sn_work *work)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct sn_work *kept;

    pthread_mutex_lock(&lock);
    work->next = kept;
    kept = work;
    pthread_mutex_unlock(&lock);
}

static CUresult launch_kernel(const struct sn_work *work)
{
    const struct sn_op *first = &work->ops[0];
    CUlaunchConfig config = {.gridDimX = sn_isTransfer(first->call) ? CHANNELS / 2 : CHANNELS,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = THREADS,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = first->stream};
    CUfunction kernel = find_kernel(work->comm, first);
    void *params[] = {&work};
    void *event;
    CUresult result;

    if (!kernel)
        return CUDA_ERROR_NOT_FOUND;
    event = sn_pluginLaunch(work->comm, first->stream, work->group_event);
    result = cuLaunchKernelEx(&config, kernel, params, NULL);
    sn_pluginStop(event);
    return result;
}

/* As NCCL's own of this name, on a thread of the driver. */
static void host_function(void *data)
{
    struct sn_work *work = data;

    sn_nvtxPush(SN_HOST_FUNCTION);
    sn_pluginTasks(work);
    sn_nvtxPop();
}

/* Whether NCCL's proxy thread is told by the stream: of captured calls always, since it is told at
 * each replay, and of others while there are graphs, to keep the order. */
static bool is_told_by_stream(const struct sn_work *work)
{
    return work->comm->in_graphs && env_number("SIMNCCL_PROXY", 0);
}

/* As NCCL does for a rank alone. */
static ncclResult_t copy_alone(const struct sn_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i].send != ops[i].recv &&
            cuMemcpyAsync((CUdeviceptr)ops[i].recv, (CUdeviceptr)ops[i].send, ops[i].bytes,
                          ops[i].stream))
            return ncclUnhandledCudaError;
    return ncclSuccess;
}

ncclResult_t sn_launch(ncclComm_t comm, const struct sn_op *ops, size_t count, void *group_event)
{
    const bool captured = ops[0].captured;
    bool by_stream;
    CUresult result = CUDA_SUCCESS;
    struct sn_work *work;

    if (comm->is_idle)
        return copy_alone(ops, count);
    work = malloc(sizeof(*work) + count * sizeof(*ops));
    if (!work)
        return ncclSystemError;
    *work = (struct sn_work){.comm = comm, .count = count, .group_event = group_event};
    memcpy(work->ops, ops, count * sizeof(*ops));
    comm->in_graphs |= captured;
    by_stream = is_told_by_stream(work);
    if (by_stream)
        result = cuLaunchHostFunc(ops[0].stream, host_function, work);
    if (!result)
        result = launch_kernel(work);
    if (!result && !by_stream && !captured)
        sn_pluginTasks(work);
    if (by_stream || captured)
        keep(work);
    else
        free(work);
    return result ? ncclUnhandledCudaError : atomic_load(&comm->failure);
}
