/* Launches, stream order, events, the default stream and synchronisation (D2 to D6, D8): one pass
 * in API order, with what each stream, context and event stands for.
 *
 *     correlation id   17  cuLaunchKernel, its kernel     stream's own front = the kernel
 *                      19  cuEventRecord(e, stream)       e = front of the stream
 *                      20  cuStreamWaitEvent(other, e)    other waits for it
 *                      22  cuLaunchKernel in other        waits for the event
 *                      25  cuCtxSynchronize               waits for the latest front of the context
 */
#include "reports/deps/build.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

/* The last launch of an executable graph. */
struct last_launch {
    uint32_t lane;
    uint32_t end; /* what it ends with: a reference */
};

struct link {
    struct deps_builder *builder;
    struct deps *deps;
    struct deps_streams streams;
    struct mp_map event_index; /* handle -> events[] */
    uint32_t *events;          /* what each stands for: references */
    size_t event_count, event_capacity;
    struct mp_map graph_index; /* graph -> graphs[] */
    struct last_launch *graphs;
    size_t graph_count, graph_capacity;
    uint32_t *thread_contexts; /* by lane: the context a thread last used */
    struct deps_nodes *nodes;
    uint64_t
        last_class_key; /* of launch classes: a launch mostly has the class of the one before */
    uint32_t last_class;
};

/* ---- Device work ---- */

#define MAX_PARTS 64 /* of a front that are looked at */

/* Of a front whose last activity cannot have been awaited, the parts that had ended: a kernel that
 * overlaps one of them still waits for the others. */
static enum mp_status join_ended(struct deps *deps, uint32_t index, uint32_t reference)
{
    uint32_t parts[MAX_PARTS], count = 0;

    parts[count++] = reference;
    while (count) {
        uint32_t part = parts[--count];
        uint32_t best = deps_best(deps, part);

        if (best != DEPS_NONE &&
            deps->activities[best].end <= deps->activities[index].begin + DEPS_TOLERANCE_NS) {
            MP_TRY(deps_join(deps, &deps->activities[index].front, part));
        } else if (deps_is_front(part) && count + 2 <= MAX_PARTS) {
            parts[count++] = deps->fronts->items[deps_front_index(part)].left;
            parts[count++] = deps->fronts->items[deps_front_index(part)].right;
        }
    }
    return MP_OK;
}

/* Adds what a root waits for because of an event or of the default stream. */
static enum mp_status add_other_lane(struct deps *deps, uint32_t index, uint32_t reference,
                                     enum deps_reason reason)
{
    struct deps_activity *activity = &deps->activities[index];
    uint32_t best = deps_best(deps, reference);

    if (best == DEPS_NONE)
        return MP_OK;
    if (!deps_accept(deps, index, best))
        return deps->fronts && activity->overlapped != DEPS_NONE
                   ? join_ended(deps, index, reference)
                   : MP_OK;
    if (activity->other_lane == DEPS_NONE ||
        deps->activities[best].end > deps->activities[activity->other_lane].end) {
        activity->other_lane = best;
        activity->reason = (uint8_t)reason;
    }
    return deps->fronts ? deps_join(deps, &activity->front, reference) : MP_OK;
}

/* Stream order: the launch that stands before `index` in its lane; of a graph launch, the node that
 * ends last. If that launch overlapped with an earlier one, the earlier one may have ended after
 * it.
 */
static void add_stream_order(struct link *link, uint32_t index, uint32_t before)
{
    struct deps *deps = link->deps;
    struct deps_activity *activity = &deps->activities[index];
    uint32_t latest = link->streams.items[activity->lane].latest;

    if (before == DEPS_NONE)
        return;
    if (latest != DEPS_NONE && deps->activities[latest].begin <= activity->begin &&
        deps_ends_later(deps, latest, before))
        before = latest;
    if (deps_order_after(deps, index, before) == DEPS_ORDER_ENDED)
        activity->own_lane = before;
}

/* The launch before this one in its stream: usually the one before it in the lane. All nodes of the
 * last graph launch may be in other lanes; if that launch was called later, it counts instead. */
static uint32_t launch_before(const struct link *link, uint32_t index)
{
    const struct deps *deps = link->deps;
    const struct deps_activity *activity = &deps->activities[index];
    const struct deps_stream *stream = &link->streams.items[activity->lane];
    bool is_first = index == deps->lanes[activity->lane].first;
    uint64_t before = is_first ? 0 : activity[-1].correlation;

    if (stream->graph_last != DEPS_NONE && (is_first || before) &&
        before <= stream->graph_correlation)
        return stream->graph_last;
    return is_first ? DEPS_NONE : index - 1;
}

