/* The traces that a command line names: files and folders. */
#ifndef MP_TOOL_COMMON_TRACE_ARGS_H
#define MP_TOOL_COMMON_TRACE_ARGS_H

#include <stdbool.h>

#include "model/trace/set.h"

/* The exit code of one report; `trace` is the caller's. */
typedef int trace_report(void *context, struct mp_trace *trace, const char *path);

/* Opens each file of the arguments for `report`, those of a folder in the order of trace/set.h.
 * Returns the worst exit code. A file that cannot be opened is complained of and makes for
 * EXIT_UNREADABLE; what else cannot be read in a folder likewise, for EXIT_FINDINGS. */
int each_trace(const char *command, int count, char **arguments, trace_report *report,
               void *context);

/* Opens the arguments as one set, complains of what is not in it, and sets *code to the exit code
 * that says so. False when nothing is left; else trace_set_free. */
bool open_trace_set(const char *command, int count, char **arguments, struct trace_set *set,
                    int *code);

/* Lets the process have as many files open as it may: reports that merge rows read all at once. */
void allow_many_files(void);

#endif
