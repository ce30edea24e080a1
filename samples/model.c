/*
 * model.c: kernels, layers and iterations of the inference sample.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

/* The index of this thread in %r4, whether it is beyond p_n in %p1, its byte offset in %rd4. */
#define PTX_PROLOGUE                                                                               \
    "{\n"                                                                                          \
    "    .reg .pred %p<3>;\n"                                                                      \
    "    .reg .b32 %r<16>;\n"                                                                      \
    "    .reg .b64 %rd<16>;\n"                                                                     \
    "    mov.u64 %rd1, %globaltimer;\n"                                                            \
    "    mov.u32 %r1, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r2, %ntid.x;\n"                                                                  \
    "    mov.u32 %r3, %tid.x;\n"                                                                   \
    "    mad.lo.u32 %r4, %r1, %r2, %r3;\n"                                                         \
    "    ld.param.u32 %r5, [p_n];\n"                                                               \
    "    ld.param.u32 %r6, [p_salt];\n"                                                            \
    "    setp.ge.u32 %p1, %r4, %r5;\n"                                                             \
    "    @%p1 bra SPIN;\n"                                                                         \
    "    mul.wide.u32 %rd4, %r4, 4;\n"

/* Keeps every thread busy until p_us microseconds after its start. */
#define PTX_EPILOGUE                                                                               \
    "SPIN:\n"                                                                                      \
    "    ld.param.u32 %r12, [p_us];\n"                                                             \
    "    mul.wide.u32 %rd11, %r12, 1000;\n"                                                        \
    "    add.u64 %rd12, %rd1, %rd11;\n"                                                            \
    "AGAIN:\n"                                                                                     \
    "    mov.u64 %rd13, %globaltimer;\n"                                                           \
    "    setp.lt.u64 %p2, %rd13, %rd12;\n"                                                         \
    "    @%p2 bra AGAIN;\n"                                                                        \
    "    ret;\n"                                                                                   \
    "}\n"

/* out = in * 1664525 + salt */
#define PTX_LAYER(name)                                                                            \
    ".visible .entry " name "(.param .u64 p_in, .param .u64 p_out, .param .u32 p_n,"               \
    " .param .u32 p_salt, .param .u32 p_us)\n" PTX_PROLOGUE "    ld.param.u64 %rd2, [p_in];\n"     \
    "    ld.param.u64 %rd3, [p_out];\n"                                                            \
    "    add.u64 %rd5, %rd2, %rd4;\n"                                                              \
    "    add.u64 %rd6, %rd3, %rd4;\n"                                                              \
    "    ld.global.u32 %r7, [%rd5];\n"                                                             \
    "    mad.lo.u32 %r8, %r7, 1664525, %r6;\n"                                                     \
    "    st.global.u32 [%rd6], %r8;\n" PTX_EPILOGUE

/* out = a + 3 * b + salt */
#define PTX_JOIN(name)                                                                             \
    ".visible .entry " name "(.param .u64 p_a, .param .u64 p_b, .param .u64 p_out,"                \
    " .param .u32 p_n, .param .u32 p_salt, .param .u32 p_us)\n" PTX_PROLOGUE                       \
    "    ld.param.u64 %rd2, [p_a];\n"                                                              \
    "    ld.param.u64 %rd3, [p_b];\n"                                                              \
    "    ld.param.u64 %rd5, [p_out];\n"                                                            \
    "    add.u64 %rd6, %rd2, %rd4;\n"                                                              \
    "    add.u64 %rd7, %rd3, %rd4;\n"                                                              \
    "    add.u64 %rd8, %rd5, %rd4;\n"                                                              \
    "    ld.global.u32 %r7, [%rd6];\n"                                                             \
    "    ld.global.u32 %r8, [%rd7];\n"                                                             \
    "    mad.lo.u32 %r9, %r8, 3, %r7;\n"                                                           \
    "    add.u32 %r10, %r9, %r6;\n"                                                                \
    "    st.global.u32 [%rd8], %r10;\n" PTX_EPILOGUE

static const char model_ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n" PTX_LAYER("conv_layer")
        PTX_LAYER("gemm_layer") PTX_LAYER("relu_layer") PTX_JOIN("add_join") PTX_LAYER("tactic_0")
            PTX_LAYER("tactic_1") PTX_LAYER("tactic_2") PTX_LAYER("tactic_3") PTX_LAYER("tactic_4")
                PTX_LAYER("tactic_5") PTX_LAYER("tactic_6") PTX_LAYER("tactic_7")
                    PTX_LAYER("tactic_8") PTX_LAYER("tactic_9") PTX_LAYER("tactic_10")
                        PTX_LAYER("tactic_11") PTX_LAYER("tactic_12") PTX_LAYER("tactic_13")
                            PTX_LAYER("tactic_14") PTX_LAYER("tactic_15");

static const size_t buffer_bytes = MODEL_ELEMENTS * sizeof(uint32_t);

enum { BLOCK = 256 };

