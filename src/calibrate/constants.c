/* The arithmetic of `miniprof calibrate`: differences and slopes.
 *
 *     around = time of a recorded call, less its duration in the trace
 *     in     = what recording adds to a call, less around
 *
 * A graph's launch has a part of its own and a part for each node: the slope over graphs of three
 * sizes, and what is left of the smallest. What recording adds to a round trip on an idle GPU is
 * the launch call, `start`, `finish`, and what is around the call that waits and comes after it.
 * What is inside of that call comes while it waits, or is a part of `finish`. Half of what is
 * around a call comes before it.
 */
#include "calibrate/constants.h"

#include "base/poison.h"

/* What is left of `whole` is inside of the call. */
struct split {
    double in;
    double around;
};

static double added(const struct measured *bare, const struct measured *recorded,
                    enum measure measure)
{
    return recorded->ns[measure] - bare->ns[measure];
}

/* What happens around a call that has no record cannot be told from the call: all is around. */
static struct split split(const struct measured *bare, const struct measured *recorded,
                          enum measure measure)
{
    double whole = added(bare, recorded, measure);
    double around = recorded->ns[measure] - recorded->inside[measure];

    if (around > whole)
        around = whole;
    return (struct split){whole - around, around};
}

/* Slope of the straight line nearest to three points, by least squares. */
static double slope(const double x[3], const double y[3])
{
    double mean_x = (x[0] + x[1] + x[2]) / 3;
    double mean_y = (y[0] + y[1] + y[2]) / 3;
    double above = 0;
    double below = 0;

    for (int i = 0; i < 3; i++) {
        above += (x[i] - mean_x) * (y[i] - mean_y);
        below += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return above / below;
}

static void find_graph(const struct measured *bare, const struct measured *recorded,
                       struct costs *costs)
{
    static const double nodes[3] = {1, 100, 400};
    struct split one = split(bare, recorded, MEASURE_GRAPH_1);
    double in[3] = {one.in, split(bare, recorded, MEASURE_GRAPH_100).in,
                    split(bare, recorded, MEASURE_GRAPH_400).in};

    costs->graph_around = one.around;
    costs->node_in = slope(nodes, in);
    costs->graph_in = one.in - costs->node_in;
}

static void find_calls(const struct measured *bare, const struct measured *recorded,
                       struct costs *costs)
{
    struct split launch = split(bare, recorded, MEASURE_LAUNCH);
    struct split copy = split(bare, recorded, MEASURE_COPY);
    struct split call = split(bare, recorded, MEASURE_CALL);

    costs->launch_in = launch.in;
    costs->launch_around = launch.around;
    costs->copy_in = copy.in;
    costs->copy_around = copy.around;
    costs->call_in = call.in;
    costs->call_around = call.around;
}

static void find_gaps(const struct measured *bare, const struct measured *recorded,
                      struct costs *costs)
{
    costs->kernel_gap = added(bare, recorded, MEASURE_KERNELS);
    costs->copy_gap = added(bare, recorded, MEASURE_PAIRS) - costs->kernel_gap;
    costs->node_gap =
        (added(bare, recorded, MEASURE_NODES_400) - added(bare, recorded, MEASURE_NODES_100)) / 300;
}

/* What a trip adds at its begin, besides the launch call; without a sign of the kernel's begin,
 * half of what the whole trip adds besides the calls. */
static double find_start(const struct measured *bare, const struct measured *recorded,
                         enum measure begin, double call, double otherwise)
{
    if (!bare->known[begin] || !recorded->known[begin])
        return otherwise;
    return added(bare, recorded, begin) - call;
}

static void find_trips(const struct measured *bare, const struct measured *recorded,
                       struct costs *costs)
{
    double after = costs->call_around / 2;
    double launch = costs->launch_in + costs->launch_around / 2;
    double graph = costs->graph_in + costs->node_in + costs->graph_around / 2;
    double rest = added(bare, recorded, MEASURE_TRIP) - launch - after;
    double graph_rest = added(bare, recorded, MEASURE_GRAPH_TRIP) - graph - after;

    costs->start = find_start(bare, recorded, MEASURE_BEGIN, launch, rest / 2);
    costs->finish = rest - costs->start;
    costs->graph_start =
        find_start(bare, recorded, MEASURE_GRAPH_BEGIN, graph, graph_rest - costs->finish);
}

void constants_find(const struct measured *bare, const struct measured *recorded,
                    struct costs *costs)
{
    find_calls(bare, recorded, costs);
    find_graph(bare, recorded, costs);
    find_gaps(bare, recorded, costs);
    find_trips(bare, recorded, costs);
}
