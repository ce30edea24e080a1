/* Starts a program, as if it ran without us, with the recorder in it. `run` and nvprof's command
 * line share this code.
 */
#ifndef MP_RUN_LAUNCH_H
#define MP_RUN_LAUNCH_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* ---- A program ---- */

struct child {
    /* What the caller may set before; zeroed for nothing. */
    void (*started)(pid_t pid, void *context); /* called when there is a process */
    void *context;
    const sigset_t *mask; /* of signals, for the program; NULL: the caller's */

    pid_t pid;
    int exit_code;   /* its own; 128 + n when signal n ended it; 126 or 127 when it did not start */
    bool signalled;  /* a signal ended it */
    int start_errno; /* why it did not start; 0 if it did */
};

/* Runs argv[0], found in PATH, and waits for its end. Signals that would end us are passed on to
 * the program if they were sent to us alone; the terminal's signals reach the program directly.
 * `prepare` runs in the child before the program; it returns 0, or the errno that prevents the
 * start. Returns 0, or -1 with errno if no process could be made. */
int child_run(char **argv, int (*prepare)(void *context), void *context, struct child *child);

/* If a signal ended the program, ends this process by the same one, so that whoever waits for it
 * sees that signal. A core file is the program's alone. Returns if the program ended otherwise. */
void child_die_alike(const struct child *child);

/* ---- The recorder in it ---- */

struct launch {
    char library[PATH_MAX]; /* libminiprof.so, absolute */
    char preload[PATH_MAX]; /* libminiprof_preload.so beside it, absolute; empty: there is none */

    /* Sets the recorder's settings with setenv, in the child; false when memory is out. */
    bool (*export_settings)(const void *context);
    const void *context;

    const char *program; /* launch_run's argv[0] */
};

/* Finds the library to inject: `given`, or beside this command, or in ../lib. Returns false if
 * there is none. */
bool launch_find_library(struct launch *launch, const char *given);

/* Runs argv with the two injection variables and the settings. If recording waits for a range,
 * LD_PRELOAD is set too, and MINIPROF_ATTACH=graph unless the variable is already set. Otherwise as
 * child_run. */
int launch_run(struct launch *launch, char **argv, struct child *child);

/* The least time stamp of files that are written from now on. File systems take times from the
 * kernel's tick, which is slightly behind the clock. */
struct timespec launch_file_time(void);

#endif
