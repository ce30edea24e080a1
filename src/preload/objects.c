/* What threads wait for: a table of waited objects, and the moment and the thread of the last
 * waker.
 */
#include "preload/objects.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "preload/next.h"

#include "base/poison.h"

/* ---- Moments ----
 *
 * Reads the clock, and makes times of the counter's counts.
 */

#if defined(__x86_64__)
#define MIN_AT_FIRST 1000 /* counters of 0.5 to 5 GHz */
#else
#define MIN_AT_FIRST 20 /* of 10 MHz and more */
#endif

SHOWN struct mp_preload miniprof_preload = {.version = MP_PRELOAD_VERSION};

_Atomic uint64_t moments_min = MIN_AT_FIRST;

static struct moments_pair first; /* from the constructor on */

static uint64_t read_monotonic(void)
{
    struct timespec now = {0, 0};

    LIBC(clock_gettime)(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t moments_now(void)
{
    uint64_t (*clock)(void) = atomic_load_explicit(&miniprof_preload.clock, memory_order_acquire);

    return clock ? clock() : read_monotonic();
}

__attribute__((constructor)) static void take_first(void)
{
    first.count = moments_counter();
    first.ns = read_monotonic();
}

static uint64_t ns_since(uint64_t count, struct moments_pair from, struct moments_pair now)
{
    double rate = (double)(now.ns - from.ns) / (double)(now.count - from.count);

    atomic_store_explicit(&moments_min, (uint64_t)(0.95 * MP_WAIT_MIN_NS / rate),
                          memory_order_relaxed);
    return (uint64_t)((double)(now.count - count) * rate);
}

bool moments_convert_at(struct moments_mark mark, struct moments_pair from, struct moments_pair now,
                        uint64_t *begin, uint64_t *end)
{
    *end = now.ns;
    *begin = mark.count;
    if (mark.counted) {
        if (!from.ns || now.ns <= from.ns || now.count <= from.count || mark.count < from.count)
            return false;
        *begin = now.ns - ns_since(mark.count, from, now);
    }
    return *end > *begin && *end - *begin > MP_WAIT_MIN_NS;
}

bool moments_convert(struct moments_mark mark, uint64_t *begin, uint64_t *end)
{
    struct moments_pair now;

    now.count = moments_counter();
    now.ns = moments_now();
    return moments_convert_at(mark, first, now, begin, end);
}

/* ---- Stamps ---- */

/* glibc makes the number of a thread's clock of its id, in the kernel's form: ~id above 3 bits. */
uint32_t moments_thread(void)
{
    clockid_t clock;

    return LIBC(pthread_getcpuclockid)(LIBC(pthread_self)(), &clock) == 0 ? (uint32_t) ~(clock >> 3)
                                                                          : 0;
}

uint64_t moments_stamp(void)
{
    return moments_pack(moments_now(), moments_thread());
}

/* ---- Objects ----
 *
 * The table of waited objects. Several places may hold one object, if two threads came at once: a
 * waker stamps them all.
 */

#define COUNT_BITS 16
#define MAX_COUNT  ((UINT64_C(1) << COUNT_BITS) - 1)

struct object_bucket object_buckets[OBJECT_BUCKETS];

static bool is_of(uint64_t word, uint64_t object)
{
    return word && word >> COUNT_BITS == object << COUNT_BITS >> COUNT_BITS;
}

static bool join_place(struct waited_object *place, uint64_t object)
{
    uint64_t word = atomic_load(&place->object);

    while (is_of(word, object) && (word & MAX_COUNT) < MAX_COUNT)
        if (atomic_compare_exchange_weak(&place->object, &word, word + 1))
            return true;
    return false;
}

static bool take_place(struct waited_object *place, uint64_t object)
{
    uint64_t expected = 0;

    if (!atomic_compare_exchange_strong(&place->object, &expected, object << COUNT_BITS | 1))
        return false;
    atomic_store(&place->waker, 0);
    return true;
}

struct waited_object *objects_enter(uint64_t object)
{
    struct object_bucket *bucket = objects_bucket(object);

    atomic_fetch_add(&bucket->waiting, 1);
    for (unsigned i = 0; i < OBJECT_PLACES; i++)
        if (join_place(&bucket->places[i], object))
            return &bucket->places[i];
    for (unsigned i = 0; i < OBJECT_PLACES; i++)
        if (take_place(&bucket->places[i], object))
            return &bucket->places[i];
    atomic_fetch_sub(&bucket->waiting, 1);
    return NULL;
}

uint64_t objects_leave(uint64_t object, struct waited_object *place)
{
    if (!place)
        return 0;
    uint64_t stamp = atomic_load(&place->waker);
    uint64_t word = atomic_load(&place->object);
    while (
        !atomic_compare_exchange_weak(&place->object, &word, (word & MAX_COUNT) > 1 ? word - 1 : 0))
        ;
    atomic_fetch_sub(&objects_bucket(object)->waiting, 1);
    return stamp;
}

void objects_leave_stamp(uint64_t object, uint64_t stamp)
{
    struct object_bucket *bucket = objects_bucket(object);

    for (unsigned i = 0; i < OBJECT_PLACES; i++)
        if (is_of(atomic_load(&bucket->places[i].object), object))
            atomic_store(&bucket->places[i].waker, stamp);
}

/* The bucket is looked at before the clock: others of it may be waited for. */
void objects_stamp(uint64_t object)
{
    struct object_bucket *bucket = objects_bucket(object);

    for (unsigned i = 0; i < OBJECT_PLACES; i++)
        if (is_of(atomic_load(&bucket->places[i].object), object)) {
            objects_leave_stamp(object, moments_stamp());
            return;
        }
}
