/* steps.c: a program that does what its arguments say, one after the other, so that a test knows by
 * construction what a trace of it must hold:
 *
 *     steps init alpha=4 start alpha=3 stop sync print=done
 *
 * A step is NAME or NAME=VALUE; step_rows, host_steps (steps/host.c) and graph_steps
 * (steps/graphs.c) list them. Streams and events are made at their first use. The kernels do
 * nothing.
 */
#include "common.h"

#include <cudaProfiler.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../steps/sandbox.h"
#include "../steps/steps.h"

enum { MAX_DEVICES = 2, MAX_STREAMS = 8, MAX_EVENTS = 8, COPY_BYTES = 1 << 16 };

static const char steps_ptx[] = ".version 6.0\n"
                                ".target sm_50\n"
                                ".address_size 64\n"
                                ".visible .entry alpha()\n{\n    ret;\n}\n"
                                ".visible .entry endless()\n{\n    ret;\n}\n"
                                ".visible .entry beta()\n{\n    ret;\n}\n"
                                ".visible .entry gamma()\n{\n    ret;\n}\n"
                                ".visible .entry touch(.param .u64 memory)\n{\n    ret;\n}\n";

/* What one device has. */
struct side {
    CUcontext context;
    CUmodule module;
    CUstream streams[MAX_STREAMS];
    CUdeviceptr buffer;
};

static struct side sides[MAX_DEVICES];
static struct side *here; /* the device in use */
static CUstream stream;   /* in use; NULL is the default stream */
static CUevent events[MAX_EVENTS];
static CUdeviceptr allocated, managed;
static void *pinned;
static CUmemoryPool pool;
static CUdeviceptr from_pool;
static char page[COPY_BYTES];
static pthread_t helper;
static pid_t helped; /* the process that `helper` runs in; 0: none runs */

long number(const char *value)
{
    char *end;
    long n = strtol(value, &end, 0);

    if (end == value || *end)
        fail("steps: '%s' is not a number", value);
    return n;
}

/* ---- The device ---- */

static void use_device(const char *value)
{
    long ordinal = number(value);
    CUdevice device;

    here = &sides[ordinal];
    stream = NULL;
    if (!here->context) {
        CU_CHECK(cuDeviceGet(&device, (int)ordinal));
        CU_CHECK(cuDevicePrimaryCtxRetain(&here->context, device));
        CU_CHECK(cuCtxSetCurrent(here->context));
        CU_CHECK(cuModuleLoadData(&here->module, steps_ptx));
        CU_CHECK(cuMemAlloc(&here->buffer, COPY_BYTES));
    }
    CU_CHECK(cuCtxSetCurrent(here->context));
}

static void init_only(const char *value)
{
    (void)value;
    CU_CHECK(cuInit(0));
}

static void init(const char *value)
{
    (void)value;
    init_only("");
    use_device("0");
}

static void start(const char *value)
{
    (void)value;
    CU_CHECK(cuProfilerStart());
}

static void stop(const char *value)
{
    (void)value;
    CU_CHECK(cuProfilerStop());
}

static void use_stream(const char *value)
{
    long n = number(value);

    if (n && !here->streams[n])
        CU_CHECK(cuStreamCreateWithPriority(&here->streams[n], CU_STREAM_NON_BLOCKING, (int)-n));
    stream = here->streams[n];
}

