/* The fields of protocol buffers, byte by byte. Each event of an export comes through here some
 * twenty times, so this file is compiled for speed, and the others of its folder for size.
 */
#include "export/perfetto/packets.h"

#include <string.h>

#include "base/data/storage.h"

#include "base/poison.h"

/* Makes room for `wanted` more bytes; NULL: no memory. */
static uint8_t *proto_room(struct mp_buffer *bytes, size_t wanted)
{
    if (bytes->status == MP_OK && bytes->capacity - bytes->size >= wanted)
        return bytes->data + bytes->size;
    return mp_buffer_reserve(bytes, wanted);
}

static size_t proto_tag(uint8_t *to, unsigned field, enum proto_type type)
{
    return mp_varint_put(to, (uint64_t)field << 3 | (uint64_t)type);
}

void proto_uint(struct mp_buffer *bytes, unsigned field, uint64_t value)
{
    uint8_t *to = proto_room(bytes, 2 * (size_t)MP_VARINT_MAX_BYTES);

    if (!to)
        return;
    size_t size = proto_tag(to, field, PROTO_VARINT);
    bytes->size += size + mp_varint_put(to + size, value);
}

void proto_double(struct mp_buffer *bytes, unsigned field, double value)
{
    uint8_t *to = proto_room(bytes, MP_VARINT_MAX_BYTES + sizeof value);
    uint64_t bits;

    if (!to)
        return;
    memcpy(&bits, &value, sizeof bits);
    size_t size = proto_tag(to, field, PROTO_FIXED64);
    for (unsigned i = 0; i < sizeof bits; i++)
        to[size++] = (uint8_t)(bits >> 8 * i);
    bytes->size += size;
}

void proto_bytes(struct mp_buffer *bytes, unsigned field, const void *data, size_t count)
{
    uint8_t *to = proto_room(bytes, 2 * (size_t)MP_VARINT_MAX_BYTES + count);

    if (!to)
        return;
    size_t size = proto_tag(to, field, PROTO_LENGTH);
    size += mp_varint_put(to + size, count);
    if (count)
        memcpy(to + size, data, count);
    bytes->size += size + count;
}

void proto_text(struct mp_buffer *bytes, unsigned field, const char *text)
{
    proto_bytes(bytes, field, text, strlen(text));
}

size_t proto_begin(struct mp_buffer *bytes, unsigned field)
{
    uint8_t *to = proto_room(bytes, 2 * (size_t)MP_VARINT_MAX_BYTES);

    if (!to)
        return bytes->size;
    bytes->size += proto_tag(to, field, PROTO_LENGTH);
    bytes->data[bytes->size++] = 0;
    return bytes->size;
}

void proto_end(struct mp_buffer *bytes, size_t at)
{
    size_t length = bytes->size - at;
    size_t more = mp_varint_size(length) - 1;

    if (bytes->status || !proto_room(bytes, more))
        return;
    if (more)
        memmove(bytes->data + at + more, bytes->data + at, length);
    mp_varint_put(bytes->data + at - 1, length);
    bytes->size += more;
}
