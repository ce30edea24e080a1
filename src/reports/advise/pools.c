/* pool_release: memory pools that give their memory back at each wait, and take it again.
 *
 *     thread   |malloc async|launch|free async|wait     ......trim|malloc async ......|launch|
 *     pool      512 MB                         waits for work  0   512 MB again
 *                                                        <------> <------------------>  goes
 *
 * CUPTI tells of a trim at every wait, also if the pool keeps all. So what counts is a pool that
 * is smaller after it than after the operation before, and an allocation that makes the pool
 * larger after that.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/map.h"
#include "base/data/storage.h"
#include "base/text/units.h"
#include "profile/reading.h"
#include "reports/advise/build.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- What calls do to pools ---- */

/* What a pool has after an operation. 40 bytes each. */
struct pool_event {
    uint64_t time;
    uint64_t pool; /* address */
    uint64_t size; /* bytes */
    uint64_t correlation;
    bool trim;
};

struct pool_events {
    struct pool_event *items; /* owned */
    size_t count, capacity;
};

static enum mp_status keep_event(struct pool_events *events, const struct pool_event *event)
{
    if (!event->pool)
        return MP_OK;
    MP_TRY(MP_RESERVE(events->items, events->count, events->capacity));
    events->items[events->count++] = *event;
    return MP_OK;
}

static enum mp_status take_memory(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_memory_columns memory = mp_memory_columns(batch->columns);

    return keep_event(context, &(struct pool_event){.time = memory.time[row],
                                                    .pool = memory.pool[row],
                                                    .size = memory.pool_size[row],
                                                    .correlation = memory.correlation[row]});
}

static enum mp_status take_pool(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_pool_columns pool = mp_pool_columns(batch->columns);

    return keep_event(
        context, &(struct pool_event){.time = pool.time[row],
                                      .pool = pool.pool[row],
                                      .size = pool.size[row],
                                      .correlation = pool.correlation[row],
                                      .trim = pool.operation[row] == MP_pool_operation_trimmed});
}

MP_COMPARE(by_time, struct pool_event, MP_ORDER(a->time, b->time));

/* A pool as the events go by. */
struct pool_state {
    uint64_t size;
    uint64_t before; /* its size before it gave something back; 0: it has all of it again */
};

struct pool_sweep {
    struct mp_map marks; /* enum advise_pool, by correlation */
    struct mp_map index; /* of `states`, by address */
    struct pool_state *states;
    size_t count, capacity;
};

static void sweep_free(struct pool_sweep *sweep)
{
    mp_map_free(&sweep->marks);
    mp_map_free(&sweep->index);
    free(sweep->states);
}

/* The state of a pool; one that is new has had nothing. NULL: no memory. */
static struct pool_state *state_of(struct pool_sweep *sweep, uint64_t pool)
{
    uint32_t at = mp_map_get(&sweep->index, pool);

    if (at != MP_MAP_ABSENT)
        return &sweep->states[at];
    if (MP_RESERVE(sweep->states, sweep->count, sweep->capacity) ||
        mp_map_put(&sweep->index, pool, (uint32_t)sweep->count))
        return NULL;
    sweep->states[sweep->count] = (struct pool_state){.size = 0};
    return &sweep->states[sweep->count++];
}

static enum mp_status mark(struct pool_sweep *sweep, uint64_t correlation, uint32_t what)
{
    uint32_t marks = mp_map_get(&sweep->marks, correlation);

    return mp_map_put(&sweep->marks, correlation, (marks == MP_MAP_ABSENT ? 0 : marks) | what);
}

static enum mp_status sweep_event(struct pool_sweep *sweep, const struct pool_event *event)
{
    struct pool_state *state = state_of(sweep, event->pool);

    if (!state)
        return MP_ERR_MEMORY;
    uint64_t size = state->size;
    state->size = event->size;
    if (event->trim && event->size < size) {
        state->before = mp_max(state->before, size);
        return mark(sweep, event->correlation, ADVISE_POOL_RELEASES);
    }
    if (event->size <= size)
        return MP_OK;
    bool again = state->before;
    if (event->size >= state->before)
        state->before = 0;
    return mark(sweep, event->correlation, again ? ADVISE_POOL_REGROWS : ADVISE_POOL_GROWS);
}

/* A pool that the program trims has done what it should. */
static void mark_calls(struct advise *advise, const struct mp_map *marks)
{
    const struct deps *deps = advise->deps;

    for (uint32_t i = 0; i < deps->host_count; i++) {
        const struct deps_activity *call = &deps->activities[i];
        uint32_t found = call->correlation ? mp_map_get(marks, call->correlation) : MP_MAP_ABSENT;

        if (found != MP_MAP_ABSENT && !strstr(deps_name(deps, call), "MemPoolTrim"))
            advise->pools[i] = (uint8_t)found;
    }
}

static enum mp_status sweep_all(struct advise *advise, struct pool_events *events)
{
    struct pool_sweep sweep = {.count = 0};
    enum mp_status status = MP_OK;

    if (events->count)
        qsort(events->items, events->count, sizeof *events->items, by_time);
    for (size_t i = 0; i < events->count && !status; i++)
        status = sweep_event(&sweep, &events->items[i]);
    advise->pools = status ? NULL : calloc((size_t)advise->deps->host_count + 1, 1);
    if (advise->pools)
        mark_calls(advise, &sweep.marks);
    else
        status = MP_ERR_MEMORY;
    sweep_free(&sweep);
    return status;
}

static const struct reading_table tables[] = {
    {MP_TABLE_memory, MP_MASK(memory, time, correlation, pool, pool_size), .take_row = take_memory},
    {MP_TABLE_pool, MP_MASK(pool, operation, pool, time, size, correlation), .take_row = take_pool},
};

