/* Sorts each lane by time, adds calls that only `sync` knows, and cuts calls around other calls
 * into pieces.
 *
 *     outer call   |---------------------------|          piece 1, inner, piece 2, inner, piece 3
 *     inner calls       |-----|      |----|
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Calls that only `sync` knows ---- */

/* Name of a sync_kind that waits or asks; NULL for the others. */
static const char *awaiting_name(unsigned kind)
{
    switch (kind) {
    case MP_sync_kind_event_synchronize:
        return "cuEventSynchronize";
    case MP_sync_kind_stream_synchronize:
        return "cuStreamSynchronize";
    case MP_sync_kind_context_synchronize:
        return "cuCtxSynchronize";
    case MP_sync_kind_event_query:
        return "cuEventQuery";
    case MP_sync_kind_stream_query:
        return "cuStreamQuery";
    default:
        return NULL;
    }
}

/* Which rows of `sync` have a call with their correlation id; several may have the same. */
static enum mp_status find_calls(struct deps_builder *builder)
{
    const struct deps *deps = builder->deps;
    struct mp_map has_call = {.slots = NULL}; /* by correlation id */
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < builder->sync_count && !status; i++) {
        if (awaiting_name(builder->syncs[i].kind))
            status = mp_map_put(&has_call, builder->syncs[i].correlation, false);
    }
    for (uint32_t i = 0; has_call.count && i < deps->host_count && !status; i++) {
        uint64_t correlation = deps->activities[i].correlation;

        if (mp_map_get(&has_call, correlation) == false)
            status = mp_map_put(&has_call, correlation, true);
    }
    for (size_t i = 0; i < builder->sync_count; i++)
        builder->syncs[i].has_call = mp_map_get(&has_call, builder->syncs[i].correlation) == true;
    mp_map_free(&has_call);
    return status;
}

static bool is_unrecorded(const struct deps_sync *sync)
{
    return awaiting_name(sync->kind) && !sync->has_call;
}

static enum mp_status put_unrecorded(struct deps_builder *builder, const struct deps_sync *sync)
{
    const char *name = awaiting_name(sync->kind);
    struct deps_activity call = deps_blank(sync->begin, sync->end, sync->correlation);

    call.lane = sync->thread;
    call.kind = DEPS_CALL;
    call.flags = DEPS_SYNCHRONISES; /* a loop of queries waits too */
    if (sync->kind == MP_sync_kind_event_query || sync->kind == MP_sync_kind_stream_query)
        call.flags |= DEPS_ASKS;
    MP_TRY(deps_intern(builder->deps, name, strlen(name), &call.name));
    deps_put(builder, &call);
    return MP_OK;
}

/* Moves the lanes apart, so that each thread has room for the calls that are to be added. */
static enum mp_status lanes_make_room(struct deps_builder *builder, uint32_t more)
{
    struct deps *deps = builder->deps;
    uint32_t shift = more;
    struct deps_activity *grown =
        realloc(deps->activities, ((size_t)deps->count + more + 1) * sizeof *deps->activities);

    if (!grown)
        return MP_ERR_MEMORY;
    deps->activities = grown;
    for (size_t i = 0; i < builder->sync_count; i++)
        builder->room[builder->syncs[i].thread] += is_unrecorded(&builder->syncs[i]);
    for (uint32_t i = deps->lane_count; i-- > 0;) {
        struct deps_lane *lane = &deps->lanes[i];

        /* The lanes before this one have got this much more room. */
        shift -= builder->room[i] > lane->count ? builder->room[i] - lane->count : 0;
        memmove(&deps->activities[lane->first + shift], &deps->activities[lane->first],
                lane->count * sizeof *deps->activities);
        lane->first += shift;
    }
    return MP_OK;
}

enum mp_status deps_add_unrecorded(struct deps_builder *builder)
{
    struct deps *deps = builder->deps;
    uint32_t more = 0;

