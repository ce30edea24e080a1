/* Who wrote a trace: what its header, its device table and its chunk headers say. */
#ifndef MP_PROFILE_IDENTITY_H
#define MP_PROFILE_IDENTITY_H

#include "profile/set.h"

/* A number among the header's properties: decimal, at most `max`. False for no such number; *number
 * is left alone then. */
bool property_number(const struct mp_trace *trace, const char *key, uint64_t max, uint64_t *number);

/* Whether the header has the property, with this value. */
bool property_is(const struct mp_trace *trace, const char *key, const char *value);

/* Opens the trace at `path`, fills in *process and closes the trace. The label and what depends on
 * other processes are not filled in. Texts go to `text`. process->devices is the caller's to free,
 * also after a failure. Fails as mp_trace_open and mp_cursor_next do. */
enum mp_status trace_identity_read(const char *path, struct mp_arena *text,
                                   struct trace_process *process, struct mp_error *error);

#endif
