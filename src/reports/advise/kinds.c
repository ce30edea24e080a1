/* What the kernels of the graph are by their names (profile/names/kernel_kinds.def). Names are
 * looked at once, because millions of kernels share few of them.
 */
#include <stdlib.h>

#include "profile/names/kernel_rules.h"
#include "reports/advise/build.h"

#include "base/poison.h"

static struct advise_kind kind_of(const char *name)
{
    return (struct advise_kind){
        .kind = (uint8_t)kernel_kind_of(name),
        .precision = (uint8_t)kernel_precision_of(name),
        .framework = (uint8_t)kernel_framework_of(name),
        .communicates = kernel_communicates(name),
        .known = true,
    };
}

enum mp_status advise_kinds_load(struct advise *advise)
{
    const struct deps *deps = advise->deps;

    advise->kinds = calloc((size_t)deps->names.count + 1, sizeof *advise->kinds);
    if (!advise->kinds)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->kind == DEPS_KERNEL && !advise->kinds[work->name].known)
            advise->kinds[work->name] = kind_of(deps_name(deps, work));
    }
    return MP_OK;
}

bool advise_is_kind(const struct advise *advise, uint32_t index, enum kernel_kind kind)
{
    const struct deps_activity *work = &advise->deps->activities[index];

    return work->kind == DEPS_KERNEL && advise->iterations->of[index] != DEPS_NONE &&
           advise->kinds[work->name].kind == kind;
}

/* ---- Sums over kernels ---- */

enum mp_status advise_picked_init(struct advise_picked *picked, const struct deps *deps)
{
    *picked = (struct advise_picked){.count = 0};
    return advise_tally_init(&picked->tally, deps);
}

void advise_picked_add(const struct advise *advise, struct advise_picked *picked, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];

    if (!advise_counts(advise, index))
        return;
    picked->count++;
    picked->time += work->end - work->begin;
    advise_tally_add(&picked->tally, work->name, work->end - work->begin);
}

double advise_picked_percent(const struct advise *advise, const struct advise_picked *picked)
{
    const struct deps *deps = advise->deps;
    uint64_t all = 0;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->kind == DEPS_KERNEL && advise_counts(advise, i))
            all += work->end - work->begin;
    }
    return all ? 100 * (double)picked->time / (double)all : 0;
}

void advise_picked_tell(const struct advise *advise, const struct advise_picked *picked,
                        struct advise_finding *finding)
{
    advise_number(finding, "kernels", advise_mean(advise, picked->count));
    advise_number(finding, "kernels_ns", advise_mean(advise, picked->time));
    advise_number(finding, "kernel_percent", advise_picked_percent(advise, picked));
    advise_tally_lines(advise, &picked->tally, finding);
}
