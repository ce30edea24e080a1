/* The CPython of this process: whether it is loaded and known, where its evaluator's code is, and
 * how its memory is read.
 */
#include "record/stacks/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/log.h"
#include "record/stacks/native.h"
#include "record/stacks/python_memory.h"

#include "base/poison.h"

/* ---- Memory that may not be mapped ----
 *
 * What the kernel says of the application's memory: process_vm_readv from the process itself.
 */

bool memory_copy(pid_t pid, void *to, uintptr_t from, size_t bytes)
{
    struct iovec here = {to, bytes};
    struct iovec there = {(void *)from, bytes};
    int before = errno;
    bool whole = process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;

    errno = before;
    return whole;
}

bool memory_show_page(struct known_pages *known, uintptr_t page)
{
    char byte;

    if (!memory_copy(known->pid, &byte, page << MEMORY_PAGE_BITS, sizeof(byte)))
        return false;
    known->pages[page % MEMORY_SETS][known->hand++ % MEMORY_WAYS] = page;
    return true;
}

void memory_forget(struct known_pages *known)
{
    memset(known->pages, 0, sizeof(known->pages));
    known->last = 0;
}

/* ---- The evaluator ----
 *
 * Finds the evaluator by its symbol, and its other parts by the records that it keeps on the stack.
 */

/* glibc's backtrace has loaded it. */
void evaluator_open(struct evaluator *evaluator)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return;
    *(void **)&evaluator->stack_of = dlsym(library, "_Unwind_GetCFA");
    *(void **)&evaluator->code_of = dlsym(library, "_Unwind_GetRegionStart");
    *(void **)&evaluator->address_of = dlsym(library, "_Unwind_GetIP");
    if (evaluator->stack_of && evaluator->code_of && evaluator->address_of)
        *(void **)&evaluator->walk = dlsym(library, "_Unwind_Backtrace");
}

/* Takes what the symbol tells. */
static void evaluator_find(struct evaluator *evaluator)
{
    void *address = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    void *found = NULL;
    Dl_info info;

    if (!address || !dladdr1(address, &info, &found, RTLD_DL_SYMENT) || !found)
        return;
    const Elf64_Sym *symbol = found;
    atomic_store(&evaluator->parts[0].bytes, symbol->st_size);
    atomic_store(&evaluator->parts[0].begin, (uintptr_t)address);
}

/* A walk from frame to frame, outwards. */
struct look {
    struct evaluator *evaluator;
    const uintptr_t *records;
    size_t count;
    /* Of the frame before: where its stack begins, its code begins, and it goes on. */
    uintptr_t stack, begin, address;
};

static void add_code(struct evaluator *evaluator, uintptr_t begin, uintptr_t address)
{
    for (unsigned i = 0; begin && i < EVALUATOR_PARTS; i++) {
        uintptr_t known = atomic_load(&evaluator->parts[i].begin);

        if (known && known != begin)
            continue;
        if (atomic_load(&evaluator->parts[i].bytes) < address - begin + 1)
            atomic_store(&evaluator->parts[i].bytes, address - begin + 1);
        atomic_store(&evaluator->parts[i].begin, begin);
        return;
    }
}

/* The stack of a frame ends where that of the next one begins. */
static _Unwind_Reason_Code look_at(struct _Unwind_Context *context, void *argument)
{
    struct look *look = argument;
    uintptr_t stack = look->evaluator->stack_of(context);

    for (size_t i = 0; look->stack && i < look->count; i++)
        if (look->records[i] - look->stack < stack - look->stack)
            add_code(look->evaluator, look->begin, look->address);
    look->stack = stack;
    look->begin = look->evaluator->code_of(context);
    look->address = look->evaluator->address_of(context);
    return _URC_NO_REASON;
}

void evaluator_learn(struct evaluator *evaluator, const uintptr_t *records, size_t count)
{
    struct look look = {.evaluator = evaluator, .records = records, .count = count};

    if (!evaluator->walk || !count || atomic_load(&evaluator->looks) >= EVALUATOR_LOOKS ||
        atomic_exchange(&evaluator->looking, true))
        return;
    atomic_fetch_add(&evaluator->looks, 1);
    evaluator->walk(look_at, &look);
    atomic_store(&evaluator->looking, false);
}

/* ---- The interpreter ---- */

#define LOOK_EVERY 1024u /* calls, while there is no Python */

/* A symbol of the process, as a function or as data. */
static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static void refuse(struct python *python, const char *version, const char *why)
{
    atomic_store_explicit(&python->state, PYTHON_REFUSED, memory_order_release);
    mp_log_warn("MINIPROF_STACKS: Python %s %s: no Python stacks", version, why);
}

