/* What all parts of the probe need: the driver, kernels, graphs, and lines of the answer. */
#include "calibrate/probe.h"

#include <time.h>

#include "base/poison.h"

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

void probe_say_calls(struct probe *probe, enum measure measure, uint64_t begin, uint64_t end,
                     unsigned count)
{
    fprintf(probe->answer, "call %s %llu %llu %u\n", measure_name(measure),
            (unsigned long long)begin, (unsigned long long)end, count);
}

void probe_say_time(struct probe *probe, enum measure measure, double ns)
{
    fprintf(probe->answer, "time %s %.1f\n", measure_name(measure), ns);
}

bool probe_succeeds(struct probe *probe, int result, const char *what)
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

bool probe_set_up(struct probe *probe, int device)
{
    const char *missing;

    if (!driver_load(&probe->driver, &missing)) {
        fprintf(probe->answer, "failed there is no %s\n", missing);
        return !(probe->failed = true);
    }
    return set_context(probe, device) && make_things(probe);
}

bool probe_wait(struct probe *probe)
{
    return CALL(probe, stream_wait, probe->stream);
}

bool probe_settle(struct probe *probe)
{
    const struct timespec rest = {.tv_nsec = 1000000};

    if (!probe_wait(probe))
        return false;
    nanosleep(&rest, NULL);
    return true;
}

/* ---- Work ---- */

bool probe_launch_empty(struct probe *probe)
{
    return CALL(probe, launch, probe->empty, 1, 1, 1, 1, 1, 1, 0, probe->stream, NULL, NULL);
}

bool probe_launch_spin(struct probe *probe, unsigned us, volatile uint32_t *flag)
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

void *probe_make_graph(struct probe *probe, unsigned nodes, unsigned us, volatile uint32_t *flag)
{
    void *graph;
    void *executable;

    if (!CALL(probe, capture_begin, probe->stream, DRIVER_CAPTURE_RELAXED) ||
        !launch_nodes(probe, nodes, us, flag) || !CALL(probe, capture_end, probe->stream, &graph) ||
        !CALL(probe, graph_instantiate, &executable, graph, 0))
        return NULL;
    return executable;
}
