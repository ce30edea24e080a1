/* Shapes of kernels and sizes of copies and sets, in words, and who made nodes of graphs. A pass
 * over their rows finds each row again among the activities of its stream, by its times and its
 * correlation id.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/units.h"
#include "page/timeline/timeline.h"
#include "profile/reading.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

#define DETAIL_BYTES 192
#define SIZE_BYTES   24

/* Activities of one stream with the same begin that are compared; no real trace has more. */
#define MAX_TIES 4096

/* A position among the events that begin when the last row of a lane did: events before `at` have
 * their detail. */
struct place {
    uint64_t begin;
    uint32_t at; /* an activity; 0: no row yet, or none that was found */
};

struct pass {
    struct timeline *timeline;
    const struct deps *deps;
    struct mp_map lanes;   /* the trace's stream id -> lane of the graph */
    struct mp_map streams; /* context and CUPTI's stream id -> lane of the graph */
    struct place *places;  /* by lane of the graph; owned */
    struct dense shapes;   /* of uint32_t: a text */
};

/* ---- Words ---- */

static enum mp_status intern(struct pass *pass, const char *text, uint32_t *id)
{
    *id = mp_intern_add(&pass->timeline->texts, text, strlen(text));
    return *id ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status take_shape(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_shape_columns shape = mp_shape_columns(batch->columns);
    uint64_t shared = shape.static_shared_memory[row] + shape.dynamic_shared_memory[row];
    char text[DETAIL_BYTES];
    char size[SIZE_BYTES];
    enum mp_status status = dense_reach(&pass->shapes, shape.id[row]);

    if (status)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    uint32_t *detail = dense_at(&pass->shapes, shape.id[row]);
    snprintf(text, sizeof text,
             "grid %" PRIu64 " %" PRIu64 " %" PRIu64 ", block %" PRIu64 " %" PRIu64 " %" PRIu64
             ", %" PRIu64 " registers, %s shared memory",
             shape.grid_x[row], shape.grid_y[row], shape.grid_z[row], shape.block_x[row],
             shape.block_y[row], shape.block_z[row], shape.registers[row],
             mp_format_size(size, sizeof size, shared));
    return intern(pass, text, detail);
}

static const char *memory_word(uint64_t kind)
{
    const char *word = mp_enum_name("memory_kind", kind);

    return word ? word : "unknown";
}

static enum mp_status detail_copy(struct pass *pass, const struct mp_batch *batch, uint32_t row,
                                  uint32_t *detail)
{
    const struct mp_copy_columns copy = mp_copy_columns(batch->columns);
    char text[DETAIL_BYTES];
    char size[SIZE_BYTES];

    snprintf(text, sizeof text, "%s, %s to %s memory",
             mp_format_size(size, sizeof size, copy.bytes[row]), memory_word(copy.source[row]),
             memory_word(copy.target[row]));
    return intern(pass, text, detail);
}

static enum mp_status detail_set(struct pass *pass, const struct mp_batch *batch, uint32_t row,
                                 uint32_t *detail)
{
    const struct mp_set_columns set = mp_set_columns(batch->columns);
    char text[DETAIL_BYTES];
    char size[SIZE_BYTES];

    snprintf(text, sizeof text, "%s, %s memory", mp_format_size(size, sizeof size, set.bytes[row]),
             memory_word(set.memory[row]));
    return intern(pass, text, detail);
}

/* ---- Rows and events ---- */

struct row_of_work {
    uint64_t stream;
    uint64_t begin;
    uint64_t end;
    uint64_t correlation;
    uint64_t node; /* of a graph; 0: none */
    enum deps_kind kind;
};

static bool has_detail(const struct timeline *timeline, uint32_t event)
{
    return timeline->kinds[timeline->events[event].kind].detail;
}

/* Where to look for the row: at the first activity that begins when it does and has no detail yet.
 */
static uint32_t start_of(struct pass *pass, uint32_t lane, uint64_t begin)
{
    const struct deps_lane *of = &pass->deps->lanes[lane];
    const struct deps_activity *all = pass->deps->activities;
    struct place *place = &pass->places[lane];
    uint32_t end = of->first + of->count;

    if (!place->at || place->begin != begin)
        *place = (struct place){begin, deps_first_from(pass->deps, of, begin)};
    for (; place->at < end && all[place->at].begin == begin; place->at++) {
        uint32_t event = pass->timeline->event_of[place->at];

        if (event != TIMELINE_NONE && !has_detail(pass->timeline, event))
            break;
    }
    return place->at;
}

/* The first event of the row that has no detail yet; TIMELINE_NONE if there is none. Rows that are
 * equal in all these values cannot be told apart. */
static uint32_t find_event(struct pass *pass, const struct row_of_work *row)
{
    const struct deps_activity *all = pass->deps->activities;
    uint32_t lane = mp_map_get(&pass->lanes, row->stream);

    if (lane == MP_MAP_ABSENT)
        return TIMELINE_NONE;
    uint32_t start = start_of(pass, lane, row->begin);
    uint32_t end = pass->deps->lanes[lane].first + pass->deps->lanes[lane].count;
    for (uint32_t i = start; i < end && i - start < MAX_TIES && all[i].begin == row->begin; i++) {
        uint32_t event = pass->timeline->event_of[i];

        if (event != TIMELINE_NONE && all[i].end == row->end && all[i].kind == row->kind &&
            all[i].correlation == row->correlation && !has_detail(pass->timeline, event))
            return event;
    }
    return TIMELINE_NONE;
}

static enum mp_status set_detail(struct pass *pass, const struct row_of_work *row, uint32_t event,
                                 uint32_t detail)
{
    struct timeline *timeline = pass->timeline;
    uint32_t name = timeline->kinds[timeline->events[event].kind].name;

    if (timeline->caller && row->node)
        MP_TRY(
            called_from(&timeline->callers, row->correlation, row->node, &timeline->caller[event]));
    return timeline_reach_kind(timeline, name, detail, &timeline->events[event].kind);
}

static enum mp_status take_kernel(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    uint64_t begin = kernel.start[row];
    const struct row_of_work work = {
        kernel.stream[row], begin,      begin + kernel.duration[row], kernel.correlation[row],
        kernel.node[row],   DEPS_KERNEL};
    const uint32_t *detail = dense_at(&pass->shapes, kernel.shape[row]);
    uint32_t event = detail && *detail ? find_event(pass, &work) : TIMELINE_NONE;

    return event == TIMELINE_NONE ? MP_OK : set_detail(pass, &work, event, *detail);
}

static enum mp_status take_copy(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_copy_columns copy = mp_copy_columns(batch->columns);
    uint64_t begin = copy.start[row];
    const struct row_of_work work = {
        copy.stream[row],      begin,          begin + copy.duration[row],
        copy.correlation[row], copy.node[row], DEPS_COPY};
    uint32_t event = find_event(pass, &work);
    uint32_t detail;

    if (event == TIMELINE_NONE)
        return MP_OK;
    MP_TRY(detail_copy(pass, batch, row, &detail));
    return set_detail(pass, &work, event, detail);
}

static enum mp_status take_set(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_set_columns set = mp_set_columns(batch->columns);
    uint64_t begin = set.start[row];
    const struct row_of_work work = {set.stream[row],      begin,         begin + set.duration[row],
                                     set.correlation[row], set.node[row], DEPS_SET};
    uint32_t event = find_event(pass, &work);
    uint32_t detail;

    if (event == TIMELINE_NONE)
        return MP_OK;
    MP_TRY(detail_set(pass, batch, row, &detail));
    return set_detail(pass, &work, event, detail);
}

/* ---- The pass ---- */

static const struct reading_table tables[] = {
    {MP_TABLE_shape, MP_ALL_COLUMNS, .take_row = take_shape},
    {MP_TABLE_kernel, MP_MASK(kernel, stream, shape, start, duration, correlation, node),
     .take_row = take_kernel},
    {MP_TABLE_copy, MP_ALL_COLUMNS, .take_row = take_copy},
    {MP_TABLE_set, MP_ALL_COLUMNS, .take_row = take_set},
};

/* Finds the lane of each row of `stream`. */
static enum mp_status list_streams(struct pass *pass)
{
    const struct dense *streams = &pass->deps->profile->definitions.streams;