/* Launch classes of section 3: which call launched what. */
static uint64_t class_key(const struct deps_activity *call, const struct deps_activity *work,
                          uint64_t graph)
{
    static const unsigned node_kind = 7;
    unsigned kind = work->flags & DEPS_NODE ? node_kind : work->kind;
    uint64_t detail = kind == node_kind                         ? graph
                      : kind == DEPS_COPY || kind == DEPS_GRAPH ? work->name
                                                                : 0;

    return (uint64_t)call->name << 32 | (uint64_t)kind << 29 | (detail & 0x1fffffff);
}

static enum mp_status reach_class(struct link *link, const struct deps_activity *call,
                                  const struct deps_activity *work, uint64_t graph, uint32_t *index)
{
    struct deps *deps = link->deps;
    size_t capacity = deps->launch_class_capacity;
    uint64_t key = class_key(call, work, graph);
    bool named = work->kind == DEPS_COPY || work->kind == DEPS_GRAPH;

    if (key == link->last_class_key && link->last_class != DEPS_NONE) {
        *index = link->last_class;
        return MP_OK;
    }
    *index = mp_map_get(&deps->launch_classes, key);
    if (*index == MP_MAP_ABSENT) {
        uint32_t next = deps->launch_classes.count;

        MP_TRY(MP_RESERVE(deps->launch_latencies, next, capacity));
        deps->launch_class_capacity = capacity;
        MP_TRY(mp_map_put(&deps->launch_classes, key, next));
        deps->launch_latencies[next] =
            (struct deps_latency){.shortest = UINT64_MAX,
                                  .call = call->name,
                                  .work = named ? work->name : 0,
                                  .graph = graph,
                                  .kind = work->kind,
                                  .place = work->flags & DEPS_NODE ? 1 : 0};
        *index = next;
    }
    link->last_class_key = key;
    link->last_class = *index;
    return MP_OK;
}

/* The launch, if its call begins before the work. */
static enum mp_status add_launch(struct link *link, uint32_t index, uint32_t call, uint64_t graph)
{
    struct deps *deps = link->deps;
    struct deps_activity *activity = &deps->activities[index];
    int64_t distance = deps_distance(activity, deps->activities[call].begin);

    deps->counts.dependencies++;
    if (distance < -DEPS_TOLERANCE_NS) {
        deps->counts.contradicted++;
        return MP_OK;
    }
    activity->launch = call;
    if (activity->flags & DEPS_NOT_ROOT)
        return MP_OK;
    MP_TRY(reach_class(link, &deps->activities[call], activity, graph, &activity->launch_class));
    deps->counts.clamped += distance < 0;
    return MP_OK;
}

/* All that a root of the launch waits for. */
static enum mp_status link_root(struct link *link, const struct deps_launch *launch, uint32_t index,
                                uint32_t before, uint32_t default_front, uint64_t graph)
{
    struct deps *deps = link->deps;

    add_stream_order(link, index, before);
    if (deps->fronts && before != DEPS_NONE && (deps->activities[before].flags & DEPS_NODE) &&
        deps->activities[index].own_lane == before)
        MP_TRY(deps_join(deps, &deps->activities[index].front,
                         link->streams.items[launch->lane].graph_front));
    MP_TRY(add_other_lane(deps, index, link->streams.items[launch->lane].wait, DEPS_EVENT));
    MP_TRY(add_other_lane(deps, index, default_front, DEPS_DEFAULT_STREAM));
    if (launch->call != DEPS_NONE)
        return add_launch(link, index, launch->call, graph);
    deps->counts.unlaunched++;
    return MP_OK;
}

/* Of two activities that may be DEPS_NONE, the one that ends later. */
static uint32_t later_launch(const struct deps *deps, uint32_t a, uint32_t b)
{
    if (a == DEPS_NONE || b == DEPS_NONE)
        return a == DEPS_NONE ? b : a;
    return deps_ends_later(deps, a, b) ? a : b;
}

