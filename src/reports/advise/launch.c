/* Where the host is in the way: launch_bound, host_bound, small_kernels, allocation.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text/units.h"
#include "reports/advise/build.h"
#include "trace/schema.h"

#include "base/poison.h"

/* Time in which the GPU is idle because the host has not launched the next work yet.
 *
 *     thread   |launch|..|launch|..|launch|  |wait|.......host code.......|launch|
 *     GPU             |k|       |k|      |kk|
 *              <------ launch_bound ---->         <----- host_bound ----->
 */

/* ---- launch_bound ---- */

/* With a smaller share of idle time in an iteration, launches are not the problem. */
#define MIN_IDLE 0.05

/* At least this share of the iterations must have the same kernels in the same order, or no graph
 * can replace them. */
#define MIN_ALIKE 0.5

/* Time that a graph launch takes for each node before its work begins, ns: recorded (ResNet-50, 227
 * nodes, H100: 80 us), and without CUPTI (800 nodes: 9 us). */
#define RECORDED_NODE_NS 350
#define BARE_NODE_NS     11

/* A mark besides the edits, in advise->edits; deps_replay does not know it. */
#define MARK 0x80u

struct launches {
    uint64_t kernels; /* in stretches of launches, after the first one of each */
    uint64_t calls;
    uint64_t call_time;
    uint64_t host_time; /* between the calls */
};

/* Removes the launches and adds up the time that they took. */
static void take_launches_out(struct advise *advise, const struct deps_lane *lane,
                              struct advise_tally *tally, struct launches *sum)
{
    const struct deps *deps = advise->deps;
    struct advise_call call;

    for (uint32_t at = lane->first; advise_next_call(advise, lane, &at, &call);) {
        uint64_t time = deps->activities[call.last].end - deps->activities[call.first].begin;

        if (!(advise->edits[call.first] & MARK))
            continue;
        for (uint32_t i = call.first; i <= call.last; i++)
            advise->edits[i] = DEPS_EDIT_NO_TIME | DEPS_EDIT_NO_HOST;
        if (!advise_counts(advise, call.first))
            continue;
        sum->calls++;
        sum->call_time += time;
        sum->host_time += call.gap;
        advise_tally_add(tally, deps->activities[call.first].name, time);
    }
}

static void take_latencies_out(struct advise *advise, struct launches *sum)
{
    const struct deps *deps = advise->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->launch == DEPS_NONE || !(advise->edits[work->launch] & DEPS_EDIT_NO_HOST))
            continue;
        advise->edits[i] |= DEPS_EDIT_NO_LAUNCH;
        sum->kernels += work->kind == DEPS_KERNEL && advise_counts(advise, i);
    }
}

/* How many of the iterations that count have the kernels of the median one, 0 to 1. */
static enum mp_status share_alike(const struct advise *advise, double *share)
{
    const struct deps *deps = advise->deps;
    uint64_t *hashes = calloc(advise->iterations->count + 1, sizeof *hashes);
    size_t alike = 0;

    if (!hashes)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint32_t of = advise->iterations->of[i];

        if (of != DEPS_NONE && deps->activities[i].kind == DEPS_KERNEL)
            hashes[of] = (hashes[of] ^ deps->activities[i].name) * UINT64_C(0x100000001b3) + 1;
    }
    for (size_t i = 0; i < advise->iterations->count; i++)
        alike += advise->regular[i] && hashes[i] == hashes[advise->summary->median];
    *share = (double)alike / (double)advise->judged;
    free(hashes);
    return MP_OK;
}

static void tell_launches(const struct advise *advise, struct advise_finding *finding,
                          const struct launches *sum, double idle, double alike)
{
    double latency = advise_quantity(advise, ITERATION_LATENCY);

    finding->assumes = "one graph launch for each stretch of launches; no launch "
                       "calls, launch latency and host code in between";
    advise_evidence(finding,
                    "the GPU is idle for %s of an iteration, %s; %s calls between its first and "
                    "last launches take %s, host code between them %s",
                    advise_time(idle).text, advise_percent(idle, latency).text,
                    mp_figure(advise_mean(advise, sum->calls)).text,
                    advise_time(advise_mean(advise, sum->call_time)).text,
                    advise_time(advise_mean(advise, sum->host_time)).text);
    advise_number(finding, "idle_ns", idle);
    advise_number(finding, "calls", advise_mean(advise, sum->calls));
    advise_number(finding, "kernels", advise_mean(advise, sum->kernels));
    advise_number(finding, "calls_ns", advise_mean(advise, sum->call_time));
    advise_number(finding, "host_ns", advise_mean(advise, sum->host_time));
    advise_number(finding, "alike_percent", 100 * alike);
}

static enum mp_status judge_launches(struct advise *advise, struct advise_finding *finding,
                                     struct advise_tally *tally)
{
    const struct deps *deps = advise->deps;
    double idle = advise_quantity(advise, ITERATION_IDLE_LAUNCH) +
                  advise_quantity(advise, ITERATION_IDLE_HOST);
    struct launches sum = {0};
    double alike;

