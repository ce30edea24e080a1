/* Finds the name of a record, where it ran, and the texts of its other columns. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/map.h"
#include "base/data/storage.h"
#include "base/text/units.h"
#include "profile/names/names.h"
#include "reports/summary/summary.h"
#include "reports/trace/records.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Which kernel a call launched ----
 *
 * Finds the kernel that a call launched, for calls in order of time. A kernel begins after its
 * launch, so a window of chunks ahead of the calls is kept by correlation id.
 */

/* The clocks of host and device are mapped to each other with an error, so a chunk stays this much
 * longer than its last kernel. */
#define CLOCK_SLACK_NS 10000000u

/* A chunk of kernels; in the window it has their correlation ids. */
struct kernels {
    uint64_t offset;
    uint64_t first_time;
    uint64_t last_time;
    uint64_t *correlations; /* owned; ids that this chunk has put into the map */
    uint32_t count;
};

struct launches {
    struct mp_cursor *cursor;
    struct kernels *chunks; /* owned; by first_time */
    size_t count, capacity;
    size_t next;       /* chunk that was not read yet */
    size_t oldest;     /* chunks before it have left the window */
    size_t ahead_from; /* chunks before it begin at the time of the last call, or earlier */
    size_t ahead;      /* kernels of those from ahead_from to next */
    struct mp_map by_correlation;
    size_t max;
};

MP_COMPARE(compare_chunks, struct kernels,
           MP_ORDER(a->first_time, b->first_time) ?: MP_ORDER(a->offset, b->offset));

static enum mp_status read_directory(struct launches *launches)
{
    const struct mp_table_info *table = mp_table_by_id(MP_TABLE_kernel);
    struct mp_chunk chunk;
    enum mp_status status;

    mp_cursor_select(launches->cursor, table, MP_MASK(kernel, shape, node, correlation));
    while ((status = mp_cursor_next_chunk(launches->cursor, &chunk, false)) == MP_OK) {
        if (chunk.table != table)
            continue;
        MP_TRY(MP_RESERVE(launches->chunks, launches->count, launches->capacity));
        launches->chunks[launches->count++] = (struct kernels){
            .offset = chunk.offset, .first_time = chunk.first_time, .last_time = chunk.last_time};
    }
    if (launches->count)
        qsort(launches->chunks, launches->count, sizeof *launches->chunks, compare_chunks);
    return status == MP_END ? MP_OK : status;
}

enum mp_status launches_open(struct mp_trace *trace, struct launches **result,
                             struct mp_error *error)
{
    struct launches *launches = calloc(1, sizeof *launches);

    *result = NULL;
    if (!launches)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    enum mp_status status = mp_cursor_open(trace, &launches->cursor, error);
    if (status == MP_OK) {
        status = read_directory(launches);
        if (status)
            mp_error_set(error, status, "cannot read the kernels: %s", mp_status_name(status));
    }
    if (status) {
        launches_close(launches);
        return status;
    }
    *result = launches;
    return MP_OK;
}

void launches_close(struct launches *launches)
{
    if (!launches)
        return;
    for (size_t i = 0; i < launches->count; i++)
        free(launches->chunks[i].correlations);
    free(launches->chunks);
    mp_map_free(&launches->by_correlation);
    mp_cursor_close(launches->cursor);
    free(launches);
}

/* Of several kernels with one correlation id (a cooperative launch on several devices) the first
 * counts. */
static enum mp_status put_kernels(struct launches *launches, struct kernels *chunk,
                                  const struct mp_batch *batch)
{
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    const uint64_t *correlations = kernel.correlation;
    const uint64_t *shapes = kernel.shape;
    const uint64_t *nodes = kernel.node;

    for (uint32_t i = 0; i < batch->rows; i++) {
        if (nodes[i] || !correlations[i] || !shapes[i] || shapes[i] >= MP_MAP_ABSENT ||
            mp_map_get(&launches->by_correlation, correlations[i]) != MP_MAP_ABSENT)
            continue;
        MP_TRY(mp_map_put(&launches->by_correlation, correlations[i], (uint32_t)shapes[i]));
        chunk->correlations[chunk->count++] = correlations[i];
    }
    return MP_OK;
}