/* The stream's own front after a launch that ends with `end`. */
static enum mp_status link_advance(struct link *link, const struct deps_launch *launch,
                                   uint32_t end)
{
    struct deps *deps = link->deps;
    struct deps_stream *stream = &link->streams.items[launch->lane];
    uint32_t before = deps_best(deps, stream->own);

    /* What ends later has waited for what was there before. */
    if (before == DEPS_NONE ||
        deps->activities[deps_best(deps, end)].end >= deps->activities[before].end)
        stream->own = end;
    else
        MP_TRY(deps_join(deps, &stream->own, end));
    stream->latest = later_launch(deps, stream->latest, deps_best(deps, end));
    stream->wait = DEPS_NONE;
    deps_values_launch(link->builder, stream, launch);
    if (launch->call != DEPS_NONE)
        link->thread_contexts[deps->activities[launch->call].lane] =
            deps_current_context(&link->streams, stream->context);
    return deps_streams_changed(&link->streams, launch->lane);
}

static enum mp_status await(struct link *link, uint32_t call, uint32_t reference,
                            enum deps_reason reason);

/* Synchronisation with copies that their own call waited for. */
static enum mp_status await_copies(struct link *link, const struct deps_launch *launch)
{
    struct deps *deps = link->deps;
    uint32_t last =
        launch->call == DEPS_NONE ? DEPS_NONE : deps->activities[launch->call].last_of_call;

    for (size_t i = 0; i < launch->count && last != DEPS_NONE; i++) {
        const struct deps_activity *copy = &deps->activities[launch->items[i]];

        if ((copy->flags & DEPS_AWAITED) && copy->end <= deps->activities[last].end)
            MP_TRY(await(link, last, launch->items[i], DEPS_SYNCHRONISATION));
    }
    return MP_OK;
}

/* The first node of a graph launch in the lane it was launched on; DEPS_NONE: all ran elsewhere. */
static uint32_t first_in_lane(const struct deps *deps, const struct deps_launch *launch)
{
    for (size_t i = 0; i < launch->count; i++) {
        if (deps->activities[launch->items[i]].lane == launch->lane)
            return launch->items[i];
    }
    return DEPS_NONE;
}

/* An executable graph does not run twice at a time: its launch in another stream is awaited as an
 * event would be. */
static enum mp_status await_last_launch(struct link *link, uint64_t graph, uint32_t lane)
{
    struct deps_stream *stream = &link->streams.items[lane];
    uint32_t at = mp_map_get(&link->graph_index, graph);

    if (at == MP_MAP_ABSENT || link->graphs[at].lane == lane)
        return MP_OK;
    MP_TRY(deps_join(link->deps, &stream->wait, link->graphs[at].end));
    return deps_join(link->deps, &stream->own, link->graphs[at].end);
}

static enum mp_status note_launch(struct link *link, uint64_t graph, uint32_t lane, uint32_t end)
{
    uint32_t at = mp_map_get(&link->graph_index, graph);

    if (at == MP_MAP_ABSENT) {
        MP_TRY(MP_RESERVE(link->graphs, link->graph_count, link->graph_capacity));
        at = (uint32_t)link->graph_count++;
        MP_TRY(mp_map_put(&link->graph_index, graph, at));
    }
    link->graphs[at] = (struct last_launch){lane, end};
    return MP_OK;
}

static enum mp_status link_graph_launch(struct link *link, const struct deps_launch *launch)
{
    struct deps *deps = link->deps;
    struct deps_stream *stream = &link->streams.items[launch->lane];
    const struct definition_node *node =
        dense_at(&deps->profile->definitions.nodes, deps->activities[launch->items[0]].node);
    uint64_t graph = node ? node->graph : 0;
    uint32_t first = first_in_lane(deps, launch);
    uint32_t default_front;
    uint32_t end = DEPS_NONE;

    MP_TRY(await_last_launch(link, graph, launch->lane));
    uint32_t before =
        first != DEPS_NONE ? launch_before(link, first) : deps_best(deps, stream->own);
    MP_TRY(deps_nodes_link(link->nodes, deps, launch, &end));
    MP_TRY(deps_default_front(&link->streams, launch->lane, &default_front));
    for (size_t i = 0; i < launch->count; i++) {
        uint32_t index = launch->items[i];

        if (!(deps->activities[index].flags & DEPS_NOT_ROOT))
            MP_TRY(link_root(link, launch, index, before, default_front, graph));
        else if (launch->call != DEPS_NONE)
            deps->activities[index].launch = launch->call;
    }
    stream->graph_last = deps_best(deps, end);
    stream->graph_front = end;
    stream->graph_correlation = deps->activities[launch->items[0]].correlation;
    MP_TRY(note_launch(link, graph, launch->lane, end));
    return link_advance(link, launch, end);
}

