/* A walk through the Python frames of the calling thread, innermost first.
 *
 * The thread is inside of a call that one of these frames has made, so none of them changes. Each
 * frame is loaded only from memory that was shown to be mapped (memory.h), each function is
 * compared with what is known of it (code.h), and the depth is bounded. A walk that meets something
 * else ends there, and its stack counts as broken.
 */
#ifndef MP_RECORD_STACKS_PYTHON_WALK_H
#define MP_RECORD_STACKS_PYTHON_WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/stacks/python.h"
#include "record/stacks/store.h"

/* ---- The arena ----
 *
 * Functions that signal handlers have met, on their way to the writer.
 *
 * A handler may neither allocate nor lock, so it cannot number a function by its content. It puts
 * what it has read after all that was put before, and numbers it by its position. Nothing is ever
 * taken out. The writer turns such a number into the store's, where what several threads have put
 * is one function.
 */

#define CODE_ARENA_BYTES  ((size_t)8 << 20) /* mapped, and touched as it is used */
#define CODE_ARENA_NUMBER ((uint32_t)1 << 30)

struct code_arena {
    char *memory; /* NULL: no room for any */
    _Atomic size_t used;
};

bool code_arena_open(struct code_arena *arena);
void code_arena_close(struct code_arena *arena);

/* The store's number of it; 0: there is none. The writer. */
uint32_t code_arena_number(struct code_arena *arena, struct stack_store *store, uint32_t number);

/* ---- Code objects ----
 *
 * The functions that a thread has met on its stacks, by the addresses of their code objects.
 *
 * An address is used again when a function was freed: by another function, often one of the same
 * name and file. So what is known of an address is compared with what is there, each time. From
 * 3.12 on a code object has a unique number. Before, the addresses of its parts, its first
 * line and a hash of its line table must be the same; then all that a stack says is the same.
 */

#define CODE_SETS 512u /* a power of two */
#define CODE_WAYS 4u

#define CODE_TABLE_BYTES 49152u /* of a line table that are kept */
#define CODE_HASH_BYTES  4096u  /* hashed, half from each end */

/* What a walk needs of a function, in half a cache line. */
struct known_code {
    uintptr_t code;     /* 0: none */
    uint32_t version;   /* its own number; 0: it has none, its parts are compared */
    uint32_t number;    /* in the store; 0: not a function, or no room */
    uint32_t traceable; /* the byte offset before which a frame has not begun */
    uint32_t trust;     /* of the walks in which it counts */
    bool is_function;
};

/* What else it is known by. */
struct code_parts {
    uintptr_t type;
    uintptr_t name, file, table;
    uint64_t hash; /* of its line table; without a version */
    uint32_t table_bytes;
    uint32_t first_line;
};

/* A thread's. Zeroes are none. With an arena for use in a signal handler: then nothing is loaded
 * from where it lies, and numbers of functions are those of the arena. */
struct known_codes {
    struct code_arena *arena;
    struct known_code entries[CODE_SETS][CODE_WAYS];
    struct code_parts parts[CODE_SETS][CODE_WAYS]; /* of the same places */
    uint32_t hand;
    uint32_t trust; /* pages were forgotten so often */
    uint64_t scratch[(CODE_TABLE_BYTES + 16384) / sizeof(uint64_t)];
};

/* The slow part of the below: for a function without a version, and for one that has changed or is
 * new (way CODE_WAYS). */
const struct known_code *code_compare(struct known_codes *codes, const struct python *python,
                                      struct stack_store *store, pid_t pid, uintptr_t code,
                                      unsigned way);

static inline unsigned code_set(uintptr_t code)
{
    return (unsigned)(code >> 5 ^ code >> 14) % CODE_SETS;
}

/* What is known of the address; learns it if it is new. NULL if it cannot be read. `store` may be
 * NULL with an arena.
 *
 * A version is compared alone: it is in one cache line, the rest in two more. What is known is
 * mapped, since it was when the entry was made. */
static inline const struct known_code *code_find(struct known_codes *codes,
                                                 const struct python *python,
                                                 struct stack_store *store, pid_t pid,
                                                 uintptr_t code)
{
    const struct known_code *set = codes->entries[code_set(code)];
    unsigned way = 0;

    while (way < CODE_WAYS && set[way].code != code)
        way++;
    if (way < CODE_WAYS && set[way].version && set[way].trust == codes->trust && !codes->arena &&
        load_number(code + python->layout.version) == set[way].version)
        return &set[way];
    return code_compare(codes, python, store, pid, code, way);
}

/* ---- The walk ---- */

#define WALK_DEPTH   512u /* frames that are kept; of deeper stacks the innermost */
#define WALK_RECORDS 16u

/* What a thread needs for it. In a signal handler: with pages that are copied, and with the codes'
 * arena. */
struct walk {
    struct known_pages pages;
    struct known_codes codes;
    uint32_t max;   /* frames that are kept, up to WALK_DEPTH; 0: as many */
    uint32_t count; /* walks */
    bool broken;    /* the last one ended too early */
    /* What evaluators keep on the native stack, innermost first, up to WALK_RECORDS; not with
     * pages that are copied. */
    uint32_t record_count;
    uintptr_t records[WALK_RECORDS];
    uint64_t places[WALK_DEPTH + 1];
};

/* Walks from the thread state. Fills `places` and answers how many there are; 0: no frame. */
uint32_t walk_python(struct walk *walk, const struct python *python, struct stack_store *store,
                     uintptr_t thread_state);

#endif
