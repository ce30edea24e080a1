/* Reading, which may wait; writing, which may wake; and how files that are written to wake a thread
 * come and go.
 */
#undef _FORTIFY_SOURCE /* which defines some of these functions in the headers */

#include <fcntl.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/channels.h"
#include "preload/waits.h"

#include "base/poison.h"

/* ---- Reading ---- */

static struct moments_mark begin(int file)
{
    channels_enter(file);
    return moments_mark();
}

static ssize_t end(struct moments_mark mark, int file, ssize_t result)
{
    uint64_t begun, ended;

    channels_leave(file);
    if (moments_waited(mark, &begun, &ended))
        waits_tell(MP_WAIT_READ, (uint64_t)file, begun, ended,
                   result < 0 ? 0 : channels_waker(file));
    return result;
}

SHOWN ssize_t read(int file, void *data, size_t bytes)
{
    if (!waits_wanted(CALLER))
        return NEXT(read)(file, data, bytes);
    struct moments_mark mark = begin(file);
    return end(mark, file, NEXT(read)(file, data, bytes));
}

/* What _FORTIFY_SOURCE makes of it in programs. */
ssize_t __read_chk(int file, void *data, size_t bytes, size_t room);

SHOWN ssize_t __read_chk(int file, void *data, size_t bytes, size_t room)
{
    if (!waits_wanted(CALLER))
        return NEXT(__read_chk)(file, data, bytes, room);
    struct moments_mark mark = begin(file);
    return end(mark, file, NEXT(__read_chk)(file, data, bytes, room));
}

SHOWN int eventfd_read(int file, eventfd_t *value)
{
    if (!waits_wanted(CALLER))
        return NEXT(eventfd_read)(file, value);
    struct moments_mark mark = begin(file);
    return (int)end(mark, file, NEXT(eventfd_read)(file, value));
}

/* ---- Writing ---- */

static inline void wake(int file)
{
    if (waits_asked())
        channels_wake(file);
}

SHOWN ssize_t write(int file, const void *data, size_t bytes)
{
    wake(file);
    return NEXT(write)(file, data, bytes);
}

SHOWN ssize_t send(int file, const void *data, size_t bytes, int flags)
{
    wake(file);
    return NEXT(send)(file, data, bytes, flags);
}

SHOWN int eventfd_write(int file, eventfd_t value)
{
    wake(file);
    return NEXT(eventfd_write)(file, value);
}

/* ---- Coming and going ---- */

SHOWN int eventfd(unsigned value, int flags)
{
    int file = NEXT(eventfd)(value, flags);

    channels_link(file, file);
    return file;
}

SHOWN int pipe(int files[2])
{
    int result = NEXT(pipe)(files);

    if (result == 0)
        channels_link(files[1], files[0]);
    return result;
}

SHOWN int pipe2(int files[2], int flags)
{
    int result = NEXT(pipe2)(files, flags);

    if (result == 0)
        channels_link(files[1], files[0]);
    return result;
}

SHOWN int socketpair(int domain, int type, int protocol, int files[2])
{
    int result = NEXT(socketpair)(domain, type, protocol, files);

    if (result == 0) {
        channels_link(files[0], files[1]);
        channels_link(files[1], files[0]);
    }
    return result;
}

/* Before the call: afterwards another thread may have the number. */
SHOWN int close(int file)
{
    channels_forget(file);
    return NEXT(close)(file);
}

int close_range(unsigned first, unsigned last, int flags);

SHOWN int close_range(unsigned first, unsigned last, int flags)
{
    channels_forget_range(first, last);
    return NEXT(close_range)(first, last, flags);
}

SHOWN int dup2(int file, int number)
{
    if (file != number)
        channels_forget(number);
    return NEXT(dup2)(file, number);
}

SHOWN int dup3(int file, int number, int flags)
{
    channels_forget(number);
    return NEXT(dup3)(file, number, flags);
}
