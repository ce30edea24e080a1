/* The Python in this process, if there is one, and what of it may be called.
 *
 * A CUDA call may be made with the GIL released, so nothing is called that counts references. What
 * is called only reads: the thread state of this thread, whether the interpreter is being
 * finalised, and whether there are sub-interpreters.
 */
#ifndef MP_RECORD_STACKS_PYTHON_H
#define MP_RECORD_STACKS_PYTHON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unwind.h>

#include "record/stacks/python_layout.h"

/* ---- The evaluator ----
 *
 * The code of CPython's evaluator, whose native frames stand for the Python frames that they run.
 *
 * Its symbol tells where it lies, but a compiler or BOLT may put parts of it elsewhere
 * (`_PyEval_EvalFrameDefault.cold`), which have no symbol in the process. Since 3.11 each evaluator
 * keeps a record on the native stack to which Python's frames lead. The native frame around such a
 * record is an evaluator's, so its code becomes known when it is missed.
 */

#define EVALUATOR_PARTS 8u
#define EVALUATOR_LOOKS 64u /* in a process: each walks a whole stack, which takes some 20 us */

struct evaluator {
    struct {
        _Atomic uintptr_t begin; /* 0: free */
        _Atomic uintptr_t bytes; /* as far as is known */
    } parts[EVALUATOR_PARTS];
    _Atomic uint32_t looks;
    _Atomic bool looking; /* a thread is at it */
    /* Of libgcc_s. `walk` NULL: it is not there, and only the symbol counts. */
    _Unwind_Reason_Code (*walk)(_Unwind_Trace_Fn, void *);
    _Unwind_Word (*stack_of)(struct _Unwind_Context *);
    _Unwind_Ptr (*code_of)(struct _Unwind_Context *);
    _Unwind_Ptr (*address_of)(struct _Unwind_Context *);
};

/* Loads the unwinder. In InitializeInjection, and only if evaluator_learn is wanted. */
void evaluator_open(struct evaluator *evaluator);

/* Looks through the calling thread's stack for the native frames around `records`. What another
 * thread looks for at the same time, or what comes after EVALUATOR_LOOKS, stays unknown. */
void evaluator_learn(struct evaluator *evaluator, const uintptr_t *records, size_t count);

/* Whether a return address is in it. */
static inline bool evaluator_has(const struct evaluator *evaluator, uintptr_t address)
{
    for (unsigned i = 0; i < EVALUATOR_PARTS; i++) {
        uintptr_t begin = atomic_load_explicit(&evaluator->parts[i].begin, memory_order_acquire);

        if (!begin)
            return false;
        if (address - begin <
            atomic_load_explicit(&evaluator->parts[i].bytes, memory_order_relaxed))
            return true;
    }
    return false;
}

/* ---- The interpreter ---- */

enum python_state { PYTHON_UNSEEN, PYTHON_LOOKING, PYTHON_READY, PYTHON_REFUSED };

struct python {
    _Atomic int state;
    _Atomic uint32_t asked;      /* how often it was not there */
    _Atomic bool several_said;   /* that there are sub-interpreters */
    struct python_layout layout; /* from READY on, like all below */
    uintptr_t code_type;
    struct evaluator evaluator;
    void *(*thread_state)(void);
    int (*is_finalizing)(void);
    void *(*first_interpreter)(void);
    void *(*main_interpreter)(void);
    int (*holds_gil)(void); /* NULL: not found */
};

/* Looks for Python, if it is time to look again. A refusal is said once. */
void python_look(struct python *python, pid_t pid);

/* The calling thread's state, NULL if there is none or if its frames may not be walked now. Only
 * when READY. */
uintptr_t python_thread_state(struct python *python);

/* The same, and says nothing: async-signal-safe. */
uintptr_t python_thread_state_now(const struct python *python);

static inline bool python_is_ready(struct python *python, pid_t pid)
{
    int state = atomic_load_explicit(&python->state, memory_order_acquire);

    if (__builtin_expect(state == PYTHON_UNSEEN, 0)) {
        python_look(python, pid);
        state = atomic_load_explicit(&python->state, memory_order_acquire);
    }
    return state == PYTHON_READY;
}

#endif
