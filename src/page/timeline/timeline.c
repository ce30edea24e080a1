/* Puts the events of a trace into rows that can be drawn. When there are more events than a page
 * can hold, the earliest ones stay, and the result says where it stops.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "page/timeline/timeline.h"
#include "profile/profile.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

struct build {
    struct timeline *timeline;
    struct deps *deps;
    const struct timeline_options *options;
    struct timeline_strip strip;
    struct nvtx_spans spans;
    struct mp_intern range_names;
    uint32_t *name_memo;   /* by category and the graph's name id: name + 1 */
    struct mp_map callers; /* numbers of the threads that have a lane of calls */
};

/* ---- Names ---- */

static enum mp_status name_activity(struct build *build, const struct deps_activity *activity,
                                    uint32_t *kind)
{
    uint32_t *memo = &build->name_memo[(size_t)activity->name * DEPS_KINDS + activity->kind];

    if (!*memo) {
        MP_TRY(timeline_reach_name(build->timeline, activity->kind,
                                   deps_name(build->deps, activity), memo));
        ++*memo;
    }
    return timeline_reach_kind(build->timeline, *memo - 1, 0, kind);
}

/* ---- What is taken ---- */

static bool belongs(const struct build *build, const struct deps_activity *activity)
{
    const struct capture_range *range = build->options->range;

    if (activity->begin >= build->timeline->until || activity->flags & DEPS_CONTINUED)
        return false;
    if (!range)
        return true;
    return deps_is_call(activity) ? range_has_call(range, activity->begin)
                                  : range_has_work(range, activity->correlation, activity->begin);
}

static uint32_t spans_before(const struct nvtx_spans *spans, const struct nvtx_lane *lane,
                             uint64_t time)
{
    return (uint32_t)MP_SEARCH(0, lane->count, i, spans->spans[lane->first + i].begin < time);
}

static uint64_t events_before(const struct build *build, uint64_t time)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < build->deps->lane_count; i++)
        sum += deps_first_from(build->deps, &build->deps->lanes[i], time) -
               build->deps->lanes[i].first;
    for (size_t i = 0; i < build->spans.lane_count; i++)
        sum += spans_before(&build->spans, &build->spans.lanes[i], time);
    return sum;
}

/* The latest moment before which no more than `most` events begin. */
static void limit_events(struct build *build)
{
    uint64_t total = events_before(build, UINT64_MAX);
    uint64_t low = 0; /* fits */
    uint64_t high = UINT64_MAX;

    build->timeline->until = UINT64_MAX;
    if (total <= build->options->max)
        return;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (events_before(build, middle) <= build->options->max)
            low = middle;
        else
            high = middle;
    }
    build->timeline->until = low;
    build->timeline->left_out_late = total - events_before(build, low);
}

/* ---- Lanes ---- */

static enum mp_status add_activity(struct build *build, uint32_t index)
{
    const struct deps *deps = build->deps;
    const struct deps_activity *activity = &deps->activities[index];
    struct timeline_strip *strip = &build->strip;
    struct timeline_event event = {.begin = activity->begin, .activity = index};
    uint64_t end = activity->end;

    if (!belongs(build, activity))
        return MP_OK;
    if (deps_is_call(activity)) /* if the call is cut into pieces: where its last piece ends */
        end = deps->activities[activity->last_of_call].end;
    event.duration = end > event.begin ? end - event.begin : 0;
    MP_TRY(name_activity(build, activity, &event.kind));
    MP_TRY(mp_reserve((void **)&strip->events, strip->count, &strip->capacity, sizeof event));
    strip->events[strip->count++] = event;
    return MP_OK;
}

static enum mp_status add_activities(struct build *build, const struct deps_lane *lane)
{
    build->strip.kind = lane->is_thread ? TIMELINE_CALLS : TIMELINE_WORK;
    for (uint32_t i = 0; i < lane->count; i++)
        MP_TRY(add_activity(build, lane->first + i));
    return timeline_add_strip(build->timeline, &build->strip);
}

static enum mp_status begin_lane(struct build *build, const struct timeline_lane *lane)
{
    struct timeline *timeline = build->timeline;

    MP_TRY(mp_reserve((void **)&timeline->lanes, timeline->lane_count, &timeline->lane_capacity,
                      sizeof *lane));
    build->strip.lane = (uint32_t)timeline->lane_count;
    timeline->lanes[timeline->lane_count++] = *lane;
    return MP_OK;
}

static struct timeline_lane thread_lane(const struct deps *deps, uint64_t number)
{
    const struct definition_thread *thread = dense_at(&deps->profile->definitions.threads, number);
    struct timeline_lane lane = {.id = number, .tid = number, .is_thread = true};

    if (thread && thread->defined) {
        lane.tid = thread->tid;
        lane.name = definitions_text(&deps->profile->definitions, thread->name);
    }
    return lane;
}

static struct timeline_lane stream_lane(const struct deps *deps, const struct deps_lane *from)
{
    const struct definition_device *device =
        dense_at(&deps->profile->definitions.devices, from->device);
    struct timeline_lane lane = {.id = from->id, .context = from->context, .device = from->device};

    if (device && device->defined)
        lane.name = definitions_text(&deps->profile->definitions, device->name);
    return lane;
}

static enum mp_status add_ranges(struct build *build, uint64_t thread_number)
{
    uint32_t thread = mp_map_get(&build->spans.thread_index, thread_number);

    if (thread == MP_MAP_ABSENT)
        return MP_OK;
    return timeline_add_ranges(build->timeline, &build->strip, &build->spans, thread,
                               &build->range_names);
}

