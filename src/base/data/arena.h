/* A bump allocator: many small allocations, one free.
 *
 * Blocks grow as needed and are never moved, so pointers stay valid until the arena is reset or
 * freed. One thread at a time. A zeroed struct is an empty arena with the default block size.
 */
#ifndef MP_BASE_DATA_ARENA_H
#define MP_BASE_DATA_ARENA_H

#include <stddef.h>

struct mp_arena_block;

struct mp_arena {
    struct mp_arena_block *head; /* the block allocations come from; older ones follow */
    size_t block_bytes;          /* least size of a new block; 0: 64 KiB */
    size_t total_bytes;          /* held from the system now, for memory accounting */
};

/* Sets up an empty arena; allocates nothing. `block_bytes` 0 takes the default. */
void mp_arena_init(struct mp_arena *arena, size_t block_bytes);

/* `bytes` bytes, aligned for any type, not initialised; NULL when memory is out, with the arena as
 * it was. 0 bytes gives a unique non-NULL pointer. */
void *mp_arena_alloc(struct mp_arena *arena, size_t bytes) __attribute__((alloc_size(2)));

/* `count` items of `item_bytes`, zeroed; NULL when memory is out or the product overflows. */
void *mp_arena_array(struct mp_arena *arena, size_t count, size_t item_bytes)
    __attribute__((alloc_size(2, 3)));

/* A copy of `bytes` bytes with a NUL behind them (not counted); NULL when memory is out. `data` may
 * be NULL if `bytes` is 0. */
char *mp_arena_copy(struct mp_arena *arena, const void *data, size_t bytes);

/* Forgets all allocations but keeps the newest block for the next ones. */
void mp_arena_reset(struct mp_arena *arena);

/* Gives everything back; the arena is empty and can be used again. */
void mp_arena_free(struct mp_arena *arena);

#endif
