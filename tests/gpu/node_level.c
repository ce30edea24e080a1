/* What one way of asking CUPTI for CUDA graphs costs a launch: a client of CUPTI by itself around a
 * graph of short kernels, each of which waits for the one before. node_level.sh runs it for each
 * way, in turn.
 *
 *     node_level --level L [--turn M] [OPTION...]
 *
 * L is what is enabled when the graph is instantiated: none (CUPTI is not loaded), idle (CUPTI
 * waits, nothing is enabled), graph (GRAPH_TRACE), node (CONCURRENT_KERNEL), serial (KERNEL). With
 * --turn, blocks of launches alternate between L and M; between two of them all work has ended, and
 * CUPTI is flushed. With --both 1, M is enabled too while the graph is instantiated; with --keep 1,
 * L stays enabled in the blocks of M.
 *
 * Lines on the standard output, once for L and once for M:
 *
 *     LEVEL|us to the end|N          of a launch, to the return of the wait for it; median
 *     LEVEL|us of the call|N         of cuGraphLaunch alone; median
 *     LEVEL|kernels|N                records of kernels, a launch
 *     LEVEL|without times|N          of these
 *     LEVEL|graphs|N                 records of graphs, a launch
 *     LEVEL|status|N                 the first that CUPTI answered and is not CUPTI_SUCCESS; -1:
 *                                    this CUPTI lacks the function
 *     LEVEL|us on the GPU|N          from the begin of its first record to the end of its last;
 *                                    median; only where records have times
 *
 * What was refused has a line on stderr that begins with "node level:", and the rest goes on.
 */
#include "common.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "record/core/clock.h"
#include "record/cupti/cupti_api.h"
#include "record/cupti/layout.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define BUFFERS      160u
#define MAX_LAUNCHES 4000
#define NOT_SET      (-1)

/* How long CUPTI has to read what has run before a turn ends. */
#define SETTLE_NS 3000000

enum level { LEVEL_NONE, LEVEL_IDLE, LEVEL_GRAPH, LEVEL_NODE, LEVEL_SERIAL };

static const char *const level_names[] = {"none", "idle", "graph", "node", "serial", NULL};

/* CUPTI_ACTIVITY_ATTR_*: a value for each that can matter; older headers lack the last names. */
enum attribute { BYTES, POOL, SEMAPHORES, ZEROED, PREPARED, PINNED, PER_THREAD, ATTRIBUTES };

static const struct {
    const char *name;
    int id;
    size_t bytes;
} attributes[ATTRIBUTES] = {
    [BYTES] = {"DEVICE_BUFFER_SIZE", 0, sizeof(size_t)},
    [POOL] = {"DEVICE_BUFFER_POOL_LIMIT", 2, sizeof(size_t)},
    [SEMAPHORES] = {"PROFILING_SEMAPHORE_POOL_SIZE", 3, sizeof(size_t)},
    [ZEROED] = {"ZEROED_OUT_ACTIVITY_BUFFER", 5, sizeof(uint8_t)},
    [PREPARED] = {"DEVICE_BUFFER_PRE_ALLOCATE_VALUE", 6, sizeof(size_t)},
    [PINNED] = {"MEM_ALLOCATION_TYPE_HOST_PINNED", 8, sizeof(uint8_t)},
    [PER_THREAD] = {"PER_THREAD_ACTIVITY_BUFFER", 9, sizeof(uint8_t)},
};

static struct {
    int level, turn, values[ATTRIBUTES], latency, launch_attributes, hardware, clock, subscribed;
    int both, keep, nodes, launches, block, us;
} options = {
    .level = LEVEL_NODE,
    .turn = NOT_SET,
    .values = {NOT_SET, NOT_SET, NOT_SET, 1, NOT_SET, NOT_SET, 1},
    .latency = NOT_SET,
    .launch_attributes = NOT_SET,
    .hardware = NOT_SET,
    .subscribed = 1,
    .nodes = 800,
    .launches = 30,
    .block = 6,
    .us = 2,
};

