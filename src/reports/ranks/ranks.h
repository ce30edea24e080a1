/* Who waits for whom in NCCL: the operations of several processes, matched across their ranks.
 *
 *     rank 0   |==== AllReduce 7 =====|      the kernel begins when its stream comes to it, and
 *     rank 1        |==== ... ========|      spins until the last rank has begun too
 *     rank 2              |===========|
 *              ^----------^ rank 0 waits     late: rank 2, by what it begins after rank 1
 *                         ^-----------^ transfer
 *
 * An instance is one operation on all of its ranks. Its key is the communicator's hash and the
 * number of the call there; of sends and receives the pair of ranks too; of captured calls the
 * replay. NCCL requires the same order of calls on all ranks, so the key needs no times.
 *
 * If ranks were recorded from different moments on, their numbers are shifted. The shift follows
 * from NCCL's own numbers, or from a rule: the kernels of a collective in which everybody waits for
 * everybody must all overlap in time. A shift is taken only if all instances obey the rule. What
 * does not match is counted by the reason, and nothing is guessed.
 *
 * The split into waiting and transfer is an upper bound of waiting: parts of a ring or tree may
 * begin before the last rank has come.
 */
#ifndef MP_REPORTS_RANKS_RANKS_H
#define MP_REPORTS_RANKS_RANKS_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/quality.h"
#include "profile/set.h"

#define RANKS_NONE UINT32_MAX

/* A process in a communicator, and its sums over the instances. An operation that shares its kernel
 * with n - 1 others counts 1/n of the kernel's times. */
struct ranks_member {
    uint32_t communicator; /* number in ranks->communicators */
    uint32_t process;      /* in the set */
    uint32_t rank;         /* in the communicator */
    uint64_t instances;
    double waiting; /* ns: its kernels ran and the one that they needed had not begun */
    double transfer;
    uint64_t last; /* instances in which all others had begun before it */
    uint64_t late; /* ns: after the next to last, added up over these */
};

struct ranks_communicator {
    uint64_t hash;
    const char *name; /* that the program gave it; NULL: none */
    uint32_t ranks;   /* as NCCL says; 0: unknown */
    bool by_order;    /* it is a stream, whose kernels are taken for one communicator's */
    size_t first_member, member_count;
};

/* One rank's part of an instance. */
struct ranks_side {
    uint32_t process;
    uint32_t rank;
    uint32_t fused;      /* operations in its kernel */
    uint64_t start, end; /* of the kernel; ns since 1970, with the offsets of the clocks */
    uint64_t recorded;   /* start, as it is in the trace */
    uint64_t waiting;    /* ns */
};

/* Who waits for whom: all for all, all for the root, the root for all, or a receive for its send
 * that NCCL has buffered. */
enum ranks_pattern { RANKS_ALL, RANKS_ROOT_SENDS, RANKS_ROOT_RECEIVES, RANKS_BUFFERED };

struct ranks_instance {
    enum ranks_pattern pattern;
    uint32_t communicator;
    uint32_t function;            /* ranks_function() */
    uint32_t algorithm, protocol; /* ranks_function(); 0: unknown */
    uint32_t from, to;            /* ranks of a send and its receive; RANKS_NONE of a collective */
    uint32_t root;                /* RANKS_NONE: none */
    uint64_t number; /* of the call, as the communicator's first member counts, from 1 */
    uint64_t replay; /* of a captured call, from 1; else 0 */
    uint64_t bytes;
    uint64_t begin;      /* of the last kernel, on the axis of the sides */
    size_t first_side;   /* in ranks->sides; by rank */
    uint32_t side_count; /* all members of the communicator, or the two of a pair */
    uint32_t last;       /* the side that kept the others waiting; RANKS_NONE: none alone */
    uint64_t late;       /* ns from the next to last begin to the last one */
    uint64_t skew;       /* ns from the first begin to the last one */
    uint64_t transfer;   /* ns from the last begin to the last end */
};

/* The instances of one function on one communicator that NCCL carried out in one way. */
struct ranks_group {
    uint32_t communicator;
    uint32_t function;
    uint32_t algorithm, protocol; /* as in struct ranks_instance */
    uint64_t instances;
    uint64_t bytes; /* as nccl-tests counts them: of an AllGather, those of all ranks */
    uint64_t late;  /* instances in which a rank came last alone */
    uint64_t skew_p50, skew_p99;
    double waiting, transfer;   /* ns; waiting: added up over the ranks */
    double algorithm_bandwidth; /* bytes a second of transfer; 0: unknown */
    double bus_bandwidth;       /* the same with nccl-tests' factor */
};

/* What could not be matched, by the reason. */
struct ranks_unmatched {
    uint64_t unnamed;           /* operations whose communicator or its ranks are not known */
    uint64_t without_kernel;    /* operations without their kernel in the trace */
    uint64_t unclaimed_kernels; /* kernels of NCCL without an operation */
    uint64_t duplicate_ranks;   /* operations of a process whose rank another process has too */
    uint64_t shifted;           /* operations whose numbers fit no other rank's */
    uint64_t different; /* instances whose ranks name different functions or sizes, or whose kernels
                          do not overlap */
    uint64_t partial;   /* instances that some rank has no record of */
};

