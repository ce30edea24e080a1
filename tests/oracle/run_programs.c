/* run_programs.c: runs the programs of the oracle (program.py says what a line means).
 *
 *     run_programs PROGRAMS LOG
 *
 * Host threads run in lockstep: an operation begins, in real time, when the one on the line before
 * has returned, so that the order of the lines is the order of the API calls and of the correlation
 * ids, and every run is the same. Virtual time is each thread's own; with `carry` an operation
 * begins no earlier than the one before it *began*, as on a machine, where correlation ids and
 * times agree. Threads that wait for each other do so in virtual time (waits.h).
 *
 * The log's first line has the threads' ids. Then it says for each line how many driver calls came
 * before it, how many it made, and how many waits it was: the correlation ids, less that of the
 * first call in the file. Nothing else is measured here.
 */
#include "common.h"

#include <cudaProfiler.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "functions.h"
#include "green.h"
#include "lines.h"
#include "nodes.h"
#include "software.h"
#include "values.h"
#include "waits.h"

enum {
    DEVICES = 3,
    THREADS = 4,
    /* 0 legacy, 1 per thread, 2 and 3 blocking, 4 and 5 not, 6 and 7 made by programs; 4 is of a
     * green context, if the headers know these */
    STREAMS = 8,
    GREEN = 4,
    FIRST_MADE = 6,
    EVENTS = 12, /* the last four for captures */
    FIRST_CAPTURED = 8,
    GRAPHS = 8,
    BLOCKS = 4,
    BUFFER_BYTES = 1 << 19
};

static struct side {
    CUcontext context;
    CUmodule module;
    CUfunction spin, other;
    CUstream streams[STREAMS];
    CUevent events[EVENTS];
    CUdeviceptr buffer;
} sides[DEVICES];

static CUgraph graphs[GRAPHS];
static CUgraphExec execs[GRAPHS];
static CUdeviceptr blocks[BLOCKS];
static void *host_blocks[BLOCKS];
static char page[BUFFER_BYTES];
static char *pinned;

static struct worker {
    pthread_t thread;
    sem_t go, done;
    uint64_t now; /* its clock after its last operation */
    int device;   /* whose context is current, -1 for none */
    uint32_t tid; /* gettid */
} workers[THREADS];

/* Owned by whoever has the baton. */
static struct line current;
static struct side *here;
static unsigned long calls; /* of the driver, by the program */
static uint64_t floor_ns;   /* no operation begins before */
static bool carry;

#define DO(call) (calls++, CU_CHECK(call))

static long next(void)
{
    return lines_next(&current);
}

static CUstream stream(long n)
{
    if (n == 1)
        return CU_STREAM_PER_THREAD;
    return n == 0 ? NULL : here->streams[n];
}

static CUstream next_stream(void)
{
    return stream(next());
}

static CUevent *next_event(void)
{
    long n = next();

    return &sides[n / EVENTS].events[n % EVENTS];
}

static void *host_page(long is_pinned)
{
    return is_pinned ? pinned : page;
}

/* ---- Work for the device ---- */

static void launch(void)
{
    CUstream s = next_stream();
    unsigned us = (unsigned)next();
    CUdeviceptr none = 0;
    unsigned zero = 0;
    void *spin_params[] = {&us};
    void *other_params[] = {&none, &none, &zero, &zero, &us};

    if (next())
        DO(cuLaunchKernel(here->other, 1, 1, 1, 32, 1, 1, 0, s, other_params, NULL));
    else
        DO(cuLaunchKernel(here->spin, 1, 1, 1, 32, 1, 1, 0, s, spin_params, NULL));
}

/* The lead is in ns (simgpu takes the attribute for it). */
static void launch_overlapping(void)
{
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = next_stream(),
                             .numAttrs = 1};
    unsigned us = (unsigned)next();
    long other = next();
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    CUdeviceptr none = 0;
    unsigned zero = 0;
    void *spin_params[] = {&us};
    void *other_params[] = {&none, &none, &zero, &zero, &us};

    attribute.value.programmaticStreamSerializationAllowed = (int)next();
    config.attrs = &attribute;
    if (other)
        DO(cuLaunchKernelEx(&config, here->other, other_params, NULL));
    else
        DO(cuLaunchKernelEx(&config, here->spin, spin_params, NULL));
}

static struct host_work *next_host_work(void)
{
    uint64_t ns = (uint64_t)next();
    uint64_t post_ns = (uint64_t)next();

    return functions_new(ns, post_ns, next());
}

static void call_host(void)
{
    CUstream s = next_stream();
    struct host_work *work = next_host_work();

    functions_give(work);
    DO(cuLaunchHostFunc(s, functions_run, work));
    functions_give(NULL);
}

