/* Puts the events of a lane into rows in which none overlap. Each event goes into the first row
 * that is free at its begin. So each level of nesting gets a row, the outer ranges above the inner
 * ones.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "page/timeline/timeline.h"

#include "base/poison.h"

/* ---- Names and kinds: each is stored once, so that an event needs four bytes for it ---- */

enum mp_status timeline_reach_name(struct timeline *timeline, unsigned category, const char *text,
                                   uint32_t *name)
{
    uint32_t id = mp_intern_add(&timeline->texts, text, strlen(text));
    uint64_t key = (uint64_t)category << 32 | id;

    if (!id)
        return MP_ERR_MEMORY;
    *name = mp_map_get(&timeline->name_index, key);
    if (*name != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(timeline->names, timeline->name_count, timeline->name_capacity));
    *name = (uint32_t)timeline->name_count++;
    timeline->names[*name] = (struct timeline_name){.text = id, .category = (uint8_t)category};
    return mp_map_put(&timeline->name_index, key, *name);
}

enum mp_status timeline_reach_kind(struct timeline *timeline, uint32_t name, uint32_t detail,
                                   uint32_t *kind)
{
    uint64_t key = (uint64_t)name << 32 | detail;

    *kind = mp_map_get(&timeline->kind_index, key);
    if (*kind != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(timeline->kinds, timeline->kind_count, timeline->kind_capacity));
    *kind = (uint32_t)timeline->kind_count++;
    timeline->kinds[*kind] = (struct timeline_kind){name, detail};
    return mp_map_put(&timeline->kind_index, key, *kind);
}

/* ---- Rows ---- */

#define LEFT_OUT UINT8_MAX

/* ---- Rows ---- */

static uint8_t row_for(const struct timeline_event *event, uint64_t *ends, uint32_t *used)
{
    uint32_t row = 0;

    while (row < *used && ends[row] > event->begin)
        row++;
    if (row == TIMELINE_MAX_ROWS)
        return LEFT_OUT;
    if (row == *used)
        ++*used;
    ends[row] = event->begin + event->duration;
    return (uint8_t)row;
}

/* Rows of all events; how many there are. */
static uint32_t assign_rows(struct timeline *timeline, struct timeline_strip *strip)
{
    uint64_t ends[TIMELINE_MAX_ROWS];
    uint32_t used = 0;

    for (size_t i = 0; i < strip->count; i++) {
        strip->rows[i] = row_for(&strip->events[i], ends, &used);
        timeline->left_out_deep += strip->rows[i] == LEFT_OUT;
    }
    return used;
}

static enum mp_status timeline_make_room(struct timeline *timeline, size_t more)
{
    size_t wanted = timeline->event_count + more;
    struct timeline_event *grown;

    if (wanted >= TIMELINE_NONE)
        return MP_ERR_LIMIT;
    if (wanted <= timeline->event_capacity)
        return MP_OK;
    if (wanted < timeline->event_capacity / 2 * 3)
        wanted = timeline->event_capacity / 2 * 3;
    grown = reallocarray(timeline->events, wanted, sizeof *grown);
    if (!grown)
        return MP_ERR_MEMORY;
    timeline->events = grown;
    timeline->event_capacity = wanted;
    return MP_OK;
}

static enum mp_status add_track(struct timeline *timeline, const struct timeline_strip *strip,
                                uint32_t row)
{
    struct timeline_track track = {.lane = strip->lane,
                                   .first = (uint32_t)timeline->event_count,
                                   .depth = row,
                                   .domain = strip->domain,
                                   .kind = strip->kind};

    MP_TRY(mp_reserve((void **)&timeline->tracks, timeline->track_count, &timeline->track_capacity,
                      sizeof track));
    for (size_t i = 0; i < strip->count; i++) {
        if (strip->rows[i] == row)
            timeline->events[timeline->event_count++] = strip->events[i];
    }
    track.count = (uint32_t)timeline->event_count - track.first;
    timeline->tracks[timeline->track_count++] = track;
    return MP_OK;
}

enum mp_status timeline_add_strip(struct timeline *timeline, struct timeline_strip *strip)
{
    if (strip->count > strip->row_capacity) {
        uint8_t *grown = realloc(strip->rows, strip->count);

        if (!grown)
            return MP_ERR_MEMORY;
        strip->rows = grown;
        strip->row_capacity = strip->count;
    }
    MP_TRY(timeline_make_room(timeline, strip->count));
    uint32_t used = assign_rows(timeline, strip);
    for (uint32_t row = 0; row < used; row++)
        MP_TRY(add_track(timeline, strip, row));
    strip->count = 0;
    return MP_OK;
}

