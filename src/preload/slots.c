/* The slots of libminiprof_preload.so: which function of the driver stands behind each stub, and
 * what happens before a call of it. The lowest of the three parts: a stub needs nothing else.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "preload/next.h"
#include "preload/slots.h"

#include "base/poison.h"

#define CUDA_ERROR_NOT_FOUND 500 /* from cuda.h, which is not needed to build this */

SHOWN struct mp_preload miniprof_preload = {.version = MP_PRELOAD_VERSION};

static const struct {
    const char *name;
    enum mp_preload_call call;
} watched[] = {
#define WATCHED(name, call) {#name, call},
    PRELOAD_LINKED(WATCHED)
#undef WATCHED
};

_Static_assert(sizeof(watched) / sizeof(watched[0]) == PRELOAD_LINKED_COUNT, "slots of stubs.c");

/* Each slot is filled once, from the front. The slots of linked functions come first; their
 * functions are found at the first call. */
static struct {
    void *_Atomic real;
    _Atomic(enum mp_preload_call) call;
} slots[PRELOAD_SLOTS];
static atomic_uint slots_taken = PRELOAD_LINKED_COUNT;

int preload_find_watched(const char *name)
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

/* In the driver that is loaded, wherever it is. */
void *preload_find_in_driver(const char *name)
{
    void *driver = LIBC(dlopen)("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

    if (!driver)
        return NULL;
    void *found = LIBC(dlsym)(driver, name);
    LIBC(dlclose)(driver);
    return found;
}

/* The function that a linked program would get without this library. RTLD_NEXT knows the global
 * scope alone. A plug-in that is linked to the driver may have brought it into a scope of its own.
 */
void *preload_find_next(const char *name)
{
    void *found = LIBC(dlsym)(RTLD_NEXT, name);

    return found ? found : preload_find_in_driver(name);
}

void *preload_enter(unsigned long slot)
{
    bool linked = slot < PRELOAD_LINKED_COUNT;
    enum mp_preload_call call = linked ? watched[slot].call : atomic_load(&slots[slot].call);
    void (*before)(enum mp_preload_call call) = atomic_load(&miniprof_preload.before);
    void *real = atomic_load(&slots[slot].real);

    if (!real && linked) {
        real = preload_find_next(watched[slot].name);
        atomic_store(&slots[slot].real, real);
    }
    if (before)
        before(call);
    return real ? real : (void *)not_there;
}

enum mp_preload_call preload_call_of(int row)
{
    return watched[row].call;
}

int preload_take_slot(void *real, enum mp_preload_call call)
{
    unsigned count = atomic_load(&slots_taken);

    for (unsigned slot = 0; slot < count; slot++)
        if (atomic_load(&slots[slot].real) == real)
            return (int)slot;
    do {
        if (count >= PRELOAD_SLOTS)
            return -1;
    } while (!atomic_compare_exchange_weak(&slots_taken, &count, count + 1));
    atomic_store(&slots[count].call, call);
    atomic_store(&slots[count].real, real);
    return (int)count;
}
