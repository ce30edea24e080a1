/* Kernels that a change around them makes unnecessary: layout changes, split-K reductions, casts.
 *
 *     stream   |conv|nchwToNhwc|conv|nchwToNhwc|conv|   ->   |conv|nchwToNhwc|conv|conv|
 *
 * The first layout change and the first cast of an iteration stay: its input may need them.
 */
#include <stdlib.h>

#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

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
