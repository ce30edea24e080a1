/* libminiprof_preload.so: intercepts the functions of the CUDA driver that begin or end something
 * to be recorded, and tells the recorder before they do their work.
 *
 * It also stands before the calls that take host functions or wait (host_calls.h), and leaves marks
 * of steps (steps.h).
 *
 * It needs no CUDA and does nothing in programs without CUDA. `miniprof run` adds it to LD_PRELOAD.
 * It costs a program one comparison in each dlsym.
 *
 * A program reaches the driver's functions in one of these ways, and meets this library there:
 *   - it is linked to libcuda.so.1: this library exports the names (PRELOAD_LINKED)
 *   - it calls dlsym, as Python's ctypes do: the dlsym in dlsym.c
 *   - it calls cuGetProcAddress. CUDA's runtime finds that function by dlsym and then asks it for
 *     itself (seen with libcudart 11.8 to 13.0 and a driver that logs): the two below
 * Other ways are not noticed; for them there is `--attach init`.
 *
 * A stub jumps to the very function that was asked for. One name has several functions, by version
 * and by the kind of default stream, and each has a slot of its own.
 */
#include "preload/slots.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/preload.h"
#include "preload/host_calls.h"
#include "preload/next.h"
#include "preload/steps.h"

#include "base/poison.h"

/* From cuda.h, which is not needed to build this. */
#define CUDA_SUCCESS         0
#define CUDA_ERROR_NOT_FOUND 500
#define SINCE_V2             12000 /* cuGetProcAddress has a fifth parameter since CUDA 12.0 */

/* A stub that jumps to `real`; `real` itself if no slot is free, or if it is a stub. */
static void *stub_for(void *real, enum mp_preload_call call)
{
    for (unsigned i = 0; i < PRELOAD_SLOTS; i++)
        if (real == preload_stub(i))
            return real;
    int slot = preload_take_slot(real, call);
    return slot < 0 ? real : preload_stub((unsigned)slot);
}

/* ---- Asking the driver by name ---- */

typedef int get_proc_v1(const char *symbol, void **function, int version, unsigned long flags);
typedef int get_proc_v2(const char *symbol, void **function, int version, unsigned long flags,
                        int *status);

SHOWN get_proc_v1 cuGetProcAddress;
SHOWN get_proc_v2 cuGetProcAddress_v2;

/* The driver's own functions; those of a linked program are found at its first call. */
static void *_Atomic real_v1;
static void *_Atomic real_v2;

static void *instead_of_get_proc(void *real, bool v2)
{
    void *ours = v2 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;

    if (real != ours)
        atomic_store(v2 ? &real_v2 : &real_v1, real);
    return ours;
}

static bool is_get_proc(const char *name)
{
    return strcmp(name, "cuGetProcAddress") == 0 || strcmp(name, "cuGetProcAddress_v2") == 0;
}

/* The answer to a lookup of `name` that would have found `real`. `version`: of CUDA, by which the
 * driver chose; 0: it was asked for the very symbol. `flags`: of cuGetProcAddress. */
static void *instead(const char *name, void *real, int version, unsigned long flags)
{
    if (is_get_proc(name))
        return instead_of_get_proc(real,
                                   version ? version >= SINCE_V2 : name[strlen(name) - 1] == '2');
    int row = preload_find_host_call(name, version, flags);
    if (row >= 0)
        return preload_host_call_for(row, real);
    row = preload_find_watched(name);
    if (row < 0 || (preload_call_of(row) >= MP_PRELOAD_LAUNCH && !steps_are_wanted()))
        return real;
    return stub_for(real, preload_call_of(row));
}

static void *find_get_proc(void *_Atomic *known, const char *name)
{
    void *real = atomic_load(known);

    if (real)
        return real;
    real = preload_find_next(name);
    atomic_store(known, real);
    return real;
}

int cuGetProcAddress(const char *symbol, void **function, int version, unsigned long flags)
{
    get_proc_v1 *real = NULL;

    *(void **)&real = find_get_proc(&real_v1, "cuGetProcAddress");
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    int result = real(symbol, function, version, flags);
    if (result == CUDA_SUCCESS && symbol && function && *function)
        *function = instead(symbol, *function, version, flags);
    return result;
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long flags,
                        int *status)
{
    get_proc_v2 *real = NULL;

    *(void **)&real = find_get_proc(&real_v2, "cuGetProcAddress_v2");
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    int result = real(symbol, function, version, flags, status);
    if (result == CUDA_SUCCESS && symbol && function && *function)
        *function = instead(symbol, *function, version, flags);
    return result;
}

/* Of this library, from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Whether it was found in this library, and there is no driver behind it. */
static bool is_only_ours(const void *found, const char *name)
{
    return (uintptr_t)found - (uintptr_t)__ehdr_start < (uintptr_t)(_end - __ehdr_start) &&
           !preload_find_next(name);
}

void *_Atomic preload_real_dlsym;

void *preload_lookup(void *handle, const char *name)
{
    atomic_store_explicit(&preload_real_dlsym, (void *)NEXT(dlsym), memory_order_relaxed);
    if (!name || name[0] != 'c' || name[1] != 'u' || handle == RTLD_NEXT)
        return NULL;
    if (!is_get_proc(name) && preload_find_watched(name) < 0 &&
        preload_find_host_call(name, 0, 0) < 0)
        return NULL;
    void *real = NEXT(dlsym)(handle, name);
    if (real && is_only_ours(real, name)) {
        LIBC(dlsym)(RTLD_NEXT, name); /* for dlerror */
        return PRELOAD_NOT_THERE;
    }
    return real ? instead(name, real, 0, 0) : NULL;
}
