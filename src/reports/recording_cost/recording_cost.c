/* What recording costs an iteration: the best that was measured, or by the model. The model says
 * how much shorter an iteration is if what recording costs is taken out of the event graph, and
 * everything else happens as soon as it can. This is rough (docs/recording-cost.md).
 */
#include "reports/recording_cost/recording_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

const char *recording_cost_source_key(enum recording_cost_source source)
{
    static const char *const keys[RECORDING_COST_SOURCES] = {
        [RECORDING_COST_UNKNOWN] = "unknown",
        [RECORDING_COST_BUILT_IN] = "built_in",
        [RECORDING_COST_CALIBRATED_HERE] = "calibrated_here",
        [RECORDING_COST_CALIBRATED_THERE] = "calibrated_there",
        [RECORDING_COST_NOT_RECORDED] = "not_recorded",
        [RECORDING_COST_IN_RUN] = "measured_in_run",
        [RECORDING_COST_PAIRED] = "measured_beside",
    };

    return keys[source];
}

/* ---- By the model ---- */

/* Of an iteration's time, how much the GPU works. */
static double busy_share(const struct iterations_study *study)
{
    const struct statistics *statistics = study->summary.statistics;

    return statistics[ITERATION_LATENCY].mean > 0
               ? statistics[ITERATION_BUSY].mean / statistics[ITERATION_LATENCY].mean
               : 0;
}

#define BUSY 0.7 /* from here on the GPU decides how long an iteration takes */

/* Why an iteration with a call of this name is of a kind for which the model was never right; NULL.
 */
static const char *why_call_hides(const char *name)
{
    static const struct {
        const char *part, *why;
    } hidden[] = {
        {"GraphInstantiate", "an iteration instantiates a CUDA graph"},
        {"GraphExecUpdate", "an iteration updates a CUDA graph"},
        {"MemMap", "an iteration maps memory"},
    };

    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strstr(name, hidden[i].part))
            return hidden[i].why;
    return NULL;
}

/* Why the model was never right for such iterations; NULL: it may be. MP_ERR_MEMORY. */
static enum mp_status find_why_not(const struct deps *deps, const struct iterations_study *study,
                                   const char **why)
{
    const struct iterations *iterations = &study->iterations;
    const char **by_name = calloc((size_t)deps->names.count + 1, sizeof *by_name);

    if (!by_name)
        return MP_ERR_MEMORY;
    for (uint32_t id = 1; id <= deps->names.count; id++)
        by_name[id] = why_call_hides(mp_intern_get(&deps->names, id, NULL));
    for (uint32_t i = 0; i < deps->host_count && !*why; i++)
        if (iterations->of[i] != DEPS_NONE && iterations->way != ITERATIONS_WHOLE)
            *why = by_name[deps->activities[i].name];
    free(by_name);
    if (!*why && iterations->threads > 1 && busy_share(study) < BUSY)
        *why = "several threads launch, and wait for each other";
    return MP_OK;
}

/* How far the model was off on the zoo, by kind (docs/recording-cost.md): the true cost was between
 * `min` and `max` times the modelled one; and a program's runs differ by `noise`. */
static const struct model_error {
    double min, max, noise;
} model_errors[] = {{0.3, 2, 0.15}, {0.5, 2, 0.02}};

static void set_interval(const struct iterations_study *study, struct recording_cost *result)
{
    const struct model_error *error = &model_errors[busy_share(study) >= BUSY];
    double of = (double)result->of, cost = (double)result->cost;
    double low = of - error->max * cost - error->noise * of;

    result->low = low > 0 ? (uint64_t)low : 0;
    result->high = (uint64_t)(of - error->min * cost + error->noise * of);
}

/* To two digits: more are not known. */
static uint64_t round_to_two(uint64_t ns)
{
    double unit = ns < 100 ? 1 : pow(10, floor(log10((double)ns)) - 1);

    return (uint64_t)(round((double)ns / unit) * unit);
}

static enum mp_status estimate(const struct deps *deps, const struct mp_trace *trace,
                               const struct iterations_study *study, struct recording_cost *result)
{
    uint64_t without;

    MP_TRY(recording_cost_headline(deps, study, &without));
    result->source = recording_cost_model_source(deps, trace);
    result->of = study->summary.headline.p50;
    result->cost = without < result->of ? round_to_two(result->of - without) : 0;
    result->without = result->of - result->cost;
    set_interval(study, result);
    return MP_OK;
}

