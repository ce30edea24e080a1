/* Where the writer's chunks go: a file, or memory that keeps those of a time window. */
#include "trace/chunks.h"

#include <errno.h>
#include <miniprof/format.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/hash.h"
#include "base/io.h"
#include "trace/reader.h"

#include "base/poison.h"

/* ---- In a file ----
 *
 * A chunk that could not be written whole is cut off again, so that the file always ends with a
 * complete one.
 */

static enum mp_status out_of_memory(struct mp_error *error)
{
    return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
}

/* Appends `bytes` to the file, or nothing. */
static enum mp_status append(struct mp_chunk_file *file, const void *data, size_t bytes,
                             struct mp_error *error)
{
    if (mp_write_all(file->fd, data, bytes, error) == MP_OK) {
        file->position += bytes;
        return MP_OK;
    }
    bool full = errno == ENOSPC || errno == EDQUOT;
    bool clean = ftruncate(file->fd, (off_t)file->position) == 0 &&
                 lseek(file->fd, (off_t)file->position, SEEK_SET) >= 0;
    file->may_have_room = full && clean;
    return MP_ERR_IO;
}

static enum mp_status cut_at(struct mp_chunk_file *file, uint64_t position, struct mp_error *error)
{
    if (ftruncate(file->fd, (off_t)position) != 0 || lseek(file->fd, (off_t)position, SEEK_SET) < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot cut the file back: %m");
    file->position = position;
    return MP_OK;
}

static enum mp_status compose_header(struct mp_buffer *buffer, const char *text, size_t text_bytes)
{
    struct mp_file_header header = {
        .skippable_magic = MP_SKIPPABLE_MAGIC,
        .skippable_bytes = (uint32_t)(sizeof(header) - 8 + text_bytes + 8),
        .magic = MP_HEADER_MAGIC,
        .version = MP_FORMAT_VERSION,
        .text_bytes = (uint32_t)text_bytes,
    };

    mp_buffer_append(buffer, &header, sizeof(header));
    mp_buffer_append(buffer, text, text_bytes);
    if (buffer->status)
        return buffer->status;
    uint64_t checksum = mp_checksum64(buffer->data + 8, buffer->size - 8);
    return mp_buffer_append(buffer, &checksum, sizeof(checksum));
}

enum mp_status mp_chunk_file_begin(struct mp_chunk_file *file, int fd, const char *text,
                                   struct mp_error *error)
{
    struct mp_buffer buffer = {.limit = 0};
    size_t text_bytes = strlen(text);
    enum mp_status status;

    *file = (struct mp_chunk_file){.fd = fd};
    if (text_bytes > MP_MAX_HEADER_BYTES)
        return mp_error_set(error, MP_ERR_LIMIT, "the header is too long");
    if (compose_header(&buffer, text, text_bytes) != MP_OK)
        status = out_of_memory(error);
    else
        status = append(file, buffer.data, buffer.size, error);
    mp_buffer_free(&buffer);
    file->header_bytes = file->position;
    return status;
}

enum mp_status mp_chunk_file_resume(struct mp_chunk_file *file, int fd,
                                    const struct mp_trace *trace, struct mp_error *error)
{
    size_t bytes = trace->index.chunks * sizeof(struct mp_index_entry);

    *file = (struct mp_chunk_file){
        .fd = fd,
        .sequence = trace->index.chunks,
        .header_bytes = trace->header_bytes,
        .position = trace->index_offset,
    };
    if (!trace->index.present)
        return mp_error_set(error, MP_ERR_DAMAGED, "the trace is not complete");
    void *entries = mp_buffer_extend(&file->index, bytes);
    if (bytes && !entries)
        return out_of_memory(error);
    MP_TRY(mp_pread_exact(fd, entries, bytes, trace->index_offset + sizeof(struct mp_index_header),
                          error));
    return cut_at(file, trace->index_offset, error);
}

static enum mp_status index_add(struct mp_chunk_file *file, const struct mp_chunk_header *header)
{
    const struct mp_index_entry entry = {
        .offset = file->position,
        .rows = header->rows,
        .packed_bytes = header->packed_bytes,
        .table = header->table,
        .raw_bytes = header->raw_bytes,
        .first_time = header->first_time,
        .last_time = header->last_time,
    };

    return mp_buffer_append(&file->index, &entry, sizeof(entry));
}

enum mp_status mp_chunk_file_append(struct mp_chunk_file *file, uint8_t *chunk, size_t bytes,
                                    struct mp_error *error)
{
    struct mp_chunk_header header;

    memcpy(&header, chunk, sizeof(header));
    header.sequence = file->sequence;
    header.checksum = mp_checksum64(header.magic, offsetof(struct mp_chunk_header, checksum) -
                                                      offsetof(struct mp_chunk_header, magic));
    memcpy(chunk, &header, sizeof(header));
    if (index_add(file, &header) != MP_OK)
        return out_of_memory(error);
    enum mp_status status = append(file, chunk, bytes, error);
    if (status == MP_OK)
        file->sequence++;
    else
        file->index.size -= sizeof(struct mp_index_entry);
    return status;
}

enum mp_status mp_chunk_file_cut(struct mp_chunk_file *file, struct mp_error *error)
{
    MP_TRY(cut_at(file, file->header_bytes, error));
    file->sequence = 0;
    mp_buffer_clear(&file->index);
    return MP_OK;
}

static enum mp_status compose_index(struct mp_buffer *buffer, const struct mp_chunk_file *file,
                                    uint64_t dropped)
{
    const struct mp_index_header header = {
        .skippable_magic = MP_SKIPPABLE_MAGIC,
        .skippable_bytes = (uint32_t)(sizeof(header) - 8 + file->index.size + 16),
        .magic = MP_INDEX_MAGIC,
        .entries = file->sequence,
        .dropped = dropped,
    };
    uint64_t tail[2];

    mp_buffer_append(buffer, &header, sizeof(header));
    mp_buffer_append(buffer, file->index.data, file->index.size);
    if (buffer->status)
        return buffer->status;
    tail[0] = mp_checksum64(buffer->data + 8, buffer->size - 8);
    tail[1] = buffer->size + sizeof(tail);
    return mp_buffer_append(buffer, tail, sizeof(tail));
}

enum mp_status mp_chunk_file_end(struct mp_chunk_file *file, uint64_t dropped,
                                 struct mp_error *error)
{
    struct mp_buffer buffer = {.limit = 0};
    enum mp_status status = compose_index(&buffer, file, dropped);

    if (status != MP_OK)
        status = out_of_memory(error);
    else
        status = append(file, buffer.data, buffer.size, error);
    mp_buffer_free(&buffer);
    return status;
}

void mp_chunk_file_free(struct mp_chunk_file *file)
{
    mp_buffer_free(&file->index);
}

/* ---- In memory, for the flight recorder ----
 *
 * Events are dropped from the oldest end by time and by bytes; definitions stay, since rows that
 * are kept refer to them.
 */

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
    for (struct mp_ring_chunk *chunk = list->first; chunk; chunk = chunk->next) {
        uint8_t *place = chunk->data + offsetof(struct mp_chunk_header, dropped);
        uint64_t dropped;

        memcpy(&dropped, place, sizeof(dropped));
        uint64_t since = dropped > dropped_before ? dropped - dropped_before : 0;
        memcpy(place, &since, sizeof(since));
        enum mp_status status = mp_chunk_file_append(file, chunk->data, chunk->bytes, error);
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
