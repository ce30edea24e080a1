/*
 * selftest_api.c: flushing, dropping, callbacks, start-up: what a CUPTI client relies on.
 */
#include "selftest.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const CUpti_ActivityKind kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_INVALID};

static void only_a_forced_flush_gives_unfinished_records(void)
{
    const record_kernel *k;

    gpu_start(kernels);
    gpu_spin(NULL, 10);
    OK(cuCtxSynchronize());
    gpu_spin(NULL, 1000);
    client_flush(0);
    EXPECT_EQ(client.count, 1);
    client_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    EXPECT_EQ(client.count, 2);
    k = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
    EXPECT_EQ(k->end, 0);
    OK(cuCtxSynchronize());
    client_flush(0);
    EXPECT_EQ(client.count, 2);
}

/* Before 27 they are a crash. */
#if CUPTI_API_VERSION < 27
#define REFUSES_BUFFERS "SIMGPU_CUPTI_VERSION=27"
#else
#define REFUSES_BUFFERS NULL
#endif

static void refused_buffers_are_counted_drops(void)
{
    size_t dropped;

    client.refuse_buffers = true;
    gpu_start(kernels);
    for (int i = 0; i < 7; i++)
        gpu_spin(NULL, 1);
    OK(cuCtxSynchronize());
    client_flush(0);
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    EXPECT_EQ(dropped, 7);
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    EXPECT_EQ(dropped, 0);
    EXPECT_EQ(client.count, 0);
}

static void full_buffers_come_back_without_a_flush(void)
{
    client.buffer_size = 10 * sizeof(record_kernel);
    gpu_start(kernels);
    for (int i = 0; i < 35; i++)
        gpu_spin(NULL, 1);
    OK(cuCtxSynchronize());
    EXPECT_EQ(client.count, 30);
    EXPECT_EQ(client.buffers_out, 1);
    client_flush(0);
    EXPECT_EQ(client.count, 35);
}

#ifdef SIMGPU_LACKS_cuptiActivityEnableDriverApi
#define api_records_come_cbid_by_cbid selftest_skip
#else
static void api_records_come_cbid_by_cbid(void)
{
    static const CUpti_ActivityKind nothing[] = {CUPTI_ACTIVITY_KIND_INVALID};

    client_start(nothing);
    OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1));
    gpu_start(NULL);
    gpu_spin(NULL, 1);
    OK(cuCtxSynchronize());
    OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 0));
    gpu_spin(NULL, 1);
    client_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    EXPECT_EQ(client.count, 1);
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
    OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 0));
    gpu_spin(NULL, 1);
    OK(cuCtxSynchronize());
    client_flush(0);
    EXPECT_EQ(client.count, 2);
}
#endif

static struct {
    int enters, exits, resources[CUPTI_CBID_RESOURCE_SIZE], synchronized;
    unsigned grid;
    uint32_t correlation;
    bool carried;
    char symbol[16];
    uint64_t original, clone;
} seen;

static void see_graph(CUpti_CallbackId cbid, const CUpti_GraphData *graph)
{
    if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
        OK(cuptiGetGraphNodeId(graph->node, &seen.original));
    if (cbid != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
        return;
    OK(cuptiGetGraphNodeId(graph->node, &seen.clone));
    OK(cuptiGetGraphNodeId(graph->originalNode, &seen.original));
}

static void see_launch(const CUpti_CallbackData *data)
{
    const cuLaunchKernel_params *params = data->functionParams;
    int unused;

    if (data->callbackSite == CUPTI_API_ENTER) {
        seen.enters++;
        seen.grid = params->gridDimX;
        seen.correlation = data->correlationId;
        *data->correlationData = 4711;
        cuDeviceGetCount(&unused); /* must not come back here */
        return;
    }
    seen.exits++;
    seen.carried = *data->correlationData == 4711 && data->correlationId == seen.correlation;
    snprintf(seen.symbol, sizeof(seen.symbol), "%s", data->symbolName);
    EXPECT(strcmp(data->functionName, "cuLaunchKernel") == 0);
    EXPECT_EQ(*(const CUresult *)data->functionReturnValue, CUDA_SUCCESS);
}

static void CUPTIAPI on_callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                 const void *data)
{
    EXPECT(userdata == &seen);
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        seen.resources[cbid]++;
        if (cbid >= CUPTI_CBID_RESOURCE_GRAPH_CREATED)
            see_graph(cbid, ((const CUpti_ResourceData *)data)->resourceDescriptor);
    } else if (domain == CUPTI_CB_DOMAIN_SYNCHRONIZE) {
        seen.synchronized++;
    } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        EXPECT_EQ(cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
        see_launch(data);
    }
}

static CUpti_SubscriberHandle subscribe(void)
{
    CUpti_SubscriberHandle subscriber;

    OK(cuptiSubscribe(&subscriber, on_callback, &seen));
    OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
    OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_SYNCHRONIZE));
    OK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                           CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    return subscriber;
}

static void callbacks_carry_parameters(void)
{
    CUpti_SubscriberHandle subscriber = subscribe();
    const record_kernel *k;

    gpu_start(kernels);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_CU_INIT_FINISHED], 1);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_CONTEXT_CREATED], 1);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_MODULE_LOADED], 1);
    gpu_spin(NULL, 1);
    OK(cuStreamSynchronize(NULL));
    client_flush(0);
    k = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    EXPECT(seen.enters == 1 && seen.exits == 1 && seen.grid == 2 && seen.carried);
    EXPECT_EQ(seen.correlation, k->correlationId);
    EXPECT(strcmp(seen.symbol, "spin") == 0);
    EXPECT_EQ(seen.synchronized, 1);
    OK(cuptiUnsubscribe(subscriber));
    gpu_spin(NULL, 1);
    EXPECT_EQ(seen.enters, 1);
}