/* "3.11.7 (main, ...": as PY_VERSION_HEX of a release; 0: not such a text. Since 3.11 the number
 * itself is there. */
static uint32_t version_of(const char *text)
{
    const uint32_t *number = find("Py_Version");
    char *end;

    if (number)
        return *number;
    if (text[0] != '3' || text[1] != '.')
        return 0;
    return 3u << 24 | (uint32_t)(strtoul(text + 2, &end, 10) & 0xff) << 16;
}

static bool find_layout(struct python *python, pid_t pid, uint32_t version, const char **why)
{
    const void *runtime = find("_PyRuntime");
    const struct python_layout *known = version >> 24 == 3 ? layout_of(version >> 16 & 0xff) : NULL;
    uint64_t offsets[LAYOUT_DEBUG_BYTES / sizeof(uint64_t)];

    *why = "is not known";
    if (known) {
        python->layout = *known;
        return true;
    }
    return runtime && memory_copy(pid, offsets, (uintptr_t)runtime, sizeof(offsets)) &&
           layout_from_offsets(&python->layout, offsets, sizeof(offsets), version, why);
}

/* The number at the begin of the version: "3.12.1" of "3.12.1 (main, ...)". */
static void take_version(char *to, size_t bytes, const char *text)
{
    size_t length = strcspn(text, " ");

    if (length >= bytes)
        length = bytes - 1;
    memcpy(to, text, length);
    to[length] = '\0';
}

static void learn(struct python *python, pid_t pid, const char *text)
{
    void *type = find("PyCode_Type");
    char version[32];
    const char *why;

    take_version(version, sizeof(version), text);
    python->code_type = (uintptr_t)type;
    *(void **)&python->thread_state = find("PyGILState_GetThisThreadState");
    *(void **)&python->is_finalizing = find("_Py_IsFinalizing");
    if (!python->is_finalizing)
        *(void **)&python->is_finalizing = find("Py_IsFinalizing");
    *(void **)&python->first_interpreter = find("PyInterpreterState_Head");
    *(void **)&python->main_interpreter = find("PyInterpreterState_Main");
    *(void **)&python->holds_gil = find("PyGILState_Check");
    if (!type || !python->thread_state || !python->is_finalizing || !python->first_interpreter ||
        !python->main_interpreter)
        refuse(python, version, "shows too little of itself");
    else if (!memory_copy(pid, &type, (uintptr_t)&python->code_type, sizeof(type)))
        refuse(python, version, "cannot be walked safely, since process_vm_readv is refused here");
    else if (!find_layout(python, pid, version_of(text), &why))
        refuse(python, version, why);
    else {
        evaluator_find(&python->evaluator);
        atomic_store_explicit(&python->state, PYTHON_READY, memory_order_release);
    }
}

/* A program may load Python late. A look among 20 modules takes 1 us, among 200 some 12 us: at each
 * 1024th call that is nothing. The first looks are closer together. dlsym, which waits for dlopen
 * in other threads, is only called where Python is (loaded_removals). */
static bool may_be_there(struct python *python)
{
    uint32_t asked = atomic_fetch_add_explicit(&python->asked, 1, memory_order_relaxed) + 1;

    return (!(asked & (asked - 1)) || asked % LOOK_EVERY == 0) && loaded_defines("Py_GetVersion");
}

void python_look(struct python *python, pid_t pid)
{
    int expected = PYTHON_UNSEEN;
    const char *(*get_version)(void);

    if (!may_be_there(python) ||
        !atomic_compare_exchange_strong(&python->state, &expected, PYTHON_LOOKING))
        return;
    *(void **)&get_version = find("Py_GetVersion");
    if (get_version)
        learn(python, pid, get_version());
    else
        atomic_store(&python->state, PYTHON_UNSEEN);
}

/* A thread that has left one interpreter for another may show the frames of the first. */
static bool has_several(struct python *python)
{
    if (__builtin_expect(python->first_interpreter() == python->main_interpreter(), 1))
        return false;
    if (!atomic_exchange(&python->several_said, true))
        mp_log_warn("MINIPROF_STACKS: Python has sub-interpreters: no Python stacks while they "
                    "are there");
    return true;
}

uintptr_t python_thread_state_now(const struct python *python)
{
    void *state = python->thread_state();

    return state && !python->is_finalizing() &&
                   python->first_interpreter() == python->main_interpreter()
               ? (uintptr_t)state
               : 0;
}

uintptr_t python_thread_state(struct python *python)
{
    void *state = python->thread_state();

    return state && !python->is_finalizing() && !has_several(python) ? (uintptr_t)state : 0;
}
