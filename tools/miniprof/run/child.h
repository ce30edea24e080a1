/* Running a program as if it were run without us: its signals, its exit code. */
#ifndef MP_TOOL_RUN_CHILD_H
#define MP_TOOL_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

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

/* Runs argv[0], found in PATH, and waits for its end. What would end us is passed on to it instead:
 * signals that were sent to us alone; those of the terminal reach it by themselves. `prepare` runs
 * in the child before the program: 0, or the errno that keeps it from starting. Returns 0, or -1
 * with errno when no process could be made. */
int child_run(char **argv, int (*prepare)(void *context), void *context, struct child *child);

#endif
