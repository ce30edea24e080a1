/* The ids of this process and the name of its socket. Test programs are linked with this file
 * alone, so it needs no other one. A process id of -1 must not be taken for one: kill(-1) signals
 * all processes of the user.
 */
#include "base/process.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/poison.h"

static pid_t ask_proc(void)
{
    char text[16];
    ssize_t bytes = readlink("/proc/self", text, sizeof(text) - 1);
    char *end;

    if (bytes <= 0)
        return -1;
    text[bytes] = '\0';
    long pid = strtol(text, &end, 10);
    return !*end && pid > 0 && pid <= INT_MAX ? (pid_t)pid : -1;
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

/* ---- Where `miniprof ctl` finds a process ---- */

socklen_t mp_ctl_address(struct sockaddr_un *address, pid_t pid)
{
    struct stat namespace;
    unsigned long number = 0;

    if (stat("/proc/self/ns/pid", &namespace) == 0)
        number = (unsigned long)namespace.st_ino;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    /* The name starts after a first byte of 0, which makes the address abstract. */
    int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "miniprof/%lu/%d",
                          number, (int)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}
