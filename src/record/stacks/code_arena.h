/* Functions that signal handlers have met, on their way to the writer.
 *
 * A handler may neither allocate nor lock, so it cannot number a function by its content. It puts
 * what it has read behind all that was put before, and numbers it by its position. Nothing is ever
 * taken out. The writer turns such a number into the store's, where what several threads have put
 * is one function.
 */
#ifndef MP_RECORD_PYTHON_CODE_ARENA_H
#define MP_RECORD_PYTHON_CODE_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/stacks/store.h"

#define CODE_ARENA_BYTES  ((size_t)8 << 20) /* mapped, and touched as it is used */
#define CODE_ARENA_NUMBER ((uint32_t)1 << 30)

struct code_arena {
    char *memory; /* NULL: no room for any */
    _Atomic size_t used;
};

bool code_arena_open(struct code_arena *arena);
void code_arena_close(struct code_arena *arena);

/* Puts a function as store_code takes it, in so many bytes. Its number, with the bit
 * CODE_ARENA_NUMBER; 0 without room. Any thread; async-signal-safe. */
uint32_t code_arena_add(struct code_arena *arena, const void *code, size_t bytes);

/* The store's number of it; 0: there is none. The writer. */
uint32_t code_arena_number(struct code_arena *arena, struct stack_store *store, uint32_t number);

#endif