/* Threads with calls, threads that have ranges only, streams. */
static enum mp_status add_lanes(struct build *build)
{
    const struct deps *deps = build->deps;
    struct timeline_lane lane;

    for (uint32_t i = 0; i < deps->thread_count; i++) {
        lane = thread_lane(deps, deps->lanes[i].id);
        MP_TRY(mp_map_put(&build->callers, lane.id, i));
        MP_TRY(begin_lane(build, &lane));
        MP_TRY(add_ranges(build, lane.id));
        MP_TRY(add_activities(build, &deps->lanes[i]));
    }
    for (size_t i = 0; i < build->spans.thread_count; i++) {
        lane = thread_lane(deps, build->spans.threads[i].number);
        if (mp_map_get(&build->callers, lane.id) != MP_MAP_ABSENT)
            continue;
        MP_TRY(begin_lane(build, &lane));
        MP_TRY(add_ranges(build, lane.id));
    }
    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        lane = stream_lane(deps, &deps->lanes[i]);
        MP_TRY(begin_lane(build, &lane));
        MP_TRY(add_activities(build, &deps->lanes[i]));
    }
    return MP_OK;
}

/* ---- Which line of the program each call was made from ---- */

static enum mp_status add_callers(struct timeline *timeline, struct mp_trace *trace,
                                  const struct deps *deps, struct mp_error *error)
{
    if (!profile_has_rows(deps->profile, MP_TABLE_stack))
        return MP_OK;
    MP_TRY(called_from_load(&timeline->callers, trace, CALLED_BY_LINE, error));
    timeline->caller = calloc(timeline->event_count + 1, sizeof *timeline->caller);
    if (!timeline->caller)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < timeline->event_count; i++) {
        uint32_t activity = timeline->events[i].activity;

        if (activity < deps->host_count && deps->activities[activity].correlation)
            MP_TRY(called_from(&timeline->callers, deps->activities[activity].correlation, 0,
                               &timeline->caller[i]));
    }
    return MP_OK;
}

/* ---- After the last one ---- */

static enum mp_status index_events(struct build *build)
{
    struct timeline *timeline = build->timeline;
    uint32_t activities = build->deps->count;

    timeline->event_of = malloc(((size_t)activities + 1) * sizeof *timeline->event_of);
    if (!timeline->event_of)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < activities; i++)
        timeline->event_of[i] = TIMELINE_NONE;
    for (size_t i = 0; i < timeline->event_count; i++) {
        if (timeline->events[i].activity != TIMELINE_NONE)
            timeline->event_of[timeline->events[i].activity] = (uint32_t)i;
    }
    return MP_OK;
}

static void find_span(struct timeline *timeline)
{
    timeline->origin = timeline->event_count ? UINT64_MAX : 0;
    for (size_t i = 0; i < timeline->event_count; i++) {
        const struct timeline_event *event = &timeline->events[i];

        if (event->begin < timeline->origin)
            timeline->origin = event->begin;
        if (event->begin + event->duration > timeline->end)
            timeline->end = event->begin + event->duration;
    }
}

uint32_t timeline_event_of(const struct timeline *timeline, const struct deps *deps,
                           uint32_t activity)
{
    if (activity == DEPS_NONE)
        return TIMELINE_NONE;
    if (deps->activities[activity].flags & DEPS_CONTINUED)
        activity = deps->activities[activity].first_of_call;
    return timeline->event_of[activity];
}

static enum mp_status build_all(struct build *build, struct mp_trace *trace, struct mp_error *error)
{
    const struct nvtx_reading reading = {.range = build->options->range,
                                         .names = &build->range_names};

    MP_TRY(nvtx_spans_load(&build->spans, build->deps->profile, &reading, error));
    build->name_memo =
        calloc(((size_t)build->deps->names.count + 1) * DEPS_KINDS, sizeof *build->name_memo);
    if (!build->name_memo)
        return MP_ERR_MEMORY;
    limit_events(build);
    MP_TRY(add_lanes(build));
    MP_TRY(index_events(build));
    find_span(build->timeline);
    MP_TRY(add_callers(build->timeline, trace, build->deps, error));
    return timeline_add_details(build->timeline, trace, build->deps, error);
}

enum mp_status timeline_build(struct timeline *timeline, struct mp_trace *trace, struct deps *deps,
                              const struct timeline_options *options, struct mp_error *error)
{
    struct build build = {.timeline = timeline, .deps = deps, .options = options};

    *timeline = (struct timeline){.event_count = 0};
    *error = (struct mp_error){.status = MP_OK};
    enum mp_status status = build_all(&build, trace, error);
    free(build.name_memo);
    mp_map_free(&build.callers);
    free(build.strip.events);
    free(build.strip.rows);
    nvtx_spans_free(&build.spans);
    mp_intern_free(&build.range_names);
    if (!status)
        return MP_OK;
    timeline_free(timeline);
    return error->status
               ? status
               : mp_error_set(error, status, "cannot make a time line: %s", mp_status_name(status));
}

void timeline_free(struct timeline *timeline)
{
    free(timeline->lanes);
    free(timeline->tracks);
    free(timeline->events);
    free(timeline->names);
    free(timeline->kinds);
    free(timeline->event_of);
    free(timeline->caller);
    called_from_free(&timeline->callers);
    mp_intern_free(&timeline->texts);
    mp_map_free(&timeline->name_index);
    mp_map_free(&timeline->kind_index);
    *timeline = (struct timeline){.event_count = 0};
}
