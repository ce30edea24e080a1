/* Code that is loaded while iterations run: code_loading, and blocked_calls, in which other threads
 * wait for it.
 *
 *     thread 1   |launch|launch ....................|launch|
 *     thread 2       |load module ..... compile ....|
 *                           <--- blocked_calls ---->
 *                    <------ code_loading --------->
 *
 * Both make outliers more often than not, so outliers count here, but for warm-up.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/map.h"
#include "base/data/storage.h"
#include "base/text/units.h"
#include "profile/reading.h"
#include "reports/advise/build.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- What a call spends on loading ---- */

/* Kinds of records, whose times may cover each other. */
enum part_kind { PART_JIT, PART_COMPILER, PART_MODULE, PART_FUNCTION, PARTS };

/* A record of loading. 40 bytes each. */
struct part {
    uint64_t time, duration;
    uint64_t correlation; /* 0: the call is found by thread and time */
    uint64_t thread;
    uint32_t call; /* its first piece; DEPS_NONE: in no call */
    uint8_t kind;  /* enum part_kind */
    bool compiles;
};

struct parts {
    struct part *items; /* owned */
    size_t count, capacity;
};

static enum mp_status keep_part(struct parts *parts, const struct part *part)
{
    MP_TRY(MP_RESERVE(parts->items, parts->count, parts->capacity));
    parts->items[parts->count] = *part;
    parts->items[parts->count++].call = DEPS_NONE;
    return MP_OK;
}

static enum mp_status take_jit(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_jit_columns jit = mp_jit_columns(batch->columns);

    return keep_part(context,
                     &(struct part){.time = jit.start[row],
                                    .duration = jit.duration[row],
                                    .correlation = jit.correlation[row],
                                    .kind = PART_JIT,
                                    .compiles = jit.operation[row] == MP_jit_operation_compile});
}

static enum mp_status take_overhead(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_overhead_columns overhead = mp_overhead_columns(batch->columns);
    struct part part = {.time = overhead.start[row],
                        .duration = overhead.duration[row],
                        .correlation = overhead.correlation[row],
                        .thread = overhead.thread[row]};

    switch (overhead.kind[row]) {
    case MP_overhead_kind_compiler:
        part.kind = PART_COMPILER;
        part.compiles = true;
        break;
    case MP_overhead_kind_module_loading:
        part.kind = PART_MODULE;
        break;
    case MP_overhead_kind_lazy_function_loading:
        part.kind = PART_FUNCTION;
        break;
    default:
        return MP_OK;
    }
    return keep_part(context, &part);
}

static const struct reading_table tables[] = {
    {MP_TABLE_jit, MP_MASK(jit, operation, start, duration, correlation), .take_row = take_jit},
    {MP_TABLE_overhead, MP_MASK(overhead, thread, kind, start, duration, correlation),
     .take_row = take_overhead},
};

/* The call of a thread in which a moment lies; DEPS_NONE. */
static uint32_t call_at(const struct deps *deps, uint64_t thread, uint64_t time)
{
    for (uint32_t i = 0; thread && i < deps->thread_count; i++) {
        if (deps->lanes[i].id != thread)
            continue;
        uint32_t at = deps_call_before(deps, &deps->lanes[i], time + 1, 0);

        return at == DEPS_NONE || deps->activities[at].end <= time
                   ? DEPS_NONE
                   : deps->activities[at].first_of_call;
    }
    return DEPS_NONE;
}

/* Finds the calls of the parts: by correlation id, or by thread and time. */
static enum mp_status find_calls(const struct deps *deps, struct parts *parts)
{
    struct mp_map calls = {.slots = NULL};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < parts->count && !status; i++)
        if (parts->items[i].correlation)
            status = mp_map_put(&calls, parts->items[i].correlation, DEPS_NONE - 1);
    for (uint32_t i = 0; i < deps->host_count && !status; i++) {
        uint64_t correlation = deps->activities[i].correlation;

        if (correlation && mp_map_get(&calls, correlation) == DEPS_NONE - 1)
            status = mp_map_put(&calls, correlation, deps->activities[i].first_of_call);
    }
    for (size_t i = 0; i < parts->count && !status; i++) {
        struct part *part = &parts->items[i];
        uint32_t call = part->correlation ? mp_map_get(&calls, part->correlation) : DEPS_NONE;

        part->call = call >= DEPS_NONE - 1 ? call_at(deps, part->thread, part->time) : call;
    }
    mp_map_free(&calls);
    return status;
}

