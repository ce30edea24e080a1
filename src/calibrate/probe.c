/* The child of `miniprof calibrate`: does all work of a round in this process and writes its
 * answer.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text/strings.h"
#include "calibrate/answer.h"
#include "calibrate/calibrate.h"
#include "cli/command.h"

#include "base/poison.h"

/* ---- The driver ----
 *
 * Loads the CUDA driver and finds its functions by name.
 */

/* X(field, symbol, parameters) */
#define DRIVER_FUNCTIONS(X)                                                                        \
    X(initialise, "cuInit", (unsigned flags))                                                      \
    X(version, "cuDriverGetVersion", (int *version))                                               \
    X(device_count, "cuDeviceGetCount", (int *count))                                              \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                       \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))           \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                    \
    X(context_set, "cuCtxSetCurrent", (void *context))                                             \
    X(module_load, "cuModuleLoadData", (void **module, const void *image))                         \
    X(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))   \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                            \
    X(stream_wait, "cuStreamSynchronize", (void *stream))                                          \
    X(event_create, "cuEventCreate", (void **event, unsigned flags))                               \
    X(event_record, "cuEventRecord", (void *event, void *stream))                                  \
    X(event_query, "cuEventQuery", (void *event))                                                  \
    X(event_elapsed, "cuEventElapsedTime", (float *ms, void *begin, void *end))                    \
    X(host_allocate, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))              \
    X(allocate, "cuMemAlloc_v2", (uint64_t * memory, size_t bytes))                                \
    X(copy_in, "cuMemcpyHtoDAsync_v2",                                                             \
      (uint64_t to, const void *from, size_t bytes, void *stream))                                 \
    X(copy_within, "cuMemcpyDtoDAsync_v2",                                                         \
      (uint64_t to, uint64_t from, size_t bytes, void *stream))                                    \
    X(launch, "cuLaunchKernel",                                                                    \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters,       \
       void **extra))                                                                              \
    X(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                          \
    X(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                             \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                            \
      (void **executable, void *graph, unsigned long long flags))                                  \
    X(graph_launch, "cuGraphLaunch", (void *executable, void *stream))

#define DRIVER_STREAM_NON_BLOCKING  1
#define DRIVER_CAPTURE_RELAXED      2
#define DRIVER_ATTRIBUTE_CLOCK_RATE 13 /* kHz */
#define DRIVER_MEMORY_PORTABLE      1

struct driver {
#define X(field, symbol, parameters) int(*field) parameters;
    DRIVER_FUNCTIONS(X)
#undef X
    /* The clock of the trace: ns of CLOCK_MONOTONIC, or the software GPU's. */
    uint64_t (*clock)(void);
};

static uint64_t monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The function of that name, or the second version of it: headers of CUDA 13 have no first one of
 * some. */
static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    char second[64];

    if (symbol)
        return symbol;
    snprintf(second, sizeof second, "%s_v2", name);
    return dlsym(library, second);
}

/* Loads libcuda.so.1. False: *missing says what there is not. */
static bool driver_load(struct driver *driver, const char **missing)
{
    const struct {
        const char *name;
        void *function; /* where the pointer goes */
    } symbols[] = {
#define X(field, symbol, parameters) {symbol, &driver->field},
        DRIVER_FUNCTIONS(X)
#undef X
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

    *missing = "CUDA driver (libcuda.so.1)";
    if (!library)
        return false;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = find(library, symbols[i].name);
        *missing = symbols[i].name;
        if (!symbol)
            return false;
        memcpy(symbols[i].function, &symbol, sizeof symbol);
    }
    driver->clock = monotonic;
    void *clock = dlsym(library, "simgpu_clock_ns");
    if (clock)
        memcpy(&driver->clock, &clock, sizeof clock);
    return true;
}

/* ---- What all parts need ----
 *
 * What all parts of the probe need: the driver, kernels, graphs, and lines of the answer.
 */

struct probe {
    struct driver driver;
    FILE *answer;
    bool failed;
    void *stream;
    void *empty; /* kernels: does nothing */
    void *spin;  /* runs for so many us */
    void *events[3];
    void *host;              /* pinned memory; its first word is set by a kernel that begins */
    uint64_t device[2];      /* device memory, two buffers */
    unsigned cycles_each_us; /* of the multiprocessors' clock, nearly */
    bool blind;              /* kernels do not say when they begin */
};

#define PROBE_COPY_BYTES 4096

/* `spin` waits by the multiprocessor's clock, because %globaltimer moves in steps of up to 1 us and
 * would hide a shorter gap between two kernels. */
