/* Packs the timeline into a document and a blob of columns. Values that follow from others (an
 * event bound by its own launch, say) take no byte.
 */
#include "page/timeline.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/text/json.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

/* ---- Kinds by frequency ---- */

static bool is_more_frequent(const void *context, uint32_t a, uint32_t b)
{
    const uint64_t *counts = context;

    return counts[a] > counts[b];
}

static void order_kinds(struct html_kinds *kinds, const struct timeline *timeline, uint64_t *counts,
                        uint32_t *scratch)
{
    for (size_t i = 0; i < timeline->event_count; i++)
        counts[timeline->events[i].kind]++;
    for (uint32_t i = 0; i < timeline->kind_count; i++)
        kinds->order[i] = i;
    mp_sort(kinds->order, timeline->kind_count, scratch, is_more_frequent, counts);
    for (uint32_t i = 0; i < timeline->kind_count; i++) {
        kinds->numbers[kinds->order[i]] = i;
        kinds->used += counts[i] != 0;
    }
}

enum mp_status html_kinds_build(struct html_kinds *kinds, const struct timeline *timeline)
{
    size_t count = timeline->kind_count + 1;
    uint64_t *counts = calloc(count, sizeof *counts);
    uint32_t *scratch = calloc(count, sizeof *scratch);
    enum mp_status status = MP_ERR_MEMORY;

    *kinds = (struct html_kinds){.order = calloc(count, sizeof *kinds->order),
                                 .numbers = calloc(count, sizeof *kinds->numbers)};
    if (counts && scratch && kinds->order && kinds->numbers) {
        order_kinds(kinds, timeline, counts, scratch);
        status = MP_OK;
    }
    free(scratch);
    free(counts);
    return status;
}

void html_kinds_free(struct html_kinds *kinds)
{
    free(kinds->order);
    free(kinds->numbers);
    *kinds = (struct html_kinds){.order = NULL};
}

/* ---- The document ---- */

static const char *const category_keys[TIMELINE_CATEGORIES] = {
    [DEPS_CALL] = "call",
    [DEPS_KERNEL] = "kernel",
    [DEPS_COPY] = "copy",
    [DEPS_SET] = "set",
    [DEPS_GRAPH] = "graph",
    [TIMELINE_RANGE] = "range",
    [DEPS_HOST_FUNCTION] = "host_function",
    [DEPS_WAIT] = "wait",
    [DEPS_TRANSFER] = "transfer",
};

static const char *const track_keys[] = {
    [TIMELINE_CALLS] = "calls", [TIMELINE_RANGES] = "ranges", [TIMELINE_WORK] = "work"};