/* ---- Measured ---- */

static struct recording_cost bare_cost(const struct baseline *baseline,
                                       const struct bare_time *time,
                                       enum recording_cost_source source)
{
    return (struct recording_cost){
        .source = source,
        .of = time->with,
        .without = time->without,
        .cost = time->without < time->with ? time->with - time->without : 0,
        .low = time->low,
        .high = time->high,
        .steps = time->steps,
        .pairs = source == RECORDING_COST_PAIRED ? time->count : 0,
        .name = baseline->bare_name,
    };
}

static struct recording_cost baseline_cost(const struct baseline *baseline)
{
    const struct baseline_side *without = &baseline->unrecorded;
    uint64_t of = baseline->recorded.times.p50;

    return (struct recording_cost){
        .source = RECORDING_COST_NOT_RECORDED,
        .of = of,
        .without = without->times.p50,
        .cost = without->times.p50 < of ? of - without->times.p50 : 0,
        .low = without->low,
        .high = without->high,
        .steps = without->count,
        .name = baseline->name,
    };
}

struct recording_cost recording_cost_measured(const struct baseline *baseline)
{
    if (baseline->paired.count)
        return bare_cost(baseline, &baseline->paired, RECORDING_COST_PAIRED);
    if (baseline->before.count)
        return bare_cost(baseline, &baseline->before, RECORDING_COST_IN_RUN);
    if (baseline_is_known(baseline))
        return baseline_cost(baseline);
    return (struct recording_cost){.source = RECORDING_COST_UNKNOWN};
}

enum mp_status recording_cost_find(const struct deps *deps, struct mp_trace *trace,
                                   const struct iterations_study *study,
                                   const struct baseline *baseline, struct recording_cost *result)
{
    *result = (struct recording_cost){.source = RECORDING_COST_UNKNOWN};
    if (baseline)
        *result = recording_cost_measured(baseline);
    if (result->source)
        return MP_OK;
    if (!deps->recording.before)
        result->why_not = deps->why_not_recording ? deps->why_not_recording : "nobody asked for it";
    if (!result->why_not && study->summary.headline.split != ITERATIONS_ALIKE)
        result->why_not = "iterations take different times, by capture range or mode";
    if (!result->why_not)
        MP_TRY(find_why_not(deps, study, &result->why_not));
    return result->why_not ? MP_OK : estimate(deps, trace, study, result);
}

/* ---- A trace and its iterations ---- */

enum mp_status trace_study_load(struct mp_trace *trace, const struct trace_study_options *options,
                                struct trace_study *trace_study, struct mp_error *error)
{
    struct deps_options graph = options->graph;

    *trace_study = (struct trace_study){.deps = {.count = 0}};
    graph.fronts = graph.fronts || !options->no_cost;
    MP_TRY(deps_load(trace, &graph, &trace_study->deps, error));
    trace_study->deps.quality.only = trace_study->deps.profile->quality.only =
        options->iterations.range;
    if (options->model)
        trace_study->deps.quality.recording_scale = 0;
    MP_TRY(mp_error_from(error, recording_cost_lay(&trace_study->deps, trace),
                         "cannot estimate what recording costs"));
    MP_TRY(baseline_build(trace_study->deps.profile, &trace_study->baseline, error));
    MP_TRY(iterations_study(&trace_study->deps, trace, &options->iterations, &trace_study->study,
                            error));
    if (options->no_cost)
        return MP_OK;
    enum mp_status status = recording_cost_find(&trace_study->deps, trace, &trace_study->study,
                                                options->model ? NULL : &trace_study->baseline,
                                                &trace_study->recording_cost);
    return mp_error_from(error, status, "cannot estimate what recording costs");
}

void trace_study_free(struct trace_study *trace_study)
{
    iterations_study_free(&trace_study->study);
    baseline_free(&trace_study->baseline);
    deps_free(&trace_study->deps);
    *trace_study = (struct trace_study){.deps = {.count = 0}};
}
