/* What has to be waited for: references and their fronts, those of streams and contexts while calls
 * are linked in API order, and whether an edge is believed. The rules of the legacy default stream
 * are here: it waits for all blocking streams, and they wait for it.
 */
#include <stdlib.h>

#include "reports/deps/build.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

static enum mp_status reach_context(struct deps_streams *streams, uint64_t id, uint32_t *index)
{
    *index = mp_map_get(&streams->context_index, id);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(streams->contexts, streams->context_count, streams->context_capacity));
    *index = (uint32_t)streams->context_count++;
    streams->contexts[*index] = (struct deps_context){.id = id,
                                                      .parent = DEPS_NONE,
                                                      .first_green = DEPS_NONE,
                                                      .next_green = DEPS_NONE,
                                                      .default_lane = DEPS_NONE,
                                                      .blocking = DEPS_NONE,
                                                      .all = DEPS_NONE};
    return mp_map_put(&streams->context_index, id, *index);
}

/* The same, with the parent of a green context. */
static enum mp_status reach_family(struct deps_streams *streams, const struct contexts *contexts,
                                   uint64_t id, uint32_t *index)
{
    uint64_t parent = contexts_parent(contexts, id);
    uint32_t at;

    MP_TRY(reach_context(streams, id, index));
    if (!parent || streams->contexts[*index].parent != DEPS_NONE)
        return MP_OK;
    MP_TRY(reach_context(streams, parent, &at));
    streams->contexts[*index].parent = at;
    streams->contexts[*index].next_green = streams->contexts[at].first_green;
    streams->contexts[at].first_green = *index;
    return MP_OK;
}

static enum deps_role role_of(const struct contexts *contexts, const struct deps_lane *lane)
{
    const struct context *context = contexts_find(contexts, lane->context);
    const struct stream_description *stream = contexts_stream(contexts, lane->context, lane->id);

    if ((stream && stream->flag == MP_stream_flag_null) ||
        (context && context->null_stream == lane->id))
        return DEPS_ROLE_DEFAULT;
    return stream && stream->flag == MP_stream_flag_non_blocking ? DEPS_ROLE_NON_BLOCKING
                                                                 : DEPS_ROLE_BLOCKING;
}

static enum mp_status set_up(struct deps_streams *streams, const struct deps_builder *builder)
{
    const struct deps *deps = builder->deps;
    const struct contexts *contexts = &deps->profile->definitions.contexts;

    for (uint32_t i = 0; i < deps->lane_count; i++) {
        struct deps_stream *stream = &streams->items[i];

        if (deps->lanes[i].is_thread)
            continue;
        *stream = (struct deps_stream){.own = DEPS_NONE,
                                       .wait = DEPS_NONE,
                                       .latest = DEPS_NONE,
                                       .graph_last = DEPS_NONE,
                                       .values = DEPS_NONE};
        MP_TRY(reach_family(streams, contexts, deps->lanes[i].context, &stream->context));
        stream->role = (uint8_t)role_of(contexts, &deps->lanes[i]);
        if (stream->role == DEPS_ROLE_DEFAULT)
            streams->contexts[stream->context].default_lane = i;
    }
    return MP_OK;
}

enum mp_status deps_streams_changed(struct deps_streams *streams, uint32_t lane)
{
    struct deps_stream *stream = &streams->items[lane];
    struct deps_context *context = &streams->contexts[stream->context];

    if (stream->in_changed)
        return MP_OK;
    MP_TRY(MP_RESERVE(context->changed, context->changed_count, context->changed_capacity));
    context->changed[context->changed_count++] = lane;
    stream->in_changed = true;
    return MP_OK;
}

/* Brings the context's fronts up to date. */
static enum mp_status gather(struct deps_streams *streams, struct deps_context *context)
{
    for (size_t i = 0; i < context->changed_count; i++) {
        struct deps_stream *stream = &streams->items[context->changed[i]];

        stream->in_changed = false;
        MP_TRY(deps_join(streams->deps, &context->all, stream->own));
        if (stream->role == DEPS_ROLE_BLOCKING)
            MP_TRY(deps_join(streams->deps, &context->blocking, stream->own));
    }
    context->changed_count = 0;
    return MP_OK;
}

enum mp_status deps_default_front(struct deps_streams *streams, uint32_t lane, uint32_t *front)
{
    const struct deps_stream *stream = &streams->items[lane];
    struct deps_context *context = &streams->contexts[stream->context];

    *front = DEPS_NONE;
    if (stream->role == DEPS_ROLE_BLOCKING && context->default_lane != DEPS_NONE)
        *front = streams->items[context->default_lane].own;
    if (stream->role != DEPS_ROLE_DEFAULT)
        return MP_OK;
    MP_TRY(gather(streams, context));
    *front = context->blocking;
    return MP_OK;
}

enum mp_status deps_stream_front(struct deps_streams *streams, uint32_t lane, uint32_t *front)
{
    MP_TRY(deps_default_front(streams, lane, front));
    return deps_join(streams->deps, front, streams->items[lane].own);
}

