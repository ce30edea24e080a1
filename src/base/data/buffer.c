/* A growable run of bytes whose first error sticks. Writers append many small pieces and check the
 * status once at the end.
 */
#include "base/data/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/overflow.h"
#include "base/data/varint.h"

#include "base/poison.h"

#define FIRST_CAPACITY 256u

static enum mp_status grow(struct mp_buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    uint8_t *data;

    if (buffer->limit && needed > buffer->limit)
        return MP_ERR_LIMIT;
    while (capacity < needed) {
        if (!mp_size_add(capacity, capacity / 2, &capacity))
            return MP_ERR_MEMORY;
    }
    if (buffer->limit && capacity > buffer->limit)
        capacity = buffer->limit;
    data = realloc(buffer->data, capacity);
    if (!data)
        return MP_ERR_MEMORY;
    buffer->data = data;
    buffer->capacity = capacity;
    return MP_OK;
}

uint8_t *mp_buffer_reserve(struct mp_buffer *buffer, size_t bytes)
{
    size_t needed;

    if (buffer->status != MP_OK)
        return NULL;
    if (!mp_size_add(buffer->size, bytes, &needed))
        buffer->status = MP_ERR_LIMIT;
    else if (needed > buffer->capacity || !buffer->data)
        buffer->status = grow(buffer, needed);
    return buffer->status == MP_OK ? buffer->data + buffer->size : NULL;
}

uint8_t *mp_buffer_extend(struct mp_buffer *buffer, size_t bytes)
{
    uint8_t *room = mp_buffer_reserve(buffer, bytes);

    if (room)
        buffer->size += bytes;
    return room;
}

enum mp_status mp_buffer_append(struct mp_buffer *buffer, const void *data, size_t bytes)
{
    uint8_t *room;

    if (!bytes)
        return buffer->status;
    room = mp_buffer_extend(buffer, bytes);
    if (room)
        memcpy(room, data, bytes);
    return buffer->status;
}

enum mp_status mp_buffer_append_byte(struct mp_buffer *buffer, uint8_t byte)
{
    return mp_buffer_append(buffer, &byte, 1);
}

enum mp_status mp_buffer_append_varint(struct mp_buffer *buffer, uint64_t value)
{
    uint8_t *room = mp_buffer_extend(buffer, mp_varint_size(value));

    if (room)
        mp_varint_put(room, value);
    return buffer->status;
}

enum mp_status mp_buffer_append_text(struct mp_buffer *buffer, const char *text)
{
    return mp_buffer_append(buffer, text, strlen(text));
}

/* Formats twice: first to learn the length, then into the buffer. The room includes vsnprintf's
 * NUL, so the limit has to leave a byte for it. */
enum mp_status mp_buffer_append_format(struct mp_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    uint8_t *room;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 && buffer->status == MP_OK)
        buffer->status = MP_ERR_ARGUMENT;
    if (length < 0)
        return buffer->status;
    room = mp_buffer_reserve(buffer, (size_t)length + 1);
    if (!room)
        return buffer->status;
    va_start(arguments, format);
    vsnprintf((char *)room, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->size += (size_t)length;
    return buffer->status;
}

void mp_buffer_clear(struct mp_buffer *buffer)
{
    buffer->size = 0;
    buffer->status = MP_OK;
}

void mp_buffer_free(struct mp_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct mp_buffer){.limit = buffer->limit};
}
