/* References in words: what `dump` prints instead of an id. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profile/definitions.h"

#include "base/poison.h"

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