static void add_callback(void)
{
    CUstream s = next_stream();
    struct host_work *work = next_host_work();

    functions_give(work);
    DO(cuStreamAddCallback(s, functions_run_callback, work, 0));
    functions_give(NULL);
}

static void copy_in(void)
{
    CUstream s = next_stream();
    size_t bytes = (size_t)next();

    DO(cuMemcpyHtoDAsync(here->buffer, host_page(next()), bytes, s));
}

static void copy_out(void)
{
    CUstream s = next_stream();
    size_t bytes = (size_t)next();

    DO(cuMemcpyDtoHAsync(host_page(next()), here->buffer, bytes, s));
}

static void copy_within(void)
{
    CUstream s = next_stream();

    DO(cuMemcpyDtoDAsync(here->buffer + BUFFER_BYTES, here->buffer, (size_t)next(), s));
}

static void copy_peer(void)
{
    CUstream s = next_stream();
    const struct side *to = &sides[next()];

    DO(cuMemcpyPeerAsync(to->buffer, to->context, here->buffer, here->context, (size_t)next(), s));
}

static void set_bytes(void)
{
    CUstream s = next_stream();

    DO(cuMemsetD8Async(here->buffer, 0x5a, (size_t)next(), s));
}

static void copy_in_now(void)
{
    size_t bytes = (size_t)next();

    DO(cuMemcpyHtoD(here->buffer, host_page(next()), bytes));
}

static void copy_out_now(void)
{
    size_t bytes = (size_t)next();

    DO(cuMemcpyDtoH(host_page(next()), here->buffer, bytes));
}

static void copy_within_now(void)
{
    DO(cuMemcpyDtoD(here->buffer + BUFFER_BYTES, here->buffer, (size_t)next()));
}

static void set_bytes_now(void)
{
    DO(cuMemsetD8(here->buffer, 0x5a, (size_t)next()));
}

/* ---- Events, streams, waits ---- */

static void record(void)
{
    CUevent *event = next_event();

    DO(cuEventRecord(*event, next_stream()));
}

static void await_event(void)
{
    CUevent *event = next_event();

    DO(cuStreamWaitEvent(next_stream(), *event, 0));
}

/* Order that no record tells. */
static void hold(void)
{
    simgpu_hold(next_stream());
}

static void put_value(void)
{
    CUstream s = next_stream();

    DO(values_put(&current, s));
}

static void sync_event(void)
{
    DO(cuEventSynchronize(*next_event()));
}

static void sync_stream(void)
{
    DO(cuStreamSynchronize(next_stream()));
}

/* The call itself waits, as a driver's does that the preloaded library sees. */
static void sync_stream_waiting(void)
{
    uint64_t begin = simgpu_clock_ns();

    sync_stream();
    waits_inside(begin, simgpu_clock_ns());
}

static void sync_context(void)
{
    DO(cuCtxSynchronize());
}

/* Whether it is ready; one that is not is no error. */
static bool is_ready(CUresult result)
{
    calls++;
    if (result == CUDA_ERROR_NOT_READY)
        return false;
    CU_CHECK(result);
    return true;
}

/* A loop when the last number, the pause between two queries, is not 0. */
static void query_event(void)
{
    CUevent event = *next_event();
    uint64_t pause = (uint64_t)next();

    while (!is_ready(cuEventQuery(event)) && pause)
        simgpu_wait_until_ns(simgpu_clock_ns() + pause);
}

static void query_stream(void)
{
    CUstream s = next_stream();
    uint64_t pause = (uint64_t)next();

    while (!is_ready(cuStreamQuery(s)) && pause)
        simgpu_wait_until_ns(simgpu_clock_ns() + pause);
}

static void make_stream(void)
{
    long n = next();

    DO(cuStreamCreate(&here->streams[n], (unsigned)next()));
}

static void destroy_stream(void)
{
    DO(cuStreamDestroy(next_stream()));
}

static void make_event(void)
{
    DO(cuEventCreate(next_event(), CU_EVENT_DISABLE_TIMING));
}

static void destroy_event(void)
{
    DO(cuEventDestroy(*next_event()));
}

/* ---- Memory, host work ---- */

static void allocate(void)
{
    CUdeviceptr *block = &blocks[next()];

    DO(cuMemAlloc(block, (size_t)next()));
}

static void release(void)
{
    DO(cuMemFree(blocks[next()]));
}

static void allocate_host(void)
{
    void **block = &host_blocks[next()];

    DO(cuMemHostAlloc(block, (size_t)next(), 0));
}

static void release_host(void)
{
    DO(cuMemFreeHost(host_blocks[next()]));
}

static void load_module(void)
{
    CUmodule module;

    DO(cuModuleLoadData(&module, oracle_ptx));
    DO(cuModuleUnload(module));
}

