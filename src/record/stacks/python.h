/* The Python in this process, if there is one: where it keeps what a walk reads, how its memory is
 * read, and what of it may be called.
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
#include <string.h>
#include <sys/types.h>
#include <unwind.h>

/* ---- Where CPython keeps what a walk through a thread's frames reads ----
 *
 * Up to 3.12 the offsets are those of x86-64 and aarch64 release builds (the headers of 3.8 to
 * 3.12, checked by tests/e2e/stacks.sh with the interpreters that are there). From 3.13 on the
 * interpreter tells them itself: _PyRuntime begins with _Py_DebugOffsets.
 */

#define LAYOUT_NONE        UINT16_MAX
#define LAYOUT_CODE_BYTES  256u  /* a code object without its instructions takes less */
#define LAYOUT_DEBUG_BYTES 1024u /* of _Py_DebugOffsets that are looked at */

/* A walk shows this number of bytes to be mapped before it loads. So no field lies beyond them. */
#define LAYOUT_FRAME_BYTES 112u /* of a frame */
#define LAYOUT_STATE_BYTES 128u /* of a thread state */

/* How a code object says which line an instruction belongs to. */
enum line_table {
    LINE_TABLE_PAIRS,     /* co_lnotab: 3.8, 3.9 */
    LINE_TABLE_RANGES,    /* co_linetable of 3.10 */
    LINE_TABLE_LOCATIONS, /* co_linetable since 3.11 */
    LINE_TABLE_NONE       /* it was not kept: lines are unknown */
};

/* Offsets in bytes; LAYOUT_NONE: there is none. */
struct python_layout {
    bool objects;         /* frames are Python objects: before 3.11 */
    uint8_t lines;        /* enum line_table */
    uint8_t scale;        /* objects: bytes of an instruction number */
    uint16_t state_frame; /* in the thread state: the frame, or what has it */
    uint16_t inner_frame; /* in the latter: the frame */
    /* In a frame. */
    uint16_t previous;
    uint16_t code;
    uint16_t instruction;
    uint16_t owner;    /* since 3.11: 1 a generator's, 3 and more no function's */
    uint16_t is_entry; /* 3.11: a new evaluator began with it */
    /* In a code object. */
    uint16_t first_line;
    uint16_t file;
    uint16_t name;
    uint16_t table;
    uint16_t version;   /* a number that no other code object has had: since 3.12 */
    uint16_t traceable; /* the first instruction that counts, as an index */
    uint16_t bytes;     /* the instructions; for `objects`: the size */
    /* Sizes of what is before the characters of a compact string: ASCII only, and others. */
    uint16_t ascii;
    uint16_t wide;
};

/* The same in all versions. */
#define LAYOUT_TYPE       8u  /* of an object */
#define LAYOUT_SIZE       16u /* items of a variable object, characters of a string */
#define LAYOUT_BYTES_DATA 32u
#define LAYOUT_TEXT_STATE 32u

/* The layout of CPython 3.`minor`, 8 to 12; NULL for others. */
const struct python_layout *layout_of(unsigned minor);

/* From what _PyRuntime begins with. False if it is not _Py_DebugOffsets of this version, or if the
 * build is free-threaded, which *why then says. */
bool layout_from_offsets(struct python_layout *layout, const void *offsets, size_t bytes,
                         uint32_t version, const char **why);

/* ---- Line tables: from an instruction of a function to its line ---- */

/* The line of the instruction at byte `at`; 0 if it has none. `table` may be damaged. */
uint32_t lines_of(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
                  uint32_t at);

/* ---- Reading the application's memory without faults ----
 *
 * A walk meets pointers that it has not made. It follows none of them before the kernel has shown
 * that memory is there: process_vm_readv copies, and fails where a load would end the program. That
 * is a system call, 0.3 us. So a thread remembers which pages it has shown to be mapped, and
 * believes it for MEMORY_TRUST walks; a load from such a page is a load.
 *
 * Live frames are in live memory. What is guarded against is memory that is not what the layout
 * says: other builds, overwritten frames.
 *
 * A signal handler comes while frames are made and freed. There nothing is loaded from where it
 * lies, and no page is trusted: with `copies` a walk sees what the kernel has copied.
 */

#define MEMORY_TRUST     16384u /* walks after which pages are shown again; a power of two */
#define MEMORY_PAGE_BITS 12u    /* no page is smaller */
#define MEMORY_SETS      256u   /* a power of two */
#define MEMORY_WAYS      4u

/* A thread's pages. Zeroes are none. */
struct known_pages {
    pid_t pid;
    bool copies;    /* nothing is loaded from where it lies */
    uint32_t hand;  /* the way that is given up next */
    uintptr_t last; /* the page that was asked for last: frames are neighbours */
    uintptr_t pages[MEMORY_SETS][MEMORY_WAYS];
};

/* Copies; false if not all of it is mapped. */
bool memory_copy(pid_t pid, void *to, uintptr_t from, size_t bytes);

/* The slow part of the below. */
bool memory_show_page(struct known_pages *known, uintptr_t page);

static inline bool memory_page_is_known(struct known_pages *known, uintptr_t page)
{
    const uintptr_t *set = known->pages[page % MEMORY_SETS];

    if (page == known->last)
        return true;
    if (set[0] != page && set[1] != page && set[2] != page && set[3] != page &&
        !memory_show_page(known, page))
        return false;
    known->last = page;
    return true;
}

/* Whether `bytes`, fewer than a page, can be loaded from there, at a multiple of 8. */
static inline bool memory_is_mapped(struct known_pages *known, uintptr_t at, size_t bytes)
{
    uintptr_t first = at >> MEMORY_PAGE_BITS;
    uintptr_t last = (at + bytes - 1) >> MEMORY_PAGE_BITS;

    return first && !(at & 7) && memory_page_is_known(known, first) &&
           (first == last || memory_page_is_known(known, last));
}

void memory_forget(struct known_pages *known);

/* Where `bytes` that lie at `at`, a multiple of 8, can be loaded: there, or in `copy`. 0: nowhere.
 */
static inline uintptr_t memory_view(struct known_pages *known, uintptr_t at, size_t bytes,
                                    void *copy)
{
    if (__builtin_expect(known->copies, 0))
        return !(at & 7) && memory_copy(known->pid, copy, at, bytes) ? (uintptr_t)copy : 0;
    return memory_is_mapped(known, at, bytes) ? at : 0;
}

/* Loads. Only from what is mapped. */
static inline uintptr_t load_word(uintptr_t at)
{
    uintptr_t value;

    memcpy(&value, (const void *)at, sizeof(value));
    return value;
}

static inline uint32_t load_number(uintptr_t at)
{
    uint32_t value;

    memcpy(&value, (const void *)at, sizeof(value));
    return value;
}

static inline uint8_t load_byte(uintptr_t at)
{
    return *(const uint8_t *)at;
}

/* ---- The evaluator: the code whose native frames stand for Python's frames ----
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
        _Atomic uintptr_t bytes; /* that are known */
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
