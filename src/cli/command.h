/* What the subcommands share: their table, exit codes, and how they complain. */
#ifndef MP_CLI_COMMAND_H
#define MP_CLI_COMMAND_H

#include <miniprof/trace.h>

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

#endif