static void resource_callbacks_cover_streams_and_graphs(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    uint32_t id;

    subscribe();
    gpu_start(NULL);
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gpu_spin(stream, 1);
    gpu_spin(stream, 1);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
#ifndef SIMGPU_LACKS_cuptiGetGraphExecId
    OK(cuptiGetGraphExecId(exec, &id));
    EXPECT_EQ(seen.clone, (uint64_t)id << 32 | 2);
#endif
    OK(cuptiGetGraphId(graph, &id));
    EXPECT_EQ(seen.original, (uint64_t)id << 32 | 2);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
    OK(cuDevicePrimaryCtxReset(0));
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_STREAM_CREATED], 1);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING], 1);
    /* Also the one that is made of the graph while it is instantiated (CUPTI 13.0, H100). */
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_GRAPH_CREATED], 2);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED], 2);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED], 1);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_GRAPH_CLONED], 1);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED], 2);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED], 1);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING], 1);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING], 1);
    EXPECT_EQ(seen.resources[CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING], 1);
}

#if CUPTI_API_VERSION < 130000 /* see cuptiSubscribe_v2 */
#define there_is_one_subscriber selftest_skip
#else
static void there_is_one_subscriber(void)
{
    char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
    CUpti_SubscriberParams first = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                    .subscriberName = "one"};
    CUpti_SubscriberParams second = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                     .oldSubscriberName = holder,
                                     .oldSubscriberSize = sizeof(holder)};
    CUpti_SubscriberHandle a, b;

    OK(cuptiSubscribe_v2(&a, on_callback, NULL, &first));
    EXPECT_EQ(cuptiSubscribe_v2(&b, on_callback, NULL, &second),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT(strcmp(holder, "CUPTI for one") == 0);
    OK(cuptiUnsubscribe(a));
    OK(cuptiSubscribe(&b, on_callback, NULL));
}
#endif

static void subscribing_fails_when_ordered(void)
{
    CUpti_SubscriberHandle subscriber;

    EXPECT_EQ(cuptiSubscribe(&subscriber, on_callback, NULL), 39);
}

static void init_fails_when_ordered(void)
{
    int count;

    EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
    EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
}

static void a_forked_child_has_no_cuda(void)
{
    int status;
    pid_t child;

    gpu_start(NULL);
    child = fork();
    if (child == 0)
        _exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                      cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED
                  ? 0
                  : 1);
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT_EQ(status, 0);
}

#ifdef SIMGPU_LACKS_cuGetProcAddress_v2
static CUresult find_symbol(const char *symbol, void **address)
{
    return cuGetProcAddress(symbol, address, CUDA_VERSION, 0);
}
#else
static CUresult find_symbol(const char *symbol, void **address)
{
    CUdriverProcAddressQueryResult status;
    CUresult result = cuGetProcAddress(symbol, address, CUDA_VERSION, 0, &status);

    EXPECT_EQ(cuGetProcAddress(symbol, address, CUDA_VERSION, 0, NULL), result);
    EXPECT_EQ(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, result != CUDA_SUCCESS);
    return result;
}
#endif

static void symbols_are_found_by_their_plain_names(void)
{
    void *alloc, *launch, *nothing;
    const char *name;

    OK(find_symbol("cuMemAlloc", &alloc));
    OK(find_symbol("cuLaunchKernel", &launch));
    EXPECT(alloc == (void *)cuMemAlloc && launch == (void *)cuLaunchKernel);
    EXPECT_EQ(find_symbol("cuNothing", &nothing), CUDA_ERROR_NOT_FOUND);
    OK(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &name));
    EXPECT(strcmp(name, "CUDA_ERROR_INVALID_VALUE") == 0);
    OK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 308, &name));
    EXPECT(strcmp(name, "cuProfilerStart") == 0);
    OK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 171, &name));
    EXPECT(strncmp(name, "cudaProfilerStart", 17) == 0);
}

static void wrong_arguments_are_errors(void)
{
    CUdeviceptr memory;
    CUfunction function;
    char host[16];

    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    EXPECT_EQ(cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
    gpu_start(NULL);
    OK(cuMemAlloc(&memory, 16));
    EXPECT_EQ(cuMemcpyHtoD(memory, host, 17), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemFree(memory + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuModuleGetFunction(&function, gpu.module, "none"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(cuLaunchKernel(gpu.spin, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EVENT), CUPTI_ERROR_INVALID_KIND);
    OK(cuMemFree(memory));
}

const struct selftest client_tests[] = {
    {"only a forced flush gives unfinished records", only_a_forced_flush_gives_unfinished_records,
     NULL},
    {"refused buffers are counted drops", refused_buffers_are_counted_drops, REFUSES_BUFFERS},
    {"full buffers come back without a flush", full_buffers_come_back_without_a_flush, NULL},
    {"API records come cbid by cbid", api_records_come_cbid_by_cbid, NULL},
    {"callbacks carry parameters and do not nest", callbacks_carry_parameters, NULL},
    {"resource callbacks cover streams and graphs", resource_callbacks_cover_streams_and_graphs,
     NULL},
    {"there is one subscriber, and its name is told", there_is_one_subscriber, NULL},
    {"subscribing fails when ordered", subscribing_fails_when_ordered,
     "SIMGPU_CUPTI_SUBSCRIBE_ERROR=39"},
    {"cuInit fails when ordered", init_fails_when_ordered, "SIMGPU_CUINIT_ERROR=100"},
    {"a forked child has no CUDA", a_forked_child_has_no_cuda, NULL},
    {"symbols are found by their plain names", symbols_are_found_by_their_plain_names, NULL},
    {"wrong arguments are errors, not crashes", wrong_arguments_are_errors, NULL},
    {0}};