enum mp_status deps_gathered_front(struct deps_streams *streams, uint32_t lane, uint32_t *front)
{
    struct deps_stream *stream = &streams->items[lane];

    MP_TRY(deps_stream_front(streams, lane, front));
    if (stream->role != DEPS_ROLE_DEFAULT || *front == stream->own)
        return MP_OK;
    stream->own = *front;
    return deps_streams_changed(streams, lane);
}

static enum mp_status add_context(struct deps_streams *streams, size_t context, uint32_t *front)
{
    MP_TRY(gather(streams, &streams->contexts[context]));
    return deps_join(streams->deps, front, streams->contexts[context].all);
}

/* CUDA synchronises a primary context together with its green contexts (cuCtxSynchronize). */
enum mp_status deps_context_front(struct deps_streams *streams, uint32_t context, uint32_t *front)
{
    *front = DEPS_NONE;
    for (size_t i = 0; context == DEPS_NONE && i < streams->context_count; i++)
        MP_TRY(add_context(streams, i, front));
    if (context == DEPS_NONE)
        return MP_OK;
    MP_TRY(add_context(streams, context, front));
    for (uint32_t i = streams->contexts[context].first_green; i != DEPS_NONE;
         i = streams->contexts[i].next_green)
        MP_TRY(add_context(streams, i, front));
    return MP_OK;
}

uint32_t deps_context_index(const struct deps_streams *streams, uint64_t id)
{
    return mp_map_get(&streams->context_index, id);
}

enum mp_status deps_streams_init(struct deps_streams *streams, const struct deps_builder *builder)
{
    *streams = (struct deps_streams){.deps = builder->deps};
    streams->items = calloc(builder->deps->lane_count + (size_t)1, sizeof *streams->items);
    return streams->items ? set_up(streams, builder) : MP_ERR_MEMORY;
}

void deps_streams_free(struct deps_streams *streams)
{
    for (size_t i = 0; i < streams->context_count; i++)
        free(streams->contexts[i].changed);
    free(streams->contexts);
    free(streams->items);
    mp_map_free(&streams->context_index);
}

/* ---- References ---- */

uint32_t deps_best(const struct deps *deps, uint32_t reference)
{
    return deps_is_front(reference) ? deps->fronts->items[deps_front_index(reference)].best
                                    : reference;
}

static enum mp_status add_front(struct deps_fronts *fronts, const struct deps_front *front,
                                uint32_t *reference)
{
    uint64_t parts = (uint64_t)front->left << 32 | front->right;
    uint32_t known = fronts->shared ? mp_map_get(&fronts->known, parts) : MP_MAP_ABSENT;

    if (known != MP_MAP_ABSENT) {
        *reference = known;
        return MP_OK;
    }
    /* The last number would read as DEPS_NONE. */
    if (fronts->count >= DEPS_FRONT_BIT - 1)
        return MP_ERR_LIMIT;
    MP_TRY(mp_reserve((void **)&fronts->items, fronts->count, &fronts->capacity, sizeof *front));
    fronts->items[fronts->count] = *front;
    *reference = (uint32_t)fronts->count++ | DEPS_FRONT_BIT;
    return fronts->shared ? mp_map_put(&fronts->known, parts, *reference) : MP_OK;
}

enum mp_status deps_join(struct deps *deps, uint32_t *into, uint32_t other)
{
    uint32_t left = deps_best(deps, *into);
    uint32_t right = deps_best(deps, other);

    if (other == DEPS_NONE || other == *into)
        return MP_OK;
    if (*into == DEPS_NONE) {
        *into = other;
        return MP_OK;
    }
    uint32_t best = left == right || deps_ends_later(deps, left, right) ? left : right;
    if (deps->fronts)
        return add_front(deps->fronts, &(struct deps_front){*into, other, best}, into);
    *into = best;
    return MP_OK;
}

/* ---- Whether a clock or a damaged trace contradicts an edge ---- */

bool deps_accept(struct deps *deps, uint32_t activity, uint32_t awaited)
{
    const struct deps_activity *by = &deps->activities[activity];
    const struct deps_activity *on = &deps->activities[awaited];
    int64_t distance = deps_distance(by, on->end);

    deps->counts.dependencies++;
    if (distance < -DEPS_TOLERANCE_NS || on->begin > by->begin || activity == awaited) {
        deps->counts.contradicted++;
        return false;
    }
    if (distance < 0)
        deps->counts.clamped++;
    return true;
}

enum deps_order_kind deps_order_after(struct deps *deps, uint32_t activity, uint32_t awaited)
{
    struct deps_activity *by = &deps->activities[activity];
    const struct deps_activity *on = &deps->activities[awaited];

    deps->counts.dependencies++;
    if (on->begin > by->begin || activity == awaited) {
        deps->counts.contradicted++;
        return DEPS_ORDER_REFUSED;
    }
    if (on->end <= by->begin)
        return DEPS_ORDER_ENDED;
    deps->counts.overlapping++;
    if (by->overlapped == DEPS_NONE || deps_ends_later(deps, awaited, by->overlapped))
        by->overlapped = awaited;
    return DEPS_ORDER_OVERLAPS;
}
