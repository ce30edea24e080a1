/* Where the rows of --csv and the documents of --json go while a command runs: what is printed once
 * for all traces, and what names each of them. */
#ifndef MP_CLI_REPORT_STREAMS_H
#define MP_CLI_REPORT_STREAMS_H

#include <stdbool.h>

#include "table/table.h"

/* Call before the first trace; `several`: documents form an array. Returns false after a
 * complaint. */
bool report_streams_open(const char *command, struct report_out *out, bool several);

/* Whose the rows or the document are that follow; NULL: there is one trace. `process` must outlive
 * them. */
void report_streams_name(const struct report_out *out, const char *process);

/* Call after the last trace. Returns `code`, or EXIT_USAGE after a complaint that no report had the
 * table that --table names. */
int report_streams_close(const char *command, struct report_out *out, int code);

#endif
