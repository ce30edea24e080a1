/* Inside reports/stacks: the result in the making. */
#ifndef MP_REPORTS_STACKS_BUILD_H
#define MP_REPORTS_STACKS_BUILD_H

#include "profile/ranges.h"
#include "profile/stacks/host_samples.h"
#include "reports/deps/deps.h"
#include "reports/stacks/stacks.h"

struct stacks_making {
    struct stacks_result *result;
    const struct stacks_options *options;
    const struct capture_range *range; /* NULL: everything */
    const struct deps *deps;           /* NULL: not known */
    struct stacks_weights *weights;    /* by stack; [0] of none */
    size_t weight_count;
    uint64_t *critical; /* by activity */
    struct host_samples samples;
    struct mp_map of_nodes; /* place of an activity inside of a graph -> activity */
};

/* weights.c: fills `weights`. */
enum mp_status stacks_weigh(struct stacks_making *making, struct mp_trace *trace,
                            struct mp_error *error);

/* gaps.c: stacks_in_front_of all host code on the path of a window. MP_ERR_MEMORY. */
enum mp_status stacks_each_host(const struct stacks_host *host, const struct deps_window *window);

/* The same, added to the weights. */
enum mp_status stacks_weigh_host(struct stacks_making *making, const struct deps_window *window);

static inline struct stacks_weights *stacks_weights_of(struct stacks_making *making, uint32_t stack)
{
    return &making->weights[stack < making->weight_count ? stack : 0];
}

static inline void stacks_add(struct stacks_weights *to, const struct stacks_weights *from)
{
    to->device += from->device;
    to->calls += from->calls;
    to->launches += from->launches;
    to->waiting += from->waiting;
    to->critical += from->critical;
    to->host += from->host;
    to->sampled += from->sampled;
}

#endif
