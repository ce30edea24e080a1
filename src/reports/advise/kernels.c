/* small_kernels: stretches of kernels that are shorter than a launch. The device idles between
 * such kernels, and fusing them gains the gaps.
 */
#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

/* ns. A shorter kernel ends before the next one can be launched (a launch call takes 4 to 8 us),
 * and its fixed cost is about as long as its work. */
#define SMALL_NS 5000u

/* Two may be chance; a stretch of three is worth a look. */
#define MIN_RUN 3

/* ns. A longer time between kernels of a run is work of the host. */
#define MAX_GAP_NS 50000u

struct runs {
    struct advise_tally *tally;
    uint64_t count;
    uint64_t kernels;
    uint64_t time;
    uint64_t gaps;
};

static bool is_small(const struct advise *advise, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];

    return work->kind == DEPS_KERNEL && work->end - work->begin < SMALL_NS &&
           advise->iterations->of[index] != DEPS_NONE;
}

/* Whether the activity continues the run of the activity before it in its stream. */
static bool goes_on(const struct advise *advise, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];
    const struct deps_activity *before = work - 1;

    return is_small(advise, index) && is_small(advise, index - 1) &&
           advise->iterations->of[index] == advise->iterations->of[index - 1] &&
           work->begin >= before->end && work->begin - before->end <= MAX_GAP_NS;
}

/* The kernels from `first` up to `end` become one. */
static void fuse(struct advise *advise, uint32_t first, uint32_t end, struct runs *runs)
{
    const struct deps_activity *activities = advise->deps->activities;
    bool counts = advise_counts(advise, first);

    for (uint32_t i = first; i < end; i++) {
        const struct deps_activity *work = &activities[i];

        if (i > first) {
            advise->edits[i] |= DEPS_EDIT_NO_LAUNCH | DEPS_EDIT_NO_GAP;
            advise_edit_operator(advise, i);
        }
        if (!counts)
            continue;
        advise_tally_add(runs->tally, work->name, work->end - work->begin);
        runs->kernels++;
        runs->time += work->end - work->begin;
        runs->gaps += i > first ? work->begin - activities[i - 1].end : 0;
    }
    runs->count += counts;
}

static void fuse_lane(struct advise *advise, const struct deps_lane *lane, struct runs *runs)
{
    uint32_t end = lane->first + lane->count;
    uint32_t next;

    for (uint32_t first = lane->first; first < end; first = next) {
        next = first + 1;
        while (next < end && goes_on(advise, next))
            next++;
        if (next - first >= MIN_RUN)
            fuse(advise, first, next, runs);
    }
}

static enum mp_status judge_small(struct advise *advise, struct advise_finding *finding,
                                  struct advise_tally *tally)
{
    bool one;
    const struct deps *deps = advise->deps;
    struct runs runs = {.tally = tally};

    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++)
        fuse_lane(advise, &deps->lanes[i], &runs);
    if (!runs.count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "at best: each run becomes one kernel, which takes as long as its kernels "
                       "together; their gaps, launches and the host code of the launches are gone";
    one = advise_is_one(advise_mean(advise, runs.count));
    advise_evidence(finding,
                    "%s run%s an iteration of %s kernels under 5 us, back to back in one stream, "
                    "take%s %s, and %s lie between them",
                    mp_figure(advise_mean(advise, runs.count)).text, one ? "" : "s",
                    mp_figure(advise_mean(advise, runs.kernels)).text, one ? "s" : "",
                    advise_time(advise_mean(advise, runs.time)).text,
                    advise_time(advise_mean(advise, runs.gaps)).text);
    advise_number(finding, "runs", advise_mean(advise, runs.count));
    advise_number(finding, "kernels", advise_mean(advise, runs.kernels));
    advise_number(finding, "kernels_ns", advise_mean(advise, runs.time));
    advise_number(finding, "gaps_ns", advise_mean(advise, runs.gaps));
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_small_kernels(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = judge_small(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}