static enum mp_status link_launch(struct link *link, const struct deps_launch *launch)
{
    struct deps *deps = link->deps;
    uint32_t default_front;

    if (deps->activities[launch->items[0]].flags & DEPS_NODE)
        return link_graph_launch(link, launch);
    for (size_t i = 0; i < launch->count; i++) {
        uint32_t index = launch->items[i];
        struct deps_launch one = {&launch->items[i], 1, launch->call, deps->activities[index].lane};

        MP_TRY(deps_default_front(&link->streams, one.lane, &default_front));
        MP_TRY(link_root(link, &one, index, launch_before(link, index), default_front, 0));
        MP_TRY(link_advance(link, &one, index));
    }
    return await_copies(link, launch);
}

/* ---- Calls ---- */

static enum mp_status await(struct link *link, uint32_t call, uint32_t reference,
                            enum deps_reason reason)
{
    struct deps *deps = link->deps;
    struct deps_activity *waiting = &deps->activities[call];
    uint32_t best = deps_best(deps, reference);

    if (best == DEPS_NONE)
        return MP_OK;
    uint64_t end = deps->activities[best].end;
    deps->counts.dependencies += reason != DEPS_IN_EFFECT;
    if (end > waiting->end + (reason == DEPS_IN_EFFECT ? 0 : DEPS_TOLERANCE_NS)) {
        deps->counts.contradicted += reason != DEPS_IN_EFFECT;
        return MP_OK;
    }
    if (reason == DEPS_IN_EFFECT && end <= waiting->begin)
        return MP_OK;
    deps->counts.clamped += end > waiting->end;
    if (waiting->awaited == DEPS_NONE || deps_ends_later(deps, best, waiting->awaited)) {
        waiting->awaited = best;
        waiting->reason = (uint8_t)reason;
    }
    return deps->fronts ? deps_join(deps, &waiting->front, reference) : MP_OK;
}

/* Calls inside a polling loop wait for what the loop waits for. */
static void await_while_polling(struct deps *deps, const struct deps_sync *sync, uint32_t call)
{
    const struct deps_lane *lane = &deps->lanes[deps->activities[call].lane];
    uint32_t last = deps->activities[call].last_of_call;
    uint32_t awaited = deps->activities[last].awaited;

    if (awaited == DEPS_NONE || deps->activities[awaited].end > sync->end)
        return;
    for (uint32_t i = last; i-- > lane->first && deps->activities[i].begin >= sync->begin;) {
        struct deps_activity *query = &deps->activities[i];

        if (query->awaited != DEPS_NONE || (query->flags & DEPS_CONTINUES))
            continue;
        query->awaited = awaited;
        query->reason = DEPS_SYNCHRONISATION;
        query->flags |= DEPS_POLLS;
    }
}

static enum mp_status link_wait(struct link *link, const struct deps_sync *sync, uint32_t call)
{
    struct deps *deps = link->deps;
    uint32_t event = mp_map_get(&link->event_index, sync->event);
    uint32_t context = deps_context_index(&link->streams, sync->context);
    uint32_t front = DEPS_NONE;

    if (sync->kind == MP_sync_kind_event_synchronize || sync->kind == MP_sync_kind_event_query) {
        if (event == MP_MAP_ABSENT)
            deps->counts.unknown_events++;
        else
            front = link->events[event];
    } else if (sync->stream != DEPS_NONE) {
        MP_TRY(deps_stream_front(&link->streams, sync->stream, &front));
    } else if (context != DEPS_NONE || !sync->context) {
        MP_TRY(deps_context_front(&link->streams, context, &front));
    } /* else nothing was launched in its context */
    if (context != DEPS_NONE)
        link->thread_contexts[sync->thread] = context;
    if (call == DEPS_NONE)
        return MP_OK;
    MP_TRY(await(link, deps->activities[call].last_of_call, front, DEPS_SYNCHRONISATION));
    if (sync->begin < deps->activities[call].begin)
        await_while_polling(deps, sync, call);
    return MP_OK;
}

static enum mp_status record_event(struct link *link, const struct deps_sync *sync)
{
    uint32_t event = mp_map_get(&link->event_index, sync->event);
    uint32_t front;

