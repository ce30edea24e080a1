/* What a report says of a trace that the flight recorder wrote: docs/trace-format.md, section 3. */
#ifndef MP_REPORTS_COMMON_FLIGHT_H
#define MP_REPORTS_COMMON_FLIGHT_H

#include <miniprof/trace.h>

#include "base/text/json_write.h"
#include "table/table.h"

/* `==PID== Note: ...` with the trigger and the time that the trace covers; nothing for any other
 * trace. What the header does not state is left out. */
void print_flight_note(const struct report_out *out, const struct mp_trace *trace);

/* The key "flight" with the same as an object; no key for any other trace. */
void json_flight(struct json_writer *json, const struct mp_trace *trace);

#endif
