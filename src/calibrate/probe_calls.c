/* What calls cost the thread that makes them: bursts into an empty queue, and graph launches. */
#include "calibrate/probe.h"

#include "base/poison.h"

enum {
    BURSTS = 24,
    BURST_CALLS = 256,
    CHEAP_CALLS = 64,
    GRAPH_LAUNCHES = 24,
    WARM_UPS = 3,
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
    uint64_t end;

    for (unsigned i = 0; i < calls; i++) {
        if (!call_once(probe, measure, i))
            return false;
    }
    end = probe->driver.clock();
    if (warm)
        probe_say_calls(probe, measure, begin, end, calls);
    return probe_settle(probe);
}

static bool bursts(struct probe *probe, enum measure measure)
{
    for (int i = 0; i < WARM_UPS + BURSTS; i++) {
        if (!burst(probe, measure, i >= WARM_UPS))
            return false;
    }
    return true;
}

/* ---- Graphs ---- */

/* What a kernel does costs the launching thread nothing. */
static bool graph_launches(struct probe *probe, enum measure measure, unsigned nodes)
{
    void *graph = probe_make_graph(probe, nodes, NODE_US, NULL);

    for (int i = 0; graph && i < WARM_UPS + GRAPH_LAUNCHES; i++) {
        uint64_t begin = probe->driver.clock();
        int result = probe->driver.graph_launch(graph, probe->stream);
        uint64_t end = probe->driver.clock();

        if (!probe_succeeds(probe, result, "cuGraphLaunch") || !probe_settle(probe))
            return false;
        if (i >= WARM_UPS)
            probe_say_calls(probe, measure, begin, end, 1);
    }
    return graph != NULL;
}

bool probe_calls(struct probe *probe)
{
    return bursts(probe, MEASURE_LAUNCH) && bursts(probe, MEASURE_COPY) &&
           bursts(probe, MEASURE_CALL) && graph_launches(probe, MEASURE_GRAPH_1, 1) &&
           graph_launches(probe, MEASURE_GRAPH_100, 100) &&
           graph_launches(probe, MEASURE_GRAPH_400, 400);
}
