/* Round trips on an idle GPU: from a launch to the begin of its kernel, and to the end of the wait
 * for it. The kernel itself says when it begins, in memory that the host looks at.
 */
#include "calibrate/probe.h"

#include "base/poison.h"

enum { TRIPS = 100, WARM_UPS = 10, KERNEL_US = 40, BETWEEN_RESTS = 20 };

#define PATIENCE_NS 1000000u /* a kernel that has not begun by then does not say so */

static bool launch(struct probe *probe, void *graph, volatile uint32_t *flag)
{
    if (!graph)
        return probe_launch_spin(probe, KERNEL_US, flag);
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
    uint64_t begin;
    uint64_t began;

    *flag = 0;
    begin = probe->driver.clock();
    if (!launch(probe, graph, flag))
        return false;
    began = watch(probe, flag, begin);
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
    for (int i = 0; i < WARM_UPS + TRIPS; i++) {
        if (i % BETWEEN_RESTS == 0 && !probe_settle(probe))
            return false;
        if (!trip(probe, graph, seen, whole, i >= WARM_UPS))
            return false;
    }
    return true;
}

bool probe_trips(struct probe *probe)
{
    void *graph = probe_make_graph(probe, 1, KERNEL_US, probe->host);

    return graph && trips(probe, NULL, MEASURE_BEGIN, MEASURE_TRIP) &&
           trips(probe, graph, MEASURE_GRAPH_BEGIN, MEASURE_GRAPH_TRIP);
}
