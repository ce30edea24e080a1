/* Asks the kernel how long the calling thread has been running and ready.
 */
#include "record/core/host_time.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/poison.h"

#define STAT_BYTES 80 /* three numbers */

static uint64_t ask_running(void)
{
    struct timespec time = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Not a cancellation point: a thread that is cancelled in here would leave the driver in the middle
 * of a call. The file is not kept open: programs close and count descriptors. */
static ssize_t read_stat(char *text, size_t bytes)
{
    int error = errno;
    ssize_t length;
    int before;
    int fd;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    length = fd < 0 ? -1 : read(fd, text, bytes);
    if (fd >= 0)
        close(fd);
    pthread_setcancelstate(before, NULL);
    errno = error;
    return length;
}

/* The second number of the file: ns in which the thread waited for a processor. */
static bool ask_ready(uint64_t *ready)
{
    char text[STAT_BYTES];
    ssize_t length = read_stat(text, sizeof(text) - 1);
    char *second = text;

    if (length <= 0)
        return false;
    text[length] = '\0';
    strtoull(text, &second, 10);
    *ready = strtoull(second, NULL, 10);
    return true;
}

static const struct host_kernel this_kernel = {ask_running, ask_ready};

static uint64_t at_most(uint64_t value, uint64_t max)
{
    return value < max ? value : max;
}

static uint64_t beyond(uint64_t value, uint64_t min)
{
    return value > min ? value - min : 0;
}

/* Since `ready` was asked, up to the last asking: the thread may have been ready as long. */
static uint64_t not_running(const struct host_time *time)
{
    return beyond(time->asked - time->ready_at, time->running - time->ready_running);
}

/* Starts the next stretch. */
static void ask(struct host_time *time, uint64_t now, bool with_ready)
{
    const struct host_kernel *kernel = time->kernel ? time->kernel : &this_kernel;

    time->asked = now;
    time->running = kernel->running();
    if (!with_ready && not_running(time) < HOST_TIME_LONG)
        return;
    time->ready_known = kernel->ready(&time->ready);
    time->ready_at = now;
    time->ready_running = time->running;
}

bool host_time_enter(struct host_time *time, uint64_t now, struct host_stretch *stretch)
{
    struct host_time before = *time;
    uint64_t length = now - before.asked;
    bool is_long = length >= HOST_TIME_LONG;

    if (!before.asked) {
        ask(time, now, true);
        return false;
    }
    if (now < before.left || now - before.left < HOST_TIME_GAP)
        return false;
    ask(time, now, is_long);
    if (2 * (now - before.left) < length)
        return false;
    stretch->begin = before.asked;
    stretch->end = now;
    stretch->computing = at_most(time->running - before.running, length);
    stretch->ready = is_long && before.ready_known && time->ready_known
                         ? at_most(beyond(time->ready - before.ready, not_running(&before)),
                                   length - stretch->computing)
                         : 0;
    return true;
}

void host_time_leave(struct host_time *time, uint64_t now)
{
    time->left = now;
    if (time->asked && now >= time->asked + HOST_TIME_FRESH)
        ask(time, now, now >= time->asked + HOST_TIME_LONG);
}
