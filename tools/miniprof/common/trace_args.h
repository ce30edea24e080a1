/* The traces that a command line names: files and folders. */
#ifndef MP_TOOL_COMMON_TRACE_ARGS_H
#define MP_TOOL_COMMON_TRACE_ARGS_H

#include <stdbool.h>

#include "model/trace/set.h"

/* Analyses a trace, which is the caller's, and prints what it found. On success *whole says whether
 * the trace is whole (quality_is_whole); else *error says why not, MP_ERR_ARGUMENT if it is the
 * command line's fault. */
typedef enum mp_status trace_report(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error);

/* Opens a file for `report`, complains if either fails, and returns the exit code. */
int report_trace(const char *command, const char *path, trace_report *report, void *context);

/* The same for each file of the arguments, those of a folder in the order of trace/set.h. Returns
 * the worst exit code. What cannot be read in a folder besides is complained of, for EXIT_FINDINGS.
 */
int each_trace(const char *command, int count, char **arguments, trace_report *report,
               void *context);

/* Opens the arguments as one set, complains of what is not in it, and sets *code to the exit code
 * that says so. False when nothing is left; else trace_set_free. */
bool open_trace_set(const char *command, int count, char **arguments, struct trace_set *set,
                    int *code);

/* Lets the process have as many files open as it may: reports that merge rows read all at once. */
void allow_many_files(void);

#endif
