/* Sorts the slices of a track, finds a lane in which each nests, and writes begin and end. */
#include "export/perfetto/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "reports/deps/deps.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MAX_HELD  512
#define MAX_LANES 64 /* that are tried for a slice; then it gets a new one */

struct slice_lane {
    uint64_t uuid;
    uint64_t last_start; /* of its slices: 0 without */
    uint64_t last_end;   /* the maximum */
    uint64_t *ends;      /* of those that are around the last one, the innermost last */
    size_t depth, capacity;
};

uint64_t track_announce(struct slices *slices, uint64_t parent, const char *name, unsigned rank)
{
    struct packets *packets = slices->packets;
    size_t at = packet_begin_timeless(packets);
    size_t track = proto_begin(&packets->bytes, PACKET_TRACK);
    uint64_t uuid = slices->next_uuid++;

    proto_uint(&packets->bytes, TRACK_UUID, uuid);
    if (parent)
        proto_uint(&packets->bytes, TRACK_PARENT, parent);
    else
        proto_uint(&packets->bytes, TRACK_ORDERING, ORDER_BY_RANK);
    packets_text(packets, TRACK_NAME, name, strlen(name));
    if (rank)
        proto_uint(&packets->bytes, TRACK_RANK, rank);
    proto_end(&packets->bytes, track);
    packet_end(packets, at);
    return uuid;
}

/* ---- Writing ---- */

static size_t begin_event(struct packets *packets, uint64_t uuid, unsigned type)
{
    size_t event = proto_begin(&packets->bytes, PACKET_TRACK_EVENT);

    proto_uint(&packets->bytes, EVENT_TYPE, type);
    proto_uint(&packets->bytes, EVENT_TRACK, uuid);
    return event;
}

struct slice_parts slice_begin(struct packets *packets, uint64_t uuid, uint64_t time, uint64_t name,
                               enum category category)
{
    struct slice_parts parts;

    parts.packet = packet_begin(packets, time);
    parts.event = begin_event(packets, uuid, EVENT_BEGIN);
    proto_uint(&packets->bytes, EVENT_CATEGORY, category);
    proto_uint(&packets->bytes, EVENT_NAME, name);
    return parts;
}

void slice_end(struct packets *packets, uint64_t uuid, uint64_t time,
               const struct slice_parts *parts)
{
    proto_end(&packets->bytes, parts->event);
    packet_end(packets, parts->packet);
    size_t at = packet_begin(packets, time);
    proto_end(&packets->bytes, begin_event(packets, uuid, EVENT_END));
    packet_end(packets, at);
}

/* Writes the bits of a payload as a number of its type. */
static void annotate_value(struct packets *packets, const struct slice *slice)
{
    enum argument name = (enum argument)slice->argument;
    uint32_t low = (uint32_t)slice->value;
    double wide;
    float narrow;

    switch (slice->value_type) {
    case MP_payload_type_int64:
        packets_annotate_signed(packets, name, (int64_t)slice->value);
        break;
    case MP_payload_type_int32:
        packets_annotate_signed(packets, name, (int32_t)low);
        break;
    case MP_payload_type_double:
        memcpy(&wide, &slice->value, sizeof wide);
        packets_annotate_double(packets, name, wide);
        break;
    case MP_payload_type_float:
        memcpy(&narrow, &low, sizeof narrow);
        packets_annotate_double(packets, name, (double)narrow);
        break;
    default:
        packets_annotate(packets, name, slice->value);
    }
}

static void write_slice(struct slices *slices, uint64_t uuid, const struct slice *slice)
{
    struct packets *packets = slices->packets;
    struct slice_parts parts =
        slice_begin(packets, uuid, slice->start, slice->name, (enum category)slice->category);

    if (slice->correlation)
        proto_uint(&packets->bytes, EVENT_CORRELATION, slice->correlation);
    if (slice->callers)
        proto_uint(&packets->bytes, EVENT_CALLSTACK, slice->callers);
    if (slice->argument)
        annotate_value(packets, slice);
    if (slice->open)
        packets_annotate(packets, ARGUMENT_OPEN, 1);
    if (slice->cut)
        packets_annotate(packets, ARGUMENT_CUT, 1);
    for (unsigned i = 0; slice->measures && i < ITERATION_QUANTITIES; i++)
        if (i != ITERATION_IDLE_PEER) /* a trace alone does not know it */
            packets_annotate(packets, (enum argument)(ARGUMENT_FIRST_QUANTITY + i),
                             slice->measures->values[i]);
    if (slice->activity != DEPS_NONE)
        slices->correlate(slices->context, slice->activity);
    if (slice->category == CATEGORY_CUDA)
        proto_uint(&packets->bytes, EVENT_GPU_API, API_CUDA);
    slice_end(packets, uuid, slice->start + slice->duration, &parts);
}

