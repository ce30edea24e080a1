/* The table of waited objects. Several places may hold one object, if two threads came at once: a
 * waker stamps them all.
 */
#include "preload/objects.h"

#include <stdbool.h>
#include <stddef.h>

#include "preload/moments.h"

#include "base/poison.h"

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
    uint64_t stamp, word;

    if (!place)
        return 0;
    stamp = atomic_load(&place->waker);
    word = atomic_load(&place->object);
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