    MP_TRY(find_calls(builder));
    for (size_t i = 0; i < builder->sync_count; i++)
        more += is_unrecorded(&builder->syncs[i]);
    if (!more)
        return MP_OK;
    for (uint32_t i = 0; i < deps->lane_count; i++)
        builder->room[i] = deps->lanes[i].count;
    MP_TRY(lanes_make_room(builder, more));
    for (size_t i = 0; i < builder->sync_count; i++) {
        if (is_unrecorded(&builder->syncs[i]))
            MP_TRY(put_unrecorded(builder, &builder->syncs[i]));
    }
    deps->host_count += more;
    deps->count += more;
    return MP_OK;
}

/* ---- Sorting ---- */

static bool stands_before(const void *context, uint32_t a, uint32_t b)
{
    const struct deps_activity *activities = context;
    const struct deps_activity *x = &activities[a];
    const struct deps_activity *y = &activities[b];

    if (x->begin != y->begin)
        return x->begin < y->begin;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation;
    return deps_is_call(x) && x->end > y->end; /* the outer call before the inner */
}

/* activities[i] becomes activities[order[i]]; uses `order` up. */
static void permute(struct deps_activity *activities, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct deps_activity held = activities[i];
        uint32_t at = i;

        if (order[i] == i)
            continue;
        while (order[at] != i) {
            uint32_t from = order[at];
            activities[at] = activities[from];
            order[at] = at;
            at = from;
        }
        activities[at] = held;
        order[at] = at;
    }
}

static bool is_sorted(const struct deps *deps, const struct deps_lane *lane)
{
    for (uint32_t i = 1; i < lane->count; i++) {
        if (stands_before(deps->activities, lane->first + i, lane->first + i - 1))
            return false;
    }
    return true;
}

static enum mp_status sort_lane(struct deps *deps, const struct deps_lane *lane)
{
    struct deps_activity *activities = deps->activities + lane->first;
    uint32_t *order = malloc(lane->count * sizeof *order);
    uint32_t *scratch = malloc(lane->count * sizeof *scratch);

    if (order && scratch) {
        for (uint32_t i = 0; i < lane->count; i++)
            order[i] = i;
        mp_sort(order, lane->count, scratch, stands_before, activities);
        permute(activities, order, lane->count);
    }
    free(scratch);
    free(order);
    return order && scratch ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status sort_lanes(struct deps *deps)
{
    for (uint32_t i = 0; i < deps->lane_count; i++) {
        if (!is_sorted(deps, &deps->lanes[i]))
            MP_TRY(sort_lane(deps, &deps->lanes[i]));
    }
    return MP_OK;
}

/* ---- Calls inside calls ---- */

struct open_call {
    const struct deps_activity *call;
    uint64_t end;
    uint64_t owned_to; /* its time up to here has been handed out */
    uint32_t first;    /* its first piece; DEPS_NONE: none yet */
};

struct nesting {
    struct deps_activity *out; /* NULL: only counts */
    uint32_t count;            /* pieces */
    struct open_call *open;
    size_t depth, capacity;
    uint64_t clamped;
};

/* A piece of the innermost open call, up to `to`. Only the first and the last may be empty. */
static void add_piece(struct nesting *nesting, uint64_t to, bool is_last)
{
    struct open_call *owner = &nesting->open[nesting->depth - 1];
    struct deps_activity *piece = nesting->out ? &nesting->out[nesting->count] : NULL;
    bool is_first = owner->first == DEPS_NONE;

    if (!is_first && !is_last && to <= owner->owned_to)
        return;
    if (piece) {
        *piece = *owner->call;
        piece->begin = owner->owned_to;
        piece->end = to > piece->begin ? to : piece->begin;
        if (!is_last)
            piece->flags |= DEPS_CONTINUES;
        if (!is_first)
            piece->flags |= DEPS_CONTINUED;
        piece->first_of_call = is_first ? nesting->count : owner->first;
        if (is_last)
            nesting->out[piece->first_of_call].last_of_call = nesting->count;
    }
    if (is_first)
        owner->first = nesting->count;
    owner->owned_to = to > owner->owned_to ? to : owner->owned_to;
    nesting->count++;
}

static void close_calls(struct nesting *nesting, uint64_t until)
{
    while (nesting->depth && nesting->open[nesting->depth - 1].end <= until) {
        uint64_t end = nesting->open[nesting->depth - 1].end;

        add_piece(nesting, end, true);
        nesting->depth--;
        if (nesting->depth)
            nesting->open[nesting->depth - 1].owned_to = end;
    }
}

static enum mp_status open_call(struct nesting *nesting, const struct deps_activity *call)
{
    uint64_t end = call->end;

