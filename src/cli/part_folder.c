/* A folder is filled under another name and then renamed. Signals only set a flag, because removing
 * a folder takes more than a handler may do.
 */
#include "cli/part_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/endings.h"

#include "base/poison.h"

/* ---- Signals ---- */

static volatile sig_atomic_t stopped;

static void on_end(int number)
{
    stopped = number;
}

/* Signals that would end the program wait from here on until let_signals. */
static void hold_signals(struct sigaction before[ENDINGS])
{
    stopped = 0;
    endings_guard(before, on_end);
}

static void let_signals(const struct sigaction before[ENDINGS])
{
    endings_release(before);
    if (stopped)
        raise(stopped);
}

bool part_folder_stopped(void)
{
    return stopped != 0;
}

/* ---- Folders ---- */

static int empty_folder(int at, const char *from, int to);

/* To the file of that name if there is one: the new one has its mode. */
static int move_file(int from, const char *name, int to)
{
    int fd = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0) {
        mp_keep_mode(fd, to, name);
        close(fd);
    }
    return renameat(from, name, to, name);
}

/* Moves or removes what a folder has. */
static int empty_entry(int from, const char *name, int to)
{
    struct stat found;
    int inside, failed;

    if (fstatat(from, name, &found, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    if (!S_ISDIR(found.st_mode))
        return to < 0 ? unlinkat(from, name, 0) : move_file(from, name, to);
    if (to < 0)
        return empty_folder(from, name, -1);
    if (mkdirat(to, name, 0700) != 0 && errno != EEXIST)
        return -1;
    inside = openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (inside < 0)
        return -1;
    failed = empty_folder(from, name, inside);
    close(inside);
    return failed;
}

/* Moves what is in `from`, a folder of `at`, to `to`, or removes it if `to` is -1. */
static int empty_folder(int at, const char *from, int to)
{
    int inside = openat(at, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = inside < 0 ? NULL : fdopendir(inside);
    struct dirent *entry;
    int failed = 0;

    if (!folder) {
        if (inside >= 0)
            close(inside);
        return -1;
    }
    while (!failed && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            failed = empty_entry(dirfd(folder), entry->d_name, to);
    }
    closedir(folder);
    return failed ? failed : unlinkat(at, from, AT_REMOVEDIR);
}

static int put_in_place(const char *part, const char *path)
{
    struct stat found;
    int to, failed;

    if (lstat(path, &found) != 0)
        return rename(part, path);
    to = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        return -1;
    failed = empty_folder(AT_FDCWD, part, to);
    close(to);
    return failed;
}

static int write_beside(const char *command, const char *path, const char *part,
                        folder_writer *writer, void *context)
{
    struct sigaction before[ENDINGS];
    int code;

    hold_signals(before); /* before there is something to remove */
    if (mkdir(part, 0700) != 0) {
        code = cannot_write(command, path);
        let_signals(before);
        return code;
    }
    code = writer(context, part);
    if (code < EXIT_USAGE && put_in_place(part, path) != 0)
        code = cannot_write(command, path);
    if (code >= EXIT_USAGE)
        (void)empty_folder(AT_FDCWD, part, -1);
    let_signals(before);
    return code;
}

/* mkdtemp's name is one that no other host has. */
static int write_inside(const char *command, const char *folder, char *part, folder_writer *writer,
                        void *context)
{
    struct sigaction before[ENDINGS];
    int code;

    hold_signals(before);
    if (!mkdtemp(part)) {
        code = cannot_write(command, folder);
        let_signals(before);
        return code;
    }
    code = writer(context, part);
    (void)empty_folder(AT_FDCWD, part, -1);
    let_signals(before);
    return code;
}

int part_folder_inside(const char *command, const char *folder, folder_writer *writer,
                       void *context)
{
    struct mp_buffer part = {.data = NULL};
    int code;

    mp_buffer_append_format(&part, "%s/.part-XXXXXX", folder);
    if (mp_buffer_append_byte(&part, '\0') != MP_OK) {
        complain(command, "out of memory");
        code = EXIT_UNREADABLE;
    } else {
        code = write_inside(command, folder, (char *)part.data, writer, context);
    }
    mp_buffer_free(&part);
    return code;
}

int part_folder_write(const char *command, const char *path, folder_writer *writer, void *context)
{
    struct mp_buffer part = {.data = NULL};
    size_t length = strlen(path);
    int code;

    while (length > 1 && path[length - 1] == '/')
        length--;
    mp_buffer_append(&part, path, length);
    mp_buffer_append_format(&part, ".%d.part", (int)getpid());
    if (mp_buffer_append_byte(&part, '\0') != MP_OK) {
        complain(command, "out of memory");
        code = EXIT_UNREADABLE;
    } else {
        code = write_beside(command, path, (const char *)part.data, writer, context);
    }
    mp_buffer_free(&part);
    return code;
}
