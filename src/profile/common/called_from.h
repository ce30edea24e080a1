/* Which line of the program rows were called from, for reports that split their rows by it: the
 * innermost frame outside of libraries (profile/stacks/where.h). Or which operator of a framework:
 * by its NVTX ranges, else the innermost of torch.nn's modules on the stack.
 *
 *     number = called_from(&callers, correlation, node);    0: no stack
 *     name, called_from_text(&callers, number)              "gemm, from forward (model.py:214)"
 */
#ifndef MP_PROFILE_COMMON_CALLED_FROM_H
#define MP_PROFILE_COMMON_CALLED_FROM_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "profile/nvtx/captured.h"
#include "profile/stacks/call_stacks.h"

/* Which operator of a framework made a call: the innermost NVTX range of the thread that is one
 * (base/text/names.h), when the call began. For nodes of graphs: when the node was made.
 *
 * Memory: 24 bytes a call while it reads, 30 a call that has an operator.
 */
struct operators {
    struct mp_intern names; /* by number, from 1 */
    struct mp_map calls;    /* correlation id -> number */
    struct captured captured;
};

#define CALLED_FROM_MAX 0xffffu /* numbers stay below it; all further lines count as one */

enum called_by {
    CALLED_BY_NOTHING,
    CALLED_BY_LINE,
    CALLED_BY_FUNCTION,
    CALLED_BY_FILE,
    CALLED_BY_OPERATOR
};

#define CALLED_BY_WRONG "--by: there are line, function, file and operator"

/* What a word of --by means; NULL is CALLED_BY_NOTHING. False: nothing, CALLED_BY_WRONG says so. */
bool called_by_of(const char *word, enum called_by *by);

struct called_from {
    enum called_by by;
    struct call_stacks stacks;
    struct operators operators;
    struct mp_map of_stack;  /* stack -> number */
    struct mp_intern texts;  /* by number */
    struct mp_buffer buffer; /* of a text, of a name */
};

/* MP_ERR_ARGUMENT if the trace has no stacks, and no operators, MP_ERR_IO, MP_ERR_MEMORY; with a
 * text. Nothing is read for CALLED_BY_NOTHING. called_from_free is needed in any case. */
enum mp_status called_from_load(struct called_from *callers, struct mp_trace *trace,
                                enum called_by by, struct mp_error *error);
void called_from_free(struct called_from *callers);

/* The number of the line; 0: no stack. MP_ERR_MEMORY. `node`: of a graph, 0 outside. */
enum mp_status called_from(struct called_from *callers, uint64_t correlation, uint64_t node,
                           uint32_t *number);

/* The name with its line, valid until the next one; NULL without memory. The name's first `length`
 * bytes count. */
const char *called_from_text(struct called_from *callers, const char *name, size_t length,
                             uint32_t number);

#endif
