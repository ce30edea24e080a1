/* A process id of -1 must not be taken for one: kill(-1) signals all processes of the user. */
#include "base/process_id.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "base/text/strings.h"

#include "base/poison.h"

static pid_t ask_proc(void)
{
    char text[16];
    ssize_t bytes = readlink("/proc/self", text, sizeof(text) - 1);
    uint64_t pid;

    if (bytes <= 0)
        return -1;
    text[bytes] = '\0';
    return mp_text_to_u64(text, 1, INT_MAX, &pid) ? (pid_t)pid : -1;
}

pid_t mp_process_id(void)
{
    int saved_errno = errno;
    pid_t pid = getpid();

    if (pid < 0)
        pid = ask_proc();
    errno = saved_errno;
    return pid;
}

/* Linux keeps the complement of the id in the clock's bits from 3 on (linux/posix-timers.h). */
static pid_t ask_clock(void)
{
    clockid_t clock;

    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (pid_t) ~(clock >> 3) : 0;
}

pid_t mp_thread_id(void)
{
    int saved_errno = errno;
    pid_t tid = gettid();

    if (tid < 0)
        tid = ask_clock();
    errno = saved_errno;
    return tid;
}