MP_COMPARE(by_call, struct part, MP_ORDER(a->call, b->call));

/* What the parts of one call are together: of kinds that cover each other the longest. */
static struct advise_load load_of(const struct deps *deps, const struct part *parts, size_t count)
{
    const struct deps_activity *call = &deps->activities[parts->call];
    uint64_t limit = deps->activities[call->last_of_call].end - call->begin;
    struct advise_load load = {.call = parts->call};
    uint64_t sums[PARTS] = {0}, compiling[PARTS] = {0};

    for (size_t i = 0; i < count; i++) {
        sums[parts[i].kind] += parts[i].duration;
        compiling[parts[i].kind] += parts[i].compiles ? parts[i].duration : 0;
    }
    for (unsigned kind = 0; kind < PARTS; kind++) {
        load.time = mp_max(load.time, sums[kind]);
        load.compiling = mp_max(load.compiling, compiling[kind]);
    }
    load.time = load.time < limit ? load.time : limit;
    load.compiling = load.compiling < load.time ? load.compiling : load.time;
    return load;
}

static enum mp_status make_loads(struct advise *advise, struct parts *parts)
{
    if (!parts->count)
        return MP_OK;
    MP_TRY(find_calls(advise->deps, parts));
    qsort(parts->items, parts->count, sizeof *parts->items, by_call);
    advise->loads = calloc(parts->count, sizeof *advise->loads);
    if (!advise->loads)
        return MP_ERR_MEMORY;
    for (size_t i = 0, next; i < parts->count && parts->items[i].call != DEPS_NONE; i = next) {
        for (next = i; next < parts->count && parts->items[next].call == parts->items[i].call;)
            next++;
        advise->loads[advise->load_count++] = load_of(advise->deps, &parts->items[i], next - i);
    }
    return MP_OK;
}

enum mp_status advise_loads_load(struct advise *advise)
{
    struct parts parts = {.items = NULL};
    const struct reading reading = {
        .trace = advise->deps->profile->trace,
        .what = "what was loaded",
        .context = &parts,
        READING_TABLES(tables),
    };

    if (!profile_has_rows(advise->deps->profile, MP_TABLE_jit) &&
        !profile_has_rows(advise->deps->profile, MP_TABLE_overhead))
        return MP_OK;
    enum mp_status status = reading_run(&reading, advise->error);
    if (!status)
        status = make_loads(advise, &parts);
    free(parts.items);
    return status;
}

/* What a call spends on loading: all of its time if that is what it is for. */
static struct advise_load loaded_by(const struct advise *advise, const struct advise_call *call)
{
    const struct advise_load *loads = advise->loads;
    size_t at = MP_SEARCH(0, advise->load_count, i, loads[i].call < call->first);
    struct advise_load load = {.call = call->first};

    if (at < advise->load_count && loads[at].call == call->first)
        load = loads[at];
    if (advise_kind_of_call(advise, call) == ADVISE_CALL_LOADS)
        load.time = advise_own_time(advise, call);
    return load;
}

/* Whether a call is in a step of which these rules tell. */
static bool is_steady(const struct advise *advise, const struct advise_call *call)
{
    uint32_t step = advise_step_of(advise, call->first);

    return step != DEPS_NONE && advise->steady[step];
}

static double steady_mean(const struct advise *advise, uint64_t sum)
{
    return (double)sum / (double)advise->steady_count;
}

/* ---- code_loading ---- */

struct loading {
    struct advise_calls calls;
    uint64_t compiling;
    uint64_t host;       /* ns, before calls that load: what makes the code at run time */
    uint64_t iterations; /* that load something */
    uint32_t last;       /* of them */
};

/* Whether the host code before a call may have made what it loads: NVRTC, Triton. */
static bool makes_code(const struct advise *advise, const struct advise_call *call)
{
    return advise_kind_of_call(advise, call) == ADVISE_CALL_LOADS &&
           !strstr(advise_call_name(advise, call), "Unload");
}

