/* Programs with the recorder in them: how they are started as if they ran without us, which traces
 * they wrote, and how a running one is asked for something. `run`, `ctl` and nvprof's command line
 * share this.
 */
#ifndef MP_RUN_RUN_H
#define MP_RUN_RUN_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/process.h"
#include "base/status.h"

/* ---- A program ---- */

#define CODE_SIGNAL 128 /* plus the signal that ended it, as the shells have it */

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
    char preload[PATH_MAX]; /* libminiprof_preload.so next to it, absolute; empty: there is none */

    /* Sets the recorder's settings with setenv, in the child; false when memory is out. */
    bool (*export_settings)(const void *context);
    const void *context;

    /* A folder for the marks of steps (base/steps.h); NULL: nobody asks. */
    const char *steps;
    bool compares;      /* they go on when CUPTI has come */
    bool bare;          /* nothing but marks: no recorder */
    const char *output; /* where traces go instead; NULL: as the settings say */

    const char *program; /* launch_run's argv[0] */
};

/* Finds the library to inject: `given`, or next to this command, or in ../lib. Returns false if
 * there is none. */
bool launch_find_library(struct launch *launch, const char *given);

/* Whether the program can be started with the preloaded library. */
bool launch_bears_preload(const struct launch *launch, const char *program);

/* Runs argv with the two injection variables and the settings. If recording waits for a range,
 * LD_PRELOAD is set too, and MINIPROF_ATTACH=graph unless the variable is already set. Otherwise as
 * child_run. */
int launch_run(struct launch *launch, char **argv, struct child *child);

/* The earliest time stamp that files can have which are written from now on. File systems take
 * times from the kernel's tick, which is slightly later than the clock. */
struct timespec launch_file_time(void);

/* ---- Runs without the recorder, to compare with ---- */

/* Runs the program bare and recorded in turn, `pairs` times each. `folder` is for marks and traces;
 * only the last run's trace goes where the settings say, and *child is the last run. -1 with errno:
 * a process could not be made. Stops after a run that did not start or that a signal ended, and
 * after a first recorded run without a trace. */
int pairs_run(struct launch *launch, char **argv, unsigned pairs, const char *folder,
              struct child *child, bool *finished);

/* Puts the steps that the runs have left in `folder` into a trace, and says what is missing.
 * `pairs` 0: a single run, which says nothing. */
void pairs_keep(const char *trace, const char *folder, unsigned pairs);

/* Removes the folder and what the runs have left there. */
void pairs_remove(const char *folder);

/* ---- Their traces ---- */

/* Which trace files a program wrote: its own, those of programs that replaced it by exec, and those
 * of its children. */
struct written_traces {
    char own[PATH_MAX]; /* where the process `pid` writes */
    bool own_exists;
    char **others; /* of other programs, sorted with numbers in the names by value; owned, as are
                      the texts */
    size_t other_count;
    size_t other_capacity;
};

/* Finds the files that match the output pattern and were changed at or after `since`.
 * MP_ERR_ARGUMENT or MP_ERR_LIMIT when the pattern cannot be expanded, MP_ERR_MEMORY. Call
 * written_traces_free afterwards, also after a failure. */
enum mp_status written_traces_find(struct written_traces *traces, const char *pattern, pid_t pid,
                                   const struct timespec *since, struct mp_error *error);

void written_traces_free(struct written_traces *traces);

/* ---- Requests to a recorder: the client's end of base/process.h ---- */

/* The process id that a command line gives, or 0 after a complaint in the name of `command`. */
pid_t ctl_parse_pid(const char *command, const char *text);

/* Sends the process a request of one word. EXIT_FINE: `answer` holds its answer. Otherwise
 * `command` has complained, and the result is the exit code: EXIT_FINDINGS if the process refuses,
 * EXIT_UNREADABLE if it cannot be reached. */
int ctl_ask(const char *command, pid_t pid, const char *request, char answer[MP_CTL_ANSWER_BYTES]);

#endif