static void work(void)
{
    uint64_t ns = (uint64_t)next();

    simgpu_wait_until_ns(simgpu_clock_ns() + ns);
}

/* ---- Waits ---- */

static void post(void)
{
    long object = next();

    waits_post(object, next());
}

static void await_post(void)
{
    long object = next();
    uint32_t kind = (uint32_t)next();
    uint64_t wake = (uint64_t)next();

    waits_await(object, kind, wake, (uint64_t)next());
}

static void join(void)
{
    const struct worker *other = &workers[next()];

    waits_join(other->tid, other->now, (uint64_t)next());
}

static void sleep_for(void)
{
    waits_sleep((uint64_t)next());
}

/* ---- Graphs ---- */

/* The steps of a capture: each as the operation of that name, on a stream that captures. */
static const struct step_row {
    char letter;
    void (*run)(void);
} step_rows[] = {
    {'k', launch},   {'p', launch_overlapping}, {'i', copy_in},
    {'o', copy_out}, {'d', copy_within},        {'s', set_bytes},
    {'r', record},   {'w', await_event},        {'h', call_host},
};

static void run_step(long letter)
{
    for (size_t i = 0; i < sizeof(step_rows) / sizeof(step_rows[0]); i++)
        if (step_rows[i].letter == letter) {
            step_rows[i].run();
            return;
        }
    fail("run_programs: no step %ld", letter);
}

static void capture_graph(void)
{
    CUgraph *graph = &graphs[next()];
    CUstream origin = next_stream();

    DO(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_RELAXED));
    while (current.at < current.count)
        run_step(next());
    DO(cuStreamEndCapture(origin, graph));
}

/* Nodes: what each does, its number of dependencies, their numbers. */
static void build_graph(void)
{
    CUgraph *graph = &graphs[next()];
    CUgraphNode nodes[MAX_NODES];

    DO(cuGraphCreate(graph, 0));
    for (int i = 0; current.at < current.count; i++) {
        struct node_work work = {.us = next(), .kernel = here->spin};
        struct node_deps deps;

        if (work.us < 0)
            work.inner = graphs[next()];
        if (work.us == NODE_LOOP)
            work.passes = next();
        deps.count = (size_t)next();
        if (i == MAX_NODES || deps.count > MAX_NODES)
            fail("run_programs: too many nodes");
        for (size_t d = 0; d < deps.count; d++)
            deps.items[d] = nodes[next()];
        nodes[i] = nodes_add(*graph, &deps, &work, &calls);
    }
}

static void instantiate(void)
{
    long n = next();

    DO(cuGraphInstantiateWithFlags(&execs[n], graphs[n], 0));
}

static void launch_graph(void)
{
    CUgraphExec exec = execs[next()];

    DO(cuGraphLaunch(exec, next_stream()));
}

static void destroy_graph(void)
{
    long n = next();

    DO(cuGraphExecDestroy(execs[n]));
    DO(cuGraphDestroy(graphs[n]));
}

/* ---- The lines ---- */

static const struct op_row {
    const char *name;
    void (*run)(void);
} op_rows[] = {
    {"kernel", launch},
    {"pdl", launch_overlapping},
    {"hostfunc", call_host},
    {"callback", add_callback},
    {"copyin", copy_in},
    {"copyout", copy_out},
    {"copywithin", copy_within},
    {"copypeer", copy_peer},
    {"set", set_bytes},
    {"copyinnow", copy_in_now},
    {"copyoutnow", copy_out_now},
    {"copywithinnow", copy_within_now},
    {"setnow", set_bytes_now},
    {"record", record},
    {"wait", await_event},
    {"hold", hold},
    {"valuewait", put_value},
    {"valuewrite", put_value},
    {"eventsync", sync_event},
    {"streamsync", sync_stream},
    {"streamsyncwait", sync_stream_waiting},
    {"contextsync", sync_context},
    {"eventquery", query_event},
    {"streamquery", query_stream},
    {"makestream", make_stream},
    {"dropstream", destroy_stream},
    {"makeevent", make_event},
    {"dropevent", destroy_event},
    {"alloc", allocate},
    {"free", release},
    {"hostalloc", allocate_host},
    {"hostfree", release_host},
    {"module", load_module},
    {"work", work},
    {"post", post},
    {"await", await_post},
    {"join", join},
    {"sleep", sleep_for},
    {"capture", capture_graph},
    {"build", build_graph},
    {"instantiate", instantiate},
    {"graph", launch_graph},
    {"dropgraph", destroy_graph},
};

