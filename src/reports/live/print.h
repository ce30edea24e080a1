/* What reports/live/live.h knows after a tick, as a block of lines, rows of CSV or a line of JSON.
 */
#ifndef MP_REPORTS_LIVE_PRINT_H
#define MP_REPORTS_LIVE_PRINT_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "reports/live/live.h"
#include "table/table.h"

#define PRINT_LIVE_MAX 100 /* names in a list */

/* Lines for a person. `title` stands in the first line, `state` (NULL: nothing) at its end. Of
 * kernels and layers the first `top` are listed, at most PRINT_LIVE_MAX. Control characters in
 * names are replaced.
 */
void print_live(FILE *out, const char *title, const char *state, struct live *live, size_t top);

/* Sets up the table of all refreshes and prints its head; `sheet` says where. */
void print_live_csv_begin(struct report_table *table, struct report_sheet *sheet);

/* A row for each device, each with the program's own numbers. As long as there is no device, a row
 * without one. */
void print_live_csv(struct report_table *table, const char *state, const struct live *live);

/* All as one line; `state` is a word. */
void print_live_json(FILE *out, const struct mp_trace *trace, const char *state, struct live *live,
                     size_t top);

#endif
