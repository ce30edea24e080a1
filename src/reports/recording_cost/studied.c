/* A trace, its iterations and what recording them costs: what most questions begin with. */
#include "reports/recording_cost/recording_cost.h"

#include "base/poison.h"

enum mp_status studied_load(struct mp_trace *trace, const struct studied_options *options,
                            struct studied *studied, struct mp_error *error)
{
    struct deps_options graph = options->graph;
    enum mp_status status;

    *studied = (struct studied){.deps = {.count = 0}};
    graph.fronts = graph.fronts || !options->no_cost;
    MP_TRY(deps_load(trace, &graph, &studied->deps, error));
    studied->deps.quality.only = options->iterations.range;
    MP_TRY(baseline_build(trace, &studied->baseline, error));
    MP_TRY(iterations_study(&studied->deps, trace, &options->iterations, &studied->study, error));
    if (options->no_cost)
        return MP_OK;
    status = recording_cost_find(&studied->deps, trace, &studied->study, &studied->baseline,
                                 &studied->recording_cost);
    return status ? mp_error_set(error, status, "cannot estimate what recording costs: %s",
                                 mp_status_name(status))
                  : MP_OK;
}

void studied_free(struct studied *studied)
{
    iterations_study_free(&studied->study);
    baseline_free(&studied->baseline);
    deps_free(&studied->deps);
    *studied = (struct studied){.deps = {.count = 0}};
}
