/* Finds, assigns and measures iterations in one call, for the families that build on them. */
#include <stdlib.h>

#include "analyze/iterations/iterations.h"

#include "base/poison.h"

static enum mp_status measure(const struct deps *deps, struct iterations_study *study)
{
    study->measures = calloc(study->iterations.count + 1, sizeof *study->measures);
    if (!study->measures)
        return MP_ERR_MEMORY;
    MP_TRY(iterations_measure(deps, &study->iterations, study->measures));
    return iterations_sum_up(&study->iterations, study->measures, &study->summary);
}

enum mp_status iterations_study(const struct deps *deps, struct mp_trace *trace,
                                const struct iterations_options *options,
                                struct iterations_study *study, struct mp_error *error)
{
    enum mp_status status;

    *study = (struct iterations_study){.measures = NULL};
    MP_TRY(iterations_find(deps, trace, options, &study->iterations, error));
    status = measure(deps, study);
    if (status)
        mp_error_set(error, status, "cannot measure iterations: %s", mp_status_name(status));
    return status;
}

void iterations_study_free(struct iterations_study *study)
{
    iterations_summary_free(&study->summary);
    free(study->measures);
    iterations_free(&study->iterations);
    *study = (struct iterations_study){.measures = NULL};
}
