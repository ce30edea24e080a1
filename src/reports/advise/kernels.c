/* Kernels by their names and shapes: layout_changes, split_k, repeated_casts, unfused_pointwise,
 * low_precision, small_grids.
 */
#include <math.h>
#include <stdlib.h>

#include "base/text/units.h"
#include "reports/advise/build.h"
#include "reports/kernels/kernels.h"

#include "base/poison.h"

/* Kernels that a change around them makes unnecessary: layout changes, split-K reductions, casts.
 *
 *     stream   |conv|nchwToNhwc|conv|nchwToNhwc|conv|   ->   |conv|nchwToNhwc|conv|conv|
 *
 * The first layout change and the first cast of an iteration stay: its input may need them.
 */

struct removal {
    enum kernel_kind kind;
    bool first_stays; /* the one of an iteration that begins first */
    bool operators;   /* each has an operator of its own, whose host code goes too */
    const char *what;
    const char *assumes;
};

static const struct removal layout_changes = {
    .kind = KERNEL_LAYOUT,
    .first_stays = true,
    .what = "only change a tensor's layout (the first one of an iteration left out)",
    .assumes = "one layout from the first kernel that changes it to the end of the iteration, in "
               "which the other kernels take as long as now",
};

static const struct removal split_k = {
    .kind = KERNEL_SPLIT_K,
    .first_stays = false,
    .what = "add up matrix products that are split along K",
    .assumes = "at best: matrix kernels that are not split take as long as their parts",
};

static const struct removal repeated_casts = {
    .kind = KERNEL_CAST,
    .first_stays = true,
    .operators = true,
    .what = "only convert to another type (the first one of an iteration left out)",
    .assumes = "at best: one type from the first cast to the end of the iteration; the host code "
               "of the casts is gone",
};

/* By iteration: the kernel of that kind that begins first; DEPS_NONE. */
static uint32_t *find_first(const struct advise *advise, enum kernel_kind kind)
{
    const struct deps *deps = advise->deps;
    size_t count = advise->iterations->count;
    uint32_t *first = malloc((count + 1) * sizeof *first);

    if (!first)
        return NULL;
    for (size_t i = 0; i < count; i++)
        first[i] = DEPS_NONE;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint32_t of = advise->iterations->of[i];

        if (advise_is_kind(advise, i, kind) &&
            (first[of] == DEPS_NONE ||
             deps->activities[i].begin < deps->activities[first[of]].begin))
            first[of] = i;
    }
    return first;
}

static enum mp_status remove_kernels(struct advise *advise, const struct removal *removal,
                                     struct advise_picked *picked)
{
    const struct deps *deps = advise->deps;

    if (!advise_has_kind(advise, removal->kind))
        return MP_OK;
    uint32_t *first = find_first(advise, removal->kind);
    if (!first)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (!advise_is_kind(advise, i, removal->kind) ||
            (removal->first_stays && i == first[advise->iterations->of[i]]))
            continue;
        advise_edit_gone(advise, i);
        if (removal->operators)
            advise_edit_operator(advise, i);
        advise_picked_add(advise, picked, i);
    }
    free(first);
    return MP_OK;
}

static enum mp_status judge_removal(struct advise *advise, const struct removal *removal,
                                    struct advise_finding *finding, struct advise_picked *picked)
{
    MP_TRY(remove_kernels(advise, removal, picked));
    if (!picked->count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = removal->assumes;
    advise_evidence(
        finding, "%s kernels that %s take %s of an iteration, %.1f %% of its kernels' time",
        mp_figure(advise_mean(advise, picked->count)).text, removal->what,
        advise_time(advise_mean(advise, picked->time)).text, advise_picked_percent(advise, picked));
    advise_picked_tell(advise, picked, finding);
    return MP_OK;
}

static enum mp_status judge(struct advise *advise, const struct removal *removal,
                            struct advise_finding *finding)
{
    struct advise_picked picked;
    enum mp_status status = advise_picked_init(&picked, advise->deps);