/* ---- NVTX ranges ---- */

struct ranges {
    const struct nvtx_spans *spans;
    uint32_t *order;
    size_t count;
};

static const struct nvtx_kind *timeline_kind_of(const struct nvtx_spans *spans, uint32_t span)
{
    return &spans->kinds[spans->nodes[spans->spans[span].node].kind];
}

/* By domain, then by begin; of equal begins the longer first. */
static bool stands_before(const void *context, uint32_t a, uint32_t b)
{
    const struct nvtx_spans *spans = context;
    uint32_t domain = timeline_kind_of(spans, a)->domain;
    uint32_t other = timeline_kind_of(spans, b)->domain;

    if (domain != other)
        return domain < other;
    if (spans->spans[a].begin != spans->spans[b].begin)
        return spans->spans[a].begin < spans->spans[b].begin;
    return spans->spans[a].end > spans->spans[b].end;
}

static enum mp_status order_ranges(struct ranges *ranges, uint32_t thread)
{
    const struct nvtx_thread *owner = &ranges->spans->threads[thread];
    uint32_t end = owner->first_lane + owner->lane_count;
    uint32_t *scratch;
    size_t max = 0;

    for (uint32_t i = owner->first_lane; i < end; i++)
        max += ranges->spans->lanes[i].count;
    ranges->order = malloc((max + 1) * sizeof *ranges->order);
    scratch = malloc((max + 1) * sizeof *scratch);
    if (!ranges->order || !scratch) {
        free(scratch);
        return MP_ERR_MEMORY;
    }
    for (uint32_t i = owner->first_lane; i < end; i++) {
        const struct nvtx_lane *lane = &ranges->spans->lanes[i];

        for (uint32_t span = 0; span < lane->count; span++)
            ranges->order[ranges->count++] = lane->first + span;
    }
    mp_sort(ranges->order, ranges->count, scratch, stands_before, ranges->spans);
    free(scratch);
    return MP_OK;
}

static enum mp_status add_range(struct timeline *timeline, struct timeline_strip *strip,
                                const struct nvtx_span *span, const char *text)
{
    struct timeline_event event = {
        .begin = span->begin, .duration = span->end - span->begin, .activity = TIMELINE_NONE};
    uint32_t name;

    MP_TRY(timeline_reach_name(timeline, TIMELINE_RANGE, text ? text : "", &name));
    MP_TRY(timeline_reach_kind(timeline, name, 0, &event.kind));
    MP_TRY(mp_reserve((void **)&strip->events, strip->count, &strip->capacity, sizeof event));
    strip->events[strip->count++] = event;
    return MP_OK;
}

/* Adds the ranges from `first` that have its domain; *next is the first range after them. */
static enum mp_status add_domain(struct timeline *timeline, struct timeline_strip *strip,
                                 const struct ranges *ranges, const struct mp_intern *names,
                                 size_t *next)
{
    uint32_t domain = timeline_kind_of(ranges->spans, ranges->order[*next])->domain;
    const char *text = mp_intern_get(names, domain, NULL);

    strip->kind = TIMELINE_RANGES;
    strip->domain = text ? mp_intern_add(&timeline->texts, text, strlen(text)) : 0;
    if (text && !strip->domain)
        return MP_ERR_MEMORY;
    for (; *next < ranges->count; ++*next) {
        const struct nvtx_span *span = &ranges->spans->spans[ranges->order[*next]];
        const struct nvtx_kind *kind = timeline_kind_of(ranges->spans, ranges->order[*next]);

        if (kind->domain != domain)
            break;
        if (span->begin >= timeline->until)
            continue;
        MP_TRY(add_range(timeline, strip, span, mp_intern_get(names, kind->name, NULL)));
    }
    return timeline_add_strip(timeline, strip);
}

enum mp_status timeline_add_ranges(struct timeline *timeline, struct timeline_strip *strip,
                                   const struct nvtx_spans *spans, uint32_t thread,
                                   const struct mp_intern *names)
{
    struct ranges ranges = {.spans = spans};
    enum mp_status status = order_ranges(&ranges, thread);
    size_t next = 0;

    while (!status && next < ranges.count)
        status = add_domain(timeline, strip, &ranges, names, &next);
    free(ranges.order);
    strip->domain = 0;
    return status;
}

/* ---- Groups of neighbours, so that a picture of any zoom needs a few thousand boxes ---- */

static uint64_t span_of(unsigned level)
{
    uint64_t span = 1;

    while (level--)
        span *= TIMELINE_FAN;
    return span;
}

