/* unfused_pointwise: pointwise and batch normalisation kernels right behind a kernel that could do
 * their work where it writes its result.
 *
 *     stream   |conv|splitK|bn|relu|pool|add|relu|   ->   |conv|splitK|pool|add|
 */
#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

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
