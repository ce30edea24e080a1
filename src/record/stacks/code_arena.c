/* A mapping that is filled from its begin. */
#include "record/stacks/code_arena.h"

#include <string.h>
#include <sys/mman.h>

#include "base/poison.h"

#define UNIT sizeof(uint64_t)

/* The function follows. */
struct entry {
    uint32_t asked;  /* whether the store was. The writer's, like the next */
    uint32_t number; /* the store's */
};

bool code_arena_open(struct code_arena *arena)
{
    void *memory = mmap(NULL, CODE_ARENA_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    arena->memory = memory == MAP_FAILED ? NULL : memory;
    return arena->memory != NULL;
}

void code_arena_close(struct code_arena *arena)
{
    if (arena->memory)
        munmap(arena->memory, CODE_ARENA_BYTES);
    arena->memory = NULL;
}

uint32_t code_arena_add(struct code_arena *arena, const void *code, size_t bytes)
{
    static const struct entry entry;
    size_t room = (sizeof entry + bytes + UNIT - 1) / UNIT * UNIT;
    size_t at = atomic_load_explicit(&arena->used, memory_order_relaxed);

    do {
        if (!arena->memory || room > CODE_ARENA_BYTES - at)
            return 0;
    } while (!atomic_compare_exchange_weak(&arena->used, &at, at + room));
    memcpy(arena->memory + at, &entry, sizeof entry);
    memcpy(arena->memory + at + sizeof entry, code, bytes);
    return CODE_ARENA_NUMBER | (uint32_t)(at / UNIT);
}

uint32_t code_arena_number(struct code_arena *arena, struct stack_store *store, uint32_t number)
{
    char *at = arena->memory + (size_t)(number & ~CODE_ARENA_NUMBER) * UNIT;
    struct entry entry;

    memcpy(&entry, at, sizeof entry);
    if (!entry.asked) {
        entry.asked = true;
        entry.number = store_code(store, (struct stored_code *)(void *)(at + sizeof entry));
        memcpy(at, &entry, sizeof entry);
    }
    return entry.number;
}
