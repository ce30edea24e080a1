/* What recording costs at each activity of the event graph.
 *
 *     thread   |launch|around|launch|around|           before: around, of a call
 *              |in    |      |in    |                  within: in
 *     GPU        start ->|kernel|gap|kernel|           before: in and start, of work
 *                                                      within: gap
 */
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/text/strings.h"
#include "profile/common/statistics.h"
#include "reports/deps/lookup.h"
#include "reports/recording_cost/recording_cost.h"

#include "base/poison.h"

/* ---- The speed of the host ----
 *
 * Built-in costs are those of one machine. How fast another host is shows in its launches.
 */

#define USUAL_LAUNCH_NS 5000.0 /* median of a recorded launch where the built-in costs are from */
#define MIN_LAUNCHES    50     /* fewer do not tell */
#define MAX_LOOKED_AT   65536  /* of all work, evenly spread: the median needs no more */
#define MIN_SPEED       0.1
#define MAX_SPEED       1.5

static bool launches_kernel(const struct deps_activity *work)
{
    return work->kind == DEPS_KERNEL && !(work->flags & DEPS_NODE) && work->launch != DEPS_NONE;
}

/* Median time of a call that launches a kernel, ns, without what a stack takes; 0: too few. */
static enum mp_status usual_launch(const struct deps *deps, double stack, double *usual)
{
    uint32_t step = (deps->count - deps->host_count) / MAX_LOOKED_AT + 1;
    uint64_t *times = calloc((size_t)MAX_LOOKED_AT + 1, sizeof *times);
    size_t count = 0;

    if (!times)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i += step) {
        if (!launches_kernel(&deps->activities[i]))
            continue;
        const struct deps_activity *call = &deps->activities[deps->activities[i].launch];
        uint64_t less = call->flags & DEPS_STACKED ? (uint64_t)stack : 0;
        times[count++] = call->end > call->begin + less ? call->end - call->begin - less : 0;
    }
    *usual = count < MIN_LAUNCHES ? 0 : (double)statistics_of(times, count).p50;
    free(times);
    return MP_OK;
}

enum mp_status recording_cost_scale_host(const struct deps *deps, struct costs *costs)
{
    double usual;
    double *const on_host[] = {
        &costs->launch_in, &costs->launch_around, &costs->copy_in,  &costs->copy_around,
        &costs->call_in,   &costs->call_around,   &costs->graph_in, &costs->graph_around,
        &costs->node_in,   &costs->finish,        &costs->stack,
    };

    MP_TRY(usual_launch(deps, costs->stack, &usual));
    if (usual <= 0)
        return MP_OK;
    double speed = usual / USUAL_LAUNCH_NS;
    speed = speed < MIN_SPEED ? MIN_SPEED : speed > MAX_SPEED ? MAX_SPEED : speed;
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++)
        *on_host[i] *= speed;
    return MP_OK;
}

/* ---- Costs by activity ---- */

static uint32_t rounded(double ns)
{
    return ns < UINT32_MAX ? (uint32_t)(ns + 0.5) : UINT32_MAX;
}

/* How many nodes of graphs each piece of a call launched; owned by the caller. NULL: no memory. */
static uint32_t *count_nodes(const struct deps *deps)
{
    uint32_t *nodes = calloc((size_t)deps->host_count + 1, sizeof *nodes);

    for (uint32_t i = deps->host_count; nodes && i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->flags & DEPS_NODE && work->launch != DEPS_NONE)
            nodes[work->launch]++;
    }
    return nodes;
}

static bool is_copy(const struct deps_activity *work)
{
    return work->kind == DEPS_COPY || work->kind == DEPS_SET;
}

static bool is_of_graph(const struct deps_activity *work)
{
    return work->flags & DEPS_NODE || work->kind == DEPS_GRAPH;
}

/* A stack is taken in CUPTI's callback. That lies inside of the call: in traces of an H200, gaps
 * between calls that have stacks are down to 0.4 us, which leaves no room for one. */
static double in_any(const struct costs *costs, const struct deps_activity *call)
{
    return call->flags & DEPS_STACKED ? costs->stack : 0;
}