static void take_load(struct advise *advise, struct loading *loading,
                      const struct advise_call *call)
{
    struct advise_load load = loaded_by(advise, call);
    uint32_t step = advise_step_of(advise, call->first);

    if (!load.time || !is_steady(advise, call))
        return;
    advise_shorten(advise, call, load.time);
    uint64_t host = advise_host_before(advise, call->first);
    if (host > ADVISE_MAX_LAUNCH_GAP && makes_code(advise, call)) {
        advise->edits[call->first] |= DEPS_EDIT_NO_HOST;
        loading->host += host;
    }
    advise_calls_add(advise, &loading->calls, call, load.time);
    loading->compiling += load.compiling;
    loading->iterations += step != loading->last;
    loading->last = step;
}

/* If the host code before the calls takes longer than they do, it is what has to go: at best, since
 * nobody knows that it made the code. Otherwise it stays. */
static void take_host(struct advise *advise, struct loading *loading,
                      struct advise_finding *finding)
{
    finding->assumes = "the code is there before the loop; mean of all iterations but for warm-up";
    if (loading->host <= loading->calls.time) {
        loading->host = 0;
        for (uint32_t i = 0; i < advise->deps->host_count; i++)
            advise->edits[i] &= (uint8_t)~DEPS_EDIT_NO_HOST;
        return;
    }
    finding->title = "Code is made and loaded inside the loop";
    finding->to_do =
        "Compile before the loop, one iteration of each shape as warm-up, and keep "
        "what is compiled at run time (NVRTC, Triton) in memory or in a cache on disk.";
    finding->assumes = "at best: the host code right before these calls makes the code, and all of "
                       "it is there before the loop; mean of all iterations but for warm-up";
    finding->certainty = ADVISE_BOUND;
    finding->confidence = 0.6;
}

static void tell_loading(const struct advise *advise, const struct loading *loading,
                         struct advise_finding *finding)
{
    struct mp_shown host = advise_time((double)loading->host);
    struct mp_shown compiling = advise_time((double)loading->compiling);
    bool one = loading->calls.count == 1;

    advise_evidence(
        finding, "%s call%s in %s of %s iterations load%s code for %s%s%s%s%s",
        mp_count(loading->calls.count).text, one ? "" : "s", mp_count(loading->iterations).text,
        mp_count(advise->steady_count).text, one ? "s" : "",
        advise_time((double)loading->calls.time).text, loading->compiling ? ", compiling for " : "",
        loading->compiling ? compiling.text : "",
        loading->host ? "; host code right before takes " : "", loading->host ? host.text : "");
    advise_number(finding, "calls", steady_mean(advise, loading->calls.count));
    advise_number(finding, "loading_ns", steady_mean(advise, loading->calls.time));
    advise_number(finding, "compiling_ns", steady_mean(advise, loading->compiling));
    advise_number(finding, "host_ns", steady_mean(advise, loading->host));
    advise_number(finding, "iterations", (double)loading->iterations);
    advise_tally_steady(advise, &loading->calls.tally, ADVISE_LINES, finding);
}

static enum mp_status judge_loading(struct advise *advise, struct loading *loading,
                                    struct advise_finding *finding)
{
    struct advise_call call;

    for (uint32_t i = 0; i < advise->deps->thread_count; i++)
        for (uint32_t at = advise->deps->lanes[i].first;
             advise_next_call(advise, &advise->deps->lanes[i], &at, &call);)
            take_load(advise, loading, &call);
    if (!loading->calls.count)
        return MP_OK;
    take_host(advise, loading, finding);
    MP_TRY(advise_replay_steady(advise, &finding->gain));
    tell_loading(advise, loading, finding);
    return MP_OK;
}

enum mp_status advise_code_loading(struct advise *advise, struct advise_finding *finding)
{
    struct loading loading = {.last = DEPS_NONE};

    if (!advise->load_count && !advise_has_call(advise, ADVISE_CALL_LOADS))
        return MP_OK;
    enum mp_status status = advise_gone_init(advise);
    if (!status)
        status = advise_calls_init(&loading.calls, advise->deps);
    if (!status)
        status = judge_loading(advise, &loading, finding);
    advise_tally_free(&loading.calls.tally);
    advise_gone_free(advise);
    return status;
}

/* ---- blocked_calls ---- */

/* ns. A shorter delay may be anything. */
#define MIN_BLOCKED 20000u

/* A call that takes this many times its usual time has waited for something. */
#define MIN_TIMES_USUAL 5

