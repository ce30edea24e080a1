/* The traces that a command line names: files and folders. */
#ifndef MP_TOOL_COMMON_TRACE_ARGS_H
#define MP_TOOL_COMMON_TRACE_ARGS_H

#include <stdbool.h>

#include "model/trace/set.h"

/* Analyses a trace, which belongs to the caller, and prints the result. On success *whole says
 * whether the trace is complete (quality_is_whole). On failure *error says why; MP_ERR_ARGUMENT
 * means that the command line is wrong. */
typedef enum mp_status trace_report(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error);

/* Opens a file for `report`, complains if either fails, and returns the exit code. */
int report_trace(const char *command, const char *path, trace_report *report, void *context);

/* The same for each file of the arguments; the files of a folder come in the order of trace/set.h.
 * Returns the worst exit code. Other files of a folder that cannot be read lead to a complaint and
 * EXIT_FINDINGS.
 */
int each_trace(const char *command, int count, char **arguments, trace_report *report,
               void *context);

/* Opens the arguments as one set, complains about what is not in it, and sets *code accordingly.
 * Returns false if nothing is left; otherwise call trace_set_free. */
bool open_trace_set(const char *command, int count, char **arguments, struct trace_set *set,
                    int *code);

/* Raises the process's limit of open files to its maximum, because reports that merge rows read all
 * files at the same time. */
void allow_many_files(void);

#endif