static void json_lanes(struct json_writer *json, const struct timeline *timeline)
{
    json_key_array(json, "lanes");
    for (size_t i = 0; i < timeline->lane_count; i++) {
        const struct timeline_lane *lane = &timeline->lanes[i];

        json_open_object(json);
        JSON_FACTS(json, FACT("kind", lane->is_thread ? "thread" : "stream"),
                   FACT("id", lane->is_thread ? lane->tid : lane->id));
        if (!lane->is_thread)
            JSON_FACTS(json, FACT("context", lane->context), FACT("device", lane->device));
        JSON_FACTS(json, FACT("name", lane->name));
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_tracks(struct json_writer *json, const struct timeline *timeline)
{
    json_key_array(json, "tracks");
    for (size_t i = 0; i < timeline->track_count; i++) {
        const struct timeline_track *track = &timeline->tracks[i];

        JSON_OBJECT(json, FACT("lane", track->lane), FACT("kind", track_keys[track->kind]),
                    FACT("depth", track->depth),
                    FACT("domain", mp_intern_get(&timeline->texts, track->domain, NULL)),
                    FACT("count", track->count));
    }
    json_close_array(json);
}

static void json_names(struct json_writer *json, const struct timeline *timeline)
{
    json_key_array(json, "names");
    for (size_t i = 0; i < timeline->name_count; i++) {
        json_open_array(json);
        json_text(json, category_keys[timeline->names[i].category]);
        json_text(json, mp_intern_get(&timeline->texts, timeline->names[i].text, NULL));
        json_close_array(json);
    }
    json_close_array(json);
}

static void json_kinds(struct json_writer *json, const struct timeline *timeline,
                       const struct html_kinds *kinds)
{
    json_key_array(json, "kinds");
    for (size_t i = 0; i < kinds->used; i++) {
        const struct timeline_kind *kind = &timeline->kinds[kinds->order[i]];

        json_open_array(json);
        json_number(json, kind->name);
        if (kind->detail)
            json_text(json, mp_intern_get(&timeline->texts, kind->detail, NULL));
        json_close_array(json);
    }
    json_close_array(json);
}

static void json_callers(struct json_writer *json, const struct timeline *timeline)
{
    const struct mp_intern *texts = &timeline->callers.texts;

    if (!timeline->caller)
        return;
    json_key_array(json, "callers");
    for (uint32_t id = 1; id <= texts->count; id++)
        json_text(json, mp_intern_get(texts, id, NULL));
    json_close_array(json);
}

void html_timeline_json(FILE *out, const struct timeline *timeline, const struct html_kinds *kinds)
{
    struct json_writer json;

    json_open_document(&json, out, 2);
    JSON_FACTS(&json, FACT("origin_ns", timeline->origin), FACT("end_ns", timeline->end),
               FACT("fan", TIMELINE_FAN), FACT("events", timeline->event_count),
               FACT("left_out_late", timeline->left_out_late),
               FACT_IF("until_ns", timeline->left_out_late, timeline->until),
               FACT("left_out_deep", timeline->left_out_deep));
    json_lanes(&json, timeline);
    json_tracks(&json, timeline);
    json_names(&json, timeline);
    json_kinds(&json, timeline, kinds);
    json_callers(&json, timeline);
    json_close_document(&json);
}

/* ---- The columns ---- */

/* What the columns say about an event, besides its times and name. */
struct facts {
    uint64_t critical;
    uint64_t waiting;
    uint32_t launch; /* event; TIMELINE_NONE */
    uint32_t bound;  /* event; TIMELINE_NONE */
    uint8_t reason;  /* enum deps_reason */
    uint8_t flags;
};

struct packing {
    struct mp_buffer *blob;
    const struct timeline *timeline;
    const struct deps *deps;
    const struct html_kinds *kinds;
    uint64_t *critical; /* by event */
};

static bool waits(const struct deps_activity *piece)
{
    return deps_call_waits(piece) || piece->bound == DEPS_WOKEN;
}

/* The piece of a call that says what bound the call: the last one if it waited, else the first. */
static uint32_t telling_piece(const struct deps *deps, uint32_t first)
{
    const struct deps_activity *call = &deps->activities[first];

    if (!deps_is_call(call))
        return first;
    return waits(&deps->activities[call->last_of_call]) ? call->last_of_call : first;
}

static struct facts facts_of(const struct packing *packing, uint32_t event)
{
    const struct deps *deps = packing->deps;
    uint32_t index = packing->timeline->events[event].activity;
    const struct deps_activity *activity = &deps->activities[index];
    uint32_t telling = telling_piece(deps, index);
    struct facts facts = {.critical = packing->critical[event],
                          .waiting = deps_waiting(deps, &deps->activities[telling]),
                          .launch = TIMELINE_NONE,
                          .reason = deps->activities[telling].bound};

    if (!deps_is_call(activity))
        facts.launch = timeline_event_of(packing->timeline, deps, activity->launch);
    facts.bound = timeline_event_of(packing->timeline, deps, deps_bound_to(deps, telling));
    if (facts.bound == TIMELINE_NONE)
        facts.reason = DEPS_UNKNOWN;
    return facts;
}

/* The cause that a reader assumes if nothing else is written. */
static uint32_t implied_bound(const struct facts *facts, const struct timeline_track *track,
                              uint32_t event)
{
    if (facts->reason == DEPS_LAUNCH)
        return facts->launch;
    return event > track->first ? event - 1 : TIMELINE_NONE;
}

static uint8_t flags_of(const struct facts *facts, const struct timeline_track *track,
                        uint32_t event, uint64_t duration)
{
    unsigned flags = facts->reason & HTML_REASON;

    if (facts->reason != DEPS_UNKNOWN && facts->bound != implied_bound(facts, track, event))
        flags |= HTML_BOUND;
    if (facts->critical)
        flags |= facts->critical == duration ? HTML_CRITICAL_WHOLE : HTML_CRITICAL_PART;
    if (facts->waiting)
        flags |= HTML_WAITS;
    return (uint8_t)flags;
}

#define EACH_EVENT(event, track)                                                                   \
    for (uint32_t event = (track)->first; event < (track)->first + (track)->count; event++)

static void pack_times(const struct packing *packing, const struct timeline_track *track)
{
    const struct timeline_event *events = packing->timeline->events;
    uint64_t before = packing->timeline->origin;

    EACH_EVENT(event, track)
    {
        mp_buffer_append_varint(packing->blob, events[event].begin - before);
        before = events[event].begin;
    }
    EACH_EVENT(event, track)
    mp_buffer_append_varint(packing->blob, events[event].duration);
    EACH_EVENT(event, track)
    mp_buffer_append_varint(packing->blob, packing->kinds->numbers[events[event].kind]);
}

static void pack_launches(const struct packing *packing, const struct facts *facts, uint32_t count)
{
    uint32_t before = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (facts[i].launch == TIMELINE_NONE) {
            mp_buffer_append_varint(packing->blob, 0);
            continue;
        }
        mp_buffer_append_varint(packing->blob, 1 + mp_delta(facts[i].launch, before));
        before = facts[i].launch;
    }
}

/* The three columns that only events with a flag have. */
static void pack_flagged(const struct packing *packing, const struct timeline_track *track,
                         const struct facts *facts)
{
    for (uint32_t i = 0; i < track->count; i++) {
        if (facts[i].flags & HTML_BOUND)
            mp_buffer_append_varint(packing->blob, mp_delta(facts[i].bound, track->first + i));
    }
    for (uint32_t i = 0; i < track->count; i++) {
        if (facts[i].flags & HTML_CRITICAL_PART)
            mp_buffer_append_varint(packing->blob, facts[i].critical);
    }
    for (uint32_t i = 0; i < track->count; i++) {
        if (facts[i].flags & HTML_WAITS)
            mp_buffer_append_varint(packing->blob, facts[i].waiting);
    }
}

static enum mp_status pack_facts(const struct packing *packing, const struct timeline_track *track)
{
    struct facts *facts = calloc((size_t)track->count + 1, sizeof *facts);

    if (!facts)
        return MP_ERR_MEMORY;
    EACH_EVENT(event, track)
    {
        struct facts *of = &facts[event - track->first];

        *of = facts_of(packing, event);
        of->flags = flags_of(of, track, event, packing->timeline->events[event].duration);
        mp_buffer_append_byte(packing->blob, of->flags);
    }
    if (track->kind == TIMELINE_WORK)
        pack_launches(packing, facts, track->count);
    pack_flagged(packing, track, facts);
    free(facts);
    if (packing->timeline->caller)
        EACH_EVENT(event, track)
    mp_buffer_append_varint(packing->blob, packing->timeline->caller[event]);
    return packing->blob->status;
}

static enum mp_status pack_levels(const struct packing *packing, const struct timeline_track *track)
{
    uint32_t max = timeline_groups_at(track->count, 1);
    struct timeline_group *groups = calloc((size_t)max + 1, sizeof *groups);
    uint64_t *sums = calloc(packing->timeline->name_count + 1, sizeof *sums);

    for (unsigned level = 1; groups && sums && level <= timeline_levels_of(track->count); level++) {
        uint32_t count = timeline_groups_at(track->count, level);

        timeline_level_fill(packing->timeline, track, level, sums, groups);
        for (uint32_t i = 0; i < count; i++)
            mp_buffer_append_varint(packing->blob,
                                    groups[i].end - groups[i].begin - groups[i].busy);
        for (uint32_t i = 0; i < count; i++)
            mp_buffer_append_varint(packing->blob, groups[i].name);
    }
    free(sums);
    free(groups);
    return groups && sums ? packing->blob->status : MP_ERR_MEMORY;
}

/* Adds the critical times of all pieces of a call that was cut. */
static void sum_critical(const struct packing *packing, const uint64_t *critical)
{
    for (uint32_t i = 0; i < packing->deps->count; i++) {
        uint32_t event = timeline_event_of(packing->timeline, packing->deps, i);

        if (event != TIMELINE_NONE)
            packing->critical[event] += critical[i];
    }
}

enum mp_status html_timeline_pack(struct mp_buffer *blob, const struct timeline *timeline,
                                  const struct deps *deps, const struct html_kinds *kinds,
                                  const uint64_t *critical)
{
    struct packing packing = {.blob = blob, .timeline = timeline, .deps = deps, .kinds = kinds};
    enum mp_status status = MP_OK;

    packing.critical = calloc(timeline->event_count + 1, sizeof *packing.critical);
    if (!packing.critical)
        return MP_ERR_MEMORY;
    sum_critical(&packing, critical);
    for (size_t i = 0; i < timeline->track_count && !status; i++) {
        const struct timeline_track *track = &timeline->tracks[i];

        pack_times(&packing, track);
        if (track->kind != TIMELINE_RANGES)
            status = pack_facts(&packing, track);
        if (!status)
            status = pack_levels(&packing, track);
    }
    free(packing.critical);
    return status;
}