    if (sync->stream == DEPS_NONE)
        return MP_OK;
    MP_TRY(deps_gathered_front(&link->streams, sync->stream, &front));
    if (event == MP_MAP_ABSENT) {
        MP_TRY(MP_RESERVE(link->events, link->event_count, link->event_capacity));
        event = (uint32_t)link->event_count++;
        MP_TRY(mp_map_put(&link->event_index, sync->event, event));
    }
    link->events[event] = front;
    return MP_OK;
}

static enum mp_status wait_for_event(struct link *link, const struct deps_sync *sync)
{
    uint32_t event = mp_map_get(&link->event_index, sync->event);

    if (event == MP_MAP_ABSENT) {
        link->deps->counts.unknown_events++;
        return MP_OK;
    }
    if (sync->stream == DEPS_NONE || link->events[event] == DEPS_NONE)
        return MP_OK;
    struct deps_stream *stream = &link->streams.items[sync->stream];
    MP_TRY(deps_join(link->deps, &stream->wait, link->events[event]));
    MP_TRY(deps_join(link->deps, &stream->own, link->events[event]));
    return deps_streams_changed(&link->streams, sync->stream);
}

static enum mp_status link_sync(struct link *link, const struct deps_sync *sync, uint32_t call)
{
    if (sync->failed)
        return MP_OK;
    switch (sync->kind) {
    case MP_sync_kind_event_record:
        return record_event(link, sync);
    case MP_sync_kind_stream_wait_event:
        return wait_for_event(link, sync);
    case DEPS_SYNC_VALUE:
        return deps_values_call(link->builder, &link->streams, sync);
    case MP_sync_kind_event_create:
    case MP_sync_kind_event_destroy:
        mp_map_remove(&link->event_index, sync->event);
        return MP_OK;
    case MP_sync_kind_event_synchronize:
    case MP_sync_kind_event_query:
    case MP_sync_kind_stream_synchronize:
    case MP_sync_kind_stream_query:
    case MP_sync_kind_context_synchronize:
        return link_wait(link, sync, call);
    default:
        return MP_OK;
    }
}

/* Calls that synchronise in effect, and synchronising calls that have no row in `sync`. */
static enum mp_status link_in_effect(struct link *link, uint32_t call)
{
    const struct deps_activity *activity = &link->deps->activities[call];
    uint32_t front;

    MP_TRY(deps_context_front(&link->streams, link->thread_contexts[activity->lane], &front));
    return await(link, activity->last_of_call, front, DEPS_IN_EFFECT);
}

/* ---- API order ---- */

/* Activities, then the rows of `sync`, by number. */
static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct link *link = context;
    const struct deps *deps = link->deps;
    uint64_t x = a < deps->count ? deps->activities[a].correlation
                                 : link->builder->syncs[a - deps->count].correlation;
    uint64_t y = b < deps->count ? deps->activities[b].correlation
                                 : link->builder->syncs[b - deps->count].correlation;

    return x < y;
}

/* Everything with one correlation id: calls come before rows of `sync`, those before device work.
 */
struct group {
    uint32_t call;
    const uint32_t *syncs;
    size_t sync_count;
    const uint32_t *work;
    size_t work_count;
};

static uint32_t lane_of_launch(const struct link *link, const struct group *group)
{
    const struct deps_sync *syncs = link->builder->syncs;
    uint32_t count = link->deps->count;

    for (size_t i = 0; i < group->sync_count; i++) {
        const struct deps_sync *sync = &syncs[group->syncs[i] - count];

        if (sync->kind == MP_sync_kind_graph_launch && sync->stream != DEPS_NONE)
            return sync->stream;
    }
    const struct deps_activity *activities = link->deps->activities;
    uint32_t first = group->work[0];
    for (size_t i = 1; i < group->work_count; i++) {
        if (activities[group->work[i]].begin < activities[first].begin)
            first = group->work[i];
    }
    return activities[first].lane;
}

static enum mp_status link_group(struct link *link, const struct group *group)
{
    struct deps *deps = link->deps;
    uint16_t flags = group->call == DEPS_NONE ? 0 : deps->activities[group->call].flags;

    for (size_t i = 0; i < group->sync_count; i++)
        MP_TRY(link_sync(link, &link->builder->syncs[group->syncs[i] - deps->count], group->call));
    if (group->work_count) {
        struct deps_launch launch = {group->work, group->work_count, group->call,
                                     lane_of_launch(link, group)};
        return link_launch(link, &launch);
    }
    if ((flags & DEPS_BLOCKS) || ((flags & DEPS_SYNCHRONISES) && !group->sync_count))
        return link_in_effect(link, group->call);
    return MP_OK;
}