    for (uint32_t i = pass->deps->thread_count; i < pass->deps->lane_count; i++) {
        const struct deps_lane *lane = &pass->deps->lanes[i];

        MP_TRY(mp_map_put(&pass->streams, contexts_key(lane->context, lane->id), i));
    }
    for (size_t id = 0; id < streams->count; id++) {
        const struct definition_stream *stream = dense_at(streams, id);
        uint32_t lane = mp_map_get(&pass->streams, contexts_key(stream->context, stream->stream));

        if (stream->defined && lane != MP_MAP_ABSENT)
            MP_TRY(mp_map_put(&pass->lanes, id, lane));
    }
    return MP_OK;
}

enum mp_status timeline_add_details(struct timeline *timeline, struct mp_trace *trace,
                                    const struct deps *deps, struct mp_error *error)
{
    struct pass pass = {.timeline = timeline, .deps = deps};
    const struct reading reading = {
        .trace = trace, .what = "shapes and sizes", .context = &pass, READING_TABLES(tables)};
    enum mp_status status = list_streams(&pass);

    pass.places = calloc((size_t)deps->lane_count + 1, sizeof *pass.places);
    if (!pass.places)
        status = MP_ERR_MEMORY;
    dense_init(&pass.shapes, sizeof(uint32_t), definitions_limit(trace));
    if (!status)
        status = reading_run(&reading, error);
    free(pass.places);
    dense_free(&pass.shapes);
    mp_map_free(&pass.lanes);
    mp_map_free(&pass.streams);
    return status;
}
