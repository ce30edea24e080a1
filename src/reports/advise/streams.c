/* What waits without need: unused_streams and needless_wait.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/text/units.h"
#include "reports/advise/build.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

/* Work that could run at the same time but does not, for one of three reasons:
 *
 *     the legacy default stream     kernels wait for kernels of other streams of its context
 *     the host                      it waits for one stream before it launches on another one
 *     a graph                       independent nodes run one after the other
 */

struct serial {
    struct advise_tally *tally;
    uint64_t by_default_stream; /* kernels */
    uint64_t by_host;           /* calls that wait */
    uint64_t by_graph;          /* nodes */
};

/* ---- Whether streams are used at once ---- */

static bool begins_before(const void *context, uint32_t a, uint32_t b)
{
    const struct deps *deps = context;

    return deps->activities[a].begin < deps->activities[b].begin;
}

/* The last end of kernels so far, and the last end on any other stream. */
struct ends {
    uint64_t last;
    uint64_t other;
    uint32_t lane;
};

static bool overlaps(struct ends *ends, const struct deps_activity *work)
{
    uint64_t before = work->lane == ends->lane ? ends->other : ends->last;
    bool overlap = work->begin < before;

    if (work->lane != ends->lane && work->end > ends->last)
        *ends = (struct ends){work->end, ends->last, work->lane};
    else if (work->lane != ends->lane && work->end > ends->other)
        ends->other = work->end;
    else if (work->lane == ends->lane && work->end > ends->last)
        ends->last = work->end;
    return overlap;
}

/* Whether kernels of different streams ran at the same time. */
static enum mp_status find_overlap(const struct advise *advise, bool *overlap)
{
    const struct deps *deps = advise->deps;
    uint32_t room = deps->count - deps->host_count;
    uint32_t *order = malloc(((size_t)room + 1) * sizeof *order);
    uint32_t *scratch = malloc(((size_t)room + 1) * sizeof *scratch);
    struct ends ends = {.lane = DEPS_NONE};
    uint32_t count = 0;

    for (uint32_t i = deps->host_count; order && i < deps->count; i++) {
        if (deps->activities[i].kind == DEPS_KERNEL && advise_counts(advise, i))
            order[count++] = i;
    }
    if (order && scratch)
        mp_sort(order, count, scratch, begins_before, deps);
    *overlap = false;
    for (uint32_t i = 0; order && scratch && i < count && !*overlap; i++)
        *overlap = overlaps(&ends, &deps->activities[order[i]]);
    enum mp_status status = order && scratch ? MP_OK : MP_ERR_MEMORY;
    free(order);
    free(scratch);
    return status;
}

/* ---- The three reasons ---- */

static bool is_kernel(const struct advise *advise, uint32_t index)
{
    return index != DEPS_NONE && advise->deps->activities[index].kind == DEPS_KERNEL;
}

static void note(struct advise *advise, uint32_t index, struct serial *serial, uint64_t *count)
{
    const struct deps_activity *work = &advise->deps->activities[index];

    if (!advise_counts(advise, index))
        return;
    ++*count;
    advise_tally_add(serial->tally, work->name, work->end - work->begin);
}

/* A node that runs after another one of its stream although it does not depend on that one. All
 * that it depends on had ended even before that other node began. */
static bool is_held_up(const struct advise *advise, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];
    uint32_t needs = work->own_lane;

    if (!(work->flags & DEPS_NOT_ROOT) || work->kind != DEPS_KERNEL || needs == DEPS_NONE ||
        deps_is_front(needs) || needs + 1 >= index || work->bound != DEPS_GRAPH_EDGE)
        return false;
    const struct deps_activity *needed = &advise->deps->activities[needs];
    return needed->lane == work->lane && work[-1].correlation == work->correlation &&
           work[-1].kind == DEPS_KERNEL && work[-1].end <= work->begin &&
           needed->end <= work[-1].begin;
}

