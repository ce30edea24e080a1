/* nvprof's command line: `miniprof [nvprof options] PROGRAM`, or the command called by that name.
 *
 *     command.c      what to do, help, version
 *     options.*      the table of options, parsing (options.def: the table itself)
 *     files.c        names with placeholders, the temporary folder, files of -o, messages, the log
 *     session.c      from options to the recorder's settings; runs a program
 *     report.c       which reports, in which order; prints files
 */
#ifndef MP_NVPROF_NVPROF_H
#define MP_NVPROF_NVPROF_H

#include <limits.h>
#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/status.h"
#include "nvprof/options.h"

/* nvprof's own. */
enum nvprof_exit {
    NVPROF_EXIT_FINE = 0,
    NVPROF_EXIT_NO_PROGRAM = 3,
    NVPROF_EXIT_INTERNAL = 4, /* also: a variable or a file that is not there */
    NVPROF_EXIT_OPTION = 5,
    NVPROF_EXIT_PROGRAM_FAILED = 9,
    NVPROF_EXIT_NOT_FOUND = 13,
    NVPROF_EXIT_IMPORT = 20,
    NVPROF_EXIT_NO_DRIVER = 23
};

/* ---- Messages ---- */

/* Where nvprof's messages go. */
struct nvprof_log {
    FILE *file; /* NULL: nothing is said */
    char path[PATH_MAX];
    bool owned; /* to be closed */
};

/* Opens the log of --log-file, with `pid` for %p. If `main` is not NULL and has the same file, the
 * log is shared. With --quiet there is no log. nvprof_log_close gives it back. */
enum mp_status nvprof_log_open(struct nvprof_log *log, const struct nvprof_values *values,
                               const char *pid, const struct nvprof_log *main,
                               struct mp_error *error);

/* Returns false if not everything could be written, and says so, unless the log itself is where it
 * would be said. */
bool nvprof_log_close(struct nvprof_log *log);

/* One line after `======== Error: `, `======== Warning: ` or `==PID== `; prints nothing if `file`
 * is NULL.
 */
__attribute__((format(printf, 2, 3))) void nvprof_error(FILE *file, const char *format, ...);
__attribute__((format(printf, 2, 3))) void nvprof_warning(FILE *file, const char *format, ...);
__attribute__((format(printf, 3, 4))) void nvprof_line(FILE *file, const char *pid,
                                                       const char *format, ...);

/* ---- Files ---- */

struct nvprof_folder {
    char path[PATH_MAX]; /* empty: none */
};

/* A new folder in TMPDIR that only we can enter. */
enum mp_status nvprof_folder_make(struct nvprof_folder *folder, struct mp_error *error);

/* Removes it and the files in it. */
void nvprof_folder_remove(struct nvprof_folder *folder);

/* The file of -o for the process `pid`: the pattern, filled in. */
enum mp_status nvprof_export_path(const struct nvprof_values *values, const char *pid,
                                  char path[PATH_MAX], struct mp_error *error);

/* The files of -o written so far: a later one does not overwrite an earlier one, with or without
 * -f. Zeroed, it holds none. */
struct nvprof_written {
    struct {
        dev_t device;
        ino_t inode;
    } * items; /* owned */
    size_t count;
    size_t capacity;
};

void nvprof_written_free(struct nvprof_written *written);

/* Writes the trace, whose file is `source`, in the format that the name asks for. `path` receives
 * the absolute name of the new file, and `written` remembers the file. */
enum mp_status nvprof_export(const struct nvprof_values *values, struct mp_trace *trace,
                             const char *source, const char *pid,
                             const struct nvprof_folder *folder, struct nvprof_written *written,
                             char path[PATH_MAX], struct mp_error *error);

/* ---- What is done ---- */

/* Sets the recorder's variables from the options; traces go to `output`, a pattern. A variable
 * without a matching option stays as it is. Returns false when memory is out. */
bool nvprof_set_environment(const struct nvprof_values *values, const char *output);

/* Runs argv, a program with its arguments. The result is the exit code. */
int nvprof_session(const struct nvprof_values *values, char **argv);

/* Prints the files of -i. The result is the exit code. */
int nvprof_import(const struct nvprof_values *values);

/* Whether a report is to be printed at all. */
bool nvprof_reports(const struct nvprof_values *values);

/* Prints the reports of one process. */
enum mp_status nvprof_report(FILE *file, struct mp_trace *trace, const struct nvprof_values *values,
                             bool imported, struct mp_error *error);

/* ---- File names ----
 *
 * nvprof's names with placeholders, filled in for a process other than this one.
 *
 *     %p %h %q{NAME} %%   as in base/io.h
 *     %i                  number of a context or stream: only in their names
 */

/* Whether the pattern is well formed, whatever the environment holds: MP_OK or MP_ERR_ARGUMENT.
 * `naming`: %i is allowed. */
enum mp_status nvprof_pattern_check(const char *pattern, bool naming, struct mp_error *error);

/* The first environment variable of a well-formed pattern that is not set, into `name`; false when
 * there is none. */
bool nvprof_pattern_missing(const char *pattern, char *name, size_t size);

/* Whether the pattern has a %p. */
bool nvprof_pattern_has_pid(const char *pattern);

/* Fills in the placeholders, %p with `pid`. With `naming`, %i and %% stay as they are, and percent
 * signs in inserted texts are doubled, so that the result is a pattern again. MP_ERR_ARGUMENT,
 * MP_ERR_LIMIT when `size` is too small. */
enum mp_status nvprof_pattern_expand(const char *pattern, const char *pid, bool naming,
                                     char *buffer, size_t size, struct mp_error *error);

#endif
