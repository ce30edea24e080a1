/* Runs a program as if it ran without us: signals, exit code. */
#ifndef MP_RUN_CHILD_H
#define MP_RUN_CHILD_H

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

/* Runs argv[0], found in PATH, and waits for its end. Signals that would end us are passed on to
 * the program if they were sent to us alone; the terminal's signals reach the program directly.
 * `prepare` runs in the child before the program; it returns 0, or the errno that prevents the
 * start. Returns 0, or -1 with errno if no process could be made. */
int child_run(char **argv, int (*prepare)(void *context), void *context, struct child *child);

/* If a signal ended the program, ends this process by the same one, so that whoever waits for it
 * sees that signal. A core file is the program's alone. Returns if the program ended otherwise. */
void child_die_alike(const struct child *child);

#endif
