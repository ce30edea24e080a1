/* A growable run of bytes with a sticky status: append as often as needed, check the status once.
 *
 * After a failed append the status is set, the contents stay as they were, and further appends do
 * nothing. A zeroed struct is an empty buffer without a limit. One thread at a time.
 */
#ifndef MP_BASE_DATA_BUFFER_H
#define MP_BASE_DATA_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct mp_buffer {
    uint8_t *data; /* owned; moves when the buffer grows */
    size_t size;   /* bytes in use */
    size_t capacity;
    size_t limit;          /* greatest size; 0: none */
    enum mp_status status; /* MP_OK, MP_ERR_MEMORY or, over the limit, MP_ERR_LIMIT */
};

/* Room for `bytes` more behind `size`, uninitialised; the caller writes there and adds to `size`
 * itself. NULL on failure. */
uint8_t *mp_buffer_reserve(struct mp_buffer *buffer, size_t bytes);

/* The same, with `size` already raised by `bytes`. */
uint8_t *mp_buffer_extend(struct mp_buffer *buffer, size_t bytes);

/* `data` may be NULL if `bytes` is 0. All return the buffer's status. */
enum mp_status mp_buffer_append(struct mp_buffer *buffer, const void *data, size_t bytes);
enum mp_status mp_buffer_append_byte(struct mp_buffer *buffer, uint8_t byte);
enum mp_status mp_buffer_append_varint(struct mp_buffer *buffer, uint64_t value);
enum mp_status mp_buffer_append_text(struct mp_buffer *buffer, const char *text);
enum mp_status mp_buffer_append_format(struct mp_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Empties the buffer, clears its status, keeps its memory and its limit. */
void mp_buffer_clear(struct mp_buffer *buffer);

/* Gives the memory back; keeps the limit. */
void mp_buffer_free(struct mp_buffer *buffer);

#endif
