/* The frames around a row: its caller's stack; or ranges that were open, and those in which a
 * graph's node was captured.
 *
 *     stacks_open(&stacks, trace, &error);
 *     frames = stacks_begin(&stacks);              // empty
 *     stacks_add_ranges(&stacks, thread, begin, end);
 *     stacks_add_captured(&stacks, node);
 *     stacks_add(&stacks, name);
 *     use(stacks.text)                             // "step;layer 3;gemm"
 */
#ifndef MP_EXPORT_FOLDED_STACKS_H
#define MP_EXPORT_FOLDED_STACKS_H

#include <miniprof/trace.h>

#include "base/data/buffer.h"
#include "base/status.h"
#include "profile/nvtx/captured.h"
#include "profile/stacks/call_stacks.h"
#include "reports/nvtx/nvtx.h"

struct stacks {
    struct nvtx_spans spans;
    struct captured captured;
    struct call_stacks calls;
    struct mp_intern names;
    struct definitions definitions;
    struct quality quality;
    uint32_t innermost;     /* kind of the last range that was added, + 1; 0: none */
    struct mp_buffer frame; /* of a caller */
    struct mp_buffer text;  /* status: MP_ERR_MEMORY */
};

/* Reads ranges, paths and stacks, in passes of their own. MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT;
 * stacks_close is due in any case. */
enum mp_status stacks_open(struct stacks *stacks, struct mp_trace *trace, struct mp_error *error);
void stacks_close(struct stacks *stacks);

void stacks_begin(struct stacks *stacks);
void stacks_add(struct stacks *stacks, const char *name); /* NULL: without a name */

/* The stack of the call that made the work, the outermost frame first. False: it has none. */
bool stacks_add_callers(struct stacks *stacks, uint64_t correlation, uint64_t node);

/* The ranges that a thread, by the trace's number, was in all the time from `begin` to `end`. */
void stacks_add_ranges(struct stacks *stacks, uint64_t thread, uint64_t begin, uint64_t end);

/* The ranges in which a node was captured; 0: no node. */
void stacks_add_captured(struct stacks *stacks, uint64_t node);

#endif