/* The minimum share of the additional time in which the other call must run. */
#define MIN_COVERED 0.5

/* With fewer calls of a name, nobody knows what is usual. */
#define MIN_USUAL 5

/* A call that holds the lock of its context. */
struct holder {
    uint64_t begin, end;
    uint64_t latest; /* end of this and all before */
    uint32_t lane;
    uint32_t name;
};

struct blocking {
    struct advise_calls calls; /* with the time that they wait */
    struct advise_tally held;  /* by name of the holder, that time */
    struct holder *holders;    /* by begin; owned */
    size_t count, capacity;
    uint64_t usual_sum;    /* ns, of the calls that wait */
    uint64_t *usual;       /* by name: the time of calls during which no holder runs; owned */
    uint32_t *usual_count; /* owned */
};

MP_COMPARE(by_begin, struct holder, MP_ORDER(a->begin, b->begin));

static bool may_hold(const struct advise *advise, const struct advise_call *call)
{
    enum advise_call_kind kind = advise_kind_of_call(advise, call);

    return kind == ADVISE_CALL_ALLOCATES || kind == ADVISE_CALL_MAPS ||
           loaded_by(advise, call).time >= MIN_BLOCKED;
}

static enum mp_status find_holders(const struct advise *advise, struct blocking *blocking)
{
    const struct deps_activity *activities = advise->deps->activities;
    struct advise_call call;
    uint64_t latest = 0;

    for (uint32_t lane = 0; lane < advise->deps->thread_count; lane++) {
        for (uint32_t at = advise->deps->lanes[lane].first;
             advise_next_call(advise, &advise->deps->lanes[lane], &at, &call);) {
            if (advise_own_time(advise, &call) < MIN_BLOCKED || !may_hold(advise, &call))
                continue;
            MP_TRY(MP_RESERVE(blocking->holders, blocking->count, blocking->capacity));
            blocking->holders[blocking->count++] =
                (struct holder){.begin = activities[call.first].begin,
                                .end = activities[call.last].end,
                                .lane = lane,
                                .name = activities[call.first].name};
        }
    }
    if (blocking->count)
        qsort(blocking->holders, blocking->count, sizeof *blocking->holders, by_begin);
    for (size_t i = 0; i < blocking->count; i++)
        blocking->holders[i].latest = latest = mp_max(latest, blocking->holders[i].end);
    return MP_OK;
}

/* The holder of another thread that runs during the call for longest, and how long; NULL. */
static const struct holder *longest_holder(const struct advise *advise,
                                           const struct blocking *blocking,
                                           const struct advise_call *call, uint64_t *meanwhile)
{
    uint64_t begin = advise->deps->activities[call->first].begin;
    uint64_t end = advise->deps->activities[call->last].end;
    const struct holder *holders = blocking->holders, *found = NULL;
    size_t at = MP_SEARCH(0, blocking->count, i, holders[i].begin < end);

    *meanwhile = 0;
    for (; at && holders[at - 1].latest > begin; at--) {
        const struct holder *holder = &holders[at - 1];
        uint64_t from = mp_max(begin, holder->begin);
        uint64_t until = holder->end < end ? holder->end : end;

        if (holder->lane == advise->deps->activities[call->first].lane ||
            until <= from + *meanwhile)
            continue;
        *meanwhile = until - from;
        found = holder;
    }
    return found;
}

/* Whether the call may wait for a lock: it has nothing else to wait for, and loads nothing. */
static bool may_be_blocked(const struct advise *advise, const struct advise_call *call)
{
    return !call->waits && advise->deps->activities[call->first].kind == DEPS_CALL &&
           !loaded_by(advise, call).time;
}

static void find_usual(const struct advise *advise, struct blocking *blocking)
{
    struct advise_call call;
    uint64_t meanwhile;

    for (uint32_t lane = 0; lane < advise->deps->thread_count; lane++) {
        for (uint32_t at = advise->deps->lanes[lane].first;
             advise_next_call(advise, &advise->deps->lanes[lane], &at, &call);) {
            uint32_t name = advise->deps->activities[call.first].name;

            if (!may_be_blocked(advise, &call) ||
                longest_holder(advise, blocking, &call, &meanwhile))
                continue;
            blocking->usual[name] += advise_call_time(advise, &call);
            blocking->usual_count[name]++;
        }
    }
}

