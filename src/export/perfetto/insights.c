/* What only the analyses know, as separate tracks: "miniprof" with the critical path, the
 * iterations with where their time went, and advice.
 *
 *     miniprof
 *       critical path   |host code|launch|..launch latency..|== kernel ==|..stream gap..|== ...
 *       iterations      |------------------- 1 -------------------|------------- 2 ...
 *       advice          |--------------- CUDA graphs: gains 12 % ------------------------
 */
#include "export/perfetto/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/advise/advise.h"

#include "base/poison.h"

#define GROUP       "miniprof"
#define ORDER_FIRST 1 /* ranks of the tracks below it */
#define NAME_BYTES  128

/* As `miniprof deps` calls them. */
static const char *const part_names[DEPS_PARTS] = {
    [DEPS_HOST_CODE] = "<host code>",
    [DEPS_COMPUTING] = "<computing>",
    [DEPS_NOT_SCHEDULED] = "<not scheduled>",
    [DEPS_BLOCKED] = "<blocked>",
    [DEPS_LAUNCH_LATENCY] = "<launch latency>",
    [DEPS_STREAM_GAP] = "<stream gap>",
    [DEPS_DEPENDENCY_LATENCY] = "<dependency latency>",
    [DEPS_RETURN] = "<return from wait>",
    [DEPS_NO_KNOWN_CAUSE] = "<unknown>",
    [DEPS_RECORDING] = "<recording>",
};

/* ---- Names ---- */

/* The number of a text of ours, or of the graph's names. */
static enum mp_status name_number(struct perfetto *perfetto, const char *text, uint64_t *number)
{
    struct export_text name = {.text = text, .bytes = strlen(text)};

    name.id = export_rows_intern(perfetto->process.of->rows, text, name.bytes);
    if (!name.id)
        return MP_ERR_MEMORY;
    *number = packets_name(&perfetto->packets, &name);
    return MP_OK;
}

/* ---- Critical path ---- */

static enum mp_status write_step(struct perfetto *perfetto, struct track *track,
                                 const struct deps_step *step)
{
    const struct deps *deps = &perfetto->process.analyses->deps;
    const char *name = step->activity == DEPS_NONE
                           ? part_names[step->part]
                           : deps_name(deps, &deps->activities[step->activity]);
    struct slice slice = {.start = step->begin,
                          .duration = step->end - step->begin,
                          .activity = DEPS_NONE,
                          .category = CATEGORY_PATH};

    MP_TRY(name_number(perfetto, name, &slice.name));
    return track_add(&perfetto->process.slices, track, &slice);
}

static enum mp_status write_path(struct perfetto *perfetto, struct track *track,
                                 const struct deps_window *window)
{
    struct deps_steps steps;

    MP_TRY(deps_path_steps(&perfetto->process.analyses->deps, window, &steps));
    enum mp_status status = MP_OK;
    for (size_t i = 0; i < steps.count && status == MP_OK; i++)
        status = write_step(perfetto, track, &steps.items[i]);
    free(steps.items);
    return status;
}

/* Of the capture ranges, or the whole trace: what `miniprof deps` prints. Work that outlives its
 * range prolongs the path, so that two of them can overlap. */
static enum mp_status write_paths(struct perfetto *perfetto, uint64_t group, unsigned rank,
                                  struct mp_error *error)
{
    struct slices *slices = &perfetto->process.slices;
    uint64_t range = export_rows_quality(perfetto->process.of->rows)->only;
    struct track track = {.parent = group, .name = "critical path"};
    struct deps_windows windows;
    enum mp_status status = MP_OK;

    MP_TRY(deps_windows_ranges(&perfetto->process.analyses->deps, range, &windows, error));
    track.uuid = track_announce(slices, group, track.name, rank);
    for (size_t i = 0; i < windows.count && status == MP_OK; i++)
        status = write_path(perfetto, &track, &windows.items[i]);
    if (status == MP_OK)
        status = track_flush(slices, &track);
    track_free(&track);
    deps_windows_free(&windows);
    return status;
}

/* ---- Iterations ---- */

/* Pipelined iterations overlap: then some stand on further tracks of the same name. */
static enum mp_status write_iteration(struct perfetto *perfetto, struct track *track,
                                      const struct iterations_study *study, size_t index)
{
    const struct iteration *iteration = &study->iterations.items[index];
    struct slice slice = {.start = iteration->begin,
                          .duration = iteration->end - iteration->begin,
                          .activity = DEPS_NONE,
                          .category = CATEGORY_ITERATION,
                          .measures = &study->measures[index]};
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "iteration %zu", index + 1);
    MP_TRY(name_number(perfetto, name, &slice.name));
    return track_add(&perfetto->process.slices, track, &slice);
}

