/* Drops driver calls that a runtime call makes inside itself: their time is part of the runtime
 * call, and two rows for one launch would count it twice.
 *
 * CUPTI completes the inner record first. So driver calls wait here, a few for each thread, until
 * nothing can enclose them any more. This is so when a later runtime call began after them, when
 * too many wait, or after two flushes of the file.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_DATA_NESTED_H
#define MP_RECORD_DATA_NESTED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "record/cupti/layout.h"

#define NESTED_WAITING 16u /* driver calls of one thread; a runtime call makes fewer */

struct nested_thread {
    struct record_call calls[NESTED_WAITING]; /* oldest first */
    uint32_t count;
    uint32_t seen; /* calls that waited at the last flush already */
};

typedef void nested_use(void *context, const struct record_call *call);

struct nested {
    struct mp_map index; /* tid -> position in threads */
    struct nested_thread **threads;
    uint32_t count, capacity;
    uint64_t dropped; /* driver calls that were inside runtime calls */
    nested_use *use;  /* gets every call that stays, in order within its thread */
    void *context;
};

void nested_open(struct nested *nested, nested_use *use, void *context);
void nested_close(struct nested *nested);

void nested_driver_call(struct nested *nested, const struct record_call *call);
void nested_runtime_call(struct nested *nested, const struct record_call *call);

/* Hands on the calls that have waited since the last flush; all of them if `all`. */
void nested_flush(struct nested *nested, bool all);

#endif
