/* libminiprof_preload.so: stands in front of the few functions of the CUDA driver with which
 * something to be recorded begins, and says so to the collector before they do their work.
 *
 * It needs no CUDA and does nothing in programs without. `miniprof run` adds it to LD_PRELOAD; what
 * it costs a program is one comparison in each dlsym.
 *
 * How programs get at the driver's functions, and what meets them here:
 *   - linked to libcuda.so.1: the names that this library exports (PRELOAD_LINKED)
 *   - dlsym, as Python's ctypes do: the dlsym in dlsym.c
 *   - cuGetProcAddress, as CUDA's runtime does, which finds that function by dlsym and then asks it
 *     for itself (read off libcudart 11.8 to 13.0 with a driver that logs): the two below
 * A program that finds them in another way is not noticed; `--attach init` serves it.
 *
 * A stub goes on to the very function that was asked for: the same name has several, by version and
 * by the kind of default stream, and each has a slot of its own.
 */
#include "preload/preload.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/preload.h"

#include "base/poison.h"

#define SHOWN __attribute__((visibility("default")))

/* From cuda.h, which is not needed to build this. */
#define CUDA_SUCCESS         0
#define CUDA_ERROR_NOT_FOUND 500
#define SINCE_V2             12000 /* cuGetProcAddress has a fifth parameter since CUDA 12.0 */

/* A stub that goes on to `real`; `real` itself if there are no more, or it is a stub. */
static void *stub_for(void *real, enum mp_preload_call call)
{
    int slot;

    for (unsigned i = 0; i < PRELOAD_SLOTS; i++)
        if (real == preload_stub(i))
            return real;
    slot = preload_take_slot(real, call);
    return slot < 0 ? real : preload_stub((unsigned)slot);
}

/* ---- Asking the driver by name ---- */

typedef int get_proc_v1(const char *symbol, void **function, int version, unsigned long flags);
typedef int get_proc_v2(const char *symbol, void **function, int version, unsigned long flags,
                        int *status);

SHOWN get_proc_v1 cuGetProcAddress;
SHOWN get_proc_v2 cuGetProcAddress_v2;

/* The driver's own; those of a linked program are found at its first call. */
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

/* What to answer to somebody who asked for `name` and would have got `real`. */
static void *instead(const char *name, void *real, bool v2)
{
    int row;

    if (is_get_proc(name))
        return instead_of_get_proc(real, v2);
    row = preload_find_watched(name);
    return row < 0 ? real : stub_for(real, preload_call_of(row));
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
    int result;

    *(void **)&real = find_get_proc(&real_v1, "cuGetProcAddress");
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    result = real(symbol, function, version, flags);
    if (result == CUDA_SUCCESS && symbol && function && *function)
        *function = instead(symbol, *function, version >= SINCE_V2);
    return result;
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long flags,
                        int *status)
{
    get_proc_v2 *real = NULL;
    int result;

    *(void **)&real = find_get_proc(&real_v2, "cuGetProcAddress_v2");
    if (!real)
        return CUDA_ERROR_NOT_FOUND;
    result = real(symbol, function, version, flags, status);
    if (result == CUDA_SUCCESS && symbol && function && *function)
        *function = instead(symbol, *function, version >= SINCE_V2);
    return result;
}

void *preload_lookup(void *handle, const char *name)
{
    void *real;

    if (!preload_real_dlsym)
        preload_find_dlsym();
    if (!name || name[0] != 'c' || name[1] != 'u' || handle == RTLD_NEXT)
        return NULL;
    if (!is_get_proc(name) && preload_find_watched(name) < 0)
        return NULL;
    real = preload_real_dlsym(handle, name);
    return real ? instead(name, real, strcmp(name, "cuGetProcAddress_v2") == 0) : NULL;
}
