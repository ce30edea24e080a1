/* What all functions that wait share: they enter the table of waited objects, leave it, and tell
 * the recorder if it was a long wait.
 */
#include "preload/waits.h"

#include <errno.h>

#include "base/poison.h"

bool waits_left_alone(const void *caller)
{
    uintptr_t address = (uintptr_t)caller;

    for (unsigned i = 0; i < MP_PRELOAD_CODES; i++) {
        const struct mp_preload_code *code = &miniprof_preload.left_alone[i];

        if (address < atomic_load(&code->end) && address >= atomic_load(&code->begin))
            return true;
    }
    return false;
}

void waits_begin(struct waiting *waiting, enum mp_preload_wait_kind kind, const void *object)
{
    waiting->kind = kind;
    waiting->object = (uint64_t)(uintptr_t)object;
    waiting->begin = moments_now();
    waiting->place = objects_enter(waiting->object);
}

void waits_end(struct waiting *waiting, bool woken)
{
    uint64_t stamp = objects_leave(waiting->object, waiting->place);

    waits_tell(waiting->kind, waiting->object, waiting->begin, moments_now(), woken ? stamp : 0);
}

void waits_abandon(void *waiting)
{
    const struct waiting *left = waiting;

    objects_leave(left->object, left->place);
}

void waits_tell(enum mp_preload_wait_kind kind, uint64_t object, uint64_t begin, uint64_t end,
                uint64_t stamp)
{
    void (*waited)(const struct mp_preload_wait *wait) =
        atomic_load_explicit(&miniprof_preload.waited, memory_order_acquire);
    struct mp_preload_wait wait = {.begin = begin, .end = end, .object = object, .kind = kind};
    int error = errno;

    if (!waited || end < begin || end - begin <= MP_WAIT_MIN_NS)
        return;
    wait.thread = moments_thread();
    if (stamp && moments_time_of(stamp, end) >= begin && moments_time_of(stamp, end) <= end) {
        wait.woken = moments_time_of(stamp, end);
        wait.waker = moments_thread_of(stamp);
    }
    waited(&wait);
    errno = error;
}