static void edit_work(struct advise *advise, struct serial *serial)
{
    const struct deps *deps = advise->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (advise->iterations->of[i] == DEPS_NONE)
            continue;
        if (is_kernel(advise, i) && work->bound == DEPS_DEFAULT_STREAM &&
            is_kernel(advise, work->other_lane)) {
            advise->edits[i] |= DEPS_EDIT_NO_CROSS;
            note(advise, i, serial, &serial->by_default_stream);
        } else if (is_held_up(advise, i)) {
            advise->edits[i] |= DEPS_EDIT_NO_GAP;
            note(advise, i, serial, &serial->by_graph);
        }
    }
}

/* The stream that a call launched a kernel on; DEPS_NONE. `lanes` is by piece. */
static uint32_t lane_of(const uint32_t *lanes, const struct advise_call *call)
{
    uint32_t lane = DEPS_NONE;

    for (uint32_t i = call->first; i <= call->last; i++)
        lane = lanes[i] == DEPS_NONE ? lane : lanes[i];
    return lane;
}

struct waiting {
    struct serial *serial;
    const uint32_t *lanes;
};

static void take_wait(struct advise *advise, const struct advise_call *wait,
                      const struct advise_call *next, void *context)
{
    const struct deps_activity *activities = advise->deps->activities;
    const struct waiting *waiting = context;
    uint32_t lane = lane_of(waiting->lanes, next);

    for (uint32_t i = wait->first; i <= wait->last; i++) {
        uint32_t awaited = activities[i].awaited;

        if (!is_kernel(advise, awaited) || lane == DEPS_NONE || activities[awaited].lane == lane ||
            wait->iteration != next->iteration)
            continue;
        advise_edit_call(advise, wait, DEPS_EDIT_NO_WAIT | DEPS_EDIT_NO_TIME);
        waiting->serial->by_host += advise_counts(advise, wait->first);
        return;
    }
}

static enum mp_status edit_waits(struct advise *advise, struct serial *serial)
{
    const struct deps *deps = advise->deps;
    uint32_t *lanes = malloc(((size_t)deps->host_count + 1) * sizeof *lanes);
    struct waiting waiting = {serial, lanes};

    if (!lanes)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < deps->host_count; i++)
        lanes[i] = DEPS_NONE;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (is_kernel(advise, i) && deps->activities[i].launch != DEPS_NONE)
            lanes[deps->activities[i].launch] = deps->activities[i].lane;
    }
    advise_each_needless(advise, take_wait, &waiting);
    free(lanes);
    return MP_OK;
}

/* ---- The rule ---- */

static enum mp_status streams_judge(struct advise *advise, struct advise_finding *finding,
                                    struct advise_tally *tally)
{
    struct serial serial = {.tally = tally};
    bool overlap;

