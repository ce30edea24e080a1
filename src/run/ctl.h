/* Sends requests to the recorder inside a process: the client's end of base/process.h. */
#ifndef MP_RUN_CTL_H
#define MP_RUN_CTL_H

#include <stddef.h>
#include <sys/types.h>

#include "base/process.h"

/* The process id that a command line gives, or 0 after a complaint in the name of `command`. */
pid_t ctl_parse_pid(const char *command, const char *text);

/* Sends the process a request of one word. EXIT_FINE: `answer` holds its answer. Otherwise
 * `command` has complained, and the result is the exit code: EXIT_FINDINGS if the process refuses,
 * EXIT_UNREADABLE if it cannot be reached. */
int ctl_ask(const char *command, pid_t pid, const char *request, char answer[MP_CTL_ANSWER_BYTES]);

#endif
