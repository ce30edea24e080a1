/* Calls that allocate or free memory inside of iterations. */
#include <string.h>

#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

/* Beginnings of names. The Async functions are included: they wait for nothing but take time on the
 * host. */
static const char *const beginnings[] = {
    "cudaMalloc",  "cudaFree",     "cudaHostAlloc",  "cudaHostRegister",  "cudaHostUnregister",
    "cuMemAlloc",  "cuMemFree",    "cuMemHostAlloc", "cuMemHostRegister", "cuMemHostUnregister",
    "cuMemCreate", "cuMemRelease",
};

static bool allocates(const char *name)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
            return true;
    }
    return false;
}

static void take_out(struct advise *advise, const struct deps_lane *lane,
                     struct advise_tally *tally, uint64_t *count, uint64_t *sum)
{
    const struct deps_activity *activities = advise->deps->activities;
    struct advise_call call;

    for (uint32_t at = lane->first; advise_next_call(advise, lane, &at, &call);) {
        uint64_t time = activities[call.last].end - activities[call.first].begin;

        if (call.iteration == DEPS_NONE || !allocates(advise_call_name(advise, &call)))
            continue;
        advise_edit_call(advise, &call, DEPS_EDIT_NO_WAIT | DEPS_EDIT_NO_TIME);
        if (!advise_counts(advise, call.first))
            continue;
        ++*count;
        *sum += time;
        advise_tally_add(tally, activities[call.first].name, time);
    }
}

static enum mp_status alloc_judge(struct advise *advise, struct advise_finding *finding,
                                  struct advise_tally *tally)
{
    uint64_t count = 0;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < advise->deps->thread_count; i++)
        take_out(advise, &advise->deps->lanes[i], tally, &count, &sum);
    if (!count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "the calls are gone, and what they wait for in effect is not waited for";
    advise_evidence(finding, "%s calls an iteration that allocate or free take %s",
                    mp_figure(advise_mean(advise, count)).text,
                    advise_time(advise_mean(advise, sum)).text);
    advise_number(finding, "calls", advise_mean(advise, count));
    advise_number(finding, "calls_ns", advise_mean(advise, sum));
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_allocation(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = alloc_judge(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}
