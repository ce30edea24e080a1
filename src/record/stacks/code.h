/* The functions that a thread has met on its stacks, by the addresses of their code objects.
 *
 * An address is used again when a function was freed: by another function, often one of the same
 * name and file. So what is known of an address is compared with what is there, each time. From
 * 3.12 on a code object has a number of its own. Before, the addresses of its parts, its first
 * line and a hash of its line table must be the same; then all that a stack says is the same.
 */
#ifndef MP_RECORD_STACKS_CODE_H
#define MP_RECORD_STACKS_CODE_H

#include "base/data/hash.h"
#include "record/stacks/code_arena.h"
#include "record/stacks/memory.h"
#include "record/stacks/python.h"
#include "record/stacks/store.h"

#define CODE_SETS 512u /* a power of two */
#define CODE_WAYS 4u

#define CODE_TABLE_BYTES 49152u /* of a line table that are kept */
#define CODE_HASH_BYTES  4096u  /* hashed, half from each end */

struct known_code {
    uintptr_t code; /* 0: none */
    uintptr_t type;
    uintptr_t name, file, table;
    uint64_t check; /* its own number, or a hash of its line table */
    uint32_t table_bytes;
    uint32_t first_line;
    uint32_t number;    /* in the store; 0: not a function, or no room */
    uint32_t traceable; /* the byte offset before which a frame has not begun */
    uint32_t trust;     /* of the walks in which it counts */
};

/* A thread's. Zeroes are none. With an arena for use in a signal handler: then nothing is loaded
 * from where it lies, and numbers of functions are those of the arena. */
struct known_codes {
    struct code_arena *arena;
    struct known_code entries[CODE_SETS][CODE_WAYS];
    uint32_t hand;
    uint32_t trust; /* pages were forgotten so often */
    uint64_t scratch[(CODE_TABLE_BYTES + 16384) / sizeof(uint64_t)];
};

/* What is known of the address; learns it if it is new. NULL if it cannot be read. `store` may be
 * NULL with an arena. */
const struct known_code *code_find(struct known_codes *codes, const struct python *python,
                                   struct stack_store *store, pid_t pid, uintptr_t code);

#endif
