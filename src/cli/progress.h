/* Inside of screen and for what reads traces: a line on stderr that says what a command is busy
 * with, if that takes over a second and somebody looks at a terminal. */
#ifndef MP_CLI_PROGRESS_H
#define MP_CLI_PROGRESS_H

#include <stddef.h>

/* From a second on, and each second, stderr says how long `path` has been worked on. Nothing is
 * printed unless stderr is a terminal and nothing else writes to it: stdout is the same terminal,
 * or a file. */
void progress_begin(const char *path);

/* The same for a command that goes through many traces quickly: "added 12 of 2000: 3 s". Each call
 * changes the numbers; the first has `done` 0. */
void progress_count(size_t done, size_t count);

/* Wipes the line. Whatever prints has to call it first; calls without a begin do nothing. */
void progress_end(void);

#endif