/* If the launch of device work is not known, only its place in the stream is. */
static void link_uncorrelated(struct link *link, uint32_t index)
{
    struct deps *deps = link->deps;
    struct deps_activity *activity = &deps->activities[index];

    if (deps_is_call(activity))
        return;
    deps->counts.unlaunched++;
    add_stream_order(link, index, launch_before(link, index));
}

static uint64_t correlation_of(const struct link *link, uint32_t item)
{
    const struct deps *deps = link->deps;

    return item < deps->count ? deps->activities[item].correlation
                              : link->builder->syncs[item - deps->count].correlation;
}

/* The group at the head of `items`; returns how many items it has. */
static size_t take_group(const struct link *link, const uint32_t *items, size_t count,
                         struct group *group)
{
    const struct deps *deps = link->deps;
    uint64_t correlation = correlation_of(link, items[0]);
    size_t at = 0;

    *group = (struct group){.call = DEPS_NONE};
    for (; at < count && correlation_of(link, items[at]) == correlation; at++) {
        uint32_t item = items[at];

        if (item >= deps->count) {
            group->syncs = group->sync_count++ ? group->syncs : &items[at];
        } else if (!deps_is_call(&deps->activities[item])) {
            group->work = group->work_count++ ? group->work : &items[at];
        } else if (group->call == DEPS_NONE) {
            group->call = item;
        }
    }
    return at;
}

/* Items in the order calls, rows of `sync`, device work: a stable sort keeps it inside a group. */
static size_t list_items(const struct link *link, uint32_t *items)
{
    const struct deps *deps = link->deps;
    size_t count = 0;

    for (uint32_t i = 0; i < deps->host_count; i++) {
        if (!(deps->activities[i].flags & DEPS_CONTINUED))
            items[count++] = i;
    }
    for (size_t i = 0; i < link->builder->sync_count; i++)
        items[count++] = deps->count + (uint32_t)i;
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        items[count++] = i;
    return count;
}

static enum mp_status link_all(struct link *link, uint32_t *items, uint32_t *scratch)
{
    size_t count = list_items(link, items);
    struct group group;

    mp_sort(items, count, scratch, comes_before, link);
    for (size_t at = 0; at < count;) {
        if (!correlation_of(link, items[at])) {
            if (items[at] < link->deps->count)
                link_uncorrelated(link, items[at]);
            at++;
            continue;
        }
        at += take_group(link, items + at, count - at, &group);
        MP_TRY(link_group(link, &group));
    }
    return MP_OK;
}

static void free_link(struct link *link)
{
    deps_streams_free(&link->streams);
    free(link->thread_contexts);
    free(link->events);
    free(link->graphs);
    mp_map_free(&link->event_index);
    mp_map_free(&link->graph_index);
    deps_nodes_free(link->nodes);
}

static enum mp_status link_calls(struct deps_builder *builder)
{
    struct deps *deps = builder->deps;
    size_t items = (size_t)deps->count + builder->sync_count;
    struct link link = {.builder = builder, .deps = deps, .last_class = DEPS_NONE};
    uint32_t *order = NULL;
    uint32_t *scratch = NULL;
    enum mp_status status = MP_OK;

    if (items >= DEPS_FRONT_BIT)
        return MP_ERR_LIMIT;
    link.thread_contexts = calloc(deps->lane_count + 1, sizeof *link.thread_contexts);
    order = malloc((items + 1) * sizeof *order);
    scratch = malloc((items + 1) * sizeof *scratch);
    if (!link.thread_contexts || !order || !scratch)
        status = MP_ERR_MEMORY;
    for (uint32_t i = 0; i < deps->lane_count && !status; i++)
        link.thread_contexts[i] = DEPS_NONE;
    if (!status)
        status = deps_streams_init(&link.streams, builder);
    if (!status)
        status = deps_nodes_new(builder, &link.nodes);
    if (!status)
        status = deps_nodes_adopt(link.nodes, deps);
    if (!status)
        status = link_all(&link, order, scratch);
    free(order);
    free(scratch);
    free_link(&link);
    return status;
}

enum mp_status deps_link(struct deps_builder *builder)
{
    return builder->value_count ? deps_values_link(builder, link_calls) : link_calls(builder);
}
