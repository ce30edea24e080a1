/* What each line of the program costs: device time, calls, waits and the critical path by who
 * called (profile/stacks/call_stacks.h).
 *
 * Work on the device belongs to the stack of the call that launched it, work of a graph to the
 * stack in which its node was made. Each piece of work and each call belongs to one stack or to
 * none, so the selves of all rows add up to all there is, with the row of what has no stack.
 *
 *     self    of stacks whose innermost frame this is
 *     total   of stacks that have it anywhere, each once, however often it recurs
 *
 * Waiting time and the critical path are those of docs/dependency-analysis.md, of calls and their
 * work. Host code on the path lies between two calls of a thread. It belongs to the innermost
 * function that both calls came from, at the line from which the earlier one came. Where samples
 * of the thread tell more, they divide it (profile/stacks/host_samples.h).
 *
 * Memory: the event graph (100 bytes an activity), the stacks, and 200 bytes a row or node.
 */
#ifndef MP_REPORTS_STACKS_STACKS_H
#define MP_REPORTS_STACKS_STACKS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/quality.h"
#include "profile/stacks/call_stacks.h"
#include "profile/stacks/host_samples.h"
#include "reports/deps/deps.h"

/* What frames have in common that are one row. */
enum stacks_by { STACKS_BY_LINE, STACKS_BY_FUNCTION, STACKS_BY_FILE };

struct stacks_options {
    uint64_t range; /* id of a capture range; 0: everything */
    enum stacks_by by;
};

struct stacks_weights {
    uint64_t device; /* ns */
    uint64_t calls;
    uint64_t launches; /* of these: that launched work */
    uint64_t waiting;  /* ns */
    uint64_t critical; /* ns */
    uint64_t host;     /* ns of host code on the critical path */
    uint64_t sampled;  /* ns of CPU time that samples stand for */
};

struct stacks_row {
    struct stack_frame frame; /* one of those that it stands for */
    struct stacks_weights self;
    struct stacks_weights total;
};

struct stacks_node {
    uint32_t parent; /* an earlier node + 1; 0: it is an outermost one */
    uint32_t row;    /* its row */
    uint32_t depth;  /* from 1 */
    struct stacks_weights self;
    struct stacks_weights total;
};

struct stacks_result {
    struct stacks_row *rows; /* as they appeared; owned */
    size_t row_count, row_capacity;
    uint32_t *by_total;        /* rows by total device and sampled time, waiting, calls; owned */
    struct stacks_node *nodes; /* each before those inside it; owned */
    size_t node_count, node_capacity;
    uint32_t *in_order; /* nodes as a tree is printed: outermost first, those with most first */
    struct stacks_weights all;
    struct stacks_weights without; /* a stack */
    bool has_stacks;               /* the trace has any */
    const char *asked;             /* call_stacks_asked */
    bool has_times;                /* waiting and critical are known */
    size_t sample_count;           /* of threads in gaps, in the whole trace */
    uint64_t gil_held;             /* ns of all.sampled with Python's lock */
    uint64_t every;                /* MINIPROF_STACKS_EVERY and _OVER of the recording; 1 and 0 */
    uint64_t over;
    size_t capture_ranges;
    struct call_stacks stacks;
    struct quality quality;
    struct definitions definitions;
};

/* MP_ERR_ARGUMENT (no such range), MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT; the result is then
 * empty. On success stacks_free gives it back. */
enum mp_status stacks_build(struct mp_trace *trace, const struct stacks_options *options,
                            struct stacks_result *result, struct mp_error *error);
void stacks_free(struct stacks_result *result);

/* Keeps the `max` nodes of the tree that have the largest share of any weight, in their order.
 * What a node is inside of has no smaller share, and stays too. MP_ERR_MEMORY. */
enum mp_status stacks_keep_nodes(struct stacks_result *result, size_t max);

/* In percent of all device time; 0 if there is none. */
double stacks_percent(const struct stacks_result *result, uint64_t device);

/* Text of a row: `forward (model.py:214)`, `forward (model.py)` or `model.py`; with whole file
 * names if `whole`. */
void stacks_put_row(struct mp_buffer *text, const struct stacks_result *result,
                    const struct stacks_options *options, const struct stacks_row *row, bool whole);

/* ---- Host code between two calls: gaps.c ---- */

/* What takes the stacks of host code (0: unknown), and what they are known from. */
struct stacks_host {
    const struct deps *deps;
    const struct call_stacks *stacks;
    const struct host_samples *samples;
    host_samples_use *take;
    void *context;
};

/* Hands over the host code of a lane from `begin` to `end`, in front of activity `next`, which may
 * be the lane's end. Samples of the thread divide it. The rest has the stack that the calls before
 * and after it came from; calls without a stack are passed over. */
void stacks_in_front_of(const struct stacks_host *host, const struct deps_lane *lane, uint32_t next,
                        uint64_t begin, uint64_t end);

/* ---- Nodes of graphs: weights.c ---- */

/* Where the nodes of graphs that ran were made. Memory: 24 bytes each. */
struct stacks_makers {
    struct mp_map of_places;
};

/* Reads them; nothing if no node has a stack. MP_ERR_IO, MP_ERR_MEMORY; stacks_makers_free is
 * needed in any case. */
enum mp_status stacks_makers_load(struct stacks_makers *makers, struct mp_trace *trace,
                                  const struct call_stacks *stacks, struct mp_error *error);
void stacks_makers_free(struct stacks_makers *makers);

/* The stack in which an activity was made as a node of a graph; 0: none, or not known. */
uint32_t stacks_maker(const struct stacks_makers *makers, const struct deps *deps, uint32_t index);

/* ---- Host code by line: gaps.c ---- */

struct stacks_gap_row {
    uint32_t frame; /* id in the stacks; 0: not known */
    uint64_t ns;    /* of all iterations, or windows */
};

/* Time outside of CUDA calls, by the line that the thread was in. */
struct stacks_gaps {
    struct call_stacks stacks;
    struct stacks_gap_row *rows; /* those with most first; owned */
    size_t count;                /* 0 without stacks */
    uint64_t all;                /* ns */
};

struct iterations;

/* Of the threads of iterations. MP_ERR_IO, MP_ERR_MEMORY; stacks_gaps_free is needed in any case.
 */
enum mp_status stacks_gaps_build(struct mp_trace *trace, const struct deps *deps,
                                 const struct iterations *iterations, struct stacks_gaps *gaps,
                                 struct mp_error *error);

/* The same of the critical paths of windows. */
enum mp_status stacks_gaps_of_paths(struct mp_trace *trace, const struct deps *deps,
                                    const struct deps_windows *windows, struct stacks_gaps *gaps,
                                    struct mp_error *error);
void stacks_gaps_free(struct stacks_gaps *gaps);

#endif
