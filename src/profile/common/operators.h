/* Which operator of a framework made a call: the innermost NVTX range of the thread that is one
 * (base/text/names.h), when the call began. For nodes of graphs: when the node was made.
 *
 * Memory: 24 bytes a call while it reads, 30 a call that has an operator.
 */
#ifndef MP_PROFILE_COMMON_OPERATORS_H
#define MP_PROFILE_COMMON_OPERATORS_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "profile/nvtx/captured.h"

struct operators {
    struct mp_intern names; /* by number, from 1 */
    struct mp_map calls;    /* correlation id -> number */
    struct captured captured;
};

/* Reads them. MP_ERR_IO, MP_ERR_MEMORY; operators_free is due in any case. */
enum mp_status operators_load(struct operators *operators, struct mp_trace *trace,
                              struct mp_error *error);
void operators_free(struct operators *operators);

/* The operator of work, not ended by a zero. False: it has none. */
bool operators_of_work(const struct operators *operators, uint64_t correlation, uint64_t node,
                       const char **text, size_t *bytes);

#endif
