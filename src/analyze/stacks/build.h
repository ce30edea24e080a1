/* Inside analyze/stacks: the result in the making. */
#ifndef MP_ANALYZE_STACKS_BUILD_H
#define MP_ANALYZE_STACKS_BUILD_H

#include "analyze/deps/deps.h"
#include "analyze/stacks/stacks.h"
#include "model/trace/ranges.h"

struct stacks_making {
    struct stacks_result *result;
    const struct stacks_options *options;
    const struct capture_range *range; /* NULL: everything */
    const struct deps *deps;           /* NULL: not known */
    struct stacks_weights *weights;    /* by stack; [0] of none */
    size_t weight_count;
    uint64_t *critical;     /* by activity */
    struct mp_map of_nodes; /* place of an activity inside of a graph -> activity */
};

/* weights.c: fills `weights`. */
enum mp_status stacks_weigh(struct stacks_making *making, struct mp_trace *trace,
                            struct mp_error *error);

/* host.c: the stack of the host code of a lane in front of activity `next`, which may be its end:
 * what the calls before and after it came from. Calls without a stack are passed over. 0: unknown.
 */
uint32_t stacks_in_front_of(const struct deps *deps, const struct call_stacks *stacks,
                            const struct deps_lane *lane, uint32_t next);

/* Hands over each piece of host code on the path of a window, with its stack (0: unknown).
 * MP_ERR_MEMORY. */
enum mp_status stacks_each_host(const struct deps *deps, const struct call_stacks *stacks,
                                const struct deps_window *window,
                                void (*take)(void *context, uint32_t stack, uint64_t ns),
                                void *context);

/* The same, added to the weights. */
enum mp_status stacks_weigh_host(struct stacks_making *making, const struct deps_window *window);

static inline struct stacks_weights *stacks_weights_of(struct stacks_making *making, uint32_t stack)
{
    return &making->weights[stack < making->weight_count ? stack : 0];
}

/* rows.c: rows and nodes from the weights. MP_ERR_MEMORY. */
enum mp_status stacks_make_rows(struct stacks_making *making);

static inline void stacks_add(struct stacks_weights *to, const struct stacks_weights *from)
{
    to->device += from->device;
    to->calls += from->calls;
    to->launches += from->launches;
    to->waiting += from->waiting;
    to->critical += from->critical;
    to->host += from->host;
}

#endif