static const struct option_row rows[] = {
    {"level", OPTION_CHOICE, &options.level, 0, 0, level_names, "when the graph is made (node)"},
    {"turn", OPTION_CHOICE, &options.turn, 0, 0, level_names, "in turn with --level"},
    {"bytes", OPTION_INT, &options.values[BYTES], 1, 1 << 30, NULL, "of CUPTI's GPU buffers"},
    {"pool", OPTION_INT, &options.values[POOL], 1, 1 << 20, NULL, "GPU buffers at most"},
    {"semaphores", OPTION_INT, &options.values[SEMAPHORES], 1, 1 << 30, NULL, "of a pool"},
    {"zeroed", OPTION_INT, &options.values[ZEROED], 0, 1, NULL, "buffers come zeroed (1)"},
    {"prepared", OPTION_INT, &options.values[PREPARED], 0, 1000, NULL, "GPU buffers beforehand"},
    {"pinned", OPTION_INT, &options.values[PINNED], 0, 1, NULL, "CUPTI's buffers on the host"},
    {"per-thread", OPTION_INT, &options.values[PER_THREAD], 0, 1, NULL, "a buffer a thread (1)"},
    {"latency", OPTION_INT, &options.latency, 0, 1, NULL, "cuptiActivityEnableLatencyTimestamps"},
    {"attributes", OPTION_INT, &options.launch_attributes, 0, 1, NULL,
     "cuptiActivityEnableLaunchAttributes"},
    {"hardware", OPTION_INT, &options.hardware, 0, 1, NULL, "cuptiActivityEnableHWTrace"},
    {"clock", OPTION_INT, &options.clock, 0, 1, NULL, "CUPTI gets miniprof's clock (0)"},
    {"subscribed", OPTION_INT, &options.subscribed, 0, 1, NULL, "cuptiSubscribe (1)"},
    {"both", OPTION_INT, &options.both, 0, 1, NULL, "the graph is made with both levels on (0)"},
    {"keep", OPTION_INT, &options.keep, 0, 1, NULL, "--level stays on meanwhile (0)"},
    {"nodes", OPTION_INT, &options.nodes, 1, 10000, NULL, "kernels of the graph (800)"},
    {"launches", OPTION_INT, &options.launches, 1, MAX_LAUNCHES, NULL, "of each level (30)"},
    {"block", OPTION_INT, &options.block, 1, MAX_LAUNCHES, NULL, "launches a turn (6)"},
    {"us", OPTION_INT, &options.us, 0, 1000, NULL, "of a kernel, about (2)"},
    {NULL, OPTION_INT, NULL, 0, 0, NULL, NULL},
};

/* `us` at 1.7 GHz. */
static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry spin(.param .u32 p_us)\n"
                          "{\n"
                          "    .reg .pred %p1;\n"
                          "    .reg .b32 %r1;\n"
                          "    .reg .b64 %rd<5>;\n"
                          "    mov.u64 %rd1, %clock64;\n"
                          "    ld.param.u32 %r1, [p_us];\n"
                          "    mul.wide.u32 %rd2, %r1, 1700;\n"
                          "AGAIN:\n"
                          "    mov.u64 %rd3, %clock64;\n"
                          "    sub.s64 %rd4, %rd3, %rd1;\n"
                          "    setp.lt.s64 %p1, %rd4, %rd2;\n"
                          "    @%p1 bra AGAIN;\n"
                          "    ret;\n"
                          "}\n";

/* Of one level. */
struct measured {
    double total_us[MAX_LAUNCHES], call_us[MAX_LAUNCHES], gpu_us[MAX_LAUNCHES];
    size_t launches, spans, kernels, untimed, graphs;
};

static struct measured measured[2];
static struct cupti_api cupti;
static struct driver_api driver;
static void *library;
static int status;
static CUfunction kernel;
static CUstream stream;
static CUgraphExec graph;

/* Each buffer is used once, so that nothing has to be zeroed meanwhile. */
static struct {
    uint8_t *memory;
    atomic_uint given, ended;
    struct {
        uint8_t *begin;
        size_t bytes;
        atomic_bool is_there;
    } full[BUFFERS];
    unsigned read; /* of `full` */
} buffers;

/* ---- What CUPTI answers ---- */

static void check(CUptiResult result, const char *what)
{
    if (result == CUPTI_SUCCESS)
        return;
    if (!status)
        status = (int)result;
    fprintf(stderr, "node level: %s: %s (%d)\n", what, cupti_result_text(&cupti, result),
            (int)result);
}

/* A function that takes a switch, if this CUPTI has it. */
static void set_switch(const char *name, int value)
{
    CUptiResult (*function)(uint8_t);

    if (value == NOT_SET)
        return;
    *(void **)&function = dlsym(library, name);
    if (function) {
        check(function((uint8_t)value), name);
        return;
    }
    if (!status)
        status = -1;
    fprintf(stderr, "node level: %s: this CUPTI lacks it\n", name);
}