static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry empty()\n{\n  ret;\n}\n"
                          ".visible .entry spin(.param .u32 us, .param .u32 rate, "
                          ".param .u64 flag)\n"
                          "{\n"
                          "  .reg .pred %p;\n"
                          "  .reg .u32 %us, %rate, %one;\n"
                          "  .reg .u64 %begin, %now, %cycles, %flag;\n"
                          "  mov.u64 %begin, %clock64;\n"
                          "  ld.param.u64 %flag, [flag];\n"
                          "  setp.eq.u64 %p, %flag, 0;\n"
                          "  @%p bra WAIT;\n"
                          "  cvta.to.global.u64 %flag, %flag;\n"
                          "  mov.u32 %one, 1;\n"
                          "  st.volatile.global.u32 [%flag], %one;\n"
                          "WAIT:\n"
                          "  ld.param.u32 %us, [us];\n"
                          "  ld.param.u32 %rate, [rate];\n"
                          "  mul.wide.u32 %cycles, %us, %rate;\n"
                          "LOOP:\n"
                          "  mov.u64 %now, %clock64;\n"
                          "  sub.u64 %now, %now, %begin;\n"
                          "  setp.lt.u64 %p, %now, %cycles;\n"
                          "  @%p bra LOOP;\n"
                          "  ret;\n"
                          "}\n";

#define USUAL_KHZ 1500000

/* ---- The answer ---- */

/* Writes samples. */
static void probe_say_calls(struct probe *probe, enum measure measure, uint64_t begin, uint64_t end,
                            unsigned count)
{
    fprintf(probe->answer, "call %s %llu %llu %u\n", measure_name(measure),
            (unsigned long long)begin, (unsigned long long)end, count);
}

static void probe_say_time(struct probe *probe, enum measure measure, double ns)
{
    fprintf(probe->answer, "time %s %.1f\n", measure_name(measure), ns);
}

/* Notes a failure of the driver, the first one only; true if `result` is success. */
static bool probe_succeeds(struct probe *probe, int result, const char *what)
{
    if (result && !probe->failed) {
        fprintf(probe->answer, "failed %s returned %d\n", what, result);
        probe->failed = true;
    }
    return !probe->failed;
}

/* ---- The device ---- */