static enum mp_status write_iterations(struct perfetto *perfetto, uint64_t group, unsigned rank,
                                       const struct iterations_study *study)
{
    struct slices *slices = &perfetto->process.slices;
    struct track track = {.parent = group, .name = "iterations"};
    enum mp_status status = MP_OK;

    track.uuid = track_announce(slices, group, track.name, rank);
    for (size_t i = 0; i < study->iterations.count && status == MP_OK; i++)
        status = write_iteration(perfetto, &track, study, i);
    if (status == MP_OK)
        status = track_flush(slices, &track);
    track_free(&track);
    return status;
}

/* ---- Advice ---- */

static enum mp_status write_finding(struct perfetto *perfetto, struct slices *slices,
                                    uint64_t group, unsigned rank,
                                    const struct iterations_summary *summary,
                                    const struct advise_finding *finding)
{
    struct packets *packets = &perfetto->packets;
    uint64_t uuid = track_announce(slices, group, "advice", rank);
    char name[2 * NAME_BYTES];
    uint64_t number;

    snprintf(name, sizeof name, "%s (%s%.1f %%)", finding->title,
             finding->certainty == ADVISE_BOUND ? "at most " : "", finding->percent);
    MP_TRY(name_number(perfetto, name, &number));
    struct slice_parts parts = slice_begin(packets, uuid, summary->begin, number, CATEGORY_ADVICE);
    packets_annotate(packets, ARGUMENT_GAIN, finding->gain);
    packets_annotate_double(packets, ARGUMENT_PERCENT, finding->percent);
    packets_annotate_double(packets, ARGUMENT_CONFIDENCE, finding->confidence);
    packets_annotate_text(packets, ARGUMENT_EVIDENCE, finding->evidence);
    packets_annotate_text(packets, ARGUMENT_TO_DO, finding->to_do);
    slice_end(packets, uuid, summary->end, &parts);
    return packets->status;
}

static enum mp_status write_advice(struct perfetto *perfetto, uint64_t group, unsigned rank,
                                   const struct iterations_study *study, struct mp_error *error)
{
    const struct advise_input input = {.deps = &perfetto->process.analyses->deps, .study = study};
    struct advice *advice = calloc(1, sizeof *advice);

    if (!advice)
        return MP_ERR_MEMORY;
    enum mp_status status = advise_build(&input, advice, error);
    if (status == MP_OK) {
        for (size_t i = 0; i < advice->count && status == MP_OK; i++)
            status = write_finding(perfetto, &perfetto->process.slices, group, rank + (unsigned)i,
                                   &study->summary, &advice->findings[i]);
        advise_free(advice);
    }
    free(advice);
    return status;
}

/* ---- All of it ---- */

static enum mp_status write_study(struct perfetto *perfetto, uint64_t group,
                                  struct iterations_study *study, struct mp_error *error)
{
    const struct export_analyses *analyses = perfetto->process.analyses;

    MP_TRY(iterations_study_of(&analyses->deps, study));
    MP_TRY(write_iterations(perfetto, group, ORDER_FIRST + 1, study));
    return write_advice(perfetto, group, ORDER_FIRST + 2, study, error);
}

enum mp_status insights_write(struct perfetto *perfetto, struct mp_error *error)
{
    struct process *process = &perfetto->process;
    const struct export_analyses *analyses = process->analyses;
    struct iterations_study study = {.measures = NULL};
    char name[sizeof process->name + sizeof GROUP + 2] = GROUP;

    if (!analyses || !analyses->deps.count)
        return MP_OK;
    if (process->of->count > 1)
        snprintf(name, sizeof name, GROUP ": %s", process->name);
    uint64_t group = track_announce(&process->slices, 0, name, 0);
    MP_TRY(write_paths(perfetto, group, ORDER_FIRST, error));
    study.iterations = analyses->iterations;
    enum mp_status status =
        analyses->iterations.count ? write_study(perfetto, group, &study, error) : MP_OK;
    study.iterations = (struct iterations){.count = 0}; /* those of the rows */
    iterations_study_free(&study);
    return status;
}
