/* Memory that grows: checked sizes, arrays, runs of bytes, arenas, and streams into memory. If
 * memory is out, each function says so and leaves what there was.
 */
#ifndef MP_BASE_DATA_STORAGE_H
#define MP_BASE_DATA_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* ---- Sizes ---- */

/* *product = a * b; false, with *product unspecified, when it does not fit. */
__attribute__((warn_unused_result)) static inline bool mp_size_mul(size_t a, size_t b,
                                                                   size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* *sum = a + b; false, with *sum unspecified, when it does not fit. */
__attribute__((warn_unused_result)) static inline bool mp_size_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

/* *total = header + count * item: the bytes of a structure with a trailing array. */
__attribute__((warn_unused_result)) static inline bool mp_size_with_array(size_t header,
                                                                          size_t count, size_t item,
                                                                          size_t *total)
{
    return mp_size_mul(count, item, total) && mp_size_add(header, *total, total);
}

/* ---- Arrays ---- */

/* Makes `*items`, an array of `*capacity` items from malloc or NULL, large enough for more than
 * `count` of them; the array may move. MP_ERR_MEMORY leaves it unchanged. */
enum mp_status mp_reserve(void **items, size_t count, size_t *capacity, size_t item_bytes);

/* The same for one more item of `items`, a pointer to what it holds. */
#define MP_RESERVE(items, count, capacity)                                                         \
    mp_reserve((void **)&(items), (count), &(capacity), sizeof *(items))

/* Doubles the array of `*capacity` items to which `items`, a pointer to a pointer, leads (from
 * malloc, or NULL), from 16 items on. The new ones are zero. False without memory: then nothing has
 * changed. */
bool mp_double(void *items, uint32_t *capacity, size_t item_bytes);

/* ---- Bytes ----
 *
 * A growable run of bytes with a sticky status: append as often as needed, check the status once.
 *
 * After a failed append the status is set, the contents stay as they were, and further appends do
 * nothing. A zeroed struct is an empty buffer without a limit. One thread at a time.
 */

struct mp_buffer {
    uint8_t *data; /* owned; moves when the buffer grows */
    size_t size;   /* bytes in use */
    size_t capacity;
    size_t limit;          /* max size; 0: none */
    enum mp_status status; /* MP_OK, MP_ERR_MEMORY or, over the limit, MP_ERR_LIMIT */
};

/* Room for `bytes` more after `size`, uninitialised; the caller writes there and adds to `size`
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

/* ---- Arenas ----
 *
 * A bump allocator: many small allocations, one free.
 *
 * Blocks grow as needed and are never moved, so pointers stay valid until the arena is reset or
 * freed. One thread at a time. A zeroed struct is an empty arena with the default block size.
 */

struct mp_arena_block;

struct mp_arena {
    struct mp_arena_block *head; /* the block allocations come from; older ones follow */
    size_t block_bytes;          /* min size of a new block; 0: 64 KiB */
    size_t total_bytes;          /* held from the system now, for memory accounting */
};

/* Sets up an empty arena; allocates nothing. `block_bytes` 0 takes the default. */
void mp_arena_init(struct mp_arena *arena, size_t block_bytes);

/* `bytes` bytes, aligned for any type, not initialised; NULL when memory is out, with the arena as
 * it was. 0 bytes gives a unique non-NULL pointer. */
void *mp_arena_alloc(struct mp_arena *arena, size_t bytes) __attribute__((alloc_size(2)));

/* A copy of `bytes` bytes with a NUL after them (not counted); NULL when memory is out. `data` may
 * be NULL if `bytes` is 0. */
char *mp_arena_copy(struct mp_arena *arena, const void *data, size_t bytes);

/* Forgets all allocations but keeps the newest block for the next ones. */
void mp_arena_reset(struct mp_arena *arena);

/* Gives everything back; the arena is empty and can be used again. */
void mp_arena_free(struct mp_arena *arena);

/* ---- Streams into memory ----
 *
 * As open_memstream, but no failure is overlooked: glibc's stream drops what it has no room for,
 * and neither ferror nor fclose says so.
 */

/* A stream to be written, or NULL: out of memory. fclose sets *text, which the caller frees and
 * which ends with a NUL, and *bytes without it. If anything found no room, fclose fails and *text
 * is NULL. rewind begins anew; ftell works. One thread at a time. */
FILE *memory_file_open(char **text, size_t *bytes);

/* ---- Packed texts ----
 *
 * Texts inside the program are packed by tools/dev/frame, since they would take much of it.
 */

/* What a frame holds, with a NUL after it; *length: bytes without that. The caller frees it. NULL:
 * out of memory. */
char *mp_frame_unpack(const unsigned char *frame, size_t bytes, size_t *length);

/* ---- Numbers in as many bytes as they need ----
 *
 * LEB128: seven bits a byte, least significant first; the top bit is set on all bytes but the last.
 * And zigzag, which maps signed numbers to unsigned ones so that small magnitudes stay short (0 -1
 * 1 -2 -> 0 1 2 3).
 */

#define MP_VARINT_MAX_BYTES 10 /* of a 64-bit value: ceil(64 / 7) */

/* Bytes that mp_varint_put writes for `value`: 1 to 10. */
static inline size_t mp_varint_size(uint64_t value)
{
    unsigned bits = 64u - (unsigned)__builtin_clzll(value | 1);

    return (bits + 6) / 7;
}

/* Writes `value` at `out`, which has room for MP_VARINT_MAX_BYTES; returns the bytes written. */
static inline size_t mp_varint_put(uint8_t *out, uint64_t value)
{
    size_t size = 0;

    while (value >= 0x80) {
        out[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[size++] = (uint8_t)value;
    return size;
}

/* Reads one value at *cursor and moves *cursor past it. If the bytes end before `end` or the
 * number needs more than 64 bits, returns false and leaves *cursor and *value unchanged. Padded
 * forms (0x80 0x00) are accepted. */
__attribute__((warn_unused_result)) static inline bool mp_varint_get(const uint8_t **cursor,
                                                                     const uint8_t *end,
                                                                     uint64_t *value)
{
    const uint8_t *at = *cursor;
    uint64_t result = 0;
    unsigned shift;

    for (shift = 0; shift < 64 && at < end; shift += 7) {
        uint8_t byte = *at++;

        if (shift == 63 && byte > 1)
            return false;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *cursor = at;
            *value = result;
            return true;
        }
    }
    return false;
}

static inline uint64_t mp_zigzag_encode(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t mp_zigzag_decode(uint64_t value)
{
    return (int64_t)((value >> 1) ^ ((value & 1) ? UINT64_MAX : 0));
}

/* The zigzagged difference a - b of two unsigned numbers, modulo 2^64: mp_undelta(b, mp_delta(a,
 * b)) == a for all. */
static inline uint64_t mp_delta(uint64_t a, uint64_t b)
{
    return mp_zigzag_encode((int64_t)(a - b));
}

static inline uint64_t mp_undelta(uint64_t b, uint64_t delta)
{
    return b + (uint64_t)mp_zigzag_decode(delta);
}

#endif