/* Inside of the call that launched this work. */
static double in_launch(const struct deps *deps, const struct costs *costs, const uint32_t *nodes,
                        const struct deps_activity *work)
{
    double stack = in_any(costs, &deps->activities[work->launch]);

    if (is_of_graph(work))
        return stack + costs->graph_in + costs->node_in * nodes[work->launch];
    return stack + (is_copy(work) ? costs->copy_in : costs->launch_in);
}

/* ---- Work ---- */

/* A graph's first node begins while the call still runs, or after it. The same share of the call's
 * cost lies before it. */
static double before_graph(const struct deps *deps, const struct costs *costs,
                           const uint32_t *nodes, const struct deps_activity *work)
{
    const struct deps_activity *call = &deps->activities[work->launch];
    double length = (double)(deps->activities[call->last_of_call].end - call->begin);
    double lag = work->begin > call->begin ? (double)(work->begin - call->begin) : 0;
    double share = lag < length ? lag / length : 1;

    return share * in_launch(deps, costs, nodes, work) + costs->graph_start;
}

static double before_work(const struct deps *deps, const struct costs *costs, const uint32_t *nodes,
                          const struct deps_activity *work)
{
    if (!deps_has_launch(work) || work->kind == DEPS_HOST_FUNCTION)
        return 0;
    if (is_of_graph(work))
        return before_graph(deps, costs, nodes, work);
    return in_launch(deps, costs, nodes, work) + costs->start;
}

static double before_next(const struct costs *costs, const struct deps_activity *work)
{
    if (work->kind == DEPS_HOST_FUNCTION || work->kind == DEPS_GRAPH)
        return 0;
    if (work->flags & DEPS_NOT_ROOT)
        return costs->node_gap;
    return is_copy(work) ? costs->copy_gap : costs->kernel_gap;
}

/* CUPTI's cost for a kernel lies between kernels, and where there is no time between them, in the
 * recorded time of the kernel itself. */
static double in_work(const struct deps *deps, const struct deps_activity *work, double cost)
{
    uint32_t on = deps_last_awaited(deps, work);

    if (on == DEPS_NONE || work->overlapped != DEPS_NONE || work->bound == DEPS_LAUNCH)
        return 0;
    int64_t gap = deps_distance(work, deps->activities[on].end);
    return gap >= 0 && (double)gap < cost ? cost - (double)gap : 0;
}

static void lay_work(const struct deps *deps, const struct costs *costs, const uint32_t *nodes,
                     struct deps_less *less)
{
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        less->before[i] = rounded(before_work(deps, costs, nodes, work));
        less->within[i] = rounded(before_next(costs, work));
        less->own[i] = rounded(in_work(deps, work, before_next(costs, work)));
    }
}

/* ---- Calls ---- */

/* What a call is, by what it launched. */
static void lay_calls(const struct deps *deps, const struct costs *costs, const uint32_t *nodes,
                      struct deps_less *less)
{
    for (uint32_t i = 0; i < deps->host_count; i++) {
        const struct deps_activity *call = &deps->activities[i];
        bool counts = call->kind == DEPS_CALL && !(call->flags & DEPS_CONTINUED);

        less->before[i] = counts ? rounded(costs->call_around) : 0;
        less->within[i] = counts ? rounded(costs->call_in + in_any(costs, call)) : 0;
    }
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        double around = is_copy(work) ? costs->copy_around : costs->launch_around;

        if (work->launch == DEPS_NONE || work->kind == DEPS_HOST_FUNCTION)
            continue;
        if (is_of_graph(work))
            around = costs->graph_around;
        less->before[work->launch] = rounded(around);
        less->within[work->launch] = rounded(in_launch(deps, costs, nodes, work));
    }
    for (uint32_t i = 0; i < deps->host_count; i++) {
        if (deps_call_waits(&deps->activities[i]))
            less->within[i] = rounded(costs->finish);
    }
}

enum mp_status recording_cost_by_activity(const struct deps *deps, const struct costs *costs,
                                          struct deps_less *less)
{
    uint32_t *nodes = count_nodes(deps);

    if (!nodes)
        return MP_ERR_MEMORY;
    lay_work(deps, costs, nodes, less);
    lay_calls(deps, costs, nodes, less);
    free(nodes);
    return MP_OK;
}

/* ---- Which costs ---- */

