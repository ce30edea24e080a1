/* What the subcommands share: their table, exit codes, how they complain, and the traces that a
 * command line names.
 */
#ifndef MP_CLI_COMMAND_H
#define MP_CLI_COMMAND_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "profile/set.h"
#include "table/table.h"

/* Documented in miniprof(1). `run` exits with its application's code instead. */
enum exit_code {
    EXIT_FINE = 0,
    EXIT_FINDINGS = 1,  /* the trace is incomplete, or something else was found */
    EXIT_USAGE = 2,     /* the command line is wrong */
    EXIT_UNREADABLE = 3 /* there is no trace to read, or no way to write the answer */
};

/* The worse of two exit codes. */
static inline int worse_code(int a, int b)
{
    return a > b ? a : b;
}

/* A row of main.c's table. */
struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *purpose;
};

/* One file each, cmd_NAME.c. argv[0] is the command's own name; the result is the exit code. */
int cmd_summary(int argc, char **argv);
int cmd_gpu_trace(int argc, char **argv);
int cmd_api_trace(int argc, char **argv);
int cmd_nvtx(int argc, char **argv);
int cmd_layers(int argc, char **argv);
int cmd_deps(int argc, char **argv);
int cmd_kernels(int argc, char **argv);
int cmd_stacks(int argc, char **argv);
int cmd_overlap(int argc, char **argv);
int cmd_counters(int argc, char **argv);
int cmd_ranks(int argc, char **argv);
int cmd_iters(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_advise(int argc, char **argv);
int cmd_memory(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_html(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_fleet(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_nvprof(int argc, char **argv); /* exits with nvprof's codes */

/* `miniprof COMMAND: ...` and a newline on stderr; `command` may be NULL. */
__attribute__((format(printf, 2, 3))) void complain(const char *command, const char *format, ...);

/* Prints a path, or another line that a script reads, on stdout: exactly as it is, but made visible
 * on a terminal. */
void say_path(const char *path);

/* Opens a trace, or complains and returns NULL. */
struct mp_trace *open_trace(const char *command, const char *path);

/* Complains about a failure on the trace at `path`; returns the matching exit code. */
int fail_on_trace(const char *command, const char *path, const struct mp_error *error);

/* For commands that take one trace: complains unless there is exactly one argument. Returns its
 * path, or NULL.
 */
const char *only_trace(const char *command, int count, char **arguments);

/* ---- Each trace, and all of them ---- */

/* Analyses a trace, which belongs to the caller, and prints the result. On success *whole says
 * whether the trace is complete (quality_is_whole). On failure *error says why; MP_ERR_ARGUMENT
 * means that the command line is wrong. */
typedef enum mp_status trace_report(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error);

/* Opens a file for `report`, complains if either fails, and returns the exit code. */
int report_trace(const char *command, const char *path, trace_report *report, void *context);

/* The same for each file of the arguments; the files of a folder come in the order of
 * profile/set.h. Returns the worst exit code. Other files of a folder that cannot be read lead to a
 * complaint and EXIT_FINDINGS. `out` is where the report goes: if there are several traces, their
 * rows and documents say whose they are.
 */
int each_trace(const char *command, struct report_out *out, int count, char **arguments,
               trace_report *report, void *context);

/* The same, with a report on all of them together before the first one, if `first` is not NULL; it
 * returns an exit code. Its rows and document are those of the process `job`. */
typedef int job_report_first(void *context);
int job_and_each_trace(const char *command, struct report_out *out, int count, char **arguments,
                       job_report_first *first, trace_report *report, void *context);

/* Opens the arguments as one set, complains about what is not in it, and sets *code accordingly.
 * Returns false if nothing is left; otherwise call trace_set_free. */
bool open_trace_set(const char *command, int count, char **arguments, struct trace_set *set,
                    int *code);

/* Complains about what is not in the set; returns the exit code. */
int complain_of_problems(const char *command, const struct trace_set *set);

/* Raises the process's limit of open files to its maximum, because reports that merge rows read all
 * files at the same time. */
void allow_many_files(void);

/* ---- What is printed of several traces ----
 *
 * Where the rows of --csv and the documents of --json go while a command runs: what is printed once
 * for all traces.
 */

/* Call before the first trace; `several`: documents form an array. Returns false after a
 * complaint. */
bool report_streams_open(const char *command, struct report_out *out, bool several);

/* Call after the last trace. Returns `code`, or EXIT_USAGE after a complaint that no report had the
 * table that --table names. */
int report_streams_close(const char *command, struct report_out *out, int code);

#endif
