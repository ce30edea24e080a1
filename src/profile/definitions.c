/* Collects the definition tables while a cursor passes over the trace, and looks ids up. An id
 * beyond what a file with so many bytes can hold is ignored, so that a forged id cannot allocate
 * memory. Holes of a sparse file do not count: nobody had to write them.
 */
#include "profile/definitions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/schema.h"

#include "base/poison.h"

void cursor_select_only(struct mp_cursor *cursor, unsigned table, uint64_t columns)
{
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    for (size_t i = 0; i < count; i++)
        mp_cursor_select(cursor, &tables[i], tables[i].id == table ? columns : 0);
}

size_t definitions_limit(const struct mp_trace *trace)
{
    uint64_t limit = mp_trace_data_bytes(trace) + MP_MAX_CHUNK_ROWS;

    return limit < SIZE_MAX / 64 ? (size_t)limit : SIZE_MAX / 64;
}

void definitions_init(struct definitions *definitions, const struct mp_trace *trace)
{
    size_t limit = definitions_limit(trace);

    *definitions = (struct definitions){.refused = 0};
    dense_init(&definitions->strings, sizeof(struct definition_string), limit);
    dense_init(&definitions->threads, sizeof(struct definition_thread), limit);
    dense_init(&definitions->devices, sizeof(struct definition_device), limit);
    dense_init(&definitions->streams, sizeof(struct definition_stream), limit);
    dense_init(&definitions->functions, sizeof(struct definition_function), limit);
    dense_init(&definitions->shapes, sizeof(struct definition_shape), limit);
    dense_init(&definitions->nodes, sizeof(struct definition_node), limit);
    dense_init(&definitions->paths, sizeof(struct definition_path), limit);
    contexts_init(&definitions->contexts, limit);
}

void definitions_raise_limit(struct definitions *definitions, const struct mp_trace *trace)
{
    size_t limit = definitions_limit(trace);

    definitions->strings.limit = limit;
    definitions->threads.limit = limit;
    definitions->devices.limit = limit;
    definitions->streams.limit = limit;
    definitions->functions.limit = limit;
    definitions->shapes.limit = limit;
    definitions->nodes.limit = limit;
    definitions->paths.limit = limit;
    definitions->contexts.items.limit = limit;
}

void definitions_free(struct definitions *definitions)
{
    mp_arena_free(&definitions->text);
    dense_free(&definitions->strings);
    dense_free(&definitions->threads);
    dense_free(&definitions->devices);
    dense_free(&definitions->streams);
    dense_free(&definitions->functions);
    dense_free(&definitions->shapes);
    dense_free(&definitions->nodes);
    dense_free(&definitions->paths);
    contexts_free(&definitions->contexts);
}

/* ---- Filling ---- */

