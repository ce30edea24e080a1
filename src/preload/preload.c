/* libminiprof_preload.so: stands in front of the few functions of the CUDA driver with which
 * something to be recorded begins, and says so to the collector before they do their work.
 *
 * It needs no CUDA and does nothing in programs without. `miniprof run` adds it to LD_PRELOAD; what
 * it costs a program is one comparison in each dlsym.
 *
 * How programs get at the driver's functions, and what meets them here:
 *   - linked to libcuda.so.1: the names that this library exports (PRELOAD_LINKED)
 *   - dlsym, as Python's ctypes do: the dlsym in stubs.c
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

SHOWN struct mp_preload miniprof_preload = {.version = MP_PRELOAD_VERSION};

void *(*preload_real_dlsym)(void *handle, const char *name);

/* ---- The functions ---- */

static const struct {
    const char *name;
    enum mp_preload_call call;
} watched[] = {
#define WATCHED(name, call) {#name, call},
    PRELOAD_LINKED(WATCHED)
#undef WATCHED
};

_Static_assert(sizeof(watched) / sizeof(watched[0]) == PRELOAD_LINKED_COUNT, "slots of stubs.c");

/* Filled once each, from the front; the linked ones' stand first and are found when called. */
static struct {
    void *_Atomic real;
    _Atomic(enum mp_preload_call) call;
} slots[PRELOAD_SLOTS];
static atomic_uint slots_taken = PRELOAD_LINKED_COUNT;

static int find_watched(const char *name)
{
    for (size_t i = 0; i < PRELOAD_LINKED_COUNT; i++)
        if (strcmp(watched[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int not_there(void)
{
    return CUDA_ERROR_NOT_FOUND;
}

static void *nothing_found(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    return NULL;
}

/* glibc's dlsym has the version of the architecture's first glibc, or of 2.34, where it moved. */
static void find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *found = NULL;

    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]) && !found; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    *(void **)&preload_real_dlsym = found ? found : (void *)nothing_found;
}

/* What a linked program would have got without this library. */
static void *find_next(const char *name)
{
    if (!preload_real_dlsym)
        find_dlsym();
    return preload_real_dlsym(RTLD_NEXT, name);
}

void *preload_enter(unsigned long slot)
{
    bool linked = slot < PRELOAD_LINKED_COUNT;
    enum mp_preload_call call = linked ? watched[slot].call : atomic_load(&slots[slot].call);
    void (*before)(enum mp_preload_call call) = atomic_load(&miniprof_preload.before);
    void *real = atomic_load(&slots[slot].real);

    if (!real && linked) {
        real = find_next(watched[slot].name);
        atomic_store(&slots[slot].real, real);
    }
    if (before)
        before(call);
    return real ? real : (void *)not_there;
}

/* A stub that goes on to `real`; `real` itself if there are no more, or it is a stub. */
static void *stub_for(void *real, enum mp_preload_call call)
{
    unsigned count = atomic_load(&slots_taken);
    unsigned slot;

    for (slot = 0; slot < PRELOAD_SLOTS; slot++)
        if (real == preload_stub(slot) || (slot < count && atomic_load(&slots[slot].real) == real))
            return real == preload_stub(slot) ? real : preload_stub(slot);
    do {
        if (count >= PRELOAD_SLOTS)
            return real;
    } while (!atomic_compare_exchange_weak(&slots_taken, &count, count + 1));
    atomic_store(&slots[count].call, call);
    atomic_store(&slots[count].real, real);
    return preload_stub(count);
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
    row = find_watched(name);
    return row < 0 ? real : stub_for(real, watched[row].call);
}

static void *find_get_proc(void *_Atomic *known, const char *name)
{
    void *real = atomic_load(known);

    if (real)
        return real;
    real = find_next(name);
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
        find_dlsym();
    if (!name || name[0] != 'c' || name[1] != 'u' || handle == RTLD_NEXT)
        return NULL;
    if (!is_get_proc(name) && find_watched(name) < 0)
        return NULL;
    real = preload_real_dlsym(handle, name);
    return real ? instead(name, real, strcmp(name, "cuGetProcAddress_v2") == 0) : NULL;
}