static void launch(const char *name, const char *count)
{
    CUfunction kernel;

    CU_CHECK(cuModuleGetFunction(&kernel, here->module, name));
    for (long i = number(count); i > 0; i--)
        CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void alpha(const char *value)
{
    launch("alpha", value);
}

static void endless(const char *value)
{
    launch("endless", value);
}

/* A module whose kernels launch kernels: it calls the device runtime. */
static void load_launchers(const char *value)
{
    static const char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                ".extern .func (.param .b32 r) cudaLaunchDeviceV2\n"
                                ".visible .entry parent()\n{\n    ret;\n}\n";
    CUmodule module;

    (void)value;
    CU_CHECK(cuModuleLoadData(&module, image));
}

/* So many launches of alpha on a thread of their own, which `join` awaits. */
static void *launch_aside(void *count)
{
    CU_CHECK(cuCtxSetCurrent(here->context));
    launch("alpha", count);
    return NULL;
}

static void aside(const char *value)
{
    if (pthread_create(&helper, NULL, launch_aside, (void *)(uintptr_t)value) == 0)
        helped = getpid();
}

static void join(const char *value)
{
    (void)value;
    if (helped == getpid())
        pthread_join(helper, NULL);
    helped = 0;
}

static void beta(const char *value)
{
    launch("beta", value);
}

static void gamma_kernel(const char *value)
{
    launch("gamma", value);
}

static void sync_context(const char *value)
{
    (void)value;
    CU_CHECK(cuCtxSynchronize());
}

static void sync_stream(const char *value)
{
    (void)value;
    CU_CHECK(cuStreamSynchronize(stream));
}

/* ---- Events ---- */

static CUevent event(const char *value)
{
    long n = number(value);

    if (!events[n])
        CU_CHECK(cuEventCreate(&events[n], CU_EVENT_DISABLE_TIMING));
    return events[n];
}

static void record_event(const char *value)
{
    CU_CHECK(cuEventRecord(event(value), stream));
}

static void wait_event(const char *value)
{
    CU_CHECK(cuStreamWaitEvent(stream, event(value), 0));
}

static void sync_event(const char *value)
{
    CU_CHECK(cuEventSynchronize(event(value)));
}

static void query_event(const char *value)
{
    CUresult result = cuEventQuery(event(value));

    if (result != CUDA_ERROR_NOT_READY)
        CU_CHECK(result);
}

/* Queries until it is done. */
static void poll_event(const char *value)
{
    CUevent polled = event(value);
    CUresult result;

    do
        result = cuEventQuery(polled);
    while (result == CUDA_ERROR_NOT_READY);
    CU_CHECK(result);
}

static void query_stream(const char *value)
{
    CUresult result = cuStreamQuery(stream);

    (void)value;
    if (result != CUDA_ERROR_NOT_READY)
        CU_CHECK(result);
}

static void poll_stream(const char *value)
{
    CUresult result;

    (void)value;
    do
        result = cuStreamQuery(stream);
    while (result == CUDA_ERROR_NOT_READY);
    CU_CHECK(result);
}

/* The handles of all events so far, one a line: what rows of `sync` must name. */
static void write_handles(const char *value)
{
    FILE *file = fopen(value, "w");

    if (!file)
        fail("steps: cannot write %s", value);
    for (int i = 0; i < MAX_EVENTS; i++)
        if (events[i])
            fprintf(file, "%d 0x%lx\n", i, (unsigned long)events[i]);
    fclose(file);
}

/* ---- For steps/graphs.c ---- */

CUstream steps_stream(void)
{
    return stream;
}

CUfunction steps_kernel(const char *name)
{
    CUfunction kernel;

    CU_CHECK(cuModuleGetFunction(&kernel, here->module, name));
    return kernel;
}

/* ---- Memory ---- */

static void copy_in(const char *value)
{
    CU_CHECK(cuMemcpyHtoD(here->buffer, page, (size_t)number(value)));
}

static void copy_out(const char *value)
{
    CU_CHECK(cuMemcpyDtoH(page, here->buffer, (size_t)number(value)));
}

static void copy_within(const char *value)
{
    size_t bytes = (size_t)number(value);

    CU_CHECK(cuMemcpyDtoDAsync(here->buffer + COPY_BYTES / 2, here->buffer, bytes, stream));
}

/* From device 0 to device 1; both must have been used. */
static void copy_peer(const char *value)
{
    CU_CHECK(cuMemcpyPeerAsync(sides[1].buffer, sides[1].context, sides[0].buffer, sides[0].context,
                               (size_t)number(value), stream));
}

static void set_bytes(const char *value)
{
    CU_CHECK(cuMemsetD8Async(here->buffer, 0x5a, (size_t)number(value), stream));
}

static void allocate(const char *value)
{
    CU_CHECK(cuMemAlloc(&allocated, (size_t)number(value)));
}

static void allocate_managed(const char *value)
{
    CU_CHECK(cuMemAllocManaged(&managed, (size_t)number(value), CU_MEM_ATTACH_GLOBAL));
}

/* A kernel with the last managed allocation as its parameter, so often. */
static void touch(const char *value)
{
    void *parameters[] = {&managed};
    CUfunction kernel;

    CU_CHECK(cuModuleGetFunction(&kernel, here->module, "touch"));
    for (long i = number(value); i > 0; i--)
        CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void release_managed(const char *value)
{
    (void)value;
    CU_CHECK(cuMemFree(managed));
}

static void release(const char *value)
{
    (void)value;
    CU_CHECK(cuMemFree(allocated));
}

static void allocate_pinned(const char *value)
{
    CU_CHECK(cuMemHostAlloc(&pinned, (size_t)number(value), 0));
}

static void release_pinned(const char *value)
{
    (void)value;
    CU_CHECK(cuMemFreeHost(pinned));
}

static void make_pool(const char *value)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

    (void)value;
    CU_CHECK(cuMemPoolCreate(&pool, &props));
}

static void allocate_from_pool(const char *value)
{
    CU_CHECK(cuMemAllocFromPoolAsync(&from_pool, (size_t)number(value), pool, stream));
}

static void release_to_pool(const char *value)
{
    (void)value;
    CU_CHECK(cuMemFreeAsync(from_pool, stream));
}

static void trim_pool(const char *value)
{
    CU_CHECK(cuMemPoolTrimTo(pool, (size_t)number(value)));
}

static void destroy_pool(const char *value)
{
    (void)value;
    CU_CHECK(cuMemPoolDestroy(pool));
}

/* ---- At exit ---- */

static void reset_device(void)
{
    join("");
    cuDevicePrimaryCtxReset(0);
}

/* As destructors of libraries do. */
static void reset_at_exit(const char *value)
{
    (void)value;
    atexit(reset_device);
}

/* ---- The table ---- */

static const struct step_row step_rows[] = {
    {"init", init},
    {"init-only", init_only},
    {"device", use_device},
    {"start", start},
    {"stop", stop},
    {"stream", use_stream},
    {"alpha", alpha},
    {"beta", beta},
    {"endless", endless},
    {"load-launchers", load_launchers},
    {"gamma", gamma_kernel},
    {"aside", aside},
    {"join", join},
    {"sync", sync_context},
    {"sync-stream", sync_stream},
    {"record", record_event},
    {"wait", wait_event},
    {"sync-event", sync_event},
    {"query-event", query_event},
    {"poll-event", poll_event},
    {"query-stream", query_stream},
    {"poll-stream", poll_stream},
    {"handles", write_handles},
    {"copy-in", copy_in},
    {"copy-out", copy_out},
    {"copy-within", copy_within},
    {"copy-peer", copy_peer},
    {"set", set_bytes},
    {"alloc", allocate},
    {"free", release},
    {"alloc-managed", allocate_managed},
    {"touch", touch},
    {"free-managed", release_managed},
    {"alloc-pinned", allocate_pinned},
    {"free-pinned", release_pinned},
    {"make-pool", make_pool},
    {"pool-alloc", allocate_from_pool},
    {"pool-free", release_to_pool},
    {"trim-pool", trim_pool},
    {"destroy-pool", destroy_pool},
    {"reset-at-exit", reset_at_exit},
    {"deny", deny_call},
    {"deniable", print_deniable},
};

static bool run_of(const struct step_row *rows, size_t count, const char *step)
{
    size_t length = strcspn(step, "=");

    for (size_t i = 0; i < count; i++)
        if (strlen(rows[i].name) == length && strncmp(step, rows[i].name, length) == 0) {
            rows[i].run(step[length] ? step + length + 1 : "");
            return true;
        }
    return false;
}

void run_step(const char *step)
{
    if (!run_of(step_rows, sizeof(step_rows) / sizeof(step_rows[0]), step) &&
        !run_of(host_steps, host_step_count, step) && !run_of(graph_steps, graph_step_count, step))
        fail("steps: no step '%s'", step);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run_step(argv[i]);
    return 0;
}
