/* nvprof's output files, the patterns of their names, and its messages. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "export/nvvp/nvvp.h"
#include "nvprof/nvprof.h"

#include "base/poison.h"

/* ---- Their names ----
 *
 * Expands nvprof's placeholders for a process that is not this one. The recorder expands its own
 * names; here the values come from the trace's header.
 */

#define PIECE_BYTES 300 /* %q{} with a name of greatest length */

/* The next placeholder, or a character that stands for itself; false at the end. A malformed piece
 * stays as it is, for mp_pattern_check. */
static bool next_piece(const char **cursor, char *piece, size_t size)
{
    const char *at = *cursor;
    size_t length = 1;

    if (!*at)
        return false;
    if (at[0] == '%' && at[1])
        length = 2;
    if (length == 2 && at[1] == 'q' && at[2] == '{' && strchr(at, '}'))
        length = (size_t)(strchr(at, '}') - at) + 1;
    *cursor = at + length;
    if (length >= size)
        length = size - 1;
    memcpy(piece, at, length);
    piece[length] = '\0';
    return true;
}

enum mp_status nvprof_pattern_check(const char *pattern, bool naming, struct mp_error *error)
{
    char piece[PIECE_BYTES];

    if (!*pattern)
        return mp_error_set(error, MP_ERR_ARGUMENT, "the name is empty");
    while (next_piece(&pattern, piece, sizeof piece)) {
        if (!naming || !mp_text_equal(piece, "%i"))
            MP_TRY(mp_pattern_check(piece, error));
    }
    return MP_OK;
}

bool nvprof_pattern_missing(const char *pattern, char *name, size_t size)
{
    char piece[PIECE_BYTES];

    while (next_piece(&pattern, piece, sizeof piece)) {
        if (!mp_text_starts_with(piece, "%q{"))
            continue;
        piece[strlen(piece) - 1] = '\0';
        if (getenv(piece + 3))
            continue;
        mp_text_copy(name, size, piece + 3);
        return true;
    }
    return false;
}

bool nvprof_pattern_has_pid(const char *pattern)
{
    char piece[PIECE_BYTES];

    while (next_piece(&pattern, piece, sizeof piece)) {
        if (mp_text_equal(piece, "%p"))
            return true;
    }
    return false;
}

struct text {
    char *bytes;
    size_t size;
    size_t used;
};

static bool nvprof_pattern_put(struct text *text, const char *piece, bool doubled)
{
    for (; *piece; piece++) {
        if (text->size - text->used < 3)
            return false;
        text->bytes[text->used++] = *piece;
        if (doubled && *piece == '%')
            text->bytes[text->used++] = '%';
    }
    text->bytes[text->used] = '\0';
    return true;
}

static enum mp_status put_piece(struct text *text, const char *piece, const char *pid, bool naming,
                                struct mp_error *error)
{
    char value[PATH_MAX];
    bool kept = naming && (mp_text_equal(piece, "%i") || mp_text_equal(piece, "%%"));

    if (kept)
        mp_text_copy(value, sizeof value, piece);
    else if (mp_text_equal(piece, "%p"))
        mp_text_copy(value, sizeof value, pid);
    else
        MP_TRY(mp_pattern_expand(piece, value, sizeof value, error));
    if (!nvprof_pattern_put(text, value, naming && !kept))
        return mp_error_set(error, MP_ERR_LIMIT, "the name is too long");
    return MP_OK;
}

enum mp_status nvprof_pattern_expand(const char *pattern, const char *pid, bool naming,
                                     char *buffer, size_t size, struct mp_error *error)
{
    struct text text = {.bytes = buffer, .size = size};
    char piece[PIECE_BYTES];

    buffer[0] = '\0';
    while (next_piece(&pattern, piece, sizeof piece))
        MP_TRY(put_piece(&text, piece, pid, naming, error));
    return MP_OK;
}

/* ---- Output files ----
 *
 * The files of an nvprof session. Traces go into a folder of their own first; each becomes an .nvvp
 * file under the name that -o asks for.
 */

#define COPY_BYTES (1u << 30) /* at a time */

/* ---- The folder ---- */

enum mp_status nvprof_folder_make(struct nvprof_folder *folder, struct mp_error *error)
{
    const char *place = getenv("TMPDIR");
    char absolute[PATH_MAX];

