/* Copies between host and device: slow ones, ones for which the host waits, and ones during which
 * nothing is computed.
 */
#include <string.h>

#include "base/text/units.h"
#include "reports/advise/build.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

/* For copies of fewer bytes the fixed cost counts more than the bus's rate. */
#define MIN_BYTES 65536

enum direction { TO_DEVICE, TO_HOST, DIRECTIONS };

struct sums {
    uint64_t count;
    uint64_t bytes;
    uint64_t time;
};

static void copies_add(struct sums *sums, uint64_t bytes, uint64_t time)
{
    sums->count++;
    sums->bytes += bytes;
    sums->time += time;
}

/* Bytes a second; 0: none. */
static double rate_of(const struct sums *sums)
{
    return sums->time ? (double)sums->bytes * 1e9 / (double)sums->time : 0;
}

/* The direction of a copy from or to the host; DIRECTIONS for what is none. */
static enum direction direction_of(const struct deps *deps, const struct deps_activity *work)
{
    if (work->kind != DEPS_COPY)
        return DIRECTIONS;
    if (deps->copies[work->copy].kind == MP_copy_kind_HtoD)
        return TO_DEVICE;
    return deps->copies[work->copy].kind == MP_copy_kind_DtoH ? TO_HOST : DIRECTIONS;
}

/* ---- pageable_copies ---- */

struct pageable {
    struct sums all;                /* pageable, in iterations that count */
    struct sums large[DIRECTIONS];  /* of them those of MIN_BYTES and more */
    struct sums pinned[DIRECTIONS]; /* of the whole trace, likewise */
};

static bool is_pageable(const struct deps *deps, const struct deps_activity *work)
{
    return deps->copies[work->copy].pageable;
}

static void add_up_copies(const struct advise *advise, struct pageable *sums)
{
    const struct deps *deps = advise->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        enum direction direction = direction_of(deps, work);
        uint64_t time = work->end - work->begin;
        uint64_t bytes = direction == DIRECTIONS ? 0 : deps->copies[work->copy].bytes;

        if (direction == DIRECTIONS)
            continue;
        if (!is_pageable(deps, work) && bytes >= MIN_BYTES)
            copies_add(&sums->pinned[direction], bytes, time);
        if (!is_pageable(deps, work) || !advise_counts(advise, i))
            continue;
        copies_add(&sums->all, bytes, time);
        if (bytes >= MIN_BYTES)
            copies_add(&sums->large[direction], bytes, time);
    }
}

/* How long the large pageable copies would take at the rate of pinned ones, divided by the time
 * that they take. */
static double faster(const struct pageable *sums)
{
    double before = 0;
    double after = 0;

    for (int i = 0; i < DIRECTIONS; i++) {
        double time = (double)sums->large[i].time;
        double rate = rate_of(&sums->pinned[i]);

        before += time;
        after += rate > rate_of(&sums->large[i]) ? (double)sums->large[i].bytes * 1e9 / rate : time;
    }
    return before > 0 ? after / before : 1;
}

static bool is_asynchronous(const struct advise *advise, uint32_t piece)
{
    const struct deps_activity *call = &advise->deps->activities[piece];

    return strstr(deps_name(advise->deps, call), "Async") != NULL;
}

static void edit_pageable(struct advise *advise)
{
    const struct deps *deps = advise->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        uint32_t call = work->launch;

        if (direction_of(deps, work) == DIRECTIONS || !is_pageable(deps, work) ||
            advise->iterations->of[i] == DEPS_NONE)
            continue;
        if (deps->copies[work->copy].bytes >= MIN_BYTES)
            advise->edits[i] |= DEPS_EDIT_SCALED;
        if (call != DEPS_NONE && is_asynchronous(advise, call))
            for (uint32_t last = deps->activities[call].last_of_call; call <= last; call++)
                advise->edits[call] |= DEPS_EDIT_NO_WAIT;
    }
}

static void line_of_rate(struct advise_finding *finding, const char *what, const struct sums *sums)
{
    char rate[MP_FORMATTED_BYTES];

    mp_format_throughput(rate, sizeof rate, rate_of(sums));
    if (sums->count)
        advise_line(finding, NULL, "%s, 64 KiB and more: %s", what, rate);
}

enum mp_status advise_pageable_copies(struct advise *advise, struct advise_finding *finding)
{
    struct pageable sums = {.all = {0}};
    char bytes[MP_FORMATTED_BYTES];