/* Calls a function of the driver and notes its failure. */
#define CALL(probe, function, ...)                                                                 \
    probe_succeeds(probe, (probe)->driver.function(__VA_ARGS__), "the driver's " #function)

static bool fail(struct probe *probe, const char *text)
{
    fprintf(probe->answer, "failed %s\n", text);
    probe->failed = true;
    return false;
}

static bool set_context(struct probe *probe, int ordinal)
{
    void *context;
    int device;
    int count = 0;
    int khz = 0;

    if (probe->driver.initialise(0) != 0 || probe->driver.device_count(&count) != 0 || !count)
        return fail(probe, "there is no GPU that the CUDA driver can use");
    if (ordinal >= count) {
        fprintf(probe->answer, "failed there is no device %d: the driver has %d, from 0 on\n",
                ordinal, count);
        return !(probe->failed = true);
    }
    if (!CALL(probe, device_get, &device, ordinal) ||
        !CALL(probe, context_retain, &context, device) || !CALL(probe, context_set, context))
        return false;
    probe->driver.device_attribute(&khz, DRIVER_ATTRIBUTE_CLOCK_RATE, device);
    probe->cycles_each_us = (unsigned)(khz > 0 ? khz : USUAL_KHZ) / 1000;
    return true;
}

static bool make_things(struct probe *probe)
{
    void *module;

    for (size_t i = 0; i < sizeof probe->events / sizeof *probe->events; i++) {
        if (!CALL(probe, event_create, &probe->events[i], 0))
            return false;
    }
    return CALL(probe, module_load, &module, ptx) &&
           CALL(probe, module_function, &probe->empty, module, "empty") &&
           CALL(probe, module_function, &probe->spin, module, "spin") &&
           CALL(probe, stream_create, &probe->stream, DRIVER_STREAM_NON_BLOCKING) &&
           CALL(probe, host_allocate, &probe->host, PROBE_COPY_BYTES, DRIVER_MEMORY_PORTABLE) &&
           CALL(probe, allocate, &probe->device[0], PROBE_COPY_BYTES) &&
           CALL(probe, allocate, &probe->device[1], PROBE_COPY_BYTES);
}

/* The driver, a context, two kernels, and memory. False after a failure, which is noted. */
static bool probe_set_up(struct probe *probe, int device)
{
    const char *missing;

    if (!driver_load(&probe->driver, &missing)) {
        fprintf(probe->answer, "failed there is no %s\n", missing);
        return !(probe->failed = true);
    }
    return set_context(probe, device) && make_things(probe);
}

static bool probe_wait(struct probe *probe)
{
    return CALL(probe, stream_wait, probe->stream);
}

/* The same, and a rest in which the recorder's writer takes what the thread left for it. */
static bool probe_settle(struct probe *probe)
{
    const struct timespec rest = {.tv_nsec = 1000000};

    if (!probe_wait(probe))
        return false;
    nanosleep(&rest, NULL);
    return true;
}

/* ---- Work ---- */

/* Launches, each of one thread. `flag`: memory that the kernel sets to 1 when it begins, or NULL.
 */
static bool probe_launch_empty(struct probe *probe)
{
    return CALL(probe, launch, probe->empty, 1, 1, 1, 1, 1, 1, 0, probe->stream, NULL, NULL);
}

static bool probe_launch_spin(struct probe *probe, unsigned us, volatile uint32_t *flag)
{
    uint64_t address = (uint64_t)(uintptr_t)flag; /* pinned memory has one address everywhere */
    void *parameters[] = {&us, &probe->cycles_each_us, &address};

    return CALL(probe, launch, probe->spin, 1, 1, 1, 1, 1, 1, 0, probe->stream, parameters, NULL);
}

static bool launch_nodes(struct probe *probe, unsigned nodes, unsigned us, volatile uint32_t *flag)
{
    for (unsigned i = 0; i < nodes; i++) {
        if (us ? !probe_launch_spin(probe, us, flag) : !probe_launch_empty(probe))
            return false;
    }
    return true;
}

/* A graph of `nodes` kernels in a chain: empty ones, or those that spin for `us`. NULL: failed. */
static void *probe_make_graph(struct probe *probe, unsigned nodes, unsigned us,
                              volatile uint32_t *flag)
{
    void *graph;
    void *executable;

    if (!CALL(probe, capture_begin, probe->stream, DRIVER_CAPTURE_RELAXED) ||
        !launch_nodes(probe, nodes, us, flag) || !CALL(probe, capture_end, probe->stream, &graph) ||
        !CALL(probe, graph_instantiate, &executable, graph, 0))
        return NULL;
    return executable;
}

/* ---- Calls ----
 *
 * What calls cost the thread that makes them: bursts into an empty queue, and graph launches.
 */

enum {
    BURSTS = 24,
    BURST_CALLS = 256,
    CHEAP_CALLS = 64,
    GRAPH_LAUNCHES = 24,
    CALL_WARM_UPS = 3,
    NODE_US = 5
};

/* ---- Bursts ---- */

static bool copy(struct probe *probe, unsigned i)
{
    const struct driver *driver = &probe->driver;
    int result =
        i % 2 ? driver->copy_within(probe->device[1], probe->device[0], PROBE_COPY_BYTES,
                                    probe->stream)
              : driver->copy_in(probe->device[0], probe->host, PROBE_COPY_BYTES, probe->stream);

    return probe_succeeds(probe, result, "an asynchronous copy");
}

static bool call_once(struct probe *probe, enum measure measure, unsigned i)
{
    if (measure == MEASURE_COPY)
        return copy(probe, i);
    if (measure == MEASURE_LAUNCH)
        return probe_launch_empty(probe);
    return probe_succeeds(probe, probe->driver.event_record(probe->events[0], probe->stream),
                          "cuEventRecord");
}

/* The recorder notes cheap calls itself, in a ring (record/core/call_log.h). So few that all of the
 * probe's fit, even if its writer gets no time. */
static unsigned burst_calls(enum measure measure)
{
    return measure == MEASURE_CALL ? CHEAP_CALLS : BURST_CALLS;
}

static bool burst(struct probe *probe, enum measure measure, bool warm)
{
    unsigned calls = burst_calls(measure);
    uint64_t begin = probe->driver.clock();

    for (unsigned i = 0; i < calls; i++) {
        if (!call_once(probe, measure, i))
            return false;
    }
    uint64_t end = probe->driver.clock();
    if (warm)
        probe_say_calls(probe, measure, begin, end, calls);
    return probe_settle(probe);
}

static bool bursts(struct probe *probe, enum measure measure)
{
    for (int i = 0; i < CALL_WARM_UPS + BURSTS; i++) {
        if (!burst(probe, measure, i >= CALL_WARM_UPS))
            return false;
    }
    return true;
}

/* ---- Graphs ---- */

/* What a kernel does costs the launching thread nothing. */
static bool graph_launches(struct probe *probe, enum measure measure, unsigned nodes)
{
    void *graph = probe_make_graph(probe, nodes, NODE_US, NULL);

    for (int i = 0; graph && i < CALL_WARM_UPS + GRAPH_LAUNCHES; i++) {
        uint64_t begin = probe->driver.clock();
        int result = probe->driver.graph_launch(graph, probe->stream);
        uint64_t end = probe->driver.clock();

        if (!probe_succeeds(probe, result, "cuGraphLaunch") || !probe_settle(probe))
            return false;
        if (i >= CALL_WARM_UPS)
            probe_say_calls(probe, measure, begin, end, 1);
    }
    return graph != NULL;
}

/* The three groups of measures; false after a failure, which is noted. */
static bool probe_calls(struct probe *probe)
{
    return bursts(probe, MEASURE_LAUNCH) && bursts(probe, MEASURE_COPY) &&
           bursts(probe, MEASURE_CALL) && graph_launches(probe, MEASURE_GRAPH_1, 1) &&
           graph_launches(probe, MEASURE_GRAPH_100, 100) &&
           graph_launches(probe, MEASURE_GRAPH_400, 400);
}

/* ---- The device ----
 *
 * Gaps on the device: work that is complete in the queue when the device comes to it.
 *
 *     event 0 | gate | event 1 | work | event 2
 *
 * The gate keeps the device busy while the host puts the work into the queue. It also tells how
 * fast the clock runs that kernels wait by, so that their own time can be taken off exactly.
 */

enum {
    SAMPLES = 7,
    DEVICE_WARM_UPS = 2,
    GATE_US = 4000,
    DEVICE_KERNEL_US = 5,
    KERNELS = 400,
    PAIRS = 100,
    MIN = 25
};

/* What stands behind the gate: a graph, or so many launches. */
struct work {
    enum measure measure;
    void *graph;
    int kernels;
};

static bool record(struct probe *probe, int i)
{
    return probe_succeeds(probe, probe->driver.event_record(probe->events[i], probe->stream),
                          "cuEventRecord");
}

static double elapsed(struct probe *probe, int from, int to)
{
    float ms = 0;

    probe_succeeds(probe, probe->driver.event_elapsed(&ms, probe->events[from], probe->events[to]),
                   "cuEventElapsedTime");
    return (double)ms * 1e6;
}

static bool put_copy(struct probe *probe)
{
    return probe_succeeds(
        probe,
        probe->driver.copy_in(probe->device[0], probe->host, PROBE_COPY_BYTES, probe->stream),
        "cuMemcpyHtoDAsync");
}

static bool put_work(struct probe *probe, const struct work *work)
{
    if (work->graph)
        return probe_succeeds(probe, probe->driver.graph_launch(work->graph, probe->stream),
                              "cuGraphLaunch");
    for (int i = 0; i < work->kernels; i++) {
        if (!probe_launch_spin(probe, DEVICE_KERNEL_US, NULL) ||
            (work->measure == MEASURE_PAIRS && !put_copy(probe)))
            return false;
    }
    return true;
}

/* Time of the work without what its kernels spin. False if the host was too slow, so that the gate
 * had ended before all work was in the queue, and after a failure. */
static bool sample(struct probe *probe, const struct work *work, double *ns)
{
    if (!record(probe, 0) || !probe_launch_spin(probe, GATE_US, NULL) || !record(probe, 1) ||
        !put_work(probe, work) || !record(probe, 2))
        return false;
    bool late = probe->driver.event_query(probe->events[1]) == 0;
    if (!probe_settle(probe) || late)
        return false;
    *ns = elapsed(probe, 1, 2) - work->kernels * elapsed(probe, 0, 1) * DEVICE_KERNEL_US / GATE_US;
    return true;
}

/* Of launches the time of one, of a graph that of all. Returns the number of samples. */
static int samples(struct probe *probe, const struct work *work)
{
    int said = 0;

    for (int i = 0; !probe->failed && i < DEVICE_WARM_UPS + SAMPLES; i++) {
        double ns;

        if (!sample(probe, work, &ns) || i < DEVICE_WARM_UPS)
            continue;
        probe_say_time(probe, work->measure, work->graph ? ns : ns / work->kernels);
        said++;
    }
    return said;
}

/* If the queue does not take so many, a launch waits until the gate has ended. Then half of them
 * are tried. */
static bool chain(struct probe *probe, enum measure measure, int max)
{
    for (int kernels = max; !probe->failed && kernels >= MIN; kernels /= 2) {
        if (samples(probe, &(struct work){measure, NULL, kernels}))
            break;
    }
    return !probe->failed;
}

static bool graph_samples(struct probe *probe, enum measure measure, int nodes)
{
    void *graph = probe_make_graph(probe, (unsigned)nodes, DEVICE_KERNEL_US, NULL);

    if (graph)
        samples(probe, &(struct work){measure, graph, nodes});
    return !probe->failed;
}

static bool probe_device(struct probe *probe)
{
    return chain(probe, MEASURE_KERNELS, KERNELS) && chain(probe, MEASURE_PAIRS, PAIRS) &&
           graph_samples(probe, MEASURE_NODES_100, 100) &&
           graph_samples(probe, MEASURE_NODES_400, 400);
}

/* ---- Round trips ----
 *
 * Round trips on an idle GPU: from a launch to the begin of its kernel, and to the end of the wait
 * for it. The kernel itself says when it begins, in memory that the host looks at.
 */

enum { TRIPS = 100, TRIP_WARM_UPS = 10, TRIP_KERNEL_US = 40, BETWEEN_RESTS = 20 };

#define PATIENCE_NS 1000000u /* a kernel that has not begun by then does not say so */

static bool launch(struct probe *probe, void *graph, volatile uint32_t *flag)
{
    if (!graph)
        return probe_launch_spin(probe, TRIP_KERNEL_US, flag);
    return probe_succeeds(probe, probe->driver.graph_launch(graph, probe->stream), "cuGraphLaunch");
}

/* When the kernel was seen to begin; 0 if it was not. After the first such kernel no other one is
 * watched. */
static uint64_t watch(struct probe *probe, const volatile uint32_t *flag, uint64_t begin)
{
    uint64_t now;

    if (probe->blind)
        return 0;
    do {
        now = probe->driver.clock();
    } while (!*flag && now - begin <= PATIENCE_NS);
    probe->blind = now - begin > PATIENCE_NS;
    return probe->blind ? 0 : now;
}

static bool trip(struct probe *probe, void *graph, enum measure seen, enum measure whole, bool warm)
{
    volatile uint32_t *flag = probe->host;

    *flag = 0;
    uint64_t begin = probe->driver.clock();
    if (!launch(probe, graph, flag))
        return false;
    uint64_t began = watch(probe, flag, begin);
    if (!probe_wait(probe))
        return false;
    if (!warm)
        return true;
    probe_say_time(probe, whole, (double)(probe->driver.clock() - begin));
    if (began)
        probe_say_time(probe, seen, (double)(began - begin));
    return true;
}

static bool trips(struct probe *probe, void *graph, enum measure seen, enum measure whole)
{
    for (int i = 0; i < TRIP_WARM_UPS + TRIPS; i++) {
        if (i % BETWEEN_RESTS == 0 && !probe_settle(probe))
            return false;
        if (!trip(probe, graph, seen, whole, i >= TRIP_WARM_UPS))
            return false;
    }
    return true;
}

static bool probe_trips(struct probe *probe)
{
    void *graph = probe_make_graph(probe, 1, TRIP_KERNEL_US, probe->host);

    return graph && trips(probe, NULL, MEASURE_BEGIN, MEASURE_TRIP) &&
           trips(probe, graph, MEASURE_GRAPH_BEGIN, MEASURE_GRAPH_TRIP);
}

/* ---- The child ---- */

#define PATIENCE_S 120 /* the driver alone takes seconds on machines with many GPUs */

int calibrate_probe(int argc, char **argv)
{
    struct probe probe = {.failed = false};
    uint64_t device;

    if (argc != 3 || !mp_text_to_u64(argv[2], 0, INT32_MAX, &device)) {
        complain("calibrate", "unknown option '" CALIBRATE_PROBE "'");
        return EXIT_USAGE;
    }
    probe.answer = fopen(argv[1], "we");
    if (!probe.answer) {
        complain("calibrate", "cannot write '%s': %m", argv[1]);
        return EXIT_UNREADABLE;
    }
    alarm(PATIENCE_S);
    bool done = probe_set_up(&probe, (int)device) && probe_calls(&probe) && probe_device(&probe) &&
                probe_trips(&probe);
    if (fclose(probe.answer) != 0)
        done = false;
    return done ? EXIT_FINE : EXIT_FINDINGS;
}