/* ---- Lanes ---- */

/* Whether the slice can be written to the lane. What begins before the lane's last slice would
 * have to be compared with all of them, unless it is known to nest. */
static bool lane_fits(struct slice_lane *lane, const struct slice *slice)
{
    uint64_t end = slice->start + slice->duration;

    if (slice->start < lane->last_start)
        return slice->nests && end >= lane->last_end;
    while (lane->depth && lane->ends[lane->depth - 1] <= slice->start)
        lane->depth--;
    return !lane->depth || end <= lane->ends[lane->depth - 1];
}

static enum mp_status lane_enter(struct slice_lane *lane, const struct slice *slice)
{
    uint64_t end = slice->start + slice->duration;

    if (end > lane->last_end)
        lane->last_end = end;
    if (slice->start < lane->last_start)
        return MP_OK;
    lane->last_start = slice->start;
    if (!slice->duration)
        return MP_OK;
    MP_TRY(MP_RESERVE(lane->ends, lane->depth, lane->capacity));
    lane->ends[lane->depth++] = end;
    return MP_OK;
}

/* Finds the lane for a slice: the first that fits, or a new one, which is forgotten at once if
 * there are many already. */
static enum mp_status write_to_lane(struct slices *slices, struct track *track,
                                    const struct slice *slice)
{
    struct slice_lane *lane;
    size_t at = 0;

    while (at < track->lane_count && !lane_fits(&track->lanes[at], slice))
        at++;
    if (at == MAX_LANES) {
        write_slice(slices, track_announce(slices, track->parent, track->name, 0), slice);
        return MP_OK;
    }
    if (at == track->lane_count) {
        MP_TRY(mp_reserve((void **)&track->lanes, at, &track->lane_capacity, sizeof *lane));
        track->lanes[track->lane_count++] = (struct slice_lane){
            .uuid = at || !track->uuid ? track_announce(slices, track->parent, track->name, 0)
                                       : track->uuid};
    }
    lane = &track->lanes[at];
    MP_TRY(lane_enter(lane, slice));
    write_slice(slices, lane->uuid, slice);
    return MP_OK;
}

/* ---- Holding back ---- */

static enum mp_status write_first(struct slices *slices, struct track *track, size_t count)
{
    for (size_t i = 0; i < count; i++)
        MP_TRY(write_to_lane(slices, track, &track->held[i]));
    track->held_count -= count;
    if (track->held_count)
        memmove(track->held, track->held + count, track->held_count * sizeof *track->held);
    return MP_OK;
}

static bool comes_before(const struct slice *a, const struct slice *b)
{
    return a->start != b->start ? a->start < b->start : a->duration > b->duration;
}

enum mp_status track_add(struct slices *slices, struct track *track, const struct slice *slice)
{
    size_t at;

    if (track->held_count == MAX_HELD)
        MP_TRY(write_first(slices, track, MAX_HELD / 2));
    MP_TRY(
        mp_reserve((void **)&track->held, track->held_count, &track->held_capacity, sizeof *slice));
    for (at = track->held_count; at && comes_before(slice, &track->held[at - 1]); at--)
        track->held[at] = track->held[at - 1];
    track->held[at] = *slice;
    track->held_count++;
    return MP_OK;
}

enum mp_status track_flush(struct slices *slices, struct track *track)
{
    return write_first(slices, track, track->held_count);
}

void track_free(struct track *track)
{
    for (size_t i = 0; i < track->lane_count; i++)
        free(track->lanes[i].ends);
    free(track->lanes);
    free(track->held);
    free(track->owned_name);
    *track = (struct track){.uuid = 0};
}

enum mp_status track_instant(struct slices *slices, struct track *track, uint64_t time,
                             uint64_t name, enum category category)
{
    struct packets *packets = slices->packets;

    if (!track->uuid)
        track->uuid = track_announce(slices, track->parent, track->name, 0);
    size_t at = packet_begin(packets, time);
    size_t event = begin_event(packets, track->uuid, EVENT_INSTANT);
    proto_uint(&packets->bytes, EVENT_CATEGORY, category);
    proto_uint(&packets->bytes, EVENT_NAME, name);
    proto_end(&packets->bytes, event);
    packet_end(packets, at);
    return MP_OK;
}