    folder->path[0] = '\0';
    if (!place || !*place)
        place = "/tmp";
    /* The program may change its folder. */
    if (!realpath(place, absolute))
        return mp_error_set(error, MP_ERR_IO, "no folder for temporary files: '%s': %m", place);
    int length = snprintf(folder->path, sizeof folder->path, "%s/miniprof-XXXXXX", absolute);
    if (length > 0 && (size_t)length < sizeof folder->path - NAME_MAX && mkdtemp(folder->path))
        return MP_OK;
    folder->path[0] = '\0';
    return mp_error_set(error, MP_ERR_IO, "cannot make a folder in '%s': %m", absolute);
}

void nvprof_folder_remove(struct nvprof_folder *folder)
{
    DIR *entries = *folder->path ? opendir(folder->path) : NULL;
    const struct dirent *entry;

    if (!entries)
        return;
    while ((entry = readdir(entries)))
        unlinkat(dirfd(entries), entry->d_name, 0); /* of . and .. it fails, as it should */
    closedir(entries);
    rmdir(folder->path);
    folder->path[0] = '\0';
}

/* ---- Files of -o ---- */

enum mp_status nvprof_export_path(const struct nvprof_values *values, const char *pid,
                                  char path[PATH_MAX], struct mp_error *error)
{
    return nvprof_pattern_expand(values->export_file, pid, false, path, PATH_MAX, error);
}

static bool copy_bytes(int from, int to)
{
    char bytes[1 << 16];
    ssize_t got;

    do {
        got = copy_file_range(from, NULL, to, NULL, COPY_BYTES, 0);
    } while (got > 0);
    if (got == 0)
        return true;
    /* Reached if copying in the kernel does not work: other file systems, or no regular file. */
    while ((got = read(from, bytes, sizeof bytes)) > 0) {
        if (mp_write_all(to, bytes, (size_t)got, NULL) != MP_OK)
            return false;
    }
    return got == 0;
}

