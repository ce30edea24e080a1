/* nvprof's messages. "==PID==" stands before each line, and --log-file sends them to a file, as
 * scripts that parse nvprof's output expect.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "nvprof/nvprof.h"
#include "nvprof/pattern.h"

#include "base/poison.h"

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
