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

#include "base/data/hash.h"
#include "base/data/storage.h"
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

/* ---- Who can change it ----
 *
 * Python runs the file, so nobody but the user and root may be able to change it, or to put another
 * one in its place. The folder's name is no secret. */

/* Whether others can neither change this folder or link nor put another one in its place, provided
 * that they cannot change the folder around it. In a folder such as /tmp only the owner moves. */
static bool is_safe(const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0 && (about.st_uid == geteuid() || about.st_uid == 0) &&
           (S_ISLNK(about.st_mode) || !(about.st_mode & (S_IWGRP | S_IWOTH)) ||
            about.st_mode & S_ISVTX);
}

/* Of all folders around it. */
static bool is_safe_below_root(const char *folder)
{
    char path[PATH_MAX];
    bool safe = true;

    snprintf(path, sizeof path, "%s", folder);
    for (char *slash = strchr(path + 1, '/'); slash && safe; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        safe = is_safe(path);
        *slash = '/';
    }
    return safe;
}

/* Of the links on the way, and of what they lead to. */
static bool is_private(const char *folder)
{
    char real[PATH_MAX];
    struct stat about;

    return lstat(folder, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           !(about.st_mode & (S_IWGRP | S_IWOTH)) && realpath(folder, real) &&
           is_safe_below_root(folder) && is_safe_below_root(real);
}

/* Whether it is the user's file, with this text: not that of somebody who could change the folder
 * before. */
static bool is_right(const char *path, const char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *present = fd < 0 ? NULL : malloc(bytes);
    struct stat about;
    bool right =
        present && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
        !(about.st_mode & (S_IWGRP | S_IWOTH)) && (uint64_t)about.st_size == bytes &&
        mp_read_exact(fd, present, bytes, NULL) == MP_OK && memcmp(present, text, bytes) == 0;

    free(present);
    if (fd >= 0)
        close(fd);
    return right;
}

/* Another process may do the same at the same time. */
static bool make_file(const char *text, size_t bytes, const char *folder)
{
    char path[PATH_MAX + sizeof NAME + 1];
    char own[sizeof path + 16];
    int fd;

    snprintf(path, sizeof path, "%s/" NAME, folder);
    if (is_right(path, text, bytes))
        return true;
    snprintf(own, sizeof own, "%s.%d", path, (int)getpid());
    unlink(own);
    if (mp_create_exclusive(own, &fd, NULL) != MP_OK)
        return false;
    if (write_whole(fd, text, bytes) && rename(own, path) == 0)
        return true;
    unlink(own);
    return false;
}

static enum mp_status write_file(char *folder, size_t size, struct mp_error *error)
{
    size_t bytes;
    char *text = mp_frame_unpack(startup_frame, startup_frame_bytes, &bytes);
    bool has_place = text && find_folder(text, bytes, folder, size) && make_folder(folder);
    bool safe = has_place && is_private(folder);
    bool done = safe && make_file(text, bytes, folder);

    free(text);
    if (has_place && !safe)
        return mp_error_set(error, MP_ERR_IO, "others can change '%s', or it is a link", folder);
    if (!done)
        return mp_error_set(error, MP_ERR_IO, "neither XDG_CACHE_HOME nor HOME can be used");
    return MP_OK;
}

enum mp_status startup_set(struct mp_error *error)
{
    const char *present = getenv("PYTHONPATH");
    char folder[PATH_MAX];
    char *list;
    size_t size;
    bool done;

    MP_TRY(write_file(folder, sizeof folder, error));
    size = strlen(folder) + (present ? strlen(present) : 0) + 2;
    list = malloc(size);
    if (!list)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory");
    snprintf(list, size, "%s%s%s", folder, present && *present ? ":" : "", present ? present : "");
    done = setenv("PYTHONPATH", list, 1) == 0;
    free(list);
    return done ? MP_OK : mp_error_set(error, MP_ERR_MEMORY, "no memory");
}
