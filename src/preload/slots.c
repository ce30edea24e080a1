/* The slots of libminiprof_preload.so: which function of the driver stands behind each stub, and
 * what happens before a call of it. The lowest of the three parts: a stub needs nothing else.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/next.h"
#include "preload/objects.h"
#include "preload/slots.h"
#include "preload/steps.h"

#include "base/poison.h"

#define CUDA_ERROR_NOT_FOUND 500 /* from cuda.h, which is not needed to build this */

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
        if (preload_is_named(watched[i].name, name))
            return (int)i;
    return -1;
}

static int not_there(void)
{
    return CUDA_ERROR_NOT_FOUND;
}

/* Leaves a mark, and tells the recorder. */
static void note(enum mp_preload_call call)
{
    static const enum steps_kind marks[] = {[MP_PRELOAD_PROFILER] = STEPS_START,
                                            [MP_PRELOAD_STOP] = STEPS_STOP,
                                            [MP_PRELOAD_LAUNCH] = STEPS_LAUNCH,
                                            [MP_PRELOAD_GRAPH_LAUNCH] = STEPS_GRAPH};
    void (*before)(enum mp_preload_call call) = atomic_load(&miniprof_preload.before);

    if (marks[call])
        steps_put(marks[call], 0, 0);
    if (before && call < MP_PRELOAD_LAUNCH)
        before(call);
}

void *preload_enter(unsigned long slot)
{
    bool linked = slot < PRELOAD_LINKED_COUNT;
    enum mp_preload_call call = linked ? watched[slot].call : atomic_load(&slots[slot].call);
    void *real = atomic_load(&slots[slot].real);

    if (!real && linked) {
        real = preload_find_next(watched[slot].name);
        atomic_store(&slots[slot].real, real);
    }
    note(call);
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
