/* Memory that grows. Arrays grow by half, through checked multiplication, because counts come from
 * files. A run of bytes keeps its first error, so that writers append many small pieces and check
 * the status once. The blocks of an arena are never moved, so pointers stay valid until everything
 * is freed at once.
 */
#include "base/data/storage.h"

#include <errno.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/poison.h"

/* ---- Arrays ---- */

enum mp_status mp_reserve(void **items, size_t count, size_t *capacity, size_t item_bytes)
{
    size_t wanted = *capacity + *capacity / 2 + 64;
    size_t bytes;

    if (count < *capacity)
        return MP_OK;
    if (!mp_size_mul(wanted, item_bytes, &bytes))
        return MP_ERR_MEMORY;
    void *grown = realloc(*items, bytes);
    if (!grown)
        return MP_ERR_MEMORY;
    *items = grown;
    *capacity = wanted;
    return MP_OK;
}

bool mp_double(void *items, uint32_t *capacity, size_t item_bytes)
{
    uint32_t more = *capacity ? *capacity * 2 : 16;
    uint8_t *grown = realloc(*(void **)items, more * item_bytes);

    if (!grown)
        return false;
    memset(grown + *capacity * item_bytes, 0, (more - *capacity) * item_bytes);
    *(void **)items = grown;
    *capacity = more;
    return true;
}

/* ---- Bytes ---- */

#define FIRST_CAPACITY 256u

static enum mp_status grow(struct mp_buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;

    if (buffer->limit && needed > buffer->limit)
        return MP_ERR_LIMIT;
    while (capacity < needed) {
        if (!mp_size_add(capacity, capacity / 2, &capacity))
            return MP_ERR_MEMORY;
    }
    if (buffer->limit && capacity > buffer->limit)
        capacity = buffer->limit;
    uint8_t *data = realloc(buffer->data, capacity);
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
    if (!bytes)
        return buffer->status;
    uint8_t *room = mp_buffer_extend(buffer, bytes);
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

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 && buffer->status == MP_OK)
        buffer->status = MP_ERR_ARGUMENT;
    if (length < 0)
        return buffer->status;
    uint8_t *room = mp_buffer_reserve(buffer, (size_t)length + 1);
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

/* ---- Arenas ---- */

#define DEFAULT_BLOCK_BYTES ((size_t)64 << 10)
#define ALIGNMENT           alignof(max_align_t)

struct mp_arena_block {
    struct mp_arena_block *older;
    size_t capacity; /* bytes of data */
    size_t used;
    alignas(max_align_t) unsigned char data[];
};

void mp_arena_init(struct mp_arena *arena, size_t block_bytes)
{
    *arena = (struct mp_arena){.block_bytes = block_bytes};
}

/* Puts a block with room for `bytes` in front. */
static struct mp_arena_block *add_block(struct mp_arena *arena, size_t bytes)
{
    size_t capacity = arena->block_bytes ? arena->block_bytes : DEFAULT_BLOCK_BYTES;
    struct mp_arena_block *block;
    size_t total;

    if (bytes > capacity)
        capacity = bytes;
    if (!mp_size_add(sizeof(*block), capacity, &total))
        return NULL;
    block = malloc(total);
    if (!block)
        return NULL;
    block->older = arena->head;
    block->capacity = capacity;
    block->used = 0;
    arena->head = block;
    arena->total_bytes += total;
    return block;
}

void *mp_arena_alloc(struct mp_arena *arena, size_t bytes)
{
    struct mp_arena_block *block = arena->head;
    size_t rounded;

    if (!mp_size_add(bytes ? bytes : 1, ALIGNMENT - 1, &rounded))
        return NULL;
    rounded &= ~(ALIGNMENT - 1);
    if (!block || block->capacity - block->used < rounded)
        block = add_block(arena, rounded);
    if (!block)
        return NULL;
    void *result = block->data + block->used;
    block->used += rounded;
    return result;
}

char *mp_arena_copy(struct mp_arena *arena, const void *data, size_t bytes)
{
    size_t total;

    if (!mp_size_add(bytes, 1, &total))
        return NULL;
    char *result = mp_arena_alloc(arena, total);
    if (!result)
        return NULL;
    if (bytes)
        memcpy(result, data, bytes);
    result[bytes] = '\0';
    return result;
}

static void free_blocks(struct mp_arena *arena, struct mp_arena_block *block)
{
    while (block) {
        struct mp_arena_block *older = block->older;

        arena->total_bytes -= sizeof(*block) + block->capacity;
        free(block);
        block = older;
    }
}

void mp_arena_reset(struct mp_arena *arena)
{
    if (!arena->head)
        return;
    free_blocks(arena, arena->head->older);
    arena->head->older = NULL;
    arena->head->used = 0;
}

void mp_arena_free(struct mp_arena *arena)
{
    free_blocks(arena, arena->head);
    arena->head = NULL;
}

/* ---- Streams into memory ----
 *
 * A stream of libc (fopencookie) in front of a buffer.
 */

struct memory_file {
    struct mp_buffer buffer;
    char **text;
    size_t *bytes;
};

static ssize_t write_memory(void *cookie, const char *data, size_t bytes)
{
    struct memory_file *file = cookie;

    if (!mp_buffer_append(&file->buffer, data, bytes))
        return (ssize_t)bytes;
    errno = ENOMEM;
    return 0; /* which makes an error of the stream, too */
}

/* Where it is; or to its begin. */
static int seek_memory(void *cookie, off64_t *offset, int whence)
{
    struct memory_file *file = cookie;

    if (*offset || whence == SEEK_END)
        return -1;
    if (whence == SEEK_SET)
        mp_buffer_clear(&file->buffer);
    *offset = (off64_t)file->buffer.size;
    return 0;
}

static int end(void *cookie)
{
    struct memory_file *file = cookie;
    bool failed = mp_buffer_append_byte(&file->buffer, '\0');

    if (failed) {
        mp_buffer_free(&file->buffer);
        errno = ENOMEM;
    } else {
        *file->text = (char *)file->buffer.data;
        *file->bytes = file->buffer.size - 1;
    }
    free(file);
    return failed ? -1 : 0;
}

FILE *memory_file_open(char **text, size_t *bytes)
{
    const cookie_io_functions_t functions = {
        .write = write_memory, .seek = seek_memory, .close = end};
    struct memory_file *file = calloc(1, sizeof *file);
    FILE *stream = file ? fopencookie(file, "w", functions) : NULL;

    *text = NULL;
    *bytes = 0;
    if (!stream) {
        free(file);
        return NULL;
    }
    file->text = text;
    file->bytes = bytes;
    return stream;
}

/* ---- Packed texts ----
 *
 * A zstd frame knows its length; what is none is a text that could not be packed.
 */

char *mp_frame_unpack(const unsigned char *frame, size_t bytes, size_t *length)
{
    unsigned long long size = ZSTD_getFrameContentSize(frame, bytes);
    bool packed = size != ZSTD_CONTENTSIZE_ERROR && size != ZSTD_CONTENTSIZE_UNKNOWN;
    char *content = malloc((packed ? (size_t)size : bytes) + 1);

    if (!content)
        return NULL;
    *length = packed ? ZSTD_decompress(content, (size_t)size, frame, bytes) : bytes;
    if (!packed)
        memcpy(content, frame, bytes);
    else if (ZSTD_isError(*length)) { /* for the decoder's own memory */
        free(content);
        return NULL;
    }
    content[*length] = '\0';
    return content;
}