static void take_blocked(struct advise *advise, struct blocking *blocking,
                         const struct advise_call *call)
{
    uint32_t name = advise->deps->activities[call->first].name;
    uint64_t time = advise_call_time(advise, call);
    uint64_t meanwhile;

    if (blocking->usual_count[name] < MIN_USUAL || time < MIN_BLOCKED ||
        !may_be_blocked(advise, call) || !is_steady(advise, call))
        return;
    uint64_t usual = blocking->usual[name] / blocking->usual_count[name];
    if (time < usual * MIN_TIMES_USUAL || time - usual < MIN_BLOCKED)
        return;
    const struct holder *holder = longest_holder(advise, blocking, call, &meanwhile);
    if (!holder || (double)meanwhile < MIN_COVERED * (double)(time - usual))
        return;
    uint64_t blocked = meanwhile < time - usual ? meanwhile : time - usual;
    advise_shorten(advise, call, blocked);
    advise_calls_add(advise, &blocking->calls, call, blocked);
    advise_tally_add(&blocking->held, holder->name, blocked);
    blocking->usual_sum += usual;
}

static void tell_blocked(const struct advise *advise, const struct blocking *blocking,
                         struct advise_finding *finding)
{
    const struct advise_calls *calls = &blocking->calls;

    finding->assumes = "the calls take their usual time; mean of all iterations but for warm-up";
    advise_evidence(finding,
                    "%s calls wait %s while a call of another thread loads or allocates, besides "
                    "the %s that such calls usually take; that is %s an iteration",
                    mp_count(calls->count).text, advise_time((double)calls->time).text,
                    advise_time((double)blocking->usual_sum).text,
                    advise_time(steady_mean(advise, calls->time)).text);
    advise_number(finding, "calls", steady_mean(advise, calls->count));
    advise_number(finding, "blocked_ns", steady_mean(advise, calls->time));
    advise_number(finding, "usual_ns", steady_mean(advise, blocking->usual_sum));
    advise_tally_steady(advise, &calls->tally, ADVISE_LINES / 2, finding);
    for (uint32_t name = 1; name < blocking->held.names; name++)
        if (blocking->held.count[name])
            advise_line(
                finding, mp_intern_get(&advise->deps->names, name, NULL),
                "%s of it while another thread is in",
                advise_percent((double)blocking->held.time[name], (double)calls->time).text);
}

static enum mp_status judge_blocked(struct advise *advise, struct blocking *blocking,
                                    struct advise_finding *finding)
{
    struct advise_call call;

    MP_TRY(find_holders(advise, blocking));
    if (!blocking->count)
        return MP_OK;
    MP_TRY(advise_gone_init(advise));
    find_usual(advise, blocking);
    for (uint32_t lane = 0; lane < advise->deps->thread_count; lane++)
        for (uint32_t at = advise->deps->lanes[lane].first;
             advise_next_call(advise, &advise->deps->lanes[lane], &at, &call);)
            take_blocked(advise, blocking, &call);
    if (!blocking->calls.count)
        return MP_OK;
    MP_TRY(advise_replay_steady(advise, &finding->gain));
    tell_blocked(advise, blocking, finding);
    return MP_OK;
}

static enum mp_status blocking_init(const struct deps *deps, struct blocking *blocking)
{
    size_t names = (size_t)deps->names.count + 1;

    blocking->usual = calloc(names, sizeof *blocking->usual);
    blocking->usual_count = calloc(names, sizeof *blocking->usual_count);
    if (!blocking->usual || !blocking->usual_count)
        return MP_ERR_MEMORY;
    MP_TRY(advise_tally_init(&blocking->held, deps));
    return advise_calls_init(&blocking->calls, deps);
}

enum mp_status advise_blocked_calls(struct advise *advise, struct advise_finding *finding)
{
    struct blocking blocking = {.holders = NULL};

    if (advise->deps->thread_count < 2)
        return MP_OK;
    enum mp_status status = blocking_init(advise->deps, &blocking);
    if (!status)
        status = judge_blocked(advise, &blocking, finding);
    advise_tally_free(&blocking.held);
    advise_tally_free(&blocking.calls.tally);
    free(blocking.holders);
    free(blocking.usual);
    free(blocking.usual_count);
    advise_gone_free(advise);
    return status;
}