static enum mp_status read_next(struct launches *launches)
{
    struct kernels *chunk = &launches->chunks[launches->next++];
    struct mp_batch batch;
    enum mp_status status = mp_cursor_read_chunk(launches->cursor, chunk->offset, &batch);

    if (status == MP_ERR_DAMAGED)
        return MP_OK;
    MP_TRY(status);
    chunk->correlations = malloc(batch.rows * sizeof *chunk->correlations);
    if (!chunk->correlations)
        return MP_ERR_MEMORY;
    MP_TRY(put_kernels(launches, chunk, &batch));
    launches->ahead += chunk->count;
    if (launches->by_correlation.count > launches->max)
        launches->max = launches->by_correlation.count;
    return MP_OK;
}

/* The window moves on to a call at `time`. */
static void move_on(struct launches *launches, uint64_t time)
{
    struct kernels *chunks = launches->chunks;

    for (; launches->ahead_from < launches->next && chunks[launches->ahead_from].first_time <= time;
         launches->ahead_from++)
        launches->ahead -= chunks[launches->ahead_from].count;
    for (; launches->oldest < launches->ahead_from; launches->oldest++) {
        struct kernels *chunk = &chunks[launches->oldest];

        if (chunk->last_time + CLOCK_SLACK_NS >= time)
            return;
        for (uint32_t i = 0; i < chunk->count; i++)
            mp_map_remove(&launches->by_correlation, chunk->correlations[i]);
        free(chunk->correlations);
        chunk->correlations = NULL;
    }
}

/* A chunk that ended before the call is useless for this call and all later ones. */
static bool may_read(struct launches *launches, uint64_t time)
{
    while (launches->next < launches->count && launches->oldest == launches->next &&
           launches->chunks[launches->next].last_time + CLOCK_SLACK_NS < time) {
        launches->next++;
        launches->ahead_from++;
        launches->oldest++;
    }
    return launches->next < launches->count &&
           (launches->chunks[launches->next].first_time <= time ||
            launches->ahead < LAUNCHES_AHEAD);
}

enum mp_status launches_find(struct launches *launches, uint64_t correlation, uint64_t time,
                             uint64_t *shape)
{
    uint32_t found;

    *shape = 0;
    if (!correlation)
        return MP_OK;
    move_on(launches, time);
    while ((found = mp_map_get(&launches->by_correlation, correlation)) == MP_MAP_ABSENT &&
           may_read(launches, time)) {
        MP_TRY(read_next(launches));
        move_on(launches, time);
    }
    *shape = found == MP_MAP_ABSENT ? 0 : found;
    return MP_OK;
}

size_t launches_max(const struct launches *launches)
{
    return launches->max;
}

#define SHORT_BYTES 96

/* ---- Places ---- */

static const char *trace_describe_keep(struct trace_rows *rows, const char *text)
{
    return mp_arena_copy(&rows->text, text, strlen(text));
}

/* `TITAN V (0)`; NULL when the trace does not define the device. MP_ERR_MEMORY. */
static enum mp_status device_text(struct trace_rows *rows, uint64_t device, const char **result)
{
    const struct definition_device *found = dense_at(&rows->definitions.devices, device);

    *result = NULL;
    if (!found || !found->defined)
        return MP_OK;
    MP_TRY(dense_reach(&rows->devices, device));
    const char **text = dense_at(&rows->devices, device);
    if (!*text) {
        const char *name = definitions_text(&rows->definitions, found->name);
        mp_buffer_clear(&rows->number);
        MP_TRY(mp_buffer_append_format(&rows->number, "%s (%" PRIu64 ")", name ? name : "GPU",
                                       device));
        *text = mp_arena_copy(&rows->text, (const char *)rows->number.data, rows->number.size);
    }
    *result = *text;
    return *text ? MP_OK : MP_ERR_MEMORY;
}

