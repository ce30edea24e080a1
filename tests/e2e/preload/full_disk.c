/* full_disk.c: writes to *.mpt and *.mpt.part fail with FULL_DISK_ERRNO (ENOSPC) from the
 * FULL_DISK_FROM-th write on (0: the first), FULL_DISK_COUNT times; the first of them has written
 * half of what it should. Each takes FULL_DISK_SLEEP_MS.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : otherwise;
}

static int is_trace(int fd)
{
    char link[64];
    char path[4096];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof(path));
    if (length > 5 && memcmp(path + length - 5, ".part", 5) == 0)
        length -= 5;
    return length > 4 && memcmp(path + length - 4, ".mpt", 4) == 0;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    static long writes;
    long from = setting("FULL_DISK_FROM", 0);
    long at;

    if (!is_trace(fd))
        return syscall(SYS_write, fd, data, bytes);
    usleep((unsigned)setting("FULL_DISK_SLEEP_MS", 0) * 1000);
    at = writes++;
    if (at == from && bytes > 1)
        return syscall(SYS_write, fd, data, bytes / 2);
    if (at > from && at <= from + setting("FULL_DISK_COUNT", 1)) {
        errno = (int)setting("FULL_DISK_ERRNO", ENOSPC);
        return -1;
    }
    return syscall(SYS_write, fd, data, bytes);
}
