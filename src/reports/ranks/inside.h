/* Inside of ranks: what one process says, and what becomes of it.
 *
 *     load.c       reads the traces of a job, one after the other
 *     ranks.c      the whole way from traces to waiting ranks; members of communicators
 *     read.c       the rows of a trace; what each kernel carries, for exports of one trace
 *     carriers.c   which call launched which kernel; calls with their kernels: operations
 *     lanes.c      how far the numbers of ranks are shifted
 *     clocks.c     how far the clocks of hosts are apart
 *     instances.c  operations of one instance come together; who was last; sums
 *     lateness.c   which two ranks of each instance to compare; one path less the other
 *     walk.c       the steps of a path as entries, and the NVTX ranges of host code
 */
#ifndef MP_REPORTS_RANKS_INSIDE_H
#define MP_REPORTS_RANKS_INSIDE_H

#include "base/data/hash.h"
#include "profile/definitions.h"
#include "reports/deps/deps.h"
#include "reports/ranks/ranks.h"

/* An operation that ran: a call's part in a kernel on the device. */
struct op {
    uint64_t hash;             /* of the communicator */
    uint64_t number, sequence; /* as in `collective` */
    uint64_t replay;           /* of a captured call, from 1; else 0 */
    uint64_t bytes;
    uint64_t start, end, recorded; /* the last as in struct ranks_side */
    uint32_t function;             /* in ranks->names */
    uint32_t name;                 /* of the communicator, there too; 0: none */
    uint32_t process;
    uint32_t rank, ranks;
    uint32_t from, to; /* as in struct ranks_instance */
    uint32_t root;     /* RANKS_NONE: none */
    uint32_t fused;
    uint32_t algorithm, protocol; /* in ranks->names; 0: unknown */
    bool by_order;                /* of the kernels of a stream, which stands for a communicator */
};

/* ---- One trace ---- */

/* A row of `collective`. */
struct ranks_call {
    uint64_t communicator, function, number, sequence, datatype, bytes, peer, carrier, correlation;
    uint64_t thread, start, duration;
    uint64_t algorithm, protocol; /* string ids */
    bool captured;
};

/* A kernel of NCCL. */
struct ranks_kernel {
    uint64_t start, end;
    uint64_t correlation;
    uint64_t graph, graph_node;       /* 0: it was not launched by a graph */
    uint64_t launch_thread, launched; /* launched 0: unknown */
    uint64_t stream;                  /* CUPTI's id */
    uint64_t shape, bytes;            /* for order.c, which adds the bytes up */
    bool is_pair;                     /* sends and receives */
    bool claimed;                     /* some call belongs to it */
};

struct ranks_node {
    uint64_t graph, graph_node, carrier;
};

/* Ranks fit 32 bits; whatever does not is unknown. */
static inline uint32_t ranks_small(uint64_t number, uint32_t unknown)
{
    return number < RANKS_NONE ? (uint32_t)number : unknown;
}

/* For maps. */
static inline uint64_t ranks_node_key(uint64_t graph, uint64_t node)
{
    return mp_mix64(graph) ^ node;
}

struct ranks_comm {
    uint64_t hash, ranks, rank, name;
};

struct ranks_part {
    struct definitions definitions;
    struct dense comms;  /* of struct ranks_comm, by id */
    struct dense shapes; /* by id: whether it is a kernel of NCCL; read.c's own */
    struct ranks_call *calls;
    size_t call_count, call_capacity;
    struct ranks_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    struct ranks_node *nodes;
    size_t node_count, node_capacity;
    struct mp_map by_correlation; /* kernels that no graph launched */
};

/* Reads what is needed. MP_ERR_IO, MP_ERR_MEMORY, with a text in *error; then, too, the part is to
 * be freed. */
enum mp_status ranks_read(struct mp_trace *trace, struct ranks_part *part, struct quality *quality,
                          struct mp_error *error);

void ranks_part_free(struct ranks_part *part);

