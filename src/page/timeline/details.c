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
#include "trace/codec/schema.h"

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

#define CELL(table, column) (batch->columns[MP_COLUMN_##table##_##column][row])

/* ---- Words ---- */

static enum mp_status intern(struct pass *pass, const char *text, uint32_t *id)
{
    *id = mp_intern_add(&pass->timeline->texts, text, strlen(text));
    return *id ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status take_shape(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint64_t shared = CELL(shape, static_shared_memory) + CELL(shape, dynamic_shared_memory);
    char text[DETAIL_BYTES];
    char size[SIZE_BYTES];
    uint32_t *detail;
    enum mp_status status = dense_reach(&pass->shapes, CELL(shape, id));

    if (status)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    detail = dense_at(&pass->shapes, CELL(shape, id));
    snprintf(text, sizeof text,
             "grid %" PRIu64 " %" PRIu64 " %" PRIu64 ", block %" PRIu64 " %" PRIu64 " %" PRIu64
             ", %" PRIu64 " registers, %s shared memory",
             CELL(shape, grid_x), CELL(shape, grid_y), CELL(shape, grid_z), CELL(shape, block_x),
             CELL(shape, block_y), CELL(shape, block_z), CELL(shape, registers),
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
    char text[DETAIL_BYTES];
    char size[SIZE_BYTES];

    snprintf(text, sizeof text, "%s, %s to %s memory",
             mp_format_size(size, sizeof size, CELL(copy, bytes)), memory_word(CELL(copy, source)),
             memory_word(CELL(copy, target)));
    return intern(pass, text, detail);
}

static enum mp_status detail_set(struct pass *pass, const struct mp_batch *batch, uint32_t row,
                                 uint32_t *detail)
{
    char text[DETAIL_BYTES];
    char size[SIZE_BYTES];

    snprintf(text, sizeof text, "%s, %s memory",
             mp_format_size(size, sizeof size, CELL(set, bytes)), memory_word(CELL(set, memory)));
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

/* The first activity of a lane that does not begin earlier. */
static uint32_t first_from(const struct deps *deps, const struct deps_lane *lane, uint64_t begin)
{
    uint32_t low = lane->first;
    uint32_t high = lane->first + lane->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (deps->activities[middle].begin < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

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
        *place = (struct place){begin, first_from(pass->deps, of, begin)};
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
    uint32_t start, end;

    if (lane == MP_MAP_ABSENT)
        return TIMELINE_NONE;
    start = start_of(pass, lane, row->begin);
    end = pass->deps->lanes[lane].first + pass->deps->lanes[lane].count;
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

static enum mp_status take_kernel(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint64_t begin = CELL(kernel, start);
    const struct row_of_work work = {
        CELL(kernel, stream), begin,      begin + CELL(kernel, duration), CELL(kernel, correlation),
        CELL(kernel, node),   DEPS_KERNEL};
    const uint32_t *detail = dense_at(&pass->shapes, CELL(kernel, shape));
    uint32_t event = detail && *detail ? find_event(pass, &work) : TIMELINE_NONE;

    return event == TIMELINE_NONE ? MP_OK : set_detail(pass, &work, event, *detail);
}

static enum mp_status take_copy(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint64_t begin = CELL(copy, start);
    const struct row_of_work work = {
        CELL(copy, stream), begin,    begin + CELL(copy, duration), CELL(copy, correlation),
        CELL(copy, node),   DEPS_COPY};
    uint32_t event = find_event(pass, &work);
    uint32_t detail;

    if (event == TIMELINE_NONE)
        return MP_OK;
    MP_TRY(detail_copy(pass, batch, row, &detail));
    return set_detail(pass, &work, event, detail);
}

static enum mp_status take_set(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint64_t begin = CELL(set, start);
    const struct row_of_work work = {
        CELL(set, stream),      begin,           begin + CELL(set, duration),
        CELL(set, correlation), CELL(set, node), DEPS_SET};
    uint32_t event = find_event(pass, &work);
    uint32_t detail;

    if (event == TIMELINE_NONE)
        return MP_OK;
    MP_TRY(detail_set(pass, batch, row, &detail));
    return set_detail(pass, &work, event, detail);
}

static uint64_t stream_key(uint64_t context, uint64_t stream)
{
    return context << 32 | (stream & UINT32_MAX);
}

static enum mp_status take_stream(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint32_t lane =
        mp_map_get(&pass->streams, stream_key(CELL(stream, context), CELL(stream, stream)));

    return lane == MP_MAP_ABSENT ? MP_OK : mp_map_put(&pass->lanes, CELL(stream, id), lane);
}

#undef CELL

/* ---- The pass ---- */

static const struct {
    unsigned table;
    uint32_t columns;
    enum mp_status (*take)(struct pass *, const struct mp_batch *, uint32_t row);
} takers[] = {
    {MP_TABLE_stream,
     MP_COLUMN_MASK(stream, id) | MP_COLUMN_MASK(stream, stream) | MP_COLUMN_MASK(stream, context),
     take_stream},
    {MP_TABLE_shape, UINT32_MAX, take_shape},
    {MP_TABLE_kernel,
     MP_COLUMN_MASK(kernel, stream) | MP_COLUMN_MASK(kernel, shape) |
         MP_COLUMN_MASK(kernel, start) | MP_COLUMN_MASK(kernel, duration) |
         MP_COLUMN_MASK(kernel, correlation) | MP_COLUMN_MASK(kernel, node),
     take_kernel},
    {MP_TABLE_copy, UINT32_MAX, take_copy},
    {MP_TABLE_set, UINT32_MAX, take_set},
};

#define TAKERS (sizeof takers / sizeof *takers)

static void details_select_columns(struct mp_cursor *cursor, void *context)
{
    (void)context;
    for (size_t i = 0; i < TAKERS; i++)
        mp_cursor_select(cursor, mp_table_by_id(takers[i].table), takers[i].columns);
}

static enum mp_status details_take_batch(void *context, const struct mp_batch *batch)
{
    for (size_t i = 0; i < TAKERS; i++) {
        for (uint32_t row = 0; takers[i].table == batch->table->id && row < batch->rows; row++)
            MP_TRY(takers[i].take(context, batch, row));
    }
    return MP_OK;
}

static enum mp_status list_streams(struct pass *pass)
{
    for (uint32_t i = pass->deps->thread_count; i < pass->deps->lane_count; i++) {
        const struct deps_lane *lane = &pass->deps->lanes[i];

        MP_TRY(mp_map_put(&pass->streams, stream_key(lane->context, lane->id), i));
    }
    return MP_OK;
}

enum mp_status timeline_add_details(struct timeline *timeline, struct mp_trace *trace,
                                    const struct deps *deps, struct mp_error *error)
{
    struct pass pass = {.timeline = timeline, .deps = deps};
    const struct reading reading = {.trace = trace,
                                    .what = "shapes and sizes",
                                    .context = &pass,
                                    .select = details_select_columns,
                                    .take = details_take_batch};
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
