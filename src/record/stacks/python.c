/* Finds Python by its symbols, and the layout of its frames by its version. */
#include "record/stacks/python.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "record/stacks/loaded.h"
#include "record/stacks/python_memory.h"

#include "base/poison.h"

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

/* The version's text as far as its number. */
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
 * in other threads, is only called where Python is (loaded.h). */
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
