/* Whose line made a call: the stacks of launches, copies and synchronising calls, and of nodes of
 * graphs where they are made.
 *
 * The thread that calls walks its own stack inside of CUPTI's callback, and keeps a number:
 *
 *     stacks/python_walk.c   Python frames -> places    each call; nothing is copied
 *     native.c        native frames -> places    each call; with both, one stack of both
 *     stacks.c        places -> number           by a hash of the places: a table of the thread
 *     stacks/store.c  new places -> a new number once for each stack; under a lock
 *     slots.c         correlation id -> number   the writer asks when it has the call's record
 *
 * rows/stack_rows.c writes what a number stands for when the first row names it. gaps.h has
 * the stacks of threads that make no call for long.
 *
 * No stack is taken while a thread takes one: a signal handler that calls CUDA meanwhile gets none.
 */
#ifndef MP_RECORD_STACKS_STACKS_H
#define MP_RECORD_STACKS_STACKS_H

#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/stacks/gaps.h"
#include "record/stacks/native.h"
#include "record/stacks/python.h"
#include "record/stacks/python_walk.h"
#include "record/stacks/store.h"

/* ---- Slots ----
 *
 * Which stack belongs to a call or to a node of a graph, by its number: a table into which any
 * thread puts and from which the writer takes.
 *
 * Numbers are given one after the other and asked for soon. So the newest takes the place of the
 * one that is SLOTS older. Nobody waits: a slot is one word. Memory is mapped at the start and
 * touched as it is used.
 */

#define SLOTS ((uint32_t)1 << 20) /* 8 MiB; at 300,000 calls a second those of 3 s */

struct stack_slots {
    _Atomic uint64_t *words; /* number in the upper half, the stack in the lower */
};

static inline void slots_put(struct stack_slots *slots, uint32_t number, uint32_t stack)
{
    atomic_store_explicit(&slots->words[number % SLOTS], (uint64_t)number << 32 | stack,
                          memory_order_release);
}

/* The stack; 0: none was put. `*lost`: one may have been, but a later number has its place. */
static inline uint32_t slots_get(const struct stack_slots *slots, uint32_t number, bool *lost)
{
    uint64_t word = atomic_load_explicit(&slots->words[number % SLOTS], memory_order_acquire);
    uint32_t has = (uint32_t)(word >> 32);

    *lost = word && (int32_t)(has - number) > 0;
    return has == number ? (uint32_t)word : 0;
}

/* ---- Stacks of threads ---- */

/* Of both kinds, with what stands for those left out. */
#define STACK_DEPTH (WALK_DEPTH + NATIVE_DEPTH + 2)

struct call_log;
struct core;

/* InitializeInjection writes what has no other note. */
struct stacks {
    uint32_t every; /* calls of a thread of which one gets a stack */
    uint64_t over;  /* only calls that took as many ns; 0: all */
    pid_t pid;
    bool wants_python;
    struct native native;
    struct python python;
    struct stack_store store; /* lock: stacks */
    struct stack_slots calls; /* by correlation id */
    struct stack_slots nodes; /* by the number of origins.h */
    struct gaps gaps;         /* atomics, and rings without a lock */
    _Atomic uint64_t broken;  /* walks that ended at what is no frame, or found no room */
};

/* In InitializeInjection. Without memory nothing is wanted, and a line says so. */
void stacks_open(struct stacks *stacks, struct core *core);

/* ENTER and EXIT of a call that has a stack, from CUPTI's callback. */
void stacks_call(struct stacks *stacks, struct core *core, const CUpti_CallbackData *data);

/* A node of a graph has been made, and has this number. */
void stacks_node(struct stacks *stacks, struct core *core, uint32_t number);

/* The calling thread's stack as it is now; 0: none. For the benchmark too. */
uint32_t stacks_take(struct stacks *stacks, struct call_log *log);

#endif