static const char *name_of_gpu(const struct deps *deps)
{
    return deps->thread_count == deps->lane_count
               ? NULL
               : definitions_device(&deps->profile->definitions,
                                    deps->lanes[deps->thread_count].device);
}

/* Of these kinds of programs CUPTI's costs are none of costs.def, and the model was never right. */
static const char *why_never_right(const struct deps *deps)
{
    if (profile_has_rows(deps->profile, MP_TABLE_unified))
        return "memory is managed";
    for (uint32_t id = 1; id <= deps->names.count; id++)
        if (mp_text_starts_with(mp_intern_get(&deps->names, id, NULL), "nccl"))
            return "kernels of NCCL wait for other ranks";
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        if (deps->activities[i].flags & DEPS_NODE && deps->activities[i].launch == DEPS_NONE)
            return "a CUDA graph has conditional nodes";
    return NULL;
}

static const char *why_not_known(const struct deps *deps, const struct mp_trace *trace)
{
    if (!mp_trace_property(trace, "cupti_version"))
        return "the trace does not say which CUPTI recorded it";
    if (deps->quality.profiled)
        return "kernels were run again for metrics";
    if (quality_gap(&deps->quality))
        return quality_gap(&deps->quality)->why;
    if (deps->no_calls)
        return "the trace has no API calls";
    if (deps->host_count == deps->count)
        return "there is no GPU work";
    if (deps->quality.recording_scale == RECORDING_NO_SCALE)
        return "no scale of the modelled costs meets what was measured";
    return NULL;
}

enum recording_cost_source recording_cost_model_source(const struct deps *deps,
                                                       const struct mp_trace *trace)
{
    static const enum recording_cost_source sources[] = {
        [COSTS_BUILT_IN] = RECORDING_COST_BUILT_IN,
        [COSTS_CALIBRATED_HERE] = RECORDING_COST_CALIBRATED_HERE,
        [COSTS_CALIBRATED_THERE] = RECORDING_COST_CALIBRATED_THERE,
    };
    struct costs costs;

    return sources[costs_of_trace(trace, name_of_gpu(deps), &costs)];
}

/* Those of the trace, for its host. `fitted`: a scale belongs to them, so they must be the same on
 * each machine that reads. */
static enum mp_status choose_costs(const struct deps *deps, const struct mp_trace *trace,
                                   bool fitted, struct costs *costs)
{
    enum costs_source source = costs_of_trace(trace, name_of_gpu(deps), costs);
    double stack = costs->stack;

    if (source == COSTS_CALIBRATED_HERE && fitted) {
        costs_built_in(costs);
        costs->stack = stack;
        source = COSTS_BUILT_IN;
    }
    return source == COSTS_BUILT_IN ? recording_cost_scale_host(deps, costs) : MP_OK;
}

static enum mp_status lay_scaled(struct deps *deps, const struct costs *costs, double scale)
{
    struct costs scaled = *costs;
    double *value;

    for (size_t i = 0; costs_at(&scaled, i, NULL, &value, NULL); i++)
        *value *= scale;
    scaled.stack *= scale;
    return recording_cost_by_activity(deps, &scaled, &deps->recording);
}

enum mp_status recording_cost_lay(struct deps *deps, const struct mp_trace *trace)
{
    uint64_t scale = deps->quality.recording_scale;
    struct costs costs;

    deps->why_not_recording = why_not_known(deps, trace);
    if (!deps->why_not_recording && !scale)
        deps->why_not_recording = why_never_right(deps);
    if (deps->why_not_recording)
        return MP_OK;
    MP_TRY(choose_costs(deps, trace, scale != 0, &costs));
    MP_TRY(deps_less_new(deps->count, &deps->recording));
    return lay_scaled(deps, &costs, scale ? (double)(scale - 1) / 1000 : 1);
}

/* ---- The run without them ---- */

/* The run without deps->recording, solved as often as these change. */
struct bare_run {
    const struct iterations_study *study;
    struct deps_replayer replayer;
    struct deps_windows windows;
    struct deps_window *moved; /* owned */
};

static void bare_run_free(struct bare_run *run)
{
    deps_replayer_free(&run->replayer);
    deps_windows_free(&run->windows);
    free(run->moved);
}