    close_calls(nesting, call->begin);
    if (nesting->depth) {
        const struct open_call *outer = &nesting->open[nesting->depth - 1];

        if (end > outer->end) {
            end = outer->end;
            nesting->clamped++;
        }
        add_piece(nesting, call->begin, false);
    }
    MP_TRY(MP_RESERVE(nesting->open, nesting->depth, nesting->capacity));
    nesting->open[nesting->depth++] = (struct open_call){call, end, call->begin, DEPS_NONE};
    return MP_OK;
}

/* Walks over all threads. If nesting->out is set, the pieces are written and the lanes changed. */
static enum mp_status cut_calls(struct deps *deps, const struct deps_activity *calls,
                                struct nesting *nesting)
{
    nesting->count = 0;
    for (uint32_t i = 0; i < deps->thread_count; i++) {
        struct deps_lane *lane = &deps->lanes[i];
        uint32_t first = nesting->count;

        for (uint32_t at = lane->first; at < lane->first + lane->count; at++)
            MP_TRY(open_call(nesting, &calls[at]));
        close_calls(nesting, UINT64_MAX);
        if (nesting->out) {
            lane->first = first;
            lane->count = nesting->count - first;
        }
    }
    return MP_OK;
}

static bool has_nested_calls(const struct deps *deps)
{
    for (uint32_t i = 1; i < deps->host_count; i++) {
        const struct deps_activity *call = &deps->activities[i];

        if (call->lane == call[-1].lane && call->begin < call[-1].end)
            return true;
    }
    return false;
}

/* Makes room for `more` pieces in front of the device activities. */
static enum mp_status move_work(struct deps_builder *builder, uint32_t more)
{
    struct deps *deps = builder->deps;
    size_t bytes;

    if (deps->count >= UINT32_MAX / 4 ||
        !mp_size_mul((size_t)deps->count + more, sizeof *deps->activities, &bytes))
        return MP_ERR_LIMIT;
    void *grown = realloc(deps->activities, bytes);
    if (!grown)
        return MP_ERR_MEMORY;
    deps->activities = grown;
    memmove(&deps->activities[deps->host_count + more], &deps->activities[deps->host_count],
            (deps->count - deps->host_count) * sizeof *deps->activities);
    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++)
        deps->lanes[i].first += more;
    deps->host_count += more;
    deps->count += more;
    return MP_OK;
}

static enum mp_status cut_into_pieces(struct deps_builder *builder, struct nesting *nesting)
{
    struct deps *deps = builder->deps;
    uint32_t before = deps->host_count;
    size_t bytes = before * sizeof *deps->activities;
    struct deps_activity *calls = malloc(bytes);
    enum mp_status status = calls ? MP_OK : MP_ERR_MEMORY;

    if (calls)
        memcpy(calls, deps->activities, bytes);
    if (!status)
        status = cut_calls(deps, calls, nesting);
    if (!status)
        status = move_work(builder, nesting->count - before);
    if (!status) {
        nesting->out = deps->activities;
        nesting->clamped = 0;
        status = cut_calls(deps, calls, nesting);
        deps->counts.clamped += nesting->clamped;
        for (uint32_t i = 0; i < nesting->count; i++)
            nesting->out[i].last_of_call = nesting->out[nesting->out[i].first_of_call].last_of_call;
    }
    free(calls);
    return status;
}

enum mp_status deps_sort_lanes(struct deps_builder *builder)
{
    struct deps *deps = builder->deps;
    struct nesting nesting = {.out = NULL};

    MP_TRY(sort_lanes(deps));
    deps_drop_inner_waits(builder);
    for (uint32_t i = 0; i < deps->host_count; i++)
        deps->activities[i].first_of_call = deps->activities[i].last_of_call = i;
    if (!has_nested_calls(deps))
        return MP_OK;
    enum mp_status status = cut_into_pieces(builder, &nesting);
    free(nesting.open);
    return status;
}