static void name_layer(char *name, size_t size, int layer)
{
    static const char *const parts[ROLE_COUNT] = {"_branch2a", "_branch1", "_relu", ""};
    int block = layer / ROLE_COUNT;

    if (layer == 0)
        snprintf(name, size, "conv1");
    else
        snprintf(name, size, "res%d%c%s", 2 + block / 3, 'a' + block % 3,
                 parts[layer % ROLE_COUNT]);
}

void model_load(struct model *model, int layers, unsigned kernel_us)
{
    static const char *const kernels[ROLE_COUNT] = {"conv_layer", "gemm_layer", "relu_layer",
                                                    "add_join"};
    char name[32];

    model->layers = layers;
    model->kernel_us = kernel_us;
    CU_CHECK(cuModuleLoadData(&model->module, model_ptx));
    for (int i = 0; i < ROLE_COUNT; i++)
        CU_CHECK(cuModuleGetFunction(&model->kernels[i], model->module, kernels[i]));
    for (int i = 0; i < TACTIC_COUNT; i++) {
        snprintf(name, sizeof(name), "tactic_%d", i);
        CU_CHECK(cuModuleGetFunction(&model->tactics[i], model->module, name));
    }
    model->domain = nvtxDomainCreateA("layers");
    for (int i = 0; i < layers; i++) {
        name_layer(name, sizeof(name), i);
        model->names[i] = nvtxDomainRegisterStringA(model->domain, name);
    }
}

void model_unload(struct model *model)
{
    nvtxDomainDestroy(model->domain);
    CU_CHECK(cuModuleUnload(model->module));
}

static void launch(CUfunction kernel, CUstream stream, void **arguments)
{
    CU_CHECK(cuLaunchKernel(kernel, MODEL_ELEMENTS / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, arguments,
                            NULL));
}

void model_build(const struct model *model, int count)
{
    CUdeviceptr buffer;
    CUevent start, end;
    unsigned n = MODEL_ELEMENTS, us = model->kernel_us / 2 + 1;
    float milliseconds;

    nvtxRangePushA("build");
    CU_CHECK(cuMemAlloc(&buffer, buffer_bytes));
    CU_CHECK(cuMemsetD32(buffer, 0, MODEL_ELEMENTS));
    CU_CHECK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    CU_CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    for (int i = 0; i < count; i++) {
        unsigned salt = (unsigned)i;
        void *arguments[] = {&buffer, &buffer, &n, &salt, &us};

        CU_CHECK(cuEventRecord(start, NULL));
        launch(model->tactics[i % TACTIC_COUNT], NULL, arguments);
        CU_CHECK(cuEventRecord(end, NULL));
        CU_CHECK(cuEventSynchronize(end));
        CU_CHECK(cuEventElapsedTime(&milliseconds, start, end));
    }
    CU_CHECK(cuEventDestroy(start));
    CU_CHECK(cuEventDestroy(end));
    CU_CHECK(cuMemFree(buffer));
    nvtxRangePop();
}

static uint32_t *host_buffer(bool pinned)
{
    void *buffer = NULL;

    if (pinned)
        CU_CHECK(cuMemHostAlloc(&buffer, buffer_bytes, 0));
    else if (!(buffer = malloc(buffer_bytes)))
        fail("inference: out of memory");
    return buffer;
}

void worker_init(struct worker *worker, const struct model *model, int index, int streams,
                 bool pinned, uint32_t seed)
{
    *worker = (struct worker){.model = model,
                              .index = index,
                              .stream_count = streams,
                              .pinned = pinned,
                              .seed = mix(seed + 7919u * (uint32_t)index)};
    for (int i = 0; i < streams; i++)
        CU_CHECK(cuStreamCreate(&worker->streams[i], CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuEventCreate(&worker->fork, CU_EVENT_DISABLE_TIMING));
    CU_CHECK(cuEventCreate(&worker->join, CU_EVENT_DISABLE_TIMING));
    CU_CHECK(cuMemAlloc(&worker->x, buffer_bytes));
    CU_CHECK(cuMemAlloc(&worker->main_a, buffer_bytes));
    CU_CHECK(cuMemAlloc(&worker->main_b, buffer_bytes));
    CU_CHECK(cuMemAlloc(&worker->branch, buffer_bytes));
    worker->host_in = host_buffer(pinned);
    worker->host_out = host_buffer(pinned);
}

static void free_host(uint32_t *buffer, bool pinned)
{
    if (pinned)
        CU_CHECK(cuMemFreeHost(buffer));
    else
        free(buffer);
}

void worker_free(struct worker *worker)
{
    if (worker->graph)
        CU_CHECK(cuGraphExecDestroy(worker->graph));
    CU_CHECK(cuMemFree(worker->x));
    CU_CHECK(cuMemFree(worker->main_a));
    CU_CHECK(cuMemFree(worker->main_b));
    CU_CHECK(cuMemFree(worker->branch));
    free_host(worker->host_in, worker->pinned);
    free_host(worker->host_out, worker->pinned);
    CU_CHECK(cuEventDestroy(worker->fork));
    CU_CHECK(cuEventDestroy(worker->join));
    for (int i = 0; i < worker->stream_count; i++)
        CU_CHECK(cuStreamDestroy(worker->streams[i]));
}

static void push_layer(const struct model *model, int layer)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED};

    attributes.message.registered = model->names[layer];
    nvtxDomainRangePushEx(model->domain, &attributes);
}

