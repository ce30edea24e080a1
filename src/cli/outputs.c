/* Writes files and folders that are either complete or not there. */
#include "cli/outputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text/strings.h"
#include "cli/command.h"

#include "base/poison.h"

/* ---- Signals and complaints ----
 *
 * While something is written that must not stay half.
 */

#define ENDINGS 4

static const int ending[ENDINGS] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/* Calls `handler` for each signal that would end the program, once. Signals that are already
 * ignored, as under nohup, stay ignored. */
static void endings_guard(struct sigaction before[ENDINGS], void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < ENDINGS; i++) {
        sigaction(ending[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_DFL)
            sigaction(ending[i], &action, NULL);
    }
}

/* Restores what was there before. */
static void endings_release(const struct sigaction before[ENDINGS])
{
    for (int i = 0; i < ENDINGS; i++)
        sigaction(ending[i], &before[i], NULL);
}

int cannot_write(const char *command, const char *path)
{
    complain(command, "cannot write '%s': %s", path, strerror(errno));
    return EXIT_UNREADABLE;
}

static int out_of_memory(const char *command)
{
    complain(command, "out of memory");
    return EXIT_UNREADABLE;
}

/* ---- Files ----
 *
 * Writes a page that is either complete or not there. It goes to a file next to the target and is
 * renamed at the end; a signal on the way removes the file.
 */

#define TRACE_SUFFIX ".mpt"
#define MAGIC_BYTES  16 /* docs/trace-format.md, 3 */

bool output_stem(const char *trace, char stem[PATH_MAX])
{
    size_t length = strlen(trace);

    while (length > 1 && trace[length - 1] == '/')
        length--;
    if (!length || trace[length - 1] == '.' || trace[length - 1] == '/')
        return false;
    if (length > strlen(TRACE_SUFFIX) &&
        !strncmp(trace + length - strlen(TRACE_SUFFIX), TRACE_SUFFIX, strlen(TRACE_SUFFIX)))
        length -= strlen(TRACE_SUFFIX);
    return snprintf(stem, PATH_MAX, "%.*s", (int)length, trace) < PATH_MAX;
}

/* ---- What must not be lost ---- */

/* Whatever it is called. */
static bool holds_trace(const char *path)
{
    char magic[MAGIC_BYTES] = "";
    FILE *file = fopen(path, "re");
    size_t bytes = file ? fread(magic, 1, sizeof magic, file) : 0;

    if (file)
        fclose(file);
    return bytes == sizeof magic && !memcmp(magic + 8, "MPTRACE", 8);
}

/* ---- What must not be left ---- */

static const char *unfinished; /* the file that a signal removes */

/* SA_RESETHAND has restored the default action, which the signal raised here triggers. */
static void remove_unfinished(int number)
{
    unlink(unfinished);
    raise(number);
}

/* ---- Writing ---- */

static int write_to(const char *command, const char *path, FILE *out, page_writer *writer,
                    void *context)
{
    if (!out)
        return cannot_write(command, path);
    int code = writer(context, out);
    if ((fflush(out) != 0 || ferror(out)) && code < EXIT_USAGE)
        code = cannot_write(command, path);
    if (fclose(out) != 0 && code < EXIT_USAGE)
        code = cannot_write(command, path);
    return code;
}

/* Writes to the new file `part`, then renames it to `path`. */
static int write_file_beside(const char *command, const char *path, const char *part,
                             page_writer *writer, void *context)
{
    struct sigaction before[ENDINGS];

    unfinished = part;
    endings_guard(before, remove_unfinished);
    FILE *out = mp_output_stream(part, O_EXCL);
    if (out)
        mp_keep_mode(fileno(out), AT_FDCWD, path);
    int code = write_to(command, path, out, writer, context);
    if (code < EXIT_USAGE && rename(part, path) != 0)
        code = cannot_write(command, path);
    if (out && code >= EXIT_USAGE)
        unlink(part);
    endings_release(before);
    return code;
}

static int replace(const char *command, const char *path, page_writer *writer, void *context)
{
    char *part;

    if (asprintf(&part, "%s.%d.part", path, (int)getpid()) < 0)
        return out_of_memory(command);
    int code = write_file_beside(command, path, part, writer, context);
    free(part);
    return code;
}

int page_write(const char *command, const char *path, page_writer *writer, void *context)
{
    struct stat found;

    if (!strcmp(path, "-"))
        return writer(context, stdout);
    if (mp_text_ends_with(path, TRACE_SUFFIX)) {
        complain(command, "the output wants another name: '%s' is one of a trace", path);
        return EXIT_USAGE;
    }
    if (lstat(path, &found) != 0)
        return replace(command, path, writer, context);
    if (stat(path, &found) != 0 || !S_ISREG(found.st_mode))
        return write_to(command, path, mp_output_stream(path, O_TRUNC), writer, context);
    if (holds_trace(path)) {
        complain(command, "the output wants another name: '%s' is a trace", path);
        return EXIT_USAGE;
    }
    char *target = realpath(path, NULL);
    int code = target ? replace(command, target, writer, context) : cannot_write(command, path);
    free(target);
    return code;
}

/* ---- Folders ----
 *
 * A folder is filled under another name and then renamed. Signals only set a flag, because removing
 * a folder takes more than a handler may do.
 */

/* ---- Signals ---- */

static volatile sig_atomic_t stopped;

static void note_signal(int number)
{
    stopped = number;
}

/* Signals that would end the program wait from here on until let_signals. */
static void hold_signals(struct sigaction before[ENDINGS])
{
    stopped = 0;
    endings_guard(before, note_signal);
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

    if (fstatat(from, name, &found, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    if (!S_ISDIR(found.st_mode))
        return to < 0 ? unlinkat(from, name, 0) : move_file(from, name, to);
    if (to < 0)
        return empty_folder(from, name, -1);
    if (mkdirat(to, name, 0700) != 0 && errno != EEXIST)
        return -1;
    int inside = openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (inside < 0)
        return -1;
    int failed = empty_folder(from, name, inside);
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

    if (lstat(path, &found) != 0)
        return rename(part, path);
    int to = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        return -1;
    int failed = empty_folder(AT_FDCWD, part, to);
    close(to);
    return failed;
}

static int fill_beside(const char *command, const char *path, const char *part,
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
    char *part;

    if (asprintf(&part, "%s/.part-XXXXXX", folder) < 0)
        return out_of_memory(command);
    int code = write_inside(command, folder, part, writer, context);
    free(part);
    return code;
}

int part_folder_write(const char *command, const char *path, folder_writer *writer, void *context)
{
    size_t length = strlen(path);
    char *part;

    while (length > 1 && path[length - 1] == '/')
        length--;
    if (asprintf(&part, "%.*s.%d.part", (int)length, path, (int)getpid()) < 0)
        return out_of_memory(command);
    int code = fill_beside(command, path, part, writer, context);
    free(part);
    return code;
}
