/* Chooses the costs, fits them to what was measured, and takes them out of the graph. */
#include "analyze/undisturbed/undisturbed.h"

#include <stdlib.h>

#include "analyze/undisturbed/build.h"

#include "base/poison.h"

#define MOST_SCALE  8.0 /* costs are not wrong by more, or something else is */
#define FIT_REPLAYS 10

const char *undisturbed_source_key(enum undisturbed_source source)
{
    static const char *const keys[UNDISTURBED_SOURCES] = {
        [UNDISTURBED_NONE] = "none",
        [UNDISTURBED_BUILT_IN] = "built_in",
        [UNDISTURBED_CALIBRATED_HERE] = "calibrated_here",
        [UNDISTURBED_CALIBRATED_THERE] = "calibrated_there",
        [UNDISTURBED_MEASURED] = "measured",
    };

    return keys[source];
}

struct work {
    const struct undisturbed_input *input;
    struct costs costs;
    struct deps_less less; /* owned; the following too */
    uint32_t *nodes;
    uint64_t *values;
    struct deps_replayer replayer;
};

static void work_free(struct work *work)
{
    deps_replayer_free(&work->replayer);
    free(work->less.before);
    free(work->less.within);
    free(work->less.own);
    free(work->nodes);
    free(work->values);
}

static enum mp_status work_init(struct work *work)
{
    const struct deps *deps = work->input->deps;
    size_t count = work->input->study ? work->input->study->iterations.count : 0;

    work->less.before = calloc((size_t)deps->count + 1, sizeof *work->less.before);
    work->less.within = calloc((size_t)deps->count + 1, sizeof *work->less.within);
    work->less.own = calloc((size_t)deps->count + 1, sizeof *work->less.own);
    work->nodes = undisturbed_count_nodes(deps);
    work->values = calloc(count + 1, sizeof *work->values);
    if (!work->less.before || !work->less.within || !work->less.own || !work->nodes ||
        !work->values)
        return MP_ERR_MEMORY;
    MP_TRY(deps_replayer_init(&work->replayer, deps));
    work->replayer.less = &work->less;
    return MP_OK;
}

/* Replays with so much of the costs taken out; *length is what is left. */
static enum mp_status take_out(struct work *work, double scale, uint64_t *length)
{
    undisturbed_lay(work->input->deps, &work->costs, work->nodes, scale, &work->less);
    MP_TRY(deps_replayer_run(&work->replayer, NULL));
    *length = undisturbed_length(work->input, &work->replayer, work->values);
    return MP_OK;
}

/* ---- Which costs ---- */

static const char *name_of_gpu(const struct deps *deps)
{
    const struct definition_device *device;

    if (deps->thread_count == deps->lane_count)
        return NULL;
    device = dense_at(&deps->definitions.devices, deps->lanes[deps->thread_count].device);
    return device && device->defined ? definitions_text(&deps->definitions, device->name) : NULL;
}

static const char *why_not(const struct undisturbed_input *input)
{
    const struct deps *deps = input->deps;

    if (!mp_trace_property(input->trace, "cupti_version"))
        return "the trace does not say which CUPTI recorded it";
    if (deps->quality.profiled)
        return "kernels were run again for metrics";
    if (quality_gap(&deps->quality))
        return quality_gap(&deps->quality)->why;
    if (deps->no_calls)
        return "the trace has no API calls";
    if (deps->host_count == deps->count)
        return "there is no GPU work";
    return NULL;
}

static enum mp_status choose_costs(struct work *work, enum undisturbed_source *source)
{
    static const enum undisturbed_source sources[] = {
        [COSTS_BUILT_IN] = UNDISTURBED_BUILT_IN,
        [COSTS_CALIBRATED_HERE] = UNDISTURBED_CALIBRATED_HERE,
        [COSTS_CALIBRATED_THERE] = UNDISTURBED_CALIBRATED_THERE,
    };