    add_up_copies(advise, &sums);
    if (!sums.all.count)
        return MP_OK;
    advise->factor = faster(&sums);
    edit_pageable(advise);
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "copies of 64 KiB and more reach the rate of the pinned ones in the trace, "
                       "if any; ...Async calls do not wait for theirs";
    mp_format_size(bytes, sizeof bytes, (uint64_t)advise_mean(advise, sums.all.bytes));
    advise_evidence(finding, "%s copies of %s an iteration from or to pageable memory take %s",
                    mp_figure(advise_mean(advise, sums.all.count)).text, bytes,
                    advise_time(advise_mean(advise, sums.all.time)).text);
    line_of_rate(finding, "pageable to the device", &sums.large[TO_DEVICE]);
    line_of_rate(finding, "pinned to the device", &sums.pinned[TO_DEVICE]);
    line_of_rate(finding, "pageable to the host", &sums.large[TO_HOST]);
    line_of_rate(finding, "pinned to the host", &sums.pinned[TO_HOST]);
    advise_number(finding, "copies", advise_mean(advise, sums.all.count));
    advise_number(finding, "copied_bytes", advise_mean(advise, sums.all.bytes));
    advise_number(finding, "copies_ns", advise_mean(advise, sums.all.time));
    advise_number(finding, "factor", advise->factor);
    return MP_OK;
}

/* ---- synchronous_copies ---- */

static bool is_waiting_copy(const char *name)
{
    return (!strncmp(name, "cudaMemcpy", 10) || !strncmp(name, "cuMemcpy", 8)) &&
           !strstr(name, "Async");
}

/* Calls that copy to the host still wait, because the program needs the data. */
static void edit_lane(struct advise *advise, const struct deps_lane *lane,
                      struct advise_tally *tally, struct sums *sums)
{
    const struct deps_activity *activities = advise->deps->activities;
    struct advise_call call;

    for (uint32_t at = lane->first; advise_next_call(advise, lane, &at, &call);) {
        uint64_t time = activities[call.last].end - activities[call.first].begin;

        if (call.iteration == DEPS_NONE || !is_waiting_copy(advise_call_name(advise, &call)))
            continue;
        if (!(call.launched & ADVISE_LAUNCHED_DTOH))
            advise_edit_call(advise, &call, DEPS_EDIT_NO_WAIT);
        if (!advise_counts(advise, call.first))
            continue;
        copies_add(sums, 0, time);
        advise_tally_add(tally, activities[call.first].name, time);
    }
}

static enum mp_status judge_synchronous(struct advise *advise, struct advise_finding *finding,
                                        struct advise_tally *tally)
{
    struct sums sums = {0};

    for (uint32_t i = 0; i < advise->deps->thread_count; i++)
        edit_lane(advise, &advise->deps->lanes[i], tally, &sums);
    if (!sums.count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "calls that copy to the host wait as before, the others do not wait";
    advise_evidence(finding, "%s copy calls an iteration wait for their work, which takes %s",
                    mp_figure(advise_mean(advise, sums.count)).text,
                    advise_time(advise_mean(advise, sums.time)).text);
    advise_number(finding, "calls", advise_mean(advise, sums.count));
    advise_number(finding, "calls_ns", advise_mean(advise, sums.time));
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_synchronous_copies(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = judge_synchronous(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}

/* ---- exposed_copies ---- */

static enum mp_status judge_exposed(struct advise *advise, struct advise_finding *finding,
                                    struct advise_tally *tally)
{
    const struct deps *deps = advise->deps;
    double copies =
        advise_quantity(advise, ITERATION_HTOD) + advise_quantity(advise, ITERATION_DTOH);
    double overlap = advise_quantity(advise, ITERATION_OVERLAP);
    double exposed = copies > overlap ? copies - overlap : 0;
    double kernels = advise_quantity(advise, ITERATION_KERNEL) - overlap;
    double bound = exposed < kernels ? exposed : kernels;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (advise->iterations->of[i] == DEPS_NONE ||
            direction_of(deps, &deps->activities[i]) == DIRECTIONS)
            continue;
        advise->edits[i] = DEPS_EDIT_NO_TIME;
        if (advise_counts(advise, i))
            advise_tally_add(tally, deps->activities[i].name,
                             deps->activities[i].end - deps->activities[i].begin);
    }
    if (bound <= 0)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->method = ADVISE_BY_REPLAY_BOUNDED;
    if ((double)finding->gain > bound)
        finding->gain = (uint64_t)bound;
    finding->assumes = "iterations do not need each other's results, memory is pinned; at most the "
                       "time of the kernels that could hide the copies";
    advise_evidence(finding,
                    "copies from and to the host take %s of an iteration, %s; during %s of it no "
                    "kernel of the iteration runs",
                    advise_time(copies).text,
                    advise_percent(copies, advise_quantity(advise, ITERATION_LATENCY)).text,
                    advise_time(exposed).text);
    advise_number(finding, "copies_ns", copies);
    advise_number(finding, "exposed_ns", exposed);
    advise_number(finding, "bound_ns", bound);
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_exposed_copies(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = judge_exposed(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}
