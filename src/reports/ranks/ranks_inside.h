/* Inside of ranks: what one process says, and what becomes of it.
 *
 *     read.c       the rows of a trace: calls of NCCL, its kernels, nodes of graphs
 *     launches.c   which call launched which kernel, where nobody told
 *     carriers.c   calls with their kernels: operations
 *     functions.c  what functions wait for, by their names
 *     members.c    which process is which rank of which communicator
 *     jobs.c       which processes belong together
 *     order.c      kernels by their order, where no communicators are told
 *     lanes.c      how far the numbers of ranks are shifted
 *     clocks.c     how far the clocks of hosts are apart
 *     instances.c  operations of one instance come together; who was last
 *     sum_up.c     sums by function and by rank
 *     operations.c what each kernel carries, for exports of one trace
 */
#ifndef MP_REPORTS_RANKS_RANKS_INSIDE_H
#define MP_REPORTS_RANKS_RANKS_INSIDE_H

#include "base/data/hash.h"
#include "profile/definitions.h"
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

/* A row of `collective`, all of whose columns are known. */
struct ranks_call ranks_call_of(const uint64_t *const *columns, size_t row);

void ranks_part_free(struct ranks_part *part);

/* Reads when kernels were launched, and gives calls whose launch is unknown the correlation of the
 * kernel that they launched. MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status ranks_find_launches(struct mp_trace *trace, struct ranks_part *part,
                                   struct mp_error *error);

/* Appends the operations of a process to ranks->ops. MP_ERR_MEMORY. */
enum mp_status ranks_join(struct ranks *ranks, struct ranks_part *part, uint32_t process);

/* Whether any call names its communicator and its rank there. */
bool ranks_is_told(const struct ranks_part *part);

/* Appends the kernels of a process as operations, by their order on each stream. Sorts them.
 * MP_ERR_MEMORY. */
enum mp_status ranks_join_by_order(struct ranks *ranks, struct ranks_part *part, uint32_t process,
                                   uint32_t rank);

/* Whether a function is a send or a receive. */
bool ranks_is_pair(const char *function);

/* Whether all ranks wait for all. */
bool ranks_is_synchronous(const char *function);

/* ---- All traces ---- */

/* Finds communicators and members in the operations; takes out those of doubled ranks.
 * MP_ERR_MEMORY. */
enum mp_status ranks_find_members(struct ranks *ranks);

/* Counts the jobs. MP_ERR_MEMORY. */
enum mp_status ranks_count_jobs(struct ranks *ranks, size_t process_count);

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

/* Makes the instances. MP_ERR_MEMORY. */
enum mp_status ranks_make_instances(struct ranks *ranks);

/* Sums by function and by rank. MP_ERR_MEMORY. */
enum mp_status ranks_sum_up(struct ranks *ranks);

#endif