    if (!status)
        status = judge_removal(advise, removal, finding, &picked);
    advise_tally_free(&picked.tally);
    return status;
}

enum mp_status advise_layout_changes(struct advise *advise, struct advise_finding *finding)
{
    return judge(advise, &layout_changes, finding);
}

enum mp_status advise_split_k(struct advise *advise, struct advise_finding *finding)
{
    return judge(advise, &split_k, finding);
}

enum mp_status advise_repeated_casts(struct advise *advise, struct advise_finding *finding)
{
    return judge(advise, &repeated_casts, finding);
}

/* unfused_pointwise: pointwise and batch normalisation kernels right after a kernel that could do
 * their work where it writes its result.
 *
 *     stream   |conv|splitK|bn|relu|pool|add|relu|   ->   |conv|splitK|pool|add|
 */

static bool is_light(enum kernel_kind kind)
{
    return kind == KERNEL_BATCH_NORM || kind == KERNEL_POINTWISE;
}

/* Whether a kernel of this kind ends in a tensor that a pointwise kernel could have changed before
 * it was written. Split-K sums and layout changes are parts of the matrix kernel before them. */
static bool can_take(enum kernel_kind kind)
{
    return is_light(kind) || kind == KERNEL_MATRIX || kind == KERNEL_SPLIT_K ||
           kind == KERNEL_LAYOUT;
}

/* Whether the activity could be part of the one before it in its stream. */
static bool is_fusible(const struct advise *advise, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];
    const struct deps_activity *before = work - 1;
    const uint32_t *of = advise->iterations->of;

    return work->kind == DEPS_KERNEL && before->kind == DEPS_KERNEL && of[index] != DEPS_NONE &&
           of[index] == of[index - 1] &&
           is_light((enum kernel_kind)advise->kinds[work->name].kind) &&
           can_take((enum kernel_kind)advise->kinds[before->name].kind);
}

static enum mp_status judge_fusion(struct advise *advise, struct advise_finding *finding,
                                   struct advise_picked *picked)
{
    const struct deps *deps = advise->deps;
    uint64_t norms = 0;

    if (!advise_has_kind(advise, KERNEL_BATCH_NORM) && !advise_has_kind(advise, KERNEL_POINTWISE))
        return MP_OK;
    for (uint32_t lane = deps->thread_count; lane < deps->lane_count; lane++) {
        uint32_t first = deps->lanes[lane].first;

        for (uint32_t i = first + 1; i < first + deps->lanes[lane].count; i++) {
            if (!is_fusible(advise, i))
                continue;
            advise_edit_gone(advise, i);
            advise_edit_operator(advise, i);
            advise_picked_add(advise, picked, i);
            norms += advise_counts(advise, i) && advise_is_kind(advise, i, KERNEL_BATCH_NORM);
        }
    }
    if (!picked->count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "at best: the kernels before them do their work in no time, batch "
                       "normalisation by other weights; the host code of their operators is gone";
    advise_evidence(finding,
                    "%s pointwise and batch normalisation kernels an iteration (the latter: "
                    "%s), right behind kernels that could do their work, take %s, %.1f %% of its "
                    "kernels' time",
                    mp_figure(advise_mean(advise, picked->count)).text,
                    mp_figure(advise_mean(advise, norms)).text,
                    advise_time(advise_mean(advise, picked->time)).text,
                    advise_picked_percent(advise, picked));
    advise_number(finding, "batch_norms", advise_mean(advise, norms));
    advise_picked_tell(advise, picked, finding);
    return MP_OK;
}

enum mp_status advise_unfused_pointwise(struct advise *advise, struct advise_finding *finding)
{
    struct advise_picked picked;
    enum mp_status status = advise_picked_init(&picked, advise->deps);

    if (!status)
        status = judge_fusion(advise, finding, &picked);
    advise_tally_free(&picked.tally);
    return status;
}

/* low_precision: matrix kernels in FP32 or TF32, where 16 bits are usual.
 */

/* 16 bits are half the bytes of 32, and tensor cores are twice as fast with them as with TF32
 * (NVIDIA's data sheets, A100 to H200). */
#define HALVED 0.5

static enum mp_status judge_precision(struct advise *advise, struct advise_finding *finding,
                                      struct advise_picked *picked)
{
    const struct deps *deps = advise->deps;
    uint64_t tf32 = 0;

    if (!advise_has_kind(advise, KERNEL_MATRIX))
        return MP_OK;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        unsigned precision = advise->kinds[work->name].precision;

