/* The code of CPython's evaluator, whose native frames stand for the Python frames that they run.
 *
 * Its symbol tells where it lies, but a compiler or BOLT may put parts of it elsewhere
 * (`_PyEval_EvalFrameDefault.cold`), which have no symbol in the process. Since 3.11 each evaluator
 * keeps a record on the native stack to which Python's frames lead. The native frame around such a
 * record is an evaluator's, so its code becomes known when it is missed.
 */
#ifndef MP_RECORD_PYTHON_EVALUATOR_H
#define MP_RECORD_PYTHON_EVALUATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

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

/* Takes what the symbol tells. */
void evaluator_find(struct evaluator *evaluator);

/* Looks through the calling thread's stack for the native frames around `records`. What another
 * thread looks for at the same time, or what comes after EVALUATOR_LOOKS, stays unknown. */
void evaluator_learn(struct evaluator *evaluator, const uintptr_t *records, size_t count);

/* Whether a return address lies in it. */
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

#endif
