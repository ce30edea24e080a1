/* A file for all programs of a user, since each version has the same text for all. The folder is
 * named after the text, so versions do not disturb each other.
 */
#include "run/startup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/costs_file.h"
#include "base/data/frame.h"
#include "base/data/hash.h"
#include "base/io.h"

#include "base/poison.h"

#define NAME "sitecustomize.py"

extern const unsigned char startup_frame[];
extern const size_t startup_frame_bytes;

/* $XDG_CACHE_HOME/miniprof/startup-0123456789abcdef */
static bool find_folder(const char *text, size_t bytes, char *folder, size_t size)
{
    char costs[PATH_MAX];
    char *slash;
    int length;

    if (!mp_costs_path(costs, sizeof costs))
        return false;
    slash = strrchr(costs, '/');
    *slash = '\0';
    length = snprintf(folder, size, "%s/startup-%016" PRIx64, costs, mp_hash64(text, bytes, 0));
    return length > 0 && (size_t)length < size && !strchr(folder, ':');
}

/* With those around it. */
static bool make_folder(char *folder)
{
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
    return mkdir(folder, 0700) == 0 || errno == EEXIST;
}

static bool write_whole(int fd, const char *text, size_t bytes)
{
    bool done = write(fd, text, bytes) == (ssize_t)bytes;

    return close(fd) == 0 && done;
}

/* Another process may do the same at the same time. */
static bool make_file(const char *text, size_t bytes, const char *folder)
{
    char path[PATH_MAX + sizeof NAME + 1];
    char own[sizeof path + 16];
    int fd;

    snprintf(path, sizeof path, "%s/" NAME, folder);
    if (access(path, R_OK) == 0)
        return true;
    snprintf(own, sizeof own, "%s.%d", path, (int)getpid());
    fd = open(own, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (write_whole(fd, text, bytes) && rename(own, path) == 0)
        return true;
    unlink(own);
    return false;
}

static bool write_file(char *folder, size_t size)
{
    size_t bytes;
    char *text = mp_frame_unpack(startup_frame, startup_frame_bytes, &bytes);
    bool done = text && find_folder(text, bytes, folder, size) && make_folder(folder) &&
                make_file(text, bytes, folder);

    free(text);
    return done;
}

bool startup_set(void)
{
    const char *present = getenv("PYTHONPATH");
    char folder[PATH_MAX];
    char *list;
    size_t size;
    bool done;

    if (!write_file(folder, sizeof folder))
        return false;
    size = strlen(folder) + (present ? strlen(present) : 0) + 2;
    list = malloc(size);
    if (!list)
        return false;
    snprintf(list, size, "%s%s%s", folder, present && *present ? ":" : "", present ? present : "");
    done = setenv("PYTHONPATH", list, 1) == 0;
    free(list);
    return done;
}
