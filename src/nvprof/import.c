/* nvprof -i: reads .nvvp files, ours and nvprof's own, and reports on them as on a fresh session.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/strings.h"
#include "export/nvvp/nvvp.h"
#include "nvprof/nvprof.h"
#include "nvprof/pattern.h"

#include "base/poison.h"

/* ---- Files ---- */

static bool is_same_file(const char *left, const char *right)
{
    struct stat a;
    struct stat b;

    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* nvprof prints a file only once if it is named twice. */
static bool is_repeated(const struct option_texts *imports, size_t position)
{
    for (size_t i = 0; i < position; i++) {
        if (is_same_file(imports->items[i], imports->items[position]))
            return true;
    }
    return false;
}

/* An unlinked file in TMPDIR; -1 with errno. */
static int open_unlinked(void)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof path, "%s/miniprof-XXXXXX", folder && *folder ? folder : "/tmp");
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

struct imported {
    struct mp_trace *trace;
    int converted;         /* a trace made of a file of nvprof's; -1: none */
    char source[PATH_MAX]; /* of the trace */
};

/* A file in nvprof's format is converted to ours first. */
static enum mp_status convert(struct imported *imported, const char *path, struct mp_error *error)
{
    imported->converted = open_unlinked();
    if (imported->converted < 0)
        return mp_error_set(error, MP_ERR_IO,
                            "cannot make a temporary file: %m; TMPDIR names a folder for it");
    snprintf(imported->source, sizeof imported->source, "/proc/self/fd/%d", imported->converted);
    return nvvp_read(path, imported->converted, error);
}

static enum mp_status open_file(struct imported *imported, const char *path, struct mp_error *error)
{
    *imported = (struct imported){.converted = -1};
    if (nvvp_is(path))
        MP_TRY(convert(imported, path, error));
    else if (!mp_text_copy(imported->source, sizeof imported->source, path))
        return mp_error_set(error, MP_ERR_LIMIT, "the file's name is too long");
    return mp_trace_open(imported->source, &imported->trace, error);
}

static void close_file(struct imported *imported)
{
    mp_trace_close(imported->trace);
    if (imported->converted >= 0)
        close(imported->converted);
}

/* ---- What is made of them ---- */

struct importing {
    const struct nvprof_values *values;
    struct nvprof_log log;
    struct nvprof_written written;
};

/* Whether `path` is a file of -i other than `current`, which may be NULL. Writing there would
 * destroy the file before it is read, or it would be read again. */
static bool is_another_import(const struct nvprof_values *values, const char *path,
                              const char *current)
{
    for (size_t i = 0; i < values->imports.count; i++) {
        const char *import = values->imports.items[i];

        if (is_same_file(import, path) && !(current && is_same_file(import, current)))
            return true;
    }
    return false;
}

static enum mp_status export_again(struct importing *importing, const struct imported *imported,
                                   const char *current, struct mp_error *error)
{
    const struct nvprof_values *values = importing->values;
    const char *pid = mp_trace_property(imported->trace, "pid");
    struct nvprof_folder folder;
    char path[PATH_MAX];
    enum mp_status status;

    if (!pid)
        pid = "0";
    MP_TRY(nvprof_export_path(values, pid, path, error));
    if (is_another_import(values, path, current))
        return mp_error_set(error, MP_ERR_IO,
                            "'%s' is to be imported: give --export-profile another name", path);
    MP_TRY(nvprof_folder_make(&folder, error));
    status = nvprof_export(values, imported->trace, imported->source, pid, &folder,
                           &importing->written, path, error);
    nvprof_folder_remove(&folder);
    if (status == MP_OK && importing->log.file)
        fprintf(importing->log.file, "======== Generated result file: %s\n", path);
    return status;
}

static void say_unreadable(FILE *log, const char *path, const struct mp_error *error)
{
    if (strstr(error->text, path))
        nvprof_error(log, "%s", error->text);
    else
        nvprof_error(log, "'%s': %s", path, error->text);
}

/* Returns the exit code. */
static int take_file(struct importing *importing, const char *path)
{
    const struct nvprof_values *values = importing->values;
    FILE *log = importing->log.file;
    struct imported imported;
    struct mp_error error;
    enum mp_status status = open_file(&imported, path, &error);
    int code = NVPROF_EXIT_FINE;

    if (status == MP_OK && log && nvprof_reports(values))
        status = nvprof_report(log, imported.trace, values, true, &error);
    if (status != MP_OK) {
        say_unreadable(log, path, &error);
        code = NVPROF_EXIT_IMPORT;
    } else if (values->export_file && export_again(importing, &imported, path, &error) != MP_OK) {
        nvprof_error(log, "%s", error.text);
        code = NVPROF_EXIT_INTERNAL;
    }
    close_file(&imported);
    return code;
}

static int take_files(struct importing *importing)
{
    const struct option_texts *imports = &importing->values->imports;
    int code = NVPROF_EXIT_FINE;

    for (size_t i = 0; i < imports->count; i++) {
        int one =
            is_repeated(imports, i) ? NVPROF_EXIT_FINE : take_file(importing, imports->items[i]);
        if (one > code)
            code = one;
    }
    return code;
}

/* The log is opened before the files, because -f would empty a file that is both. */
static enum mp_status open_log(struct importing *importing, struct mp_error *error)
{
    const struct nvprof_values *values = importing->values;
    char path[PATH_MAX];

    if (values->log_file && values->force &&
        nvprof_pattern_expand(values->log_file, "0", false, path, sizeof path, error) == MP_OK &&
        is_another_import(values, path, NULL))
        return mp_error_set(error, MP_ERR_IO,
                            "'%s' is to be imported: give --log-file another name", path);
    return nvprof_log_open(&importing->log, values, "0", NULL, error);
}

int nvprof_import(const struct nvprof_values *values)
{
    struct importing importing = {.values = values};
    struct mp_error error;
    int code;

    if (open_log(&importing, &error) != MP_OK) {
        nvprof_error(stderr, "%s", error.text);
        return NVPROF_EXIT_INTERNAL;
    }
    code = take_files(&importing);
    nvprof_written_free(&importing.written);
    if (!nvprof_log_close(&importing.log) && code == NVPROF_EXIT_FINE)
        code = NVPROF_EXIT_INTERNAL;
    return code;
}