/* Reads when kernels were launched, and gives calls whose launch is unknown the correlation of the
 * kernel that they launched. MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status ranks_find_launches(struct mp_trace *trace, struct ranks_part *part,
                                   struct mp_error *error);

/* Appends the operations of a process to ranks->ops. MP_ERR_MEMORY. */
enum mp_status ranks_join(struct ranks *ranks, struct ranks_part *part, uint32_t process);

/* Whether any call names its communicator and its rank there. */
bool ranks_names_communicators(const struct ranks_part *part);

/* Appends the kernels of a process as operations, by their order on each stream. Sorts them.
 * MP_ERR_MEMORY. */
enum mp_status ranks_join_by_order(struct ranks *ranks, struct ranks_part *part, uint32_t process,
                                   uint32_t rank);

/* Whether this is the name of a kernel of NCCL: ncclDevKernel_AllReduce_...,
 * ncclKernel_SendRecv_..., ncclSymkDevKernel_... */
bool ranks_is_nccl(const char *kernel);

/* The function in a name such as ncclDevKernel_AllReduce_Sum_f32_RING_LL(...), and its length;
 * NULL: the name has none. */
const char *ranks_function_in(const char *kernel, size_t *bytes);

/* Whether a function is a send or a receive. */
bool ranks_is_pair(const char *function);

/* Whether all ranks wait for all. */
bool ranks_is_synchronous(const char *function);

/* ---- All traces ---- */

/* Shifts numbers and replays so that equal ones mean one instance, and takes out the operations for
 * which no shift holds. MP_ERR_MEMORY. */
enum mp_status ranks_shift(struct ranks *ranks, const struct trace_set *set);

/* Sorts the operations: those of one instance come together, by rank. */
void ranks_sort(struct ranks *ranks);

/* How many operations from `first` on are of one instance. */
size_t ranks_instance_ops(const struct ranks *ranks, size_t first);

/* Finds the clocks' offsets from sorted operations and puts all times on one clock. MP_ERR_MEMORY.
 */
enum mp_status ranks_align(struct ranks *ranks, const struct trace_set *set);

bool ranks_somebody_waited(const struct ranks_side *sides, size_t count);

/* Makes the instances. MP_ERR_MEMORY. */
enum mp_status ranks_make_instances(struct ranks *ranks);

/* Sums by function and by rank. MP_ERR_MEMORY. */
enum mp_status ranks_sum_up(struct ranks *ranks);

/* ---- Lateness: from questions to entries to causes ---- */

/* A path that is asked for. */
struct lateness_question {
    uint32_t instance;
    bool typical; /* of the side that the last one is compared with */
};

/* Time on a path: of a typical rank it is taken away. */
struct lateness_entry {
    uint32_t instance;
    uint32_t activity; /* in lateness->names, 0: none */
    int64_t time;      /* ns */
    uint8_t cause;
};

/* A moment of host code whose NVTX range is to be found: the middle of the longest stretch of it on
 * a path. */
struct lateness_moment {
    uint64_t thread; /* the trace's number */
    uint64_t time;   /* ns of the recorder's clock */
    uint32_t instance;
};

struct lateness_moments {
    struct lateness_moment *items; /* owned */
    size_t count, capacity;
};

/* Fills lateness->reasons but for the causes, and the questions. MP_ERR_MEMORY. */
enum mp_status lateness_ask(struct lateness *lateness);

/* Appends the entries of a question. MP_ERR_MEMORY. */
enum mp_status lateness_walk(struct lateness *lateness, const struct deps *deps,
                             const struct lateness_question *question,
                             struct lateness_moments *moments);

/* Finds the ranges of the moments: they become the activity of their instance for now. MP_ERR_IO,
 * MP_ERR_MEMORY. */
enum mp_status lateness_name_ranges(struct lateness *lateness, struct mp_trace *trace,
                                    const struct definitions *definitions,
                                    struct lateness_moments *moments, struct mp_error *error);

#endif
