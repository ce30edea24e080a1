/* small_grids: kernels with too few blocks to fill the GPU once.
 *
 *     SMs   |####|####|    |    |    |    |    |    |      2 blocks, 8 SMs: 0.25 waves
 *
 * A wave is as many blocks as all SMs hold at once (reports/kernels/occupancy.h). With 4 times the
 * work such a kernel takes as long as now, so the same work takes a quarter of its time.
 */
#include <math.h>

#include "base/text/units.h"
#include "profile/reading.h"
#include "reports/advise/build.h"
#include "reports/kernels/kernels.h"

#include "base/poison.h"

#define FULL 0.9 /* of what the GPU can do: more blocks at once help no more */

/* ---- Launch shapes and devices ---- */

/* Whether occupancy is known of this kernel. */
static bool occupancy_at(const struct advise *advise, uint32_t index, struct occupancy *occupancy)
{
    const struct deps *deps = advise->deps;
    const struct deps_activity *work = &deps->activities[index];
    const struct launch_shape *shape;
    const struct device_limits *device;

    if (work->kind != DEPS_KERNEL || work->shape == DEPS_NONE)
        return false;
    shape = shapes_find(&advise->shapes, work->shape);
    device = shapes_device(&advise->shapes, deps->lanes[work->lane].device);
    return shape && device && occupancy_of(shape, device, occupancy);
}

enum mp_status advise_grids_load(struct advise *advise)
{
    const struct reading reading = {
        .trace = advise->trace,
        .what = "the launch shapes",
        .shapes = &advise->shapes,
    };
    const struct deps *deps = advise->deps;
    struct occupancy occupancy;

    shapes_init(&advise->shapes, advise->trace);
    MP_TRY(reading_run(&reading, advise->error));
    for (uint32_t i = deps->host_count; i < deps->count && !advise->has_occupancy; i++)
        advise->has_occupancy =
            advise->iterations->of[i] != DEPS_NONE && occupancy_at(advise, i, &occupancy);
    return MP_OK;
}

void advise_grids_free(struct advise *advise)
{
    shapes_free(&advise->shapes);
}

/* ---- The rule ---- */

/* Waves of a kernel's grid, below 1; 1: it fills a wave, or it is not known. Kernels that
 * communicate have few blocks on purpose. */
static double waves_of(const struct advise *advise, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];
    struct occupancy occupancy;

    if (!occupancy_at(advise, index, &occupancy) || advise->kinds[work->name].communicates)
        return 1;
    return occupancy.waves < 1 ? occupancy.waves : 1;
}

static double factor_of(const void *context, uint32_t index)
{
    const struct advise *advise = context;

    return fmax(waves_of(advise, index), advise_used(advise, &advise->deps->activities[index]));
}

static enum mp_status judge_grids(struct advise *advise, struct advise_finding *finding,
                                  struct advise_picked *picked)
{
    bool one;
    const struct deps *deps = advise->deps;
    double weighted = 0; /* waves times ns */

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        double waves = waves_of(advise, i);

        if (advise->iterations->of[i] == DEPS_NONE || waves >= 1 ||
            advise_used(advise, work) >= FULL)
            continue;
        advise->edits[i] |= DEPS_EDIT_SCALED;
        advise_picked_add(advise, picked, i);
        if (advise_counts(advise, i))
            weighted += waves * (double)(work->end - work->begin);
    }
    if (!picked->time)
        return MP_OK;
    advise->factor_of = factor_of;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes =
        advise->sampled.any
            ? "at best: with a larger batch each of these kernels fills one wave, device memory or "
              "a pipe in the time that it takes now; the gain is that of the same work"
            : "at best: with a larger batch each of these kernels fills one wave in the time that "
              "it takes now; the gain is that of the same work";
    weighted /= (double)picked->time;
    one = advise_is_one(advise_mean(advise, picked->count));
    advise_evidence(finding,
                    "%s kernel%s an iteration %s fewer blocks than the GPU holds at once, %.2g "
                    "waves in the mean (by time); %s %s, %.1f %% of its kernels' time",
                    mp_figure(advise_mean(advise, picked->count)).text, one ? "" : "s",
                    one ? "has" : "have", weighted, one ? "it takes" : "they take",
                    advise_time(advise_mean(advise, picked->time)).text,
                    advise_picked_percent(advise, picked));
    advise_number(finding, "waves", weighted);
    advise_picked_tell(advise, picked, finding);
    return MP_OK;
}

enum mp_status advise_small_grids(struct advise *advise, struct advise_finding *finding)
{
    struct advise_picked picked;
    enum mp_status status = advise_picked_init(&picked, advise->deps);

    if (!status)
        status = judge_grids(advise, finding, &picked);
    advise_tally_free(&picked.tally);
    return status;
}
