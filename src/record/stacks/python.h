/* The Python in this process, if there is one, and what of it may be called.
 *
 * A CUDA call may be made with the GIL released, so nothing is called that counts references. What
 * is called only reads: the thread state of this thread, whether the interpreter is being
 * finalised, and whether there are sub-interpreters.
 */
#ifndef MP_RECORD_PYTHON_PYTHON_H
#define MP_RECORD_PYTHON_PYTHON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/stacks/evaluator.h"
#include "record/stacks/python_layout.h"

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