enum mp_status advise_pools_load(struct advise *advise)
{
    struct pool_events events = {.items = NULL};
    const struct reading reading = {
        .trace = advise->deps->profile->trace,
        .what = "what happened to memory pools",
        .context = &events,
        READING_TABLES(tables),
    };

    if (!profile_has_rows(advise->deps->profile, MP_TABLE_pool) ||
        !profile_has_rows(advise->deps->profile, MP_TABLE_memory))
        return MP_OK;
    enum mp_status status = reading_run(&reading, advise->error);
    if (!status)
        status = sweep_all(advise, &events);
    free(events.items);
    return status;
}

/* ---- The rule ---- */

struct releasing {
    struct advise_calls waits, allocations; /* with the time that is not waiting */
    uint64_t *usual; /* by name: the time of calls that do not change a pool's size, ns; owned */
    uint32_t *usual_count; /* owned */
};

/* What calls of a name take if they do nothing to a pool; 0 if there is none. */
static uint64_t usual_of(const struct releasing *releasing, uint32_t name)
{
    uint32_t count = releasing->usual_count[name];

    return count ? releasing->usual[name] / count : 0;
}

static void find_usual(const struct advise *advise, struct releasing *releasing)
{
    struct advise_call call;

    for (uint32_t lane = 0; lane < advise->deps->thread_count; lane++) {
        for (uint32_t at = advise->deps->lanes[lane].first;
             advise_next_call(advise, &advise->deps->lanes[lane], &at, &call);) {
            uint32_t name = advise->deps->activities[call.first].name;

            if (advise->pools[call.first])
                continue;
            releasing->usual[name] += advise_own_time(advise, &call);
            releasing->usual_count[name]++;
        }
    }
}

static void take_pool_call(struct advise *advise, struct releasing *releasing,
                           const struct advise_call *call)
{
    bool waits = advise->pools[call->first] & ADVISE_POOL_RELEASES;
    uint64_t own = advise_own_time(advise, call);
    uint64_t usual = usual_of(releasing, advise->deps->activities[call->first].name);

    if (call->iteration == DEPS_NONE || own <= usual)
        return;
    advise_shorten(advise, call, own - usual);
    if (advise_counts(advise, call->first))
        advise_calls_add(advise, waits ? &releasing->waits : &releasing->allocations, call,
                         own - usual);
}

static void tell_releases(const struct advise *advise, const struct releasing *releasing,
                          struct advise_finding *finding)
{
    const struct advise_calls *waits = &releasing->waits, *allocations = &releasing->allocations;

    finding->assumes = "the pools keep their memory; the calls take what they take where a pool "
                       "does not change its size";
    bool one = advise_is_one(advise_mean(advise, waits->count));
    bool same = advise_is_one(advise_mean(advise, allocations->count));
    advise_evidence(finding,
                    "%s wait%s an iteration give%s memory of a pool back, which takes %s; %s "
                    "call%s that allocate%s it again take%s %s more than usual",
                    mp_figure(advise_mean(advise, waits->count)).text, one ? "" : "s",
                    one ? "s" : "", advise_time(advise_mean(advise, waits->time)).text,
                    mp_figure(advise_mean(advise, allocations->count)).text, same ? "" : "s",
                    same ? "s" : "", same ? "s" : "",
                    advise_time(advise_mean(advise, allocations->time)).text);
    advise_number(finding, "releases", advise_mean(advise, waits->count));
    advise_number(finding, "releases_ns", advise_mean(advise, waits->time));
    advise_number(finding, "allocations", advise_mean(advise, allocations->count));
    advise_number(finding, "allocations_ns", advise_mean(advise, allocations->time));
    advise_tally_max(advise, &waits->tally, ADVISE_LINES / 2, finding);
    advise_tally_lines(advise, &allocations->tally, finding);
}

static enum mp_status judge_releases(struct advise *advise, struct releasing *releasing,
                                     struct advise_finding *finding)
{
    struct advise_call call;

    find_usual(advise, releasing);
    for (uint32_t lane = 0; lane < advise->deps->thread_count; lane++) {
        for (uint32_t at = advise->deps->lanes[lane].first;
             advise_next_call(advise, &advise->deps->lanes[lane], &at, &call);) {
            if (advise->pools[call.first] & (ADVISE_POOL_RELEASES | ADVISE_POOL_REGROWS))
                take_pool_call(advise, releasing, &call);
        }
    }
    if (!releasing->waits.count || !releasing->allocations.count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    tell_releases(advise, releasing, finding);
    return MP_OK;
}

enum mp_status advise_pool_release(struct advise *advise, struct advise_finding *finding)
{
    size_t names = (size_t)advise->deps->names.count + 1;
    struct releasing releasing = {.usual = NULL};

    if (!advise->pools)
        return MP_OK;
    releasing.usual = calloc(names, sizeof *releasing.usual);
    releasing.usual_count = calloc(names, sizeof *releasing.usual_count);
    enum mp_status status =
        releasing.usual && releasing.usual_count ? advise_gone_init(advise) : MP_ERR_MEMORY;
    if (!status)
        status = advise_calls_init(&releasing.waits, advise->deps);
    if (!status)
        status = advise_calls_init(&releasing.allocations, advise->deps);
    if (!status)
        status = judge_releases(advise, &releasing, finding);
    advise_tally_free(&releasing.waits.tally);
    advise_tally_free(&releasing.allocations.tally);
    free(releasing.usual);
    free(releasing.usual_count);
    advise_gone_free(advise);
    return status;
}