static void set_attributes(void)
{
    size_t i;

    for (i = 0; i < ATTRIBUTES; i++) {
        size_t value = options.values[i] == NOT_SET ? 0 : (size_t)options.values[i];
        size_t bytes = attributes[i].bytes;
        uint8_t small = (uint8_t)value;

        if (options.values[i] == NOT_SET)
            continue;
        check(cupti.set_attribute((CUpti_ActivityAttribute)attributes[i].id, &bytes,
                                  bytes == 1 ? (void *)&small : (void *)&value),
              attributes[i].name);
    }
}

/* ---- Buffers and records ---- */

static void CUPTIAPI request(uint8_t **buffer, size_t *bytes, size_t *records)
{
    unsigned index = atomic_fetch_add(&buffers.given, 1);

    *buffer = index < BUFFERS ? buffers.memory + index * BUFFER_BYTES : NULL;
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *records = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t of_stream, uint8_t *buffer, size_t bytes,
                              size_t valid_bytes)
{
    unsigned index;

    (void)context;
    (void)of_stream;
    (void)bytes;
    if (!buffer)
        return;
    index = atomic_fetch_add(&buffers.ended, 1);
    if (index >= BUFFERS)
        return;
    buffers.full[index].begin = buffer;
    buffers.full[index].bytes = valid_bytes;
    atomic_store(&buffers.full[index].is_there, true);
}

static void CUPTIAPI called_back(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

/* The launch that a record is of, as far as records tell: they come in order. */
struct span {
    uint32_t correlation;
    uint64_t begin, end;
};

static void end_span(struct measured *of, struct span *span)
{
    if (span->end > span->begin && of->spans < MAX_LAUNCHES)
        of->gpu_us[of->spans++] = (double)(span->end - span->begin) / 1e3;
    *span = (struct span){0};
}

static void add_span(struct measured *of, struct span *span, uint32_t correlation, uint64_t begin,
                     uint64_t end)
{
    if (span->correlation != correlation)
        end_span(of, span);
    span->correlation = correlation;
    if (!begin || end < begin)
        return;
    if (!span->begin || begin < span->begin)
        span->begin = begin;
    if (end > span->end)
        span->end = end;
}

static void take_record(struct measured *of, struct span *span, const CUpti_Activity *record)
{
    const struct record_kernel *of_kernel = (const void *)record;
    const struct record_graph *of_graph = (const void *)record;

    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
        record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
        of->kernels++;
        of->untimed += !of_kernel->start || !of_kernel->end;
        add_span(of, span, of_kernel->correlation, of_kernel->start, of_kernel->end);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
        of->graphs++;
        add_span(of, span, of_graph->correlation, of_graph->start, of_graph->end);
    }
}

static void take_buffers(struct measured *of)
{
    struct span span = {0};
    CUpti_Activity *record;

    while (buffers.read < BUFFERS && atomic_load(&buffers.full[buffers.read].is_there)) {
        record = NULL;
        while (cupti_next(&cupti, buffers.full[buffers.read].begin,
                          buffers.full[buffers.read].bytes, &record))
            take_record(of, &span, record);
        buffers.read++;
    }
    end_span(of, &span);
}

static void settle(void)
{
    const struct timespec pause = {.tv_nsec = SETTLE_NS};

    nanosleep(&pause, NULL);
}

/* All work has ended. */
static void take_records(struct measured *of)
{
    if (!library)
        return;
    settle();
    check(cupti.flush_all(0), "cuptiActivityFlushAll");
    settle();
    take_buffers(of);
}

/* ---- Levels ---- */

static CUpti_ActivityKind kind_of(int level)
{
    return level == LEVEL_GRAPH  ? CUPTI_ACTIVITY_KIND_GRAPH_TRACE
           : level == LEVEL_NODE ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                 : CUPTI_ACTIVITY_KIND_KERNEL;
}

static void switch_on(int level)
{
    if (level >= LEVEL_GRAPH)
        check(cupti.enable(kind_of(level)), "cuptiActivityEnable");
}

static void switch_off(int level)
{
    if (level >= LEVEL_GRAPH)
        check(cupti.disable(kind_of(level)), "cuptiActivityDisable");
}

static void load_cupti(void)
{
    const char *requested = getenv("MINIPROF_CUPTI");
    struct mp_error error;

    driver_api_load(&driver);
    if (cupti_api_load(&cupti, &driver, requested ? requested : "", &error) != MP_OK)
        fail("node level: %s", error.text);
    library = dlopen(cupti.path, RTLD_NOW);
    if (!library)
        fail("node level: %s", dlerror());
}

