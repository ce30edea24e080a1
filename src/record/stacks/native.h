/* Native frames: the return addresses on the calling thread's stack, and the modules they are in.
 *
 * libunwind walks where it is installed, glibc's backtrace otherwise. Neither needs frame pointers.
 * glibc goes on where libunwind cannot. What is kept is a module and an offset; symbols are the
 * reader's work.
 *
 *     native_walk             each call: addresses
 *     native_find_evaluators  each call with Python's frames too: which of them run Python
 *     native_splice           Python's frames instead of those
 *     native_place            once for each stack: address -> module and offset
 *
 * A place with PLACE_NATIVE is an address first. native_place puts the module's number into it.
 */
#ifndef MP_RECORD_STACKS_NATIVE_H
#define MP_RECORD_STACKS_NATIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/stacks/python.h"
#include "record/stacks/python_walk.h"
#include "record/stacks/store.h"

#define NATIVE_DEPTH    256u  /* frames that are kept, the innermost */
#define NATIVE_MODULES  64u   /* on one stack */
#define NATIVE_PATH     1024u /* of a module */
#define NATIVE_BUILD_ID 64u

/* What a walk and native_place take of the calling thread's stack: libunwind's walk 5 KiB at most
 * (1.6.2, x86-64), glibc's 3 KiB, and the linker when it first binds one of their functions. */
#define NATIVE_STACK_BYTES ((size_t)8 << 10)

struct native {
    int (*walk)(void **addresses, int count); /* NULL: not wanted */
    bool caches;                              /* it remembers addresses */
    _Atomic uint64_t first_unloads;           /* before the first walk, and one more; 0: none yet */
    _Atomic bool stale_said;
};

/* Loads the unwinder. In InitializeInjection: the first walk loads libraries. */
void native_open(struct native *native);

/* The return addresses of the caller as places, innermost first; how many. `unloads` is what
 * loaded_removals has just said. */
uint32_t native_walk(struct native *native, uint64_t unloads, uint64_t places[NATIVE_DEPTH + 1]);

/* Both kinds of frames of one stack, innermost first. */
struct native_stacks {
    const uint64_t *native, *python;
    uint32_t native_count, python_count;
    /* Which native ones run Python. */
    uint32_t evaluator_count;
    uint64_t evaluators[(NATIVE_DEPTH + 1 + 63) / 64];
};

/* Counts the evaluators. If there are fewer than Python's frames tell, looks for the others. */
void native_find_evaluators(struct evaluator *evaluator, const struct walk *walk,
                            struct native_stacks *stacks);

/* Puts both stacks into `to`, which has room for `room`. An evaluator's frame stands where the
 * Python frames that it runs belong. If evaluators are not found, only Python's frames are there.
 */
uint32_t native_splice(const struct native_stacks *stacks, uint64_t *to, uint32_t room);

/* What the linker says of a module. It stays loaded, as it stands on the stack. */
struct native_module {
    uintptr_t base;
    const char *path;
    const uint8_t *build_id; /* NULL: it has none */
    uint32_t build_id_bytes;
    bool hidden;
    uint32_t number;
};

struct native_key {
    struct stored_module module;
    char text[NATIVE_PATH + NATIVE_BUILD_ID];
};

/* Room for native_place, which the caller's stack may lack. */
struct native_search {
    uint64_t places[NATIVE_DEPTH + 1];
    uint32_t at[NATIVE_DEPTH + 1]; /* where they are among all */
    uint16_t of[NATIVE_DEPTH + 1]; /* module + 1 */
    uint32_t count;
    struct native_module modules[NATIVE_MODULES];
    uint32_t module_count;
    struct native_key key;
    char program[NATIVE_PATH];
};

/* Replaces addresses by modules and offsets. Answers how many of the innermost places belong to
 * the profiler and the driver, so not to the stack. */
uint32_t native_place(struct native_search *search, struct stack_store *store, uint64_t *places,
                      uint32_t count);

/* ---- What is loaded ----
 *
 * What the dynamic linker has loaded, as an application's thread may ask inside of a CUDA call.
 *
 * The linker has two locks. dlopen holds the first while constructors run. One of these may wait
 * for a thread that is inside of a CUDA call: ours. dlsym takes that lock, so here it would wait
 * for ever. The second guards the list of what is loaded, for as long as the list is changed or
 * read. Nothing of the application runs meanwhile, so whoever holds it waits for nobody.
 * dl_iterate_phdr takes the second alone, and may be called by a thread that holds it.
 */

/* How many modules were unloaded until now: as long as this stays, so does the meaning of each
 * address on a stack. 15 ns. */
uint64_t loaded_removals(void);

#endif
