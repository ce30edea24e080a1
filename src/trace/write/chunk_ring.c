/* Keeps the chunks of the last seconds in memory, for the flight recorder. Events are dropped from
 * the oldest end by time and by bytes; definitions stay, since rows that are kept refer to them.
 */
#include "trace/write/chunk_ring.h"

#include <stdlib.h>
#include <string.h>

#include <miniprof/format.h>

#include "base/poison.h"

#define ALLOCATOR_BYTES 16u /* that malloc adds to a block, at most */

static size_t memory_of(size_t bytes)
{
    return sizeof(struct mp_ring_chunk) + bytes + ALLOCATOR_BYTES;
}

static void list_put(struct mp_chunk_list *list, struct mp_ring_chunk *chunk)
{
    if (list->last)
        list->last->next = chunk;
    else
        list->first = chunk;
    list->last = chunk;
    list->bytes += memory_of(chunk->bytes);
    list->rows += chunk->rows;
}

static void list_drop_first(struct mp_chunk_list *list)
{
    struct mp_ring_chunk *chunk = list->first;

    list->first = chunk->next;
    if (!list->first)
        list->last = NULL;
    list->bytes -= memory_of(chunk->bytes);
    list->rows -= chunk->rows;
    free(chunk);
}

static void list_clear(struct mp_chunk_list *list)
{
    while (list->first)
        list_drop_first(list);
}

static void drop_event(struct mp_chunk_ring *ring)
{
    if (ring->events.first->last > ring->gone)
        ring->gone = ring->events.first->last;
    list_drop_first(&ring->events);
}

size_t mp_chunk_ring_bytes(const struct mp_chunk_ring *ring)
{
    return ring->kept.bytes + ring->events.bytes + ring->notes.bytes;
}

/* Makes a chunk of that many bytes. Older events are dropped if the ring or the system has no room.
 */
static struct mp_ring_chunk *make_chunk(struct mp_chunk_ring *ring, size_t bytes)
{
    struct mp_ring_chunk *chunk;

    while (ring->events.first && mp_chunk_ring_bytes(ring) + memory_of(bytes) > ring->max)
        drop_event(ring);
    do {
        chunk = malloc(sizeof(*chunk) + bytes);
        if (!chunk && ring->events.first)
            drop_event(ring);
    } while (!chunk && ring->events.first);
    return chunk;
}

enum mp_status mp_chunk_ring_add(struct mp_chunk_ring *ring, const struct mp_table_info *table,
                                 const uint8_t *data, size_t bytes, uint64_t now)
{
    struct mp_ring_chunk *chunk = make_chunk(ring, bytes);
    struct mp_chunk_header header;

    if (!chunk)
        return MP_ERR_MEMORY;
    memcpy(&header, data, sizeof(header));
    memcpy(chunk->data, data, bytes);
    chunk->next = NULL;
    chunk->bytes = bytes;
    chunk->rows = header.rows;
    chunk->last = now && header.last_time > now ? now : header.last_time;
    if (table->kind == MP_TABLE_EVENT) {
        if (!chunk->last) /* none of its rows has a time */
            chunk->last = now ? now : ring->newest;
        if (chunk->last > ring->newest)
            ring->newest = chunk->last;
        list_put(&ring->events, chunk);
    } else {
        list_put(table->kind == MP_TABLE_NOTE ? &ring->notes : &ring->kept, chunk);
    }
    return MP_OK;
}

void mp_chunk_ring_age(struct mp_chunk_ring *ring, uint64_t time)
{
    while (ring->events.first && ring->events.first->last < time)
        drop_event(ring);
}

void mp_chunk_ring_drop_notes(struct mp_chunk_ring *ring)
{
    list_clear(&ring->notes);
}

static enum mp_status write_list(const struct mp_chunk_list *list, struct mp_chunk_file *file,
                                 uint64_t dropped_before, struct mp_error *error)
{
    struct mp_ring_chunk *chunk;

    for (chunk = list->first; chunk; chunk = chunk->next) {
        uint8_t *place = chunk->data + offsetof(struct mp_chunk_header, dropped);
        uint64_t dropped;
        uint64_t since;
        enum mp_status status;

        memcpy(&dropped, place, sizeof(dropped));
        since = dropped > dropped_before ? dropped - dropped_before : 0;
        memcpy(place, &since, sizeof(since));
        status = mp_chunk_file_append(file, chunk->data, chunk->bytes, error);
        memcpy(place, &dropped, sizeof(dropped));
        MP_TRY(status);
    }
    return MP_OK;
}

enum mp_status mp_chunk_ring_write(const struct mp_chunk_ring *ring, struct mp_chunk_file *file,
                                   uint64_t dropped_before, struct mp_error *error)
{
    MP_TRY(write_list(&ring->kept, file, dropped_before, error));
    MP_TRY(write_list(&ring->events, file, dropped_before, error));
    return write_list(&ring->notes, file, dropped_before, error);
}

void mp_chunk_ring_clear(struct mp_chunk_ring *ring)
{
    list_clear(&ring->kept);
    list_clear(&ring->events);
    list_clear(&ring->notes);
    ring->gone = ring->newest;
}