static void start_cupti(void)
{
    static CUpti_SubscriberHandle subscriber;

    buffers.memory = mmap(NULL, BUFFERS * BUFFER_BYTES, PROT_READ | PROT_WRITE,
                          MAP_ANONYMOUS | MAP_PRIVATE | MAP_POPULATE, -1, 0);
    if (buffers.memory == MAP_FAILED)
        fail("node level: no memory");
    if (options.subscribed)
        check(cupti.subscribe(&subscriber, called_back, NULL), "cuptiSubscribe");
    set_attributes();
    set_switch("cuptiActivityEnableHWTrace", options.hardware);
    set_switch("cuptiActivityEnableLatencyTimestamps", options.latency);
    set_switch("cuptiActivityEnableLaunchAttributes", options.launch_attributes);
    check(cupti.register_callbacks(request, complete), "cuptiActivityRegisterCallbacks");
    if (options.clock)
        check(cupti.register_clock(mp_clock_now), "cuptiActivityRegisterTimestampCallback");
    switch_on(options.level);
    if (options.both)
        switch_on(options.turn);
}

/* ---- The graph ---- */

static void make_graph(void)
{
    void *parameters[] = {&options.us};
    CUgraph captured;
    CUcontext context;
    CUmodule module;
    CUdevice device;
    int i;

    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    CU_CHECK(cuModuleGetFunction(&kernel, module, "spin"));
    CU_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (i = 0; i < options.nodes; i++)
        CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
    CU_CHECK(cuStreamEndCapture(stream, &captured));
    CU_CHECK(cuGraphInstantiateWithFlags(&graph, captured, 0));
    CU_CHECK(cuGraphDestroy(captured));
}

static void launch(struct measured *of)
{
    uint64_t begin = mp_monotonic_ns();
    uint64_t called, end;

    CU_CHECK(cuGraphLaunch(graph, stream));
    called = mp_monotonic_ns();
    CU_CHECK(cuStreamSynchronize(stream));
    end = mp_monotonic_ns();
    of->call_us[of->launches] = (double)(called - begin) / 1e3;
    of->total_us[of->launches++] = (double)(end - begin) / 1e3;
}

static void warm_up(void)
{
    static struct measured unused;
    int i;

    for (i = 0; i < 3; i++)
        launch(&unused);
    take_records(&unused);
}

static void run_block(struct measured *of, int launches)
{
    int i;

    for (i = 0; i < launches; i++)
        launch(of);
    take_records(of);
}

static void run_in_turn(void)
{
    int done, count;

    for (done = 0; done < options.launches; done += count) {
        count = options.launches - done < options.block ? options.launches - done : options.block;
        run_block(&measured[0], count);
        if (!options.keep)
            switch_off(options.level);
        switch_on(options.turn);
        run_block(&measured[1], count);
        switch_off(options.turn);
        if (!options.keep)
            switch_on(options.level);
    }
}

/* ---- What came out ---- */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(double *values, size_t count)
{
    if (!count)
        return 0;
    qsort(values, count, sizeof(double), compare);
    return values[count / 2];
}

static void print(int level, struct measured *of)
{
    const char *name = level_names[level];
    double launches = (double)of->launches;

    printf("%s|us to the end|%.1f\n", name, median(of->total_us, of->launches));
    printf("%s|us of the call|%.1f\n", name, median(of->call_us, of->launches));
    printf("%s|kernels|%.2f\n", name, (double)of->kernels / launches);
    printf("%s|without times|%.2f\n", name, (double)of->untimed / launches);
    printf("%s|graphs|%.2f\n", name, (double)of->graphs / launches);
    printf("%s|status|%d\n", name, status);
    if (of->spans)
        printf("%s|us on the GPU|%.1f\n", name, median(of->gpu_us, of->spans));
}

int main(int argc, char **argv)
{
    parse_options(argc, argv, rows);
    CU_CHECK(cuInit(0));
    if (options.level != LEVEL_NONE) {
        load_cupti();
        start_cupti();
    } else if (options.turn != NOT_SET)
        fail("node level: --turn needs a --level with CUPTI");
    make_graph();
    if (options.both)
        switch_off(options.turn);
    warm_up();
    if (options.turn == NOT_SET)
        run_block(&measured[0], options.launches);
    else
        run_in_turn();
    print(options.level, &measured[0]);
    if (options.turn != NOT_SET)
        print(options.turn, &measured[1]);
    return 0;
}
