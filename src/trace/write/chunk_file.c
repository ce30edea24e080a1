/* Writes the header, the chunks and the index of a trace file. A chunk that could not be written
 * whole is cut off again, so that the file always ends with a complete one.
 */
#include "trace/write/chunk_file.h"

#include <errno.h>
#include <miniprof/format.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/data/hash.h"
#include "base/io.h"

#include "base/poison.h"

static enum mp_status out_of_memory(struct mp_error *error)
{
    return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
}

/* Appends `bytes` to the file, or nothing. */
static enum mp_status append(struct mp_chunk_file *file, const void *data, size_t bytes,
                             struct mp_error *error)
{
    bool full;
    bool clean;

    if (mp_write_all(file->fd, data, bytes, error) == MP_OK) {
        file->position += bytes;
        return MP_OK;
    }
    full = errno == ENOSPC || errno == EDQUOT;
    clean = ftruncate(file->fd, (off_t)file->position) == 0 &&
            lseek(file->fd, (off_t)file->position, SEEK_SET) >= 0;
    file->may_have_room = full && clean;
    return MP_ERR_IO;
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
    uint64_t checksum;

    mp_buffer_append(buffer, &header, sizeof(header));
    mp_buffer_append(buffer, text, text_bytes);
    if (buffer->status)
        return buffer->status;
    checksum = mp_checksum64(buffer->data + 8, buffer->size - 8);
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
    enum mp_status status;

    memcpy(&header, chunk, sizeof(header));
    header.sequence = file->sequence;
    header.checksum = mp_checksum64(header.magic, offsetof(struct mp_chunk_header, checksum) -
                                                      offsetof(struct mp_chunk_header, magic));
    memcpy(chunk, &header, sizeof(header));
    if (index_add(file, &header) != MP_OK)
        return out_of_memory(error);
    status = append(file, chunk, bytes, error);
    if (status == MP_OK)
        file->sequence++;
    else
        file->index.size -= sizeof(struct mp_index_entry);
    return status;
}

enum mp_status mp_chunk_file_cut(struct mp_chunk_file *file, struct mp_error *error)
{
    if (ftruncate(file->fd, (off_t)file->header_bytes) != 0 ||
        lseek(file->fd, (off_t)file->header_bytes, SEEK_SET) < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot cut the file back: %m");
    file->position = file->header_bytes;
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