        if (!advise_is_kind(advise, i, KERNEL_MATRIX) ||
            (precision != KERNEL_TF32 && precision != KERNEL_FP32))
            continue;
        advise->edits[i] |= DEPS_EDIT_SCALED;
        advise_picked_add(advise, picked, i);
        if (precision == KERNEL_TF32 && advise_counts(advise, i))
            tf32 += work->end - work->begin;
    }
    if (!picked->count)
        return MP_OK;
    advise->factor = HALVED;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "the results stay good enough, and these kernels take half the time: half "
                       "the bytes, and tensor cores twice as fast as with TF32";
    advise_evidence(finding,
                    "%s matrix kernels an iteration in FP32 or TF32 take %s, %.1f %% of its "
                    "kernels' time; those in TF32: %s",
                    mp_figure(advise_mean(advise, picked->count)).text,
                    advise_time(advise_mean(advise, picked->time)).text,
                    advise_picked_percent(advise, picked),
                    advise_time(advise_mean(advise, tf32)).text);
    advise_number(finding, "tf32_ns", advise_mean(advise, tf32));
    advise_number(finding, "fp32_ns", advise_mean(advise, picked->time - tf32));
    advise_picked_tell(advise, picked, finding);
    return MP_OK;
}

enum mp_status advise_low_precision(struct advise *advise, struct advise_finding *finding)
{
    struct advise_picked picked;
    enum mp_status status = advise_picked_init(&picked, advise->deps);

    if (!status)
        status = judge_precision(advise, finding, &picked);
    advise_tally_free(&picked.tally);
    return status;
}

/* small_grids: kernels with too few blocks to fill the GPU, or their green context, once.
 *
 *     SMs   |####|####|    |    |    |    |    |    |      2 blocks, 8 SMs: 0.25 waves
 *
 * A wave is as many blocks as all SMs hold at once (reports/kernels/kernels.h). With 4 times the
 * work such a kernel takes as long as now, so the same work takes a quarter of its time.
 */

#define FULL 0.9 /* of what the GPU can do: more blocks at once help no more */

/* ---- Launch shapes and devices ---- */

/* Whether occupancy is known of this kernel. */
static bool occupancy_at(const struct advise *advise, uint32_t index, struct occupancy *occupancy)
{
    const struct deps *deps = advise->deps;
    const struct deps_activity *work = &deps->activities[index];

    if (work->kind != DEPS_KERNEL || work->shape == DEPS_NONE)
        return false;
    const struct launch_shape *shape = shapes_find(&deps->profile->shapes, work->shape);
    const struct deps_lane *lane = &deps->lanes[work->lane];
    struct device_limits limits;
    return shape &&
           shapes_limits(&deps->profile->shapes, &deps->profile->definitions.contexts, lane->device,
                         lane->context, &limits) &&
           occupancy_of(shape, &limits, occupancy);
}

bool advise_has_occupancy(const struct advise *advise)
{
    const struct deps *deps = advise->deps;
    struct occupancy occupancy;

    for (uint32_t i = deps->host_count; i < deps->count; i++)
        if (advise->iterations->of[i] != DEPS_NONE && occupancy_at(advise, i, &occupancy))
            return true;
    return false;
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
    const struct deps *deps = advise->deps;
    double weighted = 0; /* waves times ns */
    bool green = false;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        double waves = waves_of(advise, i);

        if (advise->iterations->of[i] == DEPS_NONE || waves >= 1 ||
            advise_used(advise, work) >= FULL)
            continue;
        advise->edits[i] |= DEPS_EDIT_SCALED;
        advise_picked_add(advise, picked, i);
        green |= advise_is_green(advise, work);
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
    bool one = advise_is_one(advise_mean(advise, picked->count));
    const char *holder = !green ? "the GPU holds"
                         : one  ? "its green context holds"
                                : "their green contexts hold";
    advise_evidence(finding,
                    "%s kernel%s an iteration %s fewer blocks than %s at once, %.2g waves in the "
                    "mean (by time); %s %s, %.1f %% of its kernels' time",
                    mp_figure(advise_mean(advise, picked->count)).text, one ? "" : "s",
                    one ? "has" : "have", holder, weighted, one ? "it takes" : "they take",
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