/* The side streams take turns, block by block. */
static CUstream side_stream(const struct worker *worker, int layer)
{
    if (worker->stream_count == 1)
        return worker->streams[0];
    return worker->streams[1 + layer / ROLE_COUNT % (worker->stream_count - 1)];
}

static void run_simple(struct worker *worker, int layer, CUstream stream, CUdeviceptr in,
                       CUdeviceptr out)
{
    unsigned n = MODEL_ELEMENTS, salt = (unsigned)layer, us = worker->model->kernel_us;
    void *arguments[] = {&in, &out, &n, &salt, &us};

    launch(worker->model->kernels[layer % ROLE_COUNT], stream, arguments);
}

static void run_branch(struct worker *worker, int layer)
{
    CUstream side = side_stream(worker, layer);

    if (side != worker->streams[0])
        CU_CHECK(cuStreamWaitEvent(side, worker->fork, 0));
    run_simple(worker, layer, side, worker->x, worker->branch);
    if (side != worker->streams[0])
        CU_CHECK(cuEventRecord(worker->join, side));
}

static void wait_for_branch(struct worker *worker)
{
    if (worker->stream_count > 1)
        CU_CHECK(cuStreamWaitEvent(worker->streams[0], worker->join, 0));
}

static void run_join(struct worker *worker, int layer)
{
    unsigned n = MODEL_ELEMENTS, salt = (unsigned)layer, us = worker->model->kernel_us;
    void *arguments[] = {&worker->main_b, &worker->branch, &worker->x, &n, &salt, &us};

    wait_for_branch(worker);
    launch(worker->model->kernels[ROLE_JOIN], worker->streams[0], arguments);
    worker->output = worker->x;
}

static void run_layer(struct worker *worker, int layer)
{
    CUstream stream = worker->streams[0];

    push_layer(worker->model, layer);
    if (layer % ROLE_COUNT == ROLE_MAIN) {
        if (worker->stream_count > 1)
            CU_CHECK(cuEventRecord(worker->fork, stream));
        run_simple(worker, layer, stream, worker->x, worker->main_a);
        worker->output = worker->main_a;
    } else if (layer % ROLE_COUNT == ROLE_BRANCH) {
        run_branch(worker, layer);
    } else if (layer % ROLE_COUNT == ROLE_RELU) {
        run_simple(worker, layer, stream, worker->main_a, worker->main_b);
        worker->output = worker->main_b;
    } else {
        run_join(worker, layer);
    }
    nvtxDomainRangePop(worker->model->domain);
}

static void run_layers(struct worker *worker)
{
    int layers = worker->model->layers;

    worker->output = worker->x;
    for (int i = 0; i < layers; i++)
        run_layer(worker, i);
    /* A branch that no join has taken back must not outlive the iteration. */
    if (layers % ROLE_COUNT == ROLE_BRANCH + 1 || layers % ROLE_COUNT == ROLE_RELU + 1)
        wait_for_branch(worker);
}

void worker_capture(struct worker *worker)
{
    CUgraph graph;

    CU_CHECK(cuStreamBeginCapture(worker->streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
    run_layers(worker);
    CU_CHECK(cuStreamEndCapture(worker->streams[0], &graph));
    /* cuGraphInstantiate since CUDA 12; before, that had other arguments. */
    CU_CHECK(cuGraphInstantiateWithFlags(&worker->graph, graph, 0));
    CU_CHECK(cuGraphDestroy(graph));
}

static void add_to_checksum(struct worker *worker, int iteration)
{
    uint32_t sum = 0;

    for (int i = 0; i < MODEL_ELEMENTS; i++)
        sum = sum * 31 + worker->host_out[i];
    worker->checksum += mix(sum + (uint32_t)iteration);
}

void worker_iterate(struct worker *worker, int iteration, bool count_it)
{
    CUstream stream = worker->streams[0];

    nvtxRangePushA("iteration");
    for (int i = 0; i < MODEL_ELEMENTS; i++)
        worker->host_in[i] = worker->seed + 2654435761u * (uint32_t)(iteration + i);
    CU_CHECK(cuMemcpyHtoDAsync(worker->x, worker->host_in, buffer_bytes, stream));
    if (worker->graph)
        CU_CHECK(cuGraphLaunch(worker->graph, stream));
    else
        run_layers(worker);
    CU_CHECK(cuMemcpyDtoHAsync(worker->host_out, worker->output, buffer_bytes, stream));
    CU_CHECK(cuStreamSynchronize(stream));
    nvtxRangePop();
    if (count_it)
        add_to_checksum(worker, iteration);
}
