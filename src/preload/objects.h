/* The objects that threads wait for at this moment, and who woke them last.
 *
 *     hash of the object -> bucket: how many wait for objects of this bucket
 *                                   3 places: an object, how many wait for it, the last waker
 *
 * A waker reads one counter, and goes on if nobody waits. Otherwise it leaves a stamp in the places
 * of its object, before the call that wakes. The one that waited finds the stamp when it returns.
 *
 * No locks, no memory, no system calls; all of it may run in a signal handler. If a bucket is full,
 * a thread waits unnoticed, and nobody is named as its waker. A thread that leaves its wait by
 * siglongjmp stays in the table: one of its places is lost, and wakers of that object take 30 ns
 * longer.
 */
#ifndef MP_PRELOAD_WAITS_OBJECTS_H
#define MP_PRELOAD_WAITS_OBJECTS_H

#include <stdatomic.h>
#include <stdint.h>

#define OBJECT_BUCKETS 1024u /* a power of two */
#define OBJECT_PLACES  3u

struct waited_object {
    _Atomic uint64_t object; /* 48 bits of its address, and 16 of how many wait; 0: free */
    _Atomic uint64_t waker;  /* the last stamp (moments.h), 0: none */
};

struct object_bucket {
    _Alignas(64) _Atomic uint64_t waiting;
    struct waited_object places[OBJECT_PLACES];
};
_Static_assert(sizeof(struct object_bucket) == 64, "one line of the cache");

extern struct object_bucket object_buckets[OBJECT_BUCKETS];

static inline struct object_bucket *objects_bucket(uint64_t object)
{
    return &object_buckets[(object * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}
_Static_assert(OBJECT_BUCKETS == 1u << (64 - 54), "the shift above");

/* This thread is about to wait for it. NULL: there is no room. */
struct waited_object *objects_enter(uint64_t object);

/* It has stopped waiting. Answers the last waker's stamp, which may be from before the wait. */
uint64_t objects_leave(uint64_t object, struct waited_object *place);

/* Leaves this thread's stamp, or a given one, with the object. */
void objects_stamp(uint64_t object);
void objects_leave_stamp(uint64_t object, uint64_t stamp);

/* This thread is about to wake who waits for the object. */
static inline void objects_wake(uint64_t object)
{
    if (__builtin_expect(
            atomic_load_explicit(&objects_bucket(object)->waiting, memory_order_relaxed) != 0, 0))
        objects_stamp(object);
}

#endif
