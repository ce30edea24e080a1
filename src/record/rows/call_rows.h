/* Rows of what an application's threads did, where the dictionary is all that is needed to make
 * them. The writer only, which has checked that the capture ranges keep them.
 */
#ifndef MP_RECORD_ROWS_CALL_ROWS_H
#define MP_RECORD_ROWS_CALL_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct call_entry;
struct mp_preload_wait;
struct recording;

/* Appends the row of `sync`, `stream_value` or `host_time` that an entry of a thread makes. False:
 * it makes another one. */
bool call_rows_append(struct recording *recording, uint32_t tid, const struct call_entry *entry);

/* A row of `step`, unless a cut has discarded what the step belongs to. */
void call_rows_step(struct recording *recording, uint32_t tid, const struct call_entry *entry);

/* A row of `wait`. */
void call_rows_wait(struct recording *recording, const struct mp_preload_wait *wait);

#endif
