/* Finds, assigns and measures iterations in one call, for the families that build on them. */
#include <stdlib.h>

#include "analyze/iterations/build.h"

#include "base/poison.h"

/* How many there are in a second of what was recorded (MINIPROF_BASELINE). */
static void leave_out_pauses(const struct deps *deps, struct iterations_study *study)
{
    struct iterations_summary *summary = &study->summary;
    size_t count = study->iterations.count;
    uint64_t last = count ? study->iterations.items[count - 1].begin : 0;
    uint64_t all = ranges_pauses(&deps->ranges, summary->begin, summary->end, NULL);
    uint64_t between = ranges_pauses(&deps->ranges, summary->begin, last, NULL);

    if (!count || !all || summary->end - summary->begin <= all)
        return;
    summary->throughput = (double)count * 1e9 / (double)(summary->end - summary->begin - all);
    if (count > 1 && last - summary->begin > between)
        summary->period = (double)(last - summary->begin - between) / (double)(count - 1);
}

static enum mp_status measure(const struct deps *deps, struct iterations_study *study)
{
    study->measures = calloc(study->iterations.count + 1, sizeof *study->measures);
    if (!study->measures)
        return MP_ERR_MEMORY;
    MP_TRY(iterations_measure(deps, &study->iterations, study->measures));
    MP_TRY(iterations_sum_up(deps, &study->iterations, study->measures, &study->summary));
    leave_out_pauses(deps, study);
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