static bool is_file(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

static bool is_same_file(int a, int b)
{
    struct stat left;
    struct stat right;

    return fstat(a, &left) == 0 && fstat(b, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

/* Opening a pipe that nobody reads would block us for ever, with signals blocked. */
static int open_target(const char *path, bool overwrite, struct mp_error *error)
{
    int fd = mp_open_output(path, O_NONBLOCK | (overwrite ? 0 : O_EXCL));

    if (fd >= 0)
        fcntl(fd, F_SETFL, 0);
    else
        mp_error_set(error, MP_ERR_IO, "cannot create '%s': %m%s", path,
                     errno == EEXIST  ? "; -f overwrites it"
                     : errno == ENXIO ? "; a pipe needs a reader"
                                      : "");
    return fd;
}

/* If a file is its own source, it has the bytes already, and truncating it would lose them. */
static bool files_fill(int from, int to)
{
    if (is_same_file(from, to))
        return true;
    if (is_file(to) && ftruncate(to, 0) != 0)
        return false;
    return copy_bytes(from, to);
}

static enum mp_status copy_file(const char *source, const char *path, bool overwrite,
                                struct mp_error *error)
{
    int from = open(source, O_RDONLY | O_CLOEXEC);
    int to = from >= 0 ? open_target(path, overwrite, error) : -1;
    bool done = false;

    if (from < 0)
        mp_error_set(error, MP_ERR_IO, "cannot open '%s': %m", source);
    if (to >= 0) {
        done = files_fill(from, to);
        if (!done)
            mp_error_set(error, MP_ERR_IO, "cannot write '%s': %m", path);
        if (!done && is_file(to))
            unlink(path);
        close(to);
    }
    if (from >= 0)
        close(from);
    return done ? MP_OK : MP_ERR_IO;
}

/* ---- Files that are written already ---- */

void nvprof_written_free(struct nvprof_written *written)
{
    free(written->items);
    *written = (struct nvprof_written){.items = NULL};
}

static enum mp_status refuse_written(const struct nvprof_written *written, const char *path,
                                     struct mp_error *error)
{
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return MP_OK;
    for (size_t i = 0; i < written->count; i++) {
        if (written->items[i].device == info.st_dev && written->items[i].inode == info.st_ino)
            return mp_error_set(error, MP_ERR_IO,
                                "'%s' has the trace of another process already; give "
                                "--export-profile a name with %%p",
                                path);
    }
    return MP_OK;
}

static enum mp_status add_written(struct nvprof_written *written, const char *path,
                                  struct mp_error *error)
{
    void *items = written->items;
    struct stat info;

    if (stat(path, &info) != 0)
        return MP_OK;
    if (mp_reserve(&items, written->count, &written->capacity, sizeof *written->items) != MP_OK)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    written->items = items;
    written->items[written->count].device = info.st_dev;
    written->items[written->count].inode = info.st_ino;
    written->count++;
    return MP_OK;
}

enum mp_status nvprof_export(const struct nvprof_values *values, struct mp_trace *trace,
                             const char *source, const char *pid,
                             const struct nvprof_folder *folder, struct nvprof_written *written,
                             char path[PATH_MAX], struct mp_error *error)
{
    char converted[PATH_MAX + 32];
    char absolute[PATH_MAX];
    enum mp_status status;

    MP_TRY(nvprof_export_path(values, pid, path, error));
    MP_TRY(refuse_written(written, path, error));
    if (mp_text_ends_with(path, ".mpt")) {
        MP_TRY(copy_file(source, path, values->force, error));
    } else {
        snprintf(converted, sizeof converted, "%s/%s.nvvp", folder->path, pid);
        status = nvvp_write(trace, converted, error);
        if (status == MP_OK)
            status = copy_file(converted, path, values->force, error);
        unlink(converted);
        MP_TRY(status);
    }
    if (realpath(path, absolute))
        mp_text_copy(path, PATH_MAX, absolute);
    return add_written(written, path, error);
}

/* ---- Messages ----
 *
 * nvprof's messages. "==PID==" stands before each line, and --log-file sends them to a file, as
 * scripts that parse nvprof's output expect.
 */

#define TO_STDOUT "%1"
#define TO_STDERR "%2"

/* ---- Lines ---- */

__attribute__((format(printf, 3, 0))) static void say(FILE *file, const char *prefix,
                                                      const char *format, va_list arguments)
{
    if (!file)
        return;
    fflush(stdout);
    fputs(prefix, file);
    foreign_print(file, format, arguments);
    fputc('\n', file);
    fflush(file);
}

void nvprof_error(FILE *file, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(file, "======== Error: ", format, arguments);
    va_end(arguments);
}

void nvprof_warning(FILE *file, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(file, "======== Warning: ", format, arguments);
    va_end(arguments);
}

void nvprof_line(FILE *file, const char *pid, const char *format, ...)
{
    char prefix[48];
    va_list arguments;

    snprintf(prefix, sizeof prefix, "==%s== ", pid);
    va_start(arguments, format);
    say(file, prefix, format, arguments);
    va_end(arguments);
}

/* ---- The log file ---- */

/* /dev/null, a terminal, a pipe: nothing that could be overwritten. */
static bool is_no_file(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static enum mp_status open_file(struct nvprof_log *log, bool overwrite, struct mp_error *error)
{
    log->file = mp_output_stream(log->path, overwrite || is_no_file(log->path) ? O_TRUNC : O_EXCL);
    log->owned = log->file != NULL;
    if (log->file)
        return MP_OK;
    return mp_error_set(error, MP_ERR_IO, "cannot create '%s': %m%s", log->path,
                        errno == EEXIST ? "; -f overwrites it" : "");
}

enum mp_status nvprof_log_open(struct nvprof_log *log, const struct nvprof_values *values,
                               const char *pid, const struct nvprof_log *main,
                               struct mp_error *error)
{
    const char *pattern = values->log_file ? values->log_file : TO_STDERR;

    *log = (struct nvprof_log){.file = NULL};
    if (values->quiet)
        return MP_OK;
    if (mp_text_equal(pattern, TO_STDOUT) || mp_text_equal(pattern, TO_STDERR)) {
        log->file = mp_text_equal(pattern, TO_STDOUT) ? stdout : stderr;
        return MP_OK;
    }
    MP_TRY(nvprof_pattern_expand(pattern, pid, false, log->path, sizeof log->path, error));
    if (main && mp_text_equal(log->path, main->path)) {
        log->file = main->file;
        return MP_OK;
    }
    return open_file(log, values->force, error);
}

bool nvprof_log_close(struct nvprof_log *log)
{
    bool good = true;

    errno = 0;
    if (log->file)
        good = fflush(log->file) == 0 && !ferror(log->file);
    if (log->owned && fclose(log->file) != 0)
        good = false;
    if (log->owned && !good)
        nvprof_error(stderr, "cannot write '%s': %s", log->path,
                     errno ? strerror(errno) : "lines are missing there");
    *log = (struct nvprof_log){.file = NULL};
    return good;
}
