/* A trace and its iterations without the costs of recording: what most questions begin with. */
#include "analyze/undisturbed/undisturbed.h"

#include "base/poison.h"

static enum mp_status take_costs_out(struct mp_trace *trace, struct studied *studied,
                                     struct mp_error *error)
{
    const struct undisturbed_input input = {
        .trace = trace,
        .deps = &studied->deps,
        .baseline = &studied->baseline,
        .study = &studied->study,
    };
    enum mp_status status = undisturbed_apply(&input, &studied->undisturbed);

    return status ? mp_error_set(error, status, "cannot take the costs of recording out: %s",
                                 mp_status_name(status))
                  : MP_OK;
}

enum mp_status studied_load(struct mp_trace *trace, const struct studied_options *options,
                            struct studied *studied, struct mp_error *error)
{
    struct deps_options graph = options->graph;

    *studied = (struct studied){.deps = {.count = 0}};
    graph.fronts = graph.fronts || !options->as_recorded;
    MP_TRY(deps_load(trace, &graph, &studied->deps, error));
    studied->deps.quality.only = options->iterations.range;
    MP_TRY(baseline_build(trace, &studied->baseline, error));
    MP_TRY(iterations_study(&studied->deps, trace, &options->iterations, &studied->study, error));
    return options->as_recorded ? MP_OK : take_costs_out(trace, studied, error);
}

void studied_free(struct studied *studied)
{
    iterations_study_free(&studied->study);
    baseline_free(&studied->baseline);
    deps_free(&studied->deps);
    *studied = (struct studied){.deps = {.count = 0}};
}
