/* What is known of stacks in the process, from the threads to the writer.
 *
 *     code    a function: its name, its file and how its instructions belong to lines
 *     module  a program or library of native code: its path and build id
 *     place   an instruction of a function or of a module, as 64 bits
 *     stack   the stack of who called it, and a place; so a tree
 *
 * Each is numbered once, from 1, by its content. So what two threads see is one stack, and a
 * function that was freed and made again is one function. Nothing is ever taken out. When one of
 * the limits is reached, new stacks and functions are lost, which is counted. Line tables have a
 * lower limit: then functions are kept without them, and their lines are unknown.
 *
 * The lock is taken where a thread meets a stack or a function for the first time.
 */
#ifndef MP_RECORD_STACKS_STORE_H
#define MP_RECORD_STACKS_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/data/map.h"

#define STORE_MAX_STACKS ((uint32_t)1 << 18) /* about 40 bytes each */
#define STORE_MAX_PLACES ((uint32_t)1 << 17)
#define STORE_MAX_CODE   ((size_t)8 << 20)        /* bytes of names and line tables */
#define STORE_MAX_TABLES (STORE_MAX_CODE / 8 * 7) /* the rest is for names */

/* A place: the function's number in the upper half. The lower half is the byte offset of the
 * instruction, which is even, and bit 0: a new evaluator began with this frame. */
#define PLACE_ENTRY     UINT64_C(1)
#define PLACE_CODE(p)   ((uint32_t)((p) >> 32))
#define PLACE_OFFSET(p) ((uint32_t)(p) & ~UINT32_C(1))

/* A place with this bit is native: the module's number, 0 if unknown, and the address in it. */
#define PLACE_NATIVE       (UINT64_C(1) << 63)
#define PLACE_MODULE_SHIFT 48
#define PLACE_IS_NATIVE(p) ((p) >> 63 && PLACE_CODE(p) != CODE_CUT)
#define PLACE_MODULE(p)    ((uint32_t)((p) >> PLACE_MODULE_SHIFT) & 0x7fffu)
#define PLACE_ADDRESS(p)   ((p) & ((UINT64_C(1) << PLACE_MODULE_SHIFT) - 1))
#define STORE_MAX_MODULES  0x7ffeu

/* The number of the function for frames that are left out because the stack is too deep. */
#define CODE_CUT UINT32_MAX

/* A function; its texts follow: name, file, and last its table. */
struct stored_code {
    uint32_t first_line;
    uint32_t lines; /* enum line_table */
    uint32_t name_bytes;
    uint32_t file_bytes;
    uint32_t table_bytes;
};

/* A module; its path and its build id follow. */
struct stored_module {
    uint32_t path_bytes;
    uint32_t build_id_bytes;
};

struct stored_stack {
    uint32_t caller; /* 0: none */
    uint32_t place;
};

struct stack_store {
    pthread_mutex_t lock;
    /* Under the lock. */
    struct mp_intern codes, modules, places, stacks;
    _Atomic uint64_t lost;
};

void store_open(struct stack_store *store);
void store_close(struct stack_store *store);

/* The number of a function: its struct with the texts after it. If only its line table has no
 * room, it is taken out of *code. 0 if even the rest has none, which counts as lost. */
uint32_t store_code(struct stack_store *store, struct stored_code *code);

/* The number of a module, likewise. */
uint32_t store_module(struct stack_store *store, const void *module, size_t bytes);

/* The number of the stack with these places, the innermost first. 0 without room. */
uint32_t store_stack(struct stack_store *store, const uint64_t *places, uint32_t count);

/* What a number stands for. The writer. Functions and modules: owned by the store, and stay. */
struct stored_stack store_stack_get(struct stack_store *store, uint32_t stack);
uint64_t store_place_get(struct stack_store *store, uint32_t place);
const struct stored_code *store_code_get(struct stack_store *store, uint32_t code);
const struct stored_module *store_module_get(struct stack_store *store, uint32_t module);

#endif