    advise_mark_launches(advise, false, advise->edits, MARK);
    for (uint32_t i = 0; i < deps->thread_count; i++)
        take_launches_out(advise, &deps->lanes[i], tally, &sum);
    take_latencies_out(advise, &sum);
    MP_TRY(share_alike(advise, &alike));
    if (!sum.kernels || alike < MIN_ALIKE ||
        idle < MIN_IDLE * advise_quantity(advise, ITERATION_LATENCY))
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    uint64_t node = advise->deps->recording.before ? BARE_NODE_NS : RECORDED_NODE_NS;
    uint64_t graph_time = sum.kernels * node / advise->judged;
    finding->gain = finding->gain > graph_time ? finding->gain - graph_time : 0;
    tell_launches(advise, finding, &sum, idle, alike);
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_launch_bound(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = judge_launches(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}

/* ---- host_bound ---- */

/* Removes host code that is not between the launches of a stretch; returns its time. */
static void take_host_out(struct advise *advise, const struct deps_lane *lane,
                          struct advise_tally *tally, uint64_t *sum)
{
    const struct deps_activity *activities = advise->deps->activities;

    for (uint32_t i = lane->first; i < lane->first + lane->count; i++) {
        uint64_t gap = advise_host_before(advise, i);
        bool between = advise->edits[i] & MARK;

        advise->edits[i] = 0;
        if (between || !gap)
            continue;
        advise->edits[i] = DEPS_EDIT_NO_HOST;
        if (!advise_counts_host(advise, i))
            continue;
        *sum += gap;
        advise_tally_add(tally, activities[i].name, gap);
    }
}

static enum mp_status judge_host(struct advise *advise, struct advise_finding *finding,
                                 struct advise_tally *tally)
{
    const struct deps *deps = advise->deps;
    double idle = advise_quantity(advise, ITERATION_IDLE_HOST);
    double latency = advise_quantity(advise, ITERATION_LATENCY);
    uint64_t sum = 0;

    advise_mark_launches(advise, true, advise->edits, MARK);
    for (uint32_t i = 0; i < deps->thread_count; i++)
        take_host_out(advise, &deps->lanes[i], tally, &sum);
    if (!sum)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->method = ADVISE_BY_REPLAY_BOUNDED;
    if ((double)finding->gain > idle)
        finding->gain = (uint64_t)idle;
    finding->assumes = "this host code runs in other threads meanwhile; at most the idle time";
    advise_evidence(finding,
                    "the GPU is idle for %s of an iteration, %s, while the host is outside of "
                    "CUDA; host code before, behind and far between its launches takes %s",
                    advise_time(idle).text, advise_percent(idle, latency).text,
                    advise_time(advise_mean(advise, sum)).text);
    advise_number(finding, "idle_ns", idle);
    advise_number(finding, "host_ns", advise_mean(advise, sum));
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_host_bound(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = judge_host(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}

/* small_kernels: stretches of kernels that are shorter than a launch. The device idles between
 * such kernels, and fusing them gains the gaps.
 */

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
    const struct deps *deps = advise->deps;
    struct runs runs = {.tally = tally};

    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++)
        fuse_lane(advise, &deps->lanes[i], &runs);
    if (!runs.count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "at best: each run becomes one kernel, which takes as long as its kernels "
                       "together; their gaps, launches and the host code of the launches are gone";
    bool one = advise_is_one(advise_mean(advise, runs.count));
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

/* Calls that allocate or free memory inside of iterations. */

/* Removes them; adds those that map virtual memory up in *mapping, ns. */
static void take_out(struct advise *advise, const struct deps_lane *lane,
                     struct advise_calls *calls, uint64_t *mapping)
{
    struct advise_call call;

    for (uint32_t at = lane->first; advise_next_call(advise, lane, &at, &call);) {
        enum advise_call_kind kind = advise_kind_of_call(advise, &call);

        if (call.iteration == DEPS_NONE ||
            (kind != ADVISE_CALL_ALLOCATES && kind != ADVISE_CALL_MAPS))
            continue;
        advise_edit_call(advise, &call, DEPS_EDIT_NO_WAIT | DEPS_EDIT_NO_TIME);
        if (!advise_counts(advise, call.first))
            continue;
        uint64_t time = advise_call_time(advise, &call);
        advise_calls_add(advise, calls, &call, time);
        *mapping += kind == ADVISE_CALL_MAPS ? time : 0;
    }
}

static enum mp_status alloc_judge(struct advise *advise, struct advise_finding *finding,
                                  struct advise_calls *calls)
{
    uint64_t mapping = 0;

    if (!advise_has_call(advise, ADVISE_CALL_ALLOCATES) &&
        !advise_has_call(advise, ADVISE_CALL_MAPS))
        return MP_OK;
    for (uint32_t i = 0; i < advise->deps->thread_count; i++)
        take_out(advise, &advise->deps->lanes[i], calls, &mapping);
    if (!calls->count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    bool maps = mapping > calls->time / 2;
    if (maps) {
        finding->title = "Memory is mapped inside the loop";
        finding->to_do = "Map once before the loop and keep the mapping: reserve addresses for the "
                         "largest size, map more where it grows, and unmap after the loop.";
    }
    finding->assumes = "the calls are gone, and what they wait for in effect is not waited for";
    advise_evidence(finding, "%s calls an iteration that %s take %s",
                    mp_figure(advise_mean(advise, calls->count)).text,
                    maps ? "make, map or unmap virtual memory" : "allocate or free",
                    advise_time(advise_mean(advise, calls->time)).text);
    advise_number(finding, "calls", advise_mean(advise, calls->count));
    advise_number(finding, "calls_ns", advise_mean(advise, calls->time));
    advise_number(finding, "mapping_ns", advise_mean(advise, mapping));
    advise_tally_lines(advise, &calls->tally, finding);
    return MP_OK;
}

enum mp_status advise_allocation(struct advise *advise, struct advise_finding *finding)
{
    struct advise_calls calls;
    enum mp_status status = advise_calls_init(&calls, advise->deps);

    if (!status)
        status = alloc_judge(advise, finding, &calls);
    advise_tally_free(&calls.tally);
    return status;
}