static void run_op(void)
{
    struct worker *worker = &workers[current.thread];
    uint64_t start;

    simgpu_wait_until_ns(floor_ns);
    here = &sides[current.device];
    if (worker->device != current.device)
        DO(cuCtxSetCurrent(here->context));
    worker->device = current.device;
    start = simgpu_clock_ns();
    for (size_t i = 0; i < sizeof(op_rows) / sizeof(op_rows[0]); i++)
        if (strcmp(op_rows[i].name, current.name) == 0) {
            op_rows[i].run();
            /* Callbacks read the clock a few times before a call begins. */
            if (carry)
                floor_ns = start + 400;
            worker->now = simgpu_clock_ns();
            return;
        }
    fail("run_programs: no operation '%s'", current.name);
}

static void *work_for(void *argument)
{
    struct worker *worker = argument;

    worker->tid = (uint32_t)gettid();
    sem_post(&worker->done);
    for (;;) {
        sem_wait(&worker->go);
        if (current.thread < 0)
            return NULL;
        run_op();
        sem_post(&worker->done);
    }
}

static void begin_range(void)
{
    DO(cuProfilerStart());
    waits_clear();
    carry = next() != 0;
    /* Every thread's next operation lies in the range. */
    floor_ns = simgpu_clock_ns() + 100;
}

/* With a number other than 0 the first thread waits for the others first, as if it joined them. */
static void end_range(void)
{
    simgpu_wait_until_ns(floor_ns);
    if (next())
        for (int i = 1; i < THREADS; i++)
            simgpu_wait_until_ns(workers[i].now);
    DO(cuProfilerStop());
    floor_ns = 0;
    carry = false;
    /* In real time, so that the writer keeps up: a range returns CUPTI's buffers. */
    usleep(300);
}

static void run_line(void)
{
    if (strcmp(current.name, "begin") == 0) {
        begin_range();
    } else if (strcmp(current.name, "end") == 0) {
        end_range();
    } else if (current.thread == 0) {
        run_op();
    } else {
        sem_post(&workers[current.thread].go);
        sem_wait(&workers[current.thread].done);
    }
}

static void set_up(int ordinal)
{
    struct side *side = &sides[ordinal];
    CUdevice device;

    DO(cuDeviceGet(&device, ordinal));
    DO(cuDevicePrimaryCtxRetain(&side->context, device));
    DO(cuCtxSetCurrent(side->context));
    DO(cuModuleLoadData(&side->module, oracle_ptx));
    DO(cuModuleGetFunction(&side->spin, side->module, "spin"));
    DO(cuModuleGetFunction(&side->other, side->module, "other_layer"));
    DO(cuMemAlloc(&side->buffer, (size_t)2 * BUFFER_BYTES));
    for (int i = 2; i < FIRST_MADE; i++)
        if (i == GREEN)
            green_stream(&side->streams[i], device, &calls);
        else
            DO(cuStreamCreate(&side->streams[i], i < 4 ? 0 : CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < EVENTS; i++)
        DO(cuEventCreate(&side->events[i], CU_EVENT_DISABLE_TIMING));
}

static void start_threads(void)
{
    for (int i = 0; i < THREADS; i++)
        workers[i].device = -1;
    workers[0].tid = (uint32_t)gettid();
    for (int i = 1; i < THREADS; i++) {
        sem_init(&workers[i].go, 0, 0);
        sem_init(&workers[i].done, 0, 0);
        if (pthread_create(&workers[i].thread, NULL, work_for, &workers[i]) != 0)
            fail("run_programs: cannot create a thread");
        sem_wait(&workers[i].done);
    }
}

static void end_threads(void)
{
    current.thread = -1;
    for (int i = 1; i < THREADS; i++) {
        sem_post(&workers[i].go);
        pthread_join(workers[i].thread, NULL);
    }
}

static FILE *programs, *log_file;

int main(int argc, char **argv)
{
    char *text = NULL;
    size_t size = 0;

    programs = argc == 3 ? fopen(argv[1], "r") : NULL;
    log_file = argc == 3 ? fopen(argv[2], "w") : NULL;
    if (!programs || !log_file)
        fail("usage: run_programs PROGRAMS LOG");
    DO(cuInit(0));
    for (int i = 0; i < DEVICES; i++)
        set_up(i);
    DO(cuMemHostAlloc((void **)&pinned, BUFFER_BYTES, 0));
    DO(values_make());
    start_threads();
    fprintf(log_file, "%u %u %u %u\n", workers[0].tid, workers[1].tid, workers[2].tid,
            workers[3].tid);
    while (getline(&text, &size, programs) > 0) {
        unsigned long before = calls, waits = waits_count();

        lines_parse(&current, text);
        if (current.thread >= THREADS || current.device >= DEVICES)
            fail("run_programs: no such thread or device");
        run_line();
        fprintf(log_file, "%lu %lu %lu\n", before, calls - before, waits_count() - waits);
    }
    end_threads();
    free(text);
    fclose(programs);
    return fclose(log_file) != 0;
}
