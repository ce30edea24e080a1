/* The wire format of protocol buffers, appended to a buffer: a field is its number and type, then a
 * varint, eight bytes, or a length and as many bytes.
 *
 *     size_t at = proto_begin(bytes, PACKET_TRACK_EVENT);
 *     proto_uint(bytes, EVENT_TYPE, EVENT_END);
 *     proto_end(bytes, at);
 *
 * The buffer's status is sticky, so it is checked once for a packet.
 */
#ifndef MP_EXPORT_PERFETTO_PROTO_H
#define MP_EXPORT_PERFETTO_PROTO_H

#include <stdint.h>

#include "base/data/buffer.h"

enum proto_type { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_LENGTH = 2 };

/* A field with an integer, a double, bytes or a text. `data` may be NULL if `count` is 0. */
void proto_uint(struct mp_buffer *bytes, unsigned field, uint64_t value);
void proto_double(struct mp_buffer *bytes, unsigned field, double value);
void proto_bytes(struct mp_buffer *bytes, unsigned field, const void *data, size_t count);
void proto_text(struct mp_buffer *bytes, unsigned field, const char *text);

/* A message inside of a message; proto_end wants what proto_begin answered. Its length has one byte
 * at first; if that is too short, the message moves. */
size_t proto_begin(struct mp_buffer *bytes, unsigned field);
void proto_end(struct mp_buffer *bytes, size_t at);

#endif