/* How the clock of other hosts lies to that of the first process. */
struct ranks_clock {
    bool known;    /* false: no instance bounds it, and CLOCK_REALTIME holds */
    bool possible; /* false: no straight line obeys all bounds */
    uint64_t instances;
    double offset; /* ns at the set's first record; to be added to times of this clock */
    double drift;  /* change of the offset, ns a ns */
    double bound;  /* ns: the offset is right within so much */
};

struct ranks {
    struct ranks_communicator *communicators; /* all arrays are owned */
    size_t communicator_count, communicator_capacity;
    struct ranks_member *members; /* by communicator, then by rank */
    size_t member_count, member_capacity;
    struct ranks_instance *instances; /* by begin of the last */
    size_t instance_count, instance_capacity;
    struct ranks_side *sides;
    size_t side_count, side_capacity;
    struct ranks_group *groups; /* by communicator, then by waiting, the most first */
    size_t group_count, group_capacity;
    struct ranks_clock *clocks; /* by the set's clock_number; the first is the reference */
    size_t clock_count;
    size_t jobs; /* groups of at least two processes that share communicators, directly or not */
    struct ranks_unmatched unmatched;
    uint64_t operations; /* that the processes reported, replays included */
    uint64_t by_order;   /* of them, those that are only known as kernels in an order */
    struct mp_intern names;
    struct op *ops; /* the work */
    size_t op_count, op_capacity;
};

/* Sets up; allocates nothing. */
void ranks_init(struct ranks *ranks);

void ranks_free(struct ranks *ranks);

/* Reads the trace of the set's process `process`; `rank` is its rank in the job, for operations
 * whose communicator is not known. MP_ERR_IO, MP_ERR_MEMORY, with a text in *error.
 * *quality, which is set up here, is the caller's to free, also after a failure. */
enum mp_status ranks_add(struct ranks *ranks, struct mp_trace *trace, uint32_t process,
                         uint32_t rank, struct quality *quality, struct mp_error *error);

/* Matches and measures, after the last process. MP_ERR_MEMORY. */
enum mp_status ranks_finish(struct ranks *ranks, const struct trace_set *set);

/* The name of a function, algorithm or protocol: AllReduce, RING, LL, ...; "" for 0. */
const char *ranks_function(const struct ranks *ranks, uint32_t function);

/* The rank of a process in the job; processes that do not say it are numbered. */
uint32_t ranks_rank_of(const struct trace_set *set, size_t process);

/* Whether a rank waits for others, and whether others wait for it. */
bool ranks_waits(const struct ranks_instance *instance, uint32_t rank);
bool ranks_is_awaited(const struct ranks_instance *instance, uint32_t rank);

/* A time of the set's process `process`, on the axis of the sides. */
uint64_t ranks_moment(const struct ranks *ranks, const struct trace_set *set, uint32_t process,
                      uint64_t time);

/* The ranks of a communicator that have no trace here; 0 if their number is unknown. */
uint32_t ranks_missing(const struct ranks_communicator *communicator);

/* ---- One trace: what a kernel carries ---- */

/* An operation as its call reported it. Texts live as long as the operations; NULL is unknown. */
struct ranks_operation {
    const char *function; /* AllReduce, Send, ... */
    const char *datatype; /* Float32, ... */
    const char *name;     /* of the communicator */
    uint64_t hash;        /* of the communicator; 0: unknown */
    uint32_t ranks, rank; /* in it; 0, RANKS_NONE: unknown */
    uint32_t peer;        /* root, or the other rank; RANKS_NONE: none */
    uint64_t number;      /* as in `collective` */
    uint64_t sequence;    /* NCCL's; 0: unknown, or captured, which NCCL does not count */
    uint64_t bytes;       /* as NCCL counts them; 0: unknown */
};

struct ranks_operations;

/* Whether a trace has calls of NCCL: a look at heads of chunks. MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status ranks_has_calls(struct mp_trace *trace, bool *has, struct mp_error *error);

/* Reads the calls of a trace, one pass over its kernels if it has any. *operations is NULL without
 * any call, or on failure: MP_ERR_IO, MP_ERR_MEMORY, with a text in *error. */
enum mp_status ranks_operations_load(struct mp_trace *trace, struct ranks_operations **operations,
                                     struct mp_error *error);

/* How many operations a kernel carries, and the place of the first; 0: none is known. `graph` and
 * `graph_node` are CUPTI's ids, 0 outside of graphs. NULL operations have none. */
size_t ranks_operations_find(const struct ranks_operations *operations, uint64_t correlation,
                             uint64_t graph, uint64_t graph_node, size_t *first);

struct ranks_operation ranks_operations_at(const struct ranks_operations *operations, size_t place);