/* MP_ERR_MEMORY; bare_run_free in any case. */
static enum mp_status bare_run_init(struct bare_run *run, const struct deps *deps,
                                    const struct iterations_study *study)
{
    *run = (struct bare_run){.study = study};
    MP_TRY(deps_replayer_init(&run->replayer, deps));
    run->replayer.less = &deps->recording;
    MP_TRY(iterations_windows(deps, &study->iterations, &run->windows));
    run->moved = calloc(run->windows.count + 1, sizeof *run->moved);
    return run->moved ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status bare_run_headline(struct bare_run *run, uint64_t *headline)
{
    MP_TRY(deps_replayer_run(&run->replayer, NULL));
    deps_replayer_windows(&run->replayer, &run->windows, run->moved);
    return iterations_usual(run->replayer.deps, &run->study->iterations, run->moved,
                            run->study->summary.headline.queued, headline);
}

enum mp_status recording_cost_headline(const struct deps *deps,
                                       const struct iterations_study *study, uint64_t *headline)
{
    struct bare_run run;
    enum mp_status status = bare_run_init(&run, deps, study);

    if (!status)
        status = bare_run_headline(&run, headline);
    bare_run_free(&run);
    return status;
}

/* ---- Costs that a measurement fits ---- */

#define MAX_SCALE    8.0
#define MAX_TRIES    24
#define SHARE_MISSED 1000 /* of the headline: one part in this is near enough */

static bool is_near(uint64_t headline, uint64_t without)
{
    return mp_distance(headline, without) <= without / SHARE_MISSED;
}

/* What the headline is to be: `without`, but not more than `high`. */
struct target {
    uint64_t low, without, high;
};

static struct target target_of(const struct iterations_headline *headline,
                               const struct recording_cost *cost)
{
    double unit = (double)headline->p50 / (double)cost->of;

    return (struct target){(uint64_t)(unit * (double)cost->low),
                           (uint64_t)(unit * (double)cost->without),
                           (uint64_t)(unit * (double)cost->high)};
}

/* More costs make no run longer: the scale is between two that are halved. Where all pieces are
 * used up before the run is as short as it was measured, the scale is the smallest that does.
 */
static enum mp_status bisect(struct bare_run *run, struct deps *deps, const struct costs *costs,
                             const struct target *target, double *scale)
{
    uint64_t without = target->without;
    double low = 0;
    double high = MAX_SCALE;
    uint64_t headline;

    MP_TRY(lay_scaled(deps, costs, high));
    MP_TRY(bare_run_headline(run, &headline));
    if (headline > without && headline <= target->high)
        without = headline + headline / SHARE_MISSED;
    *scale = headline <= without || is_near(headline, without) ? high : -1;
    for (int i = 0; i < MAX_TRIES && *scale >= 0 && !is_near(headline, without); i++) {
        *scale = (low + high) / 2;
        MP_TRY(lay_scaled(deps, costs, *scale));
        MP_TRY(bare_run_headline(run, &headline));
        *(headline > without ? &low : &high) = *scale;
    }
    return MP_OK;
}

/* Below 0: no scale. */
static enum mp_status find_scale(struct bare_run *run, struct deps *deps,
                                 const struct mp_trace *trace, const struct target *target,
                                 double *scale)
{
    uint64_t recorded = run->study->summary.headline.p50;
    struct costs costs;

    if (target->without > recorded) {
        *scale = target->low <= recorded ? 0 : -1;
        return MP_OK;
    }
    MP_TRY(choose_costs(deps, trace, true, &costs));
    return bisect(run, deps, &costs, target, scale);
}

enum mp_status recording_cost_fit(struct deps *deps, const struct mp_trace *trace,
                                  const struct iterations_study *study,
                                  const struct recording_cost *cost, uint64_t *scale)
{
    const struct target target = target_of(&study->summary.headline, cost);
    struct bare_run run;
    double found = -1;

    *scale = 0;
    if (!deps->recording.before)
        return MP_OK;
    enum mp_status status = bare_run_init(&run, deps, study);
    if (!status)
        status = find_scale(&run, deps, trace, &target, &found);
    bare_run_free(&run);
    *scale = found < 0 ? RECORDING_NO_SCALE : 1 + (uint64_t)(1000 * found + 0.5);
    return status;
}
