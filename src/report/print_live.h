/* What analyze/live.h knows after a tick, as a block of lines or as a line of JSON. */
#ifndef MP_REPORT_PRINT_LIVE_H
#define MP_REPORT_PRINT_LIVE_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "analyze/live.h"

#define PRINT_LIVE_MOST 100 /* names in a list */

/* Lines for a person. `title` stands in the first one, `state` (NULL: nothing) at its end; of
 * kernels and layers the first `top`, at most PRINT_LIVE_MOST. Names of the trace are made visible.
 */
void print_live(FILE *out, const char *title, const char *state, struct live *live, size_t top);

/* The same as one line; `state` is a word. */
void print_live_json(FILE *out, const struct mp_trace *trace, const char *state, struct live *live,
                     size_t top);

#endif
