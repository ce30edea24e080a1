/* Finds, assigns and measures iterations in one call, for the families that build on them. */
#include <stdlib.h>

#include "reports/iterations/build.h"

#include "base/poison.h"

static enum mp_status measure(const struct deps *deps, struct iterations_study *study)
{
    study->measures = calloc(study->iterations.count + 1, sizeof *study->measures);
    if (!study->measures)
        return MP_ERR_MEMORY;
    MP_TRY(iterations_measure(deps, &study->iterations, study->measures));
    MP_TRY(iterations_sum_up(deps, &study->iterations, study->measures, &study->summary));
    return iterations_by_thread(deps, &study->iterations, study->measures, &study->threads);
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

enum mp_status iterations_study_of(const struct deps *deps, struct iterations_study *study)
{
    return measure(deps, study);
}

void iterations_study_free(struct iterations_study *study)
{
    iterations_summary_free(&study->summary);
    free(study->measures);
    free(study->threads);
    iterations_free(&study->iterations);
    *study = (struct iterations_study){.measures = NULL};
}