    *source =
        sources[costs_of_trace(work->input->trace, name_of_gpu(work->input->deps), &work->costs)];

    return *source == UNDISTURBED_BUILT_IN ? undisturbed_scale_host(work->input->deps, &work->costs)
                                           : MP_OK;
}

/* ---- How much of them ---- */

/* Finds how much of the costs has to go so that `target` is left: the less is left, the more goes.
 */
static enum mp_status fit(struct work *work, double target, double *scale)
{
    double low = 0;
    double high = MOST_SCALE;

    for (int i = 0; i < FIT_REPLAYS; i++) {
        double middle = (low + high) / 2;
        uint64_t length;

        MP_TRY(take_out(work, middle, &length));
        if ((double)length > target)
            low = middle;
        else
            high = middle;
    }
    *scale = high < MOST_SCALE ? high : MOST_SCALE;
    return MP_OK;
}

static enum mp_status find_scale(struct work *work, struct undisturbed *result)
{
    const struct baseline *baseline = work->input->baseline;
    double ratio;

    result->scale = 1;
    if (!baseline || !baseline_is_known(baseline) || !baseline->recorded.times.p50)
        return MP_OK;
    ratio = (double)baseline->unrecorded.times.p50 / (double)baseline->recorded.times.p50;
    result->source = UNDISTURBED_MEASURED;
    result->steps = baseline->unrecorded.count;
    result->scale = 0;
    return ratio < 1 ? fit(work, ratio * (double)result->recorded, &result->scale) : MP_OK;
}

/* ---- Taking them out ---- */

static void retime_windows(const struct work *work)
{
    const struct deps_replayer *replayer = &work->replayer;
    struct deps_windows *windows = work->input->windows;

    for (size_t i = 0; windows && i < windows->count; i++)
        deps_replayer_window(replayer, &windows->items[i]);
}

static void retime_iterations(const struct work *work)
{
    struct iterations_study *study = work->input->study;

    for (size_t i = 0; study && i < study->iterations.count; i++) {
        struct iteration *one = &study->iterations.items[i];
        struct deps_window window = undisturbed_window(&work->replayer, one);

        one->begin = window.begin;
        one->host_end = window.host_end;
    }
}

/* Leaves the costs in work->less, and the run without them in the replayer. */
static enum mp_status find_costs(struct work *work, struct undisturbed *result)
{
    MP_TRY(work_init(work));
    MP_TRY(take_out(work, 0, &result->recorded));
    MP_TRY(choose_costs(work, &result->source));
    MP_TRY(find_scale(work, result));
    return take_out(work, result->scale, &result->undisturbed);
}

static enum mp_status apply(struct work *work, struct undisturbed *result)
{
    struct deps *deps = work->input->deps;

    MP_TRY(find_costs(work, result));
    retime_windows(work);
    retime_iterations(work);
    MP_TRY(deps_retime(deps, &work->replayer));
    return work->input->study ? iterations_study_again(deps, work->input->study) : MP_OK;
}

enum mp_status undisturbed_apply(const struct undisturbed_input *input, struct undisturbed *result)
{
    struct work work = {.input = input};
    enum mp_status status;

    *result = (struct undisturbed){.why_not = why_not(input)};
    if (result->why_not)
        return MP_OK;
    status = apply(&work, result);
    work_free(&work);
    return status;
}

enum mp_status undisturbed_costs(const struct undisturbed_input *input, struct undisturbed *result,
                                 struct deps_less *less)
{
    struct work work = {.input = input};
    enum mp_status status;

    *less = (struct deps_less){.before = NULL};
    *result = (struct undisturbed){.why_not = why_not(input)};
    if (result->why_not)
        return MP_OK;
    status = find_costs(&work, result);
    if (status == MP_OK) {
        *less = work.less;
        work.less = (struct deps_less){.before = NULL};
    }
    work_free(&work);
    return status;
}
