/* The traces that a command line names: files and folders, and what is printed once for all of
 * them.
 */
#ifndef MP_CLI_TRACES_H
#define MP_CLI_TRACES_H

#include <stdbool.h>

#include "profile/set.h"
#include "table/table.h"

/* ---- Each trace, and all of them ---- */

/* Analyses a trace, which belongs to the caller, and prints the result. On success *whole says
 * whether the trace is complete (quality_is_whole). On failure *error says why; MP_ERR_ARGUMENT
 * means that the command line is wrong. */
typedef enum mp_status trace_report(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error);

/* Opens a file for `report`, complains if either fails, and returns the exit code. */
int report_trace(const char *command, const char *path, trace_report *report, void *context);

/* The same for each file of the arguments; the files of a folder come in the order of
 * profile/set.h. Returns the worst exit code. Other files of a folder that cannot be read lead to a
 * complaint and EXIT_FINDINGS. `out` is where the report goes: if there are several traces, their
 * rows and documents say whose they are.
 */
int each_trace(const char *command, struct report_out *out, int count, char **arguments,
               trace_report *report, void *context);

/* The same, with a report on all of them together before the first one, if `first` is not NULL; it
 * returns an exit code. Its rows and document are those of the process `job`. */
typedef int job_report_first(void *context);
int job_and_each_trace(const char *command, struct report_out *out, int count, char **arguments,
                       job_report_first *first, trace_report *report, void *context);

/* Opens the arguments as one set, complains about what is not in it, and sets *code accordingly.
 * Returns false if nothing is left; otherwise call trace_set_free. */
bool open_trace_set(const char *command, int count, char **arguments, struct trace_set *set,
                    int *code);

/* Complains about what is not in the set; returns the exit code. */
int complain_of_problems(const char *command, const struct trace_set *set);

/* Raises the process's limit of open files to its maximum, because reports that merge rows read all
 * files at the same time. */
void allow_many_files(void);

/* ---- What is printed of several traces ----
 *
 * Where the rows of --csv and the documents of --json go while a command runs: what is printed once
 * for all traces.
 */

/* Call before the first trace; `several`: documents form an array. Returns false after a
 * complaint. */
bool report_streams_open(const char *command, struct report_out *out, bool several);

/* Call after the last trace. Returns `code`, or EXIT_USAGE after a complaint that no report had the
 * table that --table names. */
int report_streams_close(const char *command, struct report_out *out, int code);

#endif