    edit_work(advise, &serial);
    MP_TRY(edit_waits(advise, &serial));
    if (!serial.by_default_stream && !serial.by_host && !serial.by_graph)
        return MP_OK;
    MP_TRY(find_overlap(advise, &overlap));
    if (overlap)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "what has no dependency but this order is independent, and kernels that run "
                       "at once do not slow each other down";
    advise_evidence(finding,
                    "no two streams compute at once; an iteration has %s kernels that wait for "
                    "the default stream, %s waits for one stream before a launch on another, "
                    "%s graph nodes behind one that they do not need",
                    mp_figure(advise_mean(advise, serial.by_default_stream)).text,
                    mp_figure(advise_mean(advise, serial.by_host)).text,
                    mp_figure(advise_mean(advise, serial.by_graph)).text);
    advise_number(finding, "by_default_stream", advise_mean(advise, serial.by_default_stream));
    advise_number(finding, "by_host", advise_mean(advise, serial.by_host));
    advise_number(finding, "by_graph", advise_mean(advise, serial.by_graph));
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_unused_streams(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = streams_judge(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}

/* Finds a call that waits without need: the host goes on to launch work, and no copy was made for
 * which it could have waited:
 *
 *     thread   |launch a|  |synchronise|  |launch b|  |copy to host|  |synchronise|
 *                           needless                                   needed
 */

/* What a thread did since it last waited. */
struct since {
    bool launched;           /* work */
    bool copied_back;        /* a result, which the host may want */
    bool copied_in;          /* from memory to which the host may write again */
    struct advise_call call; /* the call waits, and it is not known yet whether it must */
    bool open;
};

/* Calls that read the time between events: such a call was what the program waited for. */
static bool reads_events(const char *name)
{
    return strstr(name, "EventElapsedTime") != NULL;
}

static uint64_t waiting_of(const struct advise *advise, const struct advise_call *call)
{
    uint64_t waited = 0;

    for (uint32_t i = call->first; i <= call->last; i++)
        waited += deps_waiting(advise->deps, &advise->deps->activities[i]);
    return waited;
}

static bool may_be_needless(const struct advise *advise, const struct since *since,
                            const struct advise_call *call)
{
    bool synchronises = false;

    /* What a wait gives back is another rule's: without the wait something else would. */
    if (advise->pools && advise->pools[call->first] & ADVISE_POOL_RELEASES)
        return false;
    for (uint32_t i = call->first; i <= call->last; i++)
        synchronises |= advise->deps->activities[i].flags & (DEPS_SYNCHRONISES | DEPS_POLLS);
    return synchronises && since->launched && !since->copied_back && !since->copied_in &&
           call->iteration != DEPS_NONE && waiting_of(advise, call);
}

static void visit(struct advise *advise, struct since *since, const struct advise_call *call,
                  advise_take_wait *take, void *context)
{
    if (since->open && reads_events(advise_call_name(advise, call)))
        since->open = false;
    if (since->open && call->launched && !call->waits) {
        take(advise, &since->call, call, context);
        since->open = false;
    }
    if (call->waits) {
        bool open = may_be_needless(advise, since, call);

        *since = (struct since){.call = *call, .open = open};
        return;
    }
    since->launched |= call->launched != 0;
    since->copied_back |= (call->launched & ADVISE_LAUNCHED_DTOH) != 0;
    since->copied_in |= (call->launched & ADVISE_LAUNCHED_HTOD) != 0;
}

void advise_each_needless(struct advise *advise, advise_take_wait *take, void *context)
{
    for (uint32_t i = 0; i < advise->deps->thread_count; i++) {
        const struct deps_lane *lane = &advise->deps->lanes[i];
        struct since since = {.open = false};
        struct advise_call call;

        for (uint32_t at = lane->first; advise_next_call(advise, lane, &at, &call);)
            visit(advise, &since, &call, take, context);
    }
}

/* ---- The rule ---- */

struct waits {
    struct advise_tally *tally;
    uint64_t count;
    uint64_t time;
};

static void take_out(struct advise *advise, const struct advise_call *wait,
                     const struct advise_call *next, void *context)
{
    struct waits *waits = context;
    uint64_t time = waiting_of(advise, wait);

    (void)next;
    advise_edit_call(advise, wait, DEPS_EDIT_NO_WAIT | DEPS_EDIT_NO_TIME);
    if (!advise_counts(advise, wait->first))
        return;
    waits->count++;
    waits->time += time;
    advise_tally_add(waits->tally, advise->deps->activities[wait->first].name, time);
}

static enum mp_status wait_judge(struct advise *advise, struct advise_finding *finding,
                                 struct advise_tally *tally)
{
    struct waits waits = {.tally = tally};

    advise_each_needless(advise, take_out, &waits);
    if (!waits.count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "the calls are gone; the host reads nothing that the GPU wrote to mapped or "
                       "managed memory before them";
    bool one = advise_is_one(advise_mean(advise, waits.count));
    advise_evidence(
        finding,
        "%s call%s an iteration wait%s for %s, then the host goes on to launch; no copy "
        "to or from the host was among what %s waited for",
        mp_figure(advise_mean(advise, waits.count)).text, one ? "" : "s", one ? "s" : "",
        advise_time(advise_mean(advise, waits.time)).text, one ? "it" : "they");
    advise_number(finding, "calls", advise_mean(advise, waits.count));
    advise_number(finding, "waiting_ns", advise_mean(advise, waits.time));
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_needless_wait(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = wait_judge(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}