uint32_t timeline_groups_at(uint32_t events, unsigned level)
{
    uint64_t span = span_of(level);

    return (uint32_t)((events + span - 1) / span);
}

unsigned timeline_levels_of(uint32_t events)
{
    unsigned levels = 0;

    while (timeline_groups_at(events, levels) > 1)
        levels++;
    return levels;
}

/* The name with the greatest sum among those of the events; clears the sums. */
static uint32_t take_largest(const struct timeline *timeline, const struct timeline_event *events,
                             uint64_t count, uint64_t *sums)
{
    uint32_t best = timeline->kinds[events[0].kind].name;

    for (uint64_t i = 0; i < count; i++) {
        uint32_t name = timeline->kinds[events[i].kind].name;

        if (sums[name] > sums[best])
            best = name;
    }
    for (uint64_t i = 0; i < count; i++)
        sums[timeline->kinds[events[i].kind].name] = 0;
    return best;
}

static struct timeline_group group_of(const struct timeline *timeline,
                                      const struct timeline_event *events, uint64_t count,
                                      uint64_t *sums)
{
    const struct timeline_event *last = &events[count - 1];
    struct timeline_group group = {.begin = events[0].begin, .end = last->begin + last->duration};

    for (uint64_t i = 0; i < count; i++) {
        group.busy += events[i].duration;
        sums[timeline->kinds[events[i].kind].name] += events[i].duration;
    }
    group.name = take_largest(timeline, events, count, sums);
    return group;
}

void timeline_level_fill(const struct timeline *timeline, const struct timeline_track *track,
                         unsigned level, uint64_t *sums, struct timeline_group *groups)
{
    const struct timeline_event *events = timeline->events + track->first;
    uint64_t span = span_of(level);

    for (uint64_t at = 0; at < track->count; at += span) {
        uint64_t count = track->count - at < span ? track->count - at : span;

        *groups++ = group_of(timeline, events + at, count, sums);
    }
}

/* ---- When a device was busy: the union of what ran on its streams ---- */

struct row {
    const struct timeline_event *at;
    const struct timeline_event *end;
};

struct merging {
    const struct timeline *timeline;
    unsigned categories;
    struct row *rows; /* a heap: the earliest at [0] */
    size_t count;
};

/* Skips events that are not asked for; false when none is left. */
static bool settle(const struct merging *merging, struct row *row)
{
    const struct timeline *timeline = merging->timeline;

    for (; row->at < row->end; row->at++) {
        const struct timeline_kind *kind = &timeline->kinds[row->at->kind];

        if (merging->categories >> timeline->names[kind->name].category & 1)
            return true;
    }
    return false;
}

static void sink(struct merging *merging, size_t at)
{
    struct row *rows = merging->rows;

    for (;;) {
        size_t min = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < merging->count; child++) {
            if (rows[child].at->begin < rows[min].at->begin)
                min = child;
        }
        if (min == at)
            return;
        struct row held = rows[at];
        rows[at] = rows[min];
        rows[min] = held;
        at = min;
    }
}

/* Moves the earliest row on. */
static void busy_advance(struct merging *merging)
{
    merging->rows[0].at++;
    if (!settle(merging, &merging->rows[0]))
        merging->rows[0] = merging->rows[--merging->count];
    sink(merging, 0);
}

static void collect(struct merging *merging, uint64_t device)
{
    const struct timeline *timeline = merging->timeline;

    for (size_t i = 0; i < timeline->track_count; i++) {
        const struct timeline_track *track = &timeline->tracks[i];
        struct row row = {timeline->events + track->first,
                          timeline->events + track->first + track->count};

        if (track->kind == TIMELINE_WORK && timeline->lanes[track->lane].device == device &&
            settle(merging, &row))
            merging->rows[merging->count++] = row;
    }
    for (size_t i = merging->count; i-- > 0;)
        sink(merging, i);
}

enum mp_status timeline_busy(const struct timeline *timeline, uint64_t device, unsigned categories,
                             uint64_t *busy)
{
    struct merging merging = {.timeline = timeline, .categories = categories};
    uint64_t counted_to = 0;

    *busy = 0;
    merging.rows = calloc(timeline->track_count + 1, sizeof *merging.rows);
    if (!merging.rows)
        return MP_ERR_MEMORY;
    collect(&merging, device);
    for (; merging.count; busy_advance(&merging)) {
        uint64_t begin = merging.rows[0].at->begin;
        uint64_t end = begin + merging.rows[0].at->duration;

        if (begin < counted_to)
            begin = counted_to;
        if (end > begin) {
            *busy += end - begin;
            counted_to = end;
        }
    }
    free(merging.rows);
    return MP_OK;
}