/* The operation of `count` from a place on, with the bytes of all. False unless they are of one
 * function, type and communicator. */
bool ranks_operations_sum(const struct ranks_operations *operations, size_t first, size_t count,
                          struct ranks_operation *sum);

/* The operation of a row of `collective`, all of whose columns are known. NULL operations know
 * nothing of it. */
struct ranks_operation ranks_operations_of(const struct ranks_operations *operations,
                                           const uint64_t *const *columns, size_t row);

/* NULL is allowed. */
void ranks_operations_free(struct ranks_operations *operations);

/* ---- Why the last rank was late ----
 *
 * What it did on its way to an operation of NCCL that a typical rank did not do.
 *
 *     typical   .. S |=kernel=|AllReduce ~~~~~~~~~~~~|      S: their last operation in common
 *     last      .. S |..host code....|=kernel=|AllReduce|
 *                             behind ^--------^
 *
 * Both ranks have a critical path that ends where their kernel of NCCL begins (reports/deps). From
 * S on the two paths differ in length by exactly what the last rank is behind. So the path of the
 * last one less that of the typical one, activity by activity, is where this time went. The cause
 * is that with the largest share. A look at the last rank alone would blame the kernel in which any
 * path ends.
 *
 * The typical rank is the one whose kernel begins as the lower median. If half of the ranks are
 * late, as a team that was kept up by one of its own, it is one of the other half.
 *
 *     lateness_init    whose path is asked for, since when
 *     lateness_add     one trace after the other: only one event graph is in memory
 *     lateness_finish  causes by instance, and their sums
 */

enum lateness_cause {
    LATENESS_NONE,         /* nobody was behind, or no trace says why */
    LATENESS_KERNEL,       /* a kernel or a whole graph, of the program */
    LATENESS_LAUNCH,       /* calls that launch, and the way from the call to the device */
    LATENESS_HOST,         /* host code; computing, where the trace divides it */
    LATENESS_BLOCKED,      /* the host waited for another thread, or in the kernel */
    LATENESS_NO_PROCESSOR, /* the host was ready, but did not run */
    LATENESS_COPY,         /* a copy or set, on the device or in its call */
    LATENESS_COLLECTIVE,   /* another kernel of NCCL: who was last to that one? */
    LATENESS_CALL,         /* any other call of CUDA */
    LATENESS_OTHER,        /* gaps and latencies on the device; in rows: all that is small */
    LATENESS_CAUSES
};

/* Why one instance was late. */
struct lateness_reason {
    uint32_t last;     /* side; RANKS_NONE: nobody was behind */
    uint32_t typical;  /* side that it is compared with */
    uint64_t behind;   /* ns from its begin to that of `last` */
    uint64_t since;    /* S, on the axis of the sides; the begin of `typical`: none in common */
    uint64_t share;    /* ns of `behind` that are the cause's */
    uint32_t activity; /* in lateness->names: kernel, call, copy, or the NVTX range of host code */
    uint8_t cause;     /* enum lateness_cause */
};

/* All instances of a communicator in which one rank was behind for one cause. */
struct lateness_row {
    uint32_t communicator;
    uint32_t rank;     /* RANKS_NONE: of several, each less than 1 % of the communicator's sum */
    uint32_t process;  /* RANKS_NONE there */
    uint32_t activity; /* 0: none */
    uint8_t cause;
    uint64_t instances;
    uint64_t behind; /* ns, added up; of n operations in one kernel each counts 1/n */
};

struct lateness {
    const struct ranks *ranks;
    struct lateness_reason *reasons; /* by instance, as in ranks->instances; all arrays are owned */
    struct lateness_row *rows;       /* by communicator, then the longest first */
    size_t row_count, row_capacity;
    struct mp_intern names;
    struct lateness_question *questions; /* the work (inside.h) */
    size_t *first_question;              /* by process */
    size_t process_count;
    struct lateness_entry *entries;
    size_t entry_count, entry_capacity;
};

/* Finds out what there is to ask. Keeps `ranks`, which has been finished. MP_ERR_MEMORY;
 * lateness_free in any case. */
enum mp_status lateness_init(struct lateness *lateness, const struct ranks *ranks,
                             size_t process_count);

/* Whether anything is asked of this process, so that its trace is needed. */
bool lateness_asks(const struct lateness *lateness, size_t process);

/* Follows the paths that are asked for in the trace of a process. MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT, with a text in *error; then its instances have no cause. */
enum mp_status lateness_add(struct lateness *lateness, struct mp_trace *trace, size_t process,
                            struct mp_error *error);

/* Compares the paths. MP_ERR_MEMORY. */
enum mp_status lateness_finish(struct lateness *lateness);

void lateness_free(struct lateness *lateness);

/* Its word in tables and JSON: "kernel"; NULL for LATENESS_NONE. */
const char *lateness_cause_key(enum lateness_cause cause);

/* The name of an activity; NULL for 0. */
const char *lateness_name(const struct lateness *lateness, uint32_t activity);

#endif
