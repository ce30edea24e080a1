/* Gaps on the device: work that is complete in the queue when the device comes to it.
 *
 *     event 0 | gate | event 1 | work | event 2
 *
 * The gate keeps the device busy while the host puts the work into the queue. It also tells how
 * fast the clock runs that kernels wait by, so that their own time can be taken off exactly.
 */
#include "calibrate/probe.h"

#include "base/poison.h"

enum {
    SAMPLES = 7,
    WARM_UPS = 2,
    GATE_US = 4000,
    KERNEL_US = 5,
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
        if (!probe_launch_spin(probe, KERNEL_US, NULL) ||
            (work->measure == MEASURE_PAIRS && !put_copy(probe)))
            return false;
    }
    return true;
}

/* Time of the work without what its kernels spin. False if the host was too slow, so that the gate
 * had ended before all work was in the queue, and after a failure. */
static bool sample(struct probe *probe, const struct work *work, double *ns)
{
    bool late;

    if (!record(probe, 0) || !probe_launch_spin(probe, GATE_US, NULL) || !record(probe, 1) ||
        !put_work(probe, work) || !record(probe, 2))
        return false;
    late = probe->driver.event_query(probe->events[1]) == 0;
    if (!probe_settle(probe) || late)
        return false;
    *ns = elapsed(probe, 1, 2) - work->kernels * elapsed(probe, 0, 1) * KERNEL_US / GATE_US;
    return true;
}

/* Of launches the time of one, of a graph that of all. Returns the number of samples. */
static int samples(struct probe *probe, const struct work *work)
{
    int said = 0;

    for (int i = 0; !probe->failed && i < WARM_UPS + SAMPLES; i++) {
        double ns;

        if (!sample(probe, work, &ns) || i < WARM_UPS)
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
    void *graph = probe_make_graph(probe, (unsigned)nodes, KERNEL_US, NULL);

    if (graph)
        samples(probe, &(struct work){measure, graph, nodes});
    return !probe->failed;
}

bool probe_device(struct probe *probe)
{
    return chain(probe, MEASURE_KERNELS, KERNELS) && chain(probe, MEASURE_PAIRS, PAIRS) &&
           graph_samples(probe, MEASURE_NODES_100, 100) &&
           graph_samples(probe, MEASURE_NODES_400, 400);
}