/* The pattern with the id instead of %i, and %% as a percent sign; without a pattern the id alone.
 * NULL when memory is out. */
static const char *id_text(struct trace_rows *rows, const char *pattern, uint64_t id)
{
    struct mp_buffer *text = &rows->number;

    mp_buffer_clear(text);
    for (const char *at = pattern ? pattern : "%i"; *at; at++) {
        if (at[0] == '%' && at[1] == 'i') {
            mp_buffer_append_format(text, "%" PRIu64, id);
            at++;
        } else {
            mp_buffer_append_byte(text, (uint8_t)*at);
            at += at[0] == '%' && at[1] == '%';
        }
    }
    return text->status ? NULL : mp_arena_copy(&rows->text, (const char *)text->data, text->size);
}

static enum mp_status describe_place(struct trace_rows *rows, uint64_t stream,
                                     struct trace_place *place)
{
    static const struct names_patterns none;
    const struct names_patterns *patterns =
        rows->options->patterns ? rows->options->patterns : &none;
    const struct definition_stream *found = dense_at(&rows->definitions.streams, stream);

    if (!found || !found->defined) {
        place->described = true;
        return MP_OK;
    }
    *place = (struct trace_place){.device = found->device,
                                  .context = found->context,
                                  .stream = found->stream,
                                  .context_text = id_text(rows, patterns->context, found->context),
                                  .stream_text = id_text(rows, patterns->stream, found->stream),
                                  .known = true,
                                  .described = true};
    if (!place->context_text || !place->stream_text)
        return MP_ERR_MEMORY;
    return device_text(rows, found->device, &place->device_text);
}

static enum mp_status find_place(struct trace_rows *rows, uint64_t stream,
                                 struct trace_place *result)
{
    enum mp_status status = dense_reach(&rows->places, stream);

    if (status == MP_ERR_LIMIT)
        return MP_OK; /* no file of this size defines it */
    MP_TRY(status);
    struct trace_place *place = dense_at(&rows->places, stream);
    if (!place->described)
        MP_TRY(describe_place(rows, stream, place));
    *result = *place;
    return MP_OK;
}

/* ---- Names ---- */

