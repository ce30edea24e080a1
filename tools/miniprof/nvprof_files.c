#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strings.h"
#include "export/nvvp.h"
#include "nvprof.h"
#include "nvprof_pattern.h"

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
    /* Not between these file systems, or no regular file. */
    while ((got = read(from, bytes, sizeof bytes)) > 0) {
        if (write(to, bytes, (size_t)got) != got)
            return false;
    }
    return got == 0;
}

static bool is_file(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

static enum mp_status copy_file(const char *source, const char *path, bool overwrite,
                                struct mp_error *error)
{
    int from = open(source, O_RDONLY | O_CLOEXEC);
    int to = -1;
    bool done = false;

    if (from >= 0)
        to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL), 0600);
    if (to < 0) {
        mp_error_set(error, MP_ERR_IO, "cannot create '%s': %m%s", path,
                     errno == EEXIST ? "; -f overwrites it" : "");
    } else {
        done = copy_bytes(from, to);
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

enum mp_status nvprof_export(const struct nvprof_values *values, struct mp_trace *trace,
                             const char *source, const char *pid,
                             const struct nvprof_folder *folder, char path[PATH_MAX],
                             struct mp_error *error)
{
    char converted[PATH_MAX + 32];
    char absolute[PATH_MAX];

    MP_TRY(nvprof_export_path(values, pid, path, error));
    if (is_ours(path)) {
        MP_TRY(copy_file(source, path, values->force, error));
    } else {
        snprintf(converted, sizeof converted, "%s/%s.nvvp", folder->path, pid);
        MP_TRY(nvvp_write(trace, converted, error));
        MP_TRY(copy_file(converted, path, values->force, error));
        unlink(converted);
    }
    if (realpath(path, absolute))
        mp_text_copy(path, PATH_MAX, absolute);
    return MP_OK;
}
