#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strings.h"
#include "export/nvvp.h"
#include "nvprof.h"

#include "base/poison.h"

/* ---- Files ---- */

static bool is_same_file(const char *left, const char *right)
{
    struct stat a;
    struct stat b;

    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* nvprof printed a file that was named twice once. */
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

/* nvprof's format becomes ours on the way. */
static enum mp_status convert(struct imported *imported, const char *path, struct mp_error *error)
{
    imported->converted = open_unlinked();
    if (imported->converted < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot make a temporary file: %m");
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

static enum mp_status export_again(const struct nvprof_values *values,
                                   const struct imported *imported, FILE *log,
                                   struct mp_error *error)
{
    const char *pid = mp_trace_property(imported->trace, "pid");
    struct nvprof_folder folder;
    char path[PATH_MAX];
    enum mp_status status = nvprof_folder_make(&folder, error);

    if (status != MP_OK)
        return status;
    status = nvprof_export(values, imported->trace, imported->source, pid ? pid : "0", &folder,
                           path, error);
    nvprof_folder_remove(&folder);
    if (status == MP_OK && log)
        fprintf(log, "======== Generated result file: %s\n", path);
    return status;
}

static enum mp_status print_file(const struct nvprof_values *values, const char *path, FILE *log,
                                 struct mp_error *error)
{
    struct imported imported;
    enum mp_status status = open_file(&imported, path, error);

    if (status == MP_OK && log && nvprof_reports(values))
        status = nvprof_report(log, imported.trace, values, true, error);
    if (status == MP_OK && values->export_file)
        status = export_again(values, &imported, log, error);
    close_file(&imported);
    return status;
}

static int print_files(const struct nvprof_values *values, FILE *log)
{
    struct mp_error error;
    int code = NVPROF_EXIT_FINE;

    for (size_t i = 0; i < values->imports.count; i++) {
        const char *path = values->imports.items[i];

        if (is_repeated(&values->imports, i) || print_file(values, path, log, &error) == MP_OK)
            continue;
        if (strstr(error.text, path))
            nvprof_error(log, "%s", error.text);
        else
            nvprof_error(log, "'%s': %s", path, error.text);
        code = NVPROF_EXIT_IMPORT;
    }
    return code;
}

int nvprof_import(const struct nvprof_values *values)
{
    struct nvprof_log log;
    struct mp_error error;
    int code;

    if (nvprof_log_open(&log, values, "0", NULL, &error) != MP_OK) {
        nvprof_error(stderr, "%s", error.text);
        return NVPROF_EXIT_INTERNAL;
    }
    code = print_files(values, log.file);
    nvprof_log_close(&log);
    return code;
}