static enum mp_status triple_text(struct trace_rows *rows, const uint64_t numbers[3],
                                  const char **result)
{
    char text[SHORT_BYTES];

    snprintf(text, sizeof text, "(%" PRIu64 " %" PRIu64 " %" PRIu64 ")", numbers[0], numbers[1],
             numbers[2]);
    *result = trace_describe_keep(rows, text);
    return *result ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status describe_shape(struct trace_rows *rows, uint64_t id, struct trace_row *row)
{
    struct trace_shape *shape = dense_at(&rows->shapes, id);

    if (!shape)
        return MP_OK;
    if (!shape->grid_text)
        MP_TRY(triple_text(rows, shape->grid, &shape->grid_text));
    if (!shape->block_text)
        MP_TRY(triple_text(rows, shape->block, &shape->block_text));
    row->shape = shape;
    return MP_OK;
}

/* Makes the line so far the row's name. */
static enum mp_status use_line(struct trace_rows *rows, struct trace_row *row)
{
    MP_TRY(mp_buffer_append_byte(&rows->line, '\0'));
    row->name = (const char *)rows->line.data;
    return MP_OK;
}

static const char *kernel_name(struct trace_rows *rows, uint64_t shape)
{
    const char *name = definitions_kernel(&rows->definitions, shape, rows->options->style);

    if (name)
        return name;
    rows->quality->undefined++;
    return ACTIVITY_UNNAMED_KERNEL;
}

static enum mp_status describe_kernel(struct trace_rows *rows, const struct merge_row *from,
                                      struct trace_row *row)
{
    const struct mp_kernel_columns kernel = mp_kernel_columns(from->columns);

    row->correlation = kernel.correlation[from->row];
    row->own_name = kernel_name(rows, kernel.shape[from->row]);
    MP_TRY(find_place(rows, kernel.stream[from->row], &row->place));
    MP_TRY(describe_shape(rows, kernel.shape[from->row], row));
    mp_buffer_append_text(&rows->line, row->own_name);
    if (row->correlation)
        mp_buffer_append_format(&rows->line, " [%" PRIu64 "]", row->correlation);
    return use_line(rows, row);
}

static enum mp_status describe_copy(struct trace_rows *rows, const struct merge_row *from,
                                    struct trace_row *row)
{
    const struct mp_copy_columns copy = mp_copy_columns(from->columns);
    char name[NAMES_BYTES];

    row->correlation = copy.correlation[from->row];
    row->bytes = copy.bytes[from->row];
    row->has_bytes = true;
    row->source_memory = names_memory(copy.source[from->row]);
    row->target_memory = names_memory(copy.target[from->row]);
    MP_TRY(find_place(rows, copy.stream[from->row], &row->place));
    if (copy.kind[from->row] == MP_copy_kind_PtoP) {
        row->source_context = copy.source_context[from->row];
        row->target_context = copy.target_context[from->row];
        MP_TRY(device_text(rows, copy.source_device[from->row], &row->source_device));
        MP_TRY(device_text(rows, copy.target_device[from->row], &row->target_device));
    }
    mp_buffer_append_text(&rows->line, names_copy(copy.kind[from->row], name, sizeof name));
    return use_line(rows, row);
}

static enum mp_status describe_set(struct trace_rows *rows, const struct merge_row *from,
                                   struct trace_row *row)
{
    const struct mp_set_columns set = mp_set_columns(from->columns);

    row->correlation = set.correlation[from->row];
    row->bytes = set.bytes[from->row];
    row->has_bytes = true;
    row->source_memory = names_memory(set.memory[from->row]); /* in this column with nvprof too */
    row->name = ACTIVITY_SET_NAME;
    return find_place(rows, set.stream[from->row], &row->place);
}

static enum mp_status describe_graph(struct trace_rows *rows, const struct merge_row *from,
                                     struct trace_row *row)
{
    const struct mp_graph_columns graph = mp_graph_columns(from->columns);
    char name[NAMES_BYTES];

    row->correlation = graph.correlation[from->row];
    MP_TRY(find_place(rows, graph.stream[from->row], &row->place));
    mp_buffer_append_text(&rows->line, names_graph(graph.graph[from->row], name, sizeof name));
    return use_line(rows, row);
}

/* ---- Unified memory ---- */

enum unified_value { FAULTS, BYTES, ADDRESS };

/* What the value of a row is. */
static enum unified_value value_of(uint64_t kind)
{
    switch (kind) {
    case MP_unified_kind_bytes_HtoD:
    case MP_unified_kind_bytes_DtoH:
    case MP_unified_kind_bytes_DtoD:
    case MP_unified_kind_thrashing:
    case MP_unified_kind_remote_map:
        return BYTES;
    case MP_unified_kind_cpu_page_fault:
        return ADDRESS;
    default:
        return FAULTS;
    }
}

/* `256.0KiB`, in nvprof's style `256.000000KB`, `PC 0x400b82`, or a number of faults. */
static enum mp_status describe_value(struct trace_rows *rows, uint64_t kind, struct trace_row *row)
{
    enum unified_value value = value_of(kind);
    unsigned unit = mp_size_unit((double)row->value);
    struct mp_buffer *text = &rows->number;

    mp_buffer_clear(text);
    if (value == BYTES && rows->options->numbers == MP_STYLE_OWN)
        mp_buffer_append_format(text, "%s", mp_size(row->value).text);
    else if (value == BYTES)
        mp_buffer_append_format(text, "%.6f%s", (double)row->value / mp_size_unit_bytes(unit),
                                mp_size_unit_name(unit, rows->options->numbers));
    else if (value == ADDRESS)
        mp_buffer_append_format(text, "PC 0x%" PRIx64, row->value);
    else if (rows->options->numbers == MP_STYLE_OWN)
        mp_buffer_append_format(text, "%s", mp_count(row->value).text);
    else
        mp_buffer_append_format(text, "%" PRIu64, row->value);
    MP_TRY(mp_buffer_append_byte(text, '\0'));
    row->unified = (const char *)text->data;
    return MP_OK;
}

static enum mp_status describe_unified(struct trace_rows *rows, const struct merge_row *from,
                                       struct trace_row *row)
{
    const struct mp_unified_columns unified = mp_unified_columns(from->columns);
    uint64_t kind = unified.kind[from->row];
    uint64_t device = unified_device(&rows->definitions, kind, unified.source[from->row],
                                     unified.target[from->row]);

    row->name = activity_unified(kind);
    row->value = unified.value[from->row];
    row->address = unified.address[from->row];
    row->has_duration = row->duration != 0; /* else a moment */
    if (kind != MP_unified_kind_cpu_page_fault && device != UINT64_MAX) {
        MP_TRY(device_text(rows, device, &row->place.device_text));
        row->place.device = device;
    }
    return describe_value(rows, kind, row);
}

/* ---- The host ---- */

static uint64_t trace_describe_thread_of(const struct trace_rows *rows, uint64_t id)
{
    const struct definition_thread *thread = dense_at(&rows->definitions.threads, id);

    return thread && thread->defined ? thread->tid : 0;
}

/* Whether a call of this name can have started a kernel that has the call's correlation id. */
static bool is_launch(const char *name)
{
    return strstr(name, "Launch") && !strstr(name, "Graph") && !strstr(name, "HostFunc");
}

static enum mp_status describe_call(struct trace_rows *rows, const struct merge_row *from,
                                    struct trace_row *row)
{
    const struct mp_call_columns calls = mp_call_columns(from->columns);
    const char *name = definitions_function(&rows->definitions, calls.function[from->row]);
    uint64_t shape = 0;

    row->correlation = calls.correlation[from->row];
    row->thread = trace_describe_thread_of(rows, calls.thread[from->row]);
    if (!name) {
        rows->quality->undefined++;
        name = ACTIVITY_UNNAMED_CALL;
    }
    mp_buffer_append(&rows->line, name, names_api_length(name));
    if (is_launch(name))
        MP_TRY(launches_find(rows->launches, row->correlation, row->start, &shape));
    if (shape)
        row->kernel = definitions_kernel(&rows->definitions, shape, rows->options->style);
    if (!row->kernel)
        return use_line(rows, row);
    mp_buffer_append_format(&rows->line, " (%s [%" PRIu64 "])", row->kernel, row->correlation);
    /* JSON has the kernel as a separate key. */
    mp_buffer_clear(&rows->number);
    mp_buffer_append(&rows->number, name, names_api_length(name));
    MP_TRY(mp_buffer_append_byte(&rows->number, '\0'));
    row->own_name = (const char *)rows->number.data;
    return use_line(rows, row);
}

static enum mp_status describe_nvtx(struct trace_rows *rows, const struct merge_row *from,
                                    struct trace_row *row)
{
    const struct nvtx_event event = nvtx_event_at(from->columns, from->row, from->time);
    bool mark = event.kind == MP_nvtx_kind_mark;
    bool begins = nvtx_begins(&event);
    const char *domain = definitions_text(&rows->definitions, event.domain);
    const char *title = mark ? "[Marker]" : begins ? "[Range start]" : "[Range end]";
    uint64_t name = event.name;

    /* Rows that end a range do not say its name. */
    if (!nvtx_match_end(&rows->nvtx, &event, &name))
        MP_TRY(nvtx_match_begin(&rows->nvtx, &event, name));
    row->kind_name = mark ? "marker" : begins ? "range_start" : "range_end";
    row->thread = trace_describe_thread_of(rows, event.thread);
    row->domain = domain ? domain : "<unnamed>";
    row->own_name = definitions_text(&rows->definitions, name);
    if (!row->own_name)
        row->own_name = "<unnamed>";
    MP_TRY(mp_buffer_append_format(&rows->line, "%s %s (Domain: %s)", title, row->own_name,
                                   row->domain));
    return use_line(rows, row);
}

/* ---- Graphs ---- */

/* The names on a path, outermost first. If a path is deeper than any recorded one, only its inner
 * names. */
static enum mp_status spell_path(struct trace_rows *rows, uint32_t id)
{
    const char *names[CAPTURED_MAX_DEPTH];
    const struct captured_path *path = captured_path(&rows->captured, id);
    size_t count = 0;

    mp_buffer_clear(&rows->path);
    for (; path && count < CAPTURED_MAX_DEPTH; path = captured_path(&rows->captured, path->parent))
        names[count++] = path->name;
    while (count--) {
        mp_buffer_append_text(&rows->path, names[count]);
        if (count)
            mp_buffer_append_text(&rows->path, " > ");
    }
    return mp_buffer_append_byte(&rows->path, '\0');
}

static enum mp_status describe_capture(struct trace_rows *rows, uint64_t node,
                                       struct trace_row *row)
{
    const struct captured_node *found = captured_find(&rows->captured, node);

    if (!found)
        return MP_OK;
    if (found->path != rows->path_id)
        MP_TRY(spell_path(rows, found->path));
    rows->path_id = found->path;
    row->captured = (const char *)rows->path.data;
    return MP_OK;
}

/* ---- By kind ---- */

static const struct {
    const char *name;
    enum mp_status (*describe)(struct trace_rows *, const struct merge_row *, struct trace_row *);
    enum activity_kind activity;
    uint32_t columns;
} kinds[TRACE_KINDS] = {
    [TRACE_NVTX] = {"nvtx", describe_nvtx, ACTIVITY_NVTX, NVTX_EVENT_COLUMNS | MP_MASK(nvtx, time)},
    [TRACE_CALL] = {"call", describe_call, ACTIVITY_CALL,
                    MP_MASK(call, thread, function, start, duration, correlation)},
    [TRACE_KERNEL] = {"kernel", describe_kernel, ACTIVITY_KERNEL,
                      MP_MASK(kernel, stream, shape, start, duration, correlation)},
    [TRACE_COPY] = {"copy", describe_copy, ACTIVITY_COPY,
                    MP_MASK(copy, stream, kind, source, target, bytes, start, duration, correlation,
                            source_device, source_context, target_device, target_context)},
    [TRACE_SET] = {"set", describe_set, ACTIVITY_SET,
                   MP_MASK(set, stream, bytes, memory, start, duration, correlation)},
    [TRACE_GRAPH] = {"graph", describe_graph, ACTIVITY_GRAPH,
                     MP_MASK(graph, stream, graph, start, duration, correlation)},
    [TRACE_UNIFIED] = {"unified", describe_unified, ACTIVITY_UNIFIED,
                       MP_MASK(unified, kind, source, target, value, address, start, duration)},
};

const struct activity_table *trace_activity(enum trace_kind kind)
{
    return &activity_tables[kinds[kind].activity];
}

uint32_t trace_columns(enum trace_kind kind)
{
    return kinds[kind].columns;
}

enum mp_status trace_describe(struct trace_rows *rows, const struct merge_row *from,
                              struct trace_row *row)
{
    const unsigned node = trace_activity(row->kind)->node;

    mp_buffer_clear(&rows->line);
    row->kind_name = kinds[row->kind].name;
    MP_TRY(kinds[row->kind].describe(rows, from, row));
    if (node && captured_has_any(&rows->captured))
        MP_TRY(describe_capture(rows, activity_value(from->columns, node, from->row), row));
    if (!row->own_name)
        row->own_name = row->name;
    return MP_OK;
}
