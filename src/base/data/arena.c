/* A bump allocator. Blocks are never moved, so pointers stay valid; everything is freed at once. */
#include "base/data/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/overflow.h"

#include "base/poison.h"

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
    void *result;

    if (!mp_size_add(bytes ? bytes : 1, ALIGNMENT - 1, &rounded))
        return NULL;
    rounded &= ~(ALIGNMENT - 1);
    if (!block || block->capacity - block->used < rounded)
        block = add_block(arena, rounded);
    if (!block)
        return NULL;
    result = block->data + block->used;
    block->used += rounded;
    return result;
}

void *mp_arena_array(struct mp_arena *arena, size_t count, size_t item_bytes)
{
    size_t bytes;
    void *result;

    if (!mp_size_mul(count, item_bytes, &bytes))
        return NULL;
    result = mp_arena_alloc(arena, bytes);
    if (result)
        memset(result, 0, bytes);
    return result;
}

char *mp_arena_copy(struct mp_arena *arena, const void *data, size_t bytes)
{
    size_t total;
    char *result;

    if (!mp_size_add(bytes, 1, &total))
        return NULL;
    result = mp_arena_alloc(arena, total);
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
