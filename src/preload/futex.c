/* Futexes by libc's function `syscall`: abseil, libstdc++'s atomics and Rust wait so. */
#include "preload/futex.h"

#include <errno.h>
#include <linux/futex.h>

#include "preload/waits.h"

#include "base/poison.h"

#define LOCK_PI2 13 /* FUTEX_LOCK_PI2, since Linux 5.14 */

typedef long system_call(long number, long word, long operation, long value, long time, long other,
                         long value3);

void *preload_find_syscall(void)
{
    return next_function(NEXT_syscall);
}

static bool waits(long command)
{
    return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
           command == LOCK_PI2 || command == FUTEX_WAIT_REQUEUE_PI;
}

/* FUTEX_WAKE_OP wakes those who wait for either word. */
static void wake(long command, long word, long other)
{
    objects_wake((uint64_t)word);
    if (command == FUTEX_WAKE_OP)
        objects_wake((uint64_t)other);
}

long preload_futex(long number, long word, long operation, long value, long time, long other,
                   long value3)
{
    system_call *real = (system_call *)next_function(NEXT_syscall);
    long command = operation & FUTEX_CMD_MASK;
    struct waited_object *place;
    struct moments_mark mark;
    uint64_t begin, end, stamp;
    long result;

    if (!waits_asked())
        return real(number, word, operation, value, time, other, value3);
    if (!waits(command)) {
        wake(command, word, other);
        return real(number, word, operation, value, time, other, value3);
    }
    if (waits_left_alone(CALLER))
        return real(number, word, operation, value, time, other, value3);
    mark = moments_mark();
    place = objects_enter((uint64_t)word);
    result = real(number, word, operation, value, time, other, value3);
    stamp = objects_leave((uint64_t)word, place);
    if (moments_waited(mark, &begin, &end))
        waits_tell(MP_WAIT_FUTEX, (uint64_t)word, begin, end, result == 0 ? stamp : 0);
    return result;
}