static enum mp_status take_string(struct definitions *d, const struct mp_batch *batch, uint32_t row,
                                  void *item)
{
    struct definition_string *string = item;
    uint32_t begin = row ? batch->text_end[row - 1] : 0;

    uint32_t bytes = batch->text_end[row] - begin;

    if (string->text && string->bytes == bytes && !memcmp(string->text, batch->text + begin, bytes))
        return MP_OK; /* read before, by an earlier pass */
    string->bytes = bytes;
    string->text = mp_arena_copy(&d->text, batch->text + begin, bytes);
    string->readable = NULL;
    string->nvprof = NULL;
    return string->text ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status take_thread(struct definitions *d, const struct mp_batch *batch, uint32_t row,
                                  void *item)
{
    const struct mp_thread_columns from = mp_thread_columns(batch->columns);
    struct definition_thread *thread = item;

    (void)d;
    *thread = (struct definition_thread){from.tid[row], from.name[row], true};
    return MP_OK;
}

static enum mp_status take_device(struct definitions *d, const struct mp_batch *batch, uint32_t row,
                                  void *item)
{
    const struct mp_device_columns from = mp_device_columns(batch->columns);
    struct definition_device *device = item;

    (void)d;
    *device = (struct definition_device){from.name[row], true};
    return MP_OK;
}

static enum mp_status take_stream(struct definitions *d, const struct mp_batch *batch, uint32_t row,
                                  void *item)
{
    const struct mp_stream_columns from = mp_stream_columns(batch->columns);
    struct definition_stream *stream = item;

    (void)d;
    *stream =
        (struct definition_stream){from.stream[row], from.context[row], from.device[row], true};
    return MP_OK;
}

static enum mp_status take_function(struct definitions *d, const struct mp_batch *batch,
                                    uint32_t row, void *item)
{
    const struct mp_function_columns from = mp_function_columns(batch->columns);
    struct definition_function *function = item;

    (void)d;
    *function = (struct definition_function){from.name[row], true};
    return MP_OK;
}

static enum mp_status take_shape(struct definitions *d, const struct mp_batch *batch, uint32_t row,
                                 void *item)
{
    const struct mp_shape_columns from = mp_shape_columns(batch->columns);
    struct definition_shape *shape = item;

    (void)d;
    *shape = (struct definition_shape){from.kernel[row], true};
    return MP_OK;
}

static enum mp_status take_node(struct definitions *d, const struct mp_batch *batch, uint32_t row,
                                void *item)
{
    const struct mp_node_columns from = mp_node_columns(batch->columns);
    struct definition_node *node = item;

    (void)d;
    *node = (struct definition_node){from.graph[row], from.graph_node[row], true};
    return MP_OK;
}

static enum mp_status take_path(struct definitions *d, const struct mp_batch *batch, uint32_t row,
                                void *item)
{
    const struct mp_path_columns from = mp_path_columns(batch->columns);
    struct definition_path *path = item;
    uint64_t parent = from.parent[row];

    (void)d;
    *path = (struct definition_path){parent < from.id[row] ? parent : 0, from.name[row], true};
    return MP_OK;
}

/* What is kept of each definition table, and where. */
struct kept_table {
    enum mp_table_id table;
    unsigned id_column;
    uint32_t columns;
    size_t array; /* offset of the struct dense */
    enum mp_status (*take)(struct definitions *, const struct mp_batch *, uint32_t row, void *item);
};

#define KEPT(table, array, ...)                                                                    \
    {                                                                                              \
        MP_TABLE_##table, MP_COLUMN_##table##_id, MP_MASK(table, id, __VA_ARGS__),                 \
            offsetof(struct definitions, array), take_##table                                      \
    }
static const struct kept_table kept_tables[] = {
    KEPT(string, strings, text),          KEPT(thread, threads, tid, name),
    KEPT(device, devices, name),          KEPT(stream, streams, stream, context, device),
    KEPT(function, functions, name),      KEPT(shape, shapes, kernel),
    KEPT(node, nodes, graph, graph_node), KEPT(path, paths, parent, name),
};
#undef KEPT

#define KEPT_COUNT (sizeof kept_tables / sizeof *kept_tables)

static bool is_kept(enum mp_table_id table, enum definitions_kept kept)
{
    switch (kept) {
    case DEFINITIONS_USUAL:
        return table != MP_TABLE_node && table != MP_TABLE_path;
    case DEFINITIONS_TEXTS:
        return table == MP_TABLE_string;
    case DEFINITIONS_TEXTS_AND_NODES:
        return table == MP_TABLE_string || table == MP_TABLE_node;
    case DEFINITIONS_ALL:
    default:
        return true;
    }
}

void definitions_columns(uint32_t *masks, enum definitions_kept kept)
{
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    for (size_t i = 0; i < KEPT_COUNT; i++)
        if (is_kept(kept_tables[i].table, kept))
            masks[mp_table_by_id(kept_tables[i].table) - tables] |= kept_tables[i].columns;
    if (is_kept(MP_TABLE_stream, kept))
        contexts_columns(masks);
}

static const struct kept_table *find_kept(unsigned table)
{
    for (size_t i = 0; i < KEPT_COUNT; i++) {
        if (kept_tables[i].table == table)
            return &kept_tables[i];
    }
    return NULL;
}

enum mp_status definitions_take(struct definitions *definitions, const struct mp_batch *batch)
{
    const struct kept_table *kept = find_kept(batch->table->id);

    if (!kept)
        return contexts_take(&definitions->contexts, batch, &definitions->refused);
    struct dense *array = (struct dense *)(void *)((char *)definitions + kept->array);
    const uint64_t *ids = batch->columns[kept->id_column];
    for (uint32_t row = 0; row < batch->rows; row++) {
        enum mp_status status = dense_reach(array, ids[row]);
        if (status == MP_ERR_LIMIT) {
            definitions->refused++;
            continue;
        }
        MP_TRY(status);
        MP_TRY(kept->take(definitions, batch, row, dense_at(array, ids[row])));
    }
    return MP_OK;
}

enum mp_status definitions_finish(struct definitions *definitions)
{
    for (size_t i = 0; i < definitions->streams.count; i++) {
        const struct definition_stream *stream = dense_at(&definitions->streams, i);

        if (stream->defined)
            MP_TRY(contexts_claim(&definitions->contexts, stream->context, stream->stream));
    }
    for (size_t i = 0; i < definitions->streams.count; i++) {
        struct definition_stream *stream = dense_at(&definitions->streams, i);

        stream->context = contexts_owner(&definitions->contexts, stream->context, stream->stream);
    }
    return MP_OK;
}

/* ---- Looking up ---- */

static struct definition_string *find_string(const struct definitions *definitions, uint64_t id)
{
    struct definition_string *string = id ? dense_at(&definitions->strings, id) : NULL;

    return string && string->text ? string : NULL;
}

const char *definitions_text(const struct definitions *definitions, uint64_t id)
{
    const struct definition_string *string = find_string(definitions, id);

    return string ? string->text : NULL;
}

const char *definitions_kernel(struct definitions *definitions, uint64_t shape,
                               enum names_style style)
{
    const struct definition_shape *found = dense_at(&definitions->shapes, shape);
    struct definition_string *string =
        found && found->defined ? find_string(definitions, found->kernel) : NULL;

    if (!string || style == NAMES_MANGLED)
        return string ? string->text : NULL;
    const char **styled = style == NAMES_NVPROF ? &string->nvprof : &string->readable;
    if (!*styled)
        *styled = names_demangle(string->text, style, &definitions->text);
    return *styled;
}

const char *definitions_function(const struct definitions *definitions, uint64_t function)
{
    const struct definition_function *found = dense_at(&definitions->functions, function);

    return found && found->defined ? definitions_text(definitions, found->name) : NULL;
}

const char *definitions_device(const struct definitions *definitions, uint64_t ordinal)
{
    const struct definition_device *found = dense_at(&definitions->devices, ordinal);

    return found && found->defined ? definitions_text(definitions, found->name) : NULL;
}

/* ---- References in words ----
 *
 * References in words: what `dump` prints instead of an id.
 */

static const char *label_string(struct definitions *d, uint64_t id, char *buffer, size_t size)
{
    (void)buffer, (void)size;
    return definitions_text(d, id);
}

static const char *label_thread(struct definitions *d, uint64_t id, char *buffer, size_t size)
{
    const struct definition_thread *thread = dense_at(&d->threads, id);
    const char *name = thread ? definitions_text(d, thread->name) : NULL;

    if (!thread || !thread->defined)
        return NULL;
    if (name)
        snprintf(buffer, size, "%s (%" PRIu64 ")", name, thread->tid);
    else
        snprintf(buffer, size, "thread %" PRIu64, thread->tid);
    return buffer;
}

static const char *label_device(struct definitions *d, uint64_t id, char *buffer, size_t size)
{
    const struct definition_device *device = dense_at(&d->devices, id);
    const char *name = device ? definitions_text(d, device->name) : NULL;

    if (!device || !device->defined)
        return NULL;
    snprintf(buffer, size, "%s (%" PRIu64 ")", name ? name : "device", id);
    return buffer;
}

static const char *label_stream(struct definitions *d, uint64_t id, char *buffer, size_t size)
{
    const struct definition_stream *stream = dense_at(&d->streams, id);

    if (!stream || !stream->defined)
        return NULL;
    snprintf(buffer, size, "%" PRIu64 ":%" PRIu64 ":%" PRIu64, stream->device, stream->context,
             stream->stream);
    return buffer;
}

static const char *label_function(struct definitions *d, uint64_t id, char *buffer, size_t size)
{
    (void)buffer, (void)size;
    return definitions_function(d, id);
}

static const char *label_shape(struct definitions *d, uint64_t id, char *buffer, size_t size)
{
    (void)buffer, (void)size;
    return definitions_kernel(d, id, NAMES_READABLE);
}

static const char *label_node(struct definitions *d, uint64_t id, char *buffer, size_t size)
{
    const struct definition_node *node = dense_at(&d->nodes, id);

    if (!node || !node->defined)
        return NULL;
    snprintf(buffer, size, "%" PRIu64 ":0x%" PRIx64, node->graph, node->graph_node);
    return buffer;
}

/* `outer > inner`; what does not fit is cut off at the front. */
static const char *label_path(struct definitions *d, uint64_t id, char *buffer, size_t size)
{
    const struct definition_path *path = dense_at(&d->paths, id);
    size_t at = size - 1;

    if (!path || !path->defined)
        return NULL;
    buffer[at] = '\0';
    for (const char *between = ""; path && path->defined; between = " > ") {
        const char *name = definitions_text(d, path->name);
        size_t bytes = strlen(name ? name : "<unnamed>");

        if (bytes + strlen(between) > at)
            break;
        at -= strlen(between);
        memcpy(buffer + at, between, strlen(between));
        at -= bytes;
        memcpy(buffer + at, name ? name : "<unnamed>", bytes);
        path = path->parent ? dense_at(&d->paths, path->parent) : NULL;
    }
    return buffer + at;
}

static const struct {
    const char *table;
    const char *(*label)(struct definitions *, uint64_t id, char *buffer, size_t size);
} labels[] = {
    {"string", label_string},     {"thread", label_thread}, {"device", label_device},
    {"stream", label_stream},     {"shape", label_shape},   {"node", label_node},
    {"function", label_function}, {"path", label_path},
};

const char *definitions_label(struct definitions *definitions, const char *table, uint64_t id,
                              char *buffer, size_t size)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (!strcmp(labels[i].table, table))
            return labels[i].label(definitions, id, buffer, size);
    }
    return NULL;
}
