/* The files of an nvprof session. Traces go into a folder of their own first; each becomes an
 * .nvvp file under the name that -o asks for.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "base/text/strings.h"
#include "export/nvvp/nvvp.h"
#include "nvprof/nvprof.h"
#include "nvprof/pattern.h"

#include "base/poison.h"

#define COPY_BYTES (1u << 30) /* at a time */

/* ---- The folder ---- */

enum mp_status nvprof_folder_make(struct nvprof_folder *folder, struct mp_error *error)
{
    const char *place = getenv("TMPDIR");
    char absolute[PATH_MAX];
    int length;

    folder->path[0] = '\0';
    if (!place || !*place)
        place = "/tmp";
    /* The program may change its folder. */
    if (!realpath(place, absolute))
        return mp_error_set(error, MP_ERR_IO, "no folder for temporary files: '%s': %m", place);
    length = snprintf(folder->path, sizeof folder->path, "%s/miniprof-XXXXXX", absolute);
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

static bool is_ours(const char *path)
{
    size_t length = strlen(path);

    return length >= 4 && mp_text_equal(path + length - 4, ".mpt");
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
    if (is_ours(path)) {
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
