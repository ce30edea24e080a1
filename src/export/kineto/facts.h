/* Definitions that rows refer to and that the rows of an export do not carry: properties of
 * devices, devices of contexts, priorities of streams, APIs of functions. A short pass of its own.
 */
#ifndef MP_EXPORT_KINETO_FACTS_H
#define MP_EXPORT_KINETO_FACTS_H

#include <miniprof/trace.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/dense.h"
#include "trace/codec/schema.h"

struct kineto_function {
    uint32_t cbid;
    bool driver;
};

struct kineto_facts {
    struct mp_row_device *devices; /* in the order of the trace; owned */
    size_t device_count, device_capacity;
    struct mp_map contexts;   /* CUPTI's id -> ordinal */
    struct mp_map priorities; /* context and stream -> priority + KINETO_PRIORITY_ZERO */
    struct dense functions;   /* of struct kineto_function */
};

#define KINETO_PRIORITY_ZERO 0x40000000

/* MP_ERR_IO, MP_ERR_MEMORY; kineto_facts_free is due in any case. */
enum mp_status kineto_facts_load(struct kineto_facts *facts, struct mp_trace *trace,
                                 struct mp_error *error);
void kineto_facts_free(struct kineto_facts *facts);

/* NULL: not in the trace. */
const struct mp_row_device *kineto_facts_device(const struct kineto_facts *facts, uint64_t ordinal);

/* The device of a context; 0 if the trace does not say. */
uint64_t kineto_facts_device_of(const struct kineto_facts *facts, uint64_t context);

/* Whether the priority of a stream is known. */
bool kineto_facts_priority(const struct kineto_facts *facts, uint64_t context, uint64_t stream,
                           int64_t *priority);

#endif
