/* Why the last rank of an operation of NCCL was late: what it did on its way there that a typical
 * rank did not do.
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
#ifndef MP_REPORTS_RANKS_LATENESS_H
#define MP_REPORTS_RANKS_LATENESS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/map.h"
#include "base/status.h"
#include "reports/ranks/ranks.h"

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
struct lateness_why {
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
    struct lateness_why *whys; /* by instance, as in ranks->instances; all arrays are owned */
    struct lateness_row *rows; /* by communicator, then the longest first */
    size_t row_count, row_capacity;
    struct mp_intern names;
    struct lateness_question *questions; /* the work (inside.h) */
    size_t *first_question;              /* by process */
    size_t process_count;
    struct lateness_entry *entries;
    size_t entry_count, entry_capacity;
};

/* Finds out what there is to ask. Keeps `ranks`, which has been finished. MP_ERR_MEMORY; then, too,
 * lateness_free is due. */
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

/* The name of an activity; NULL for 0. */
const char *lateness_name(const struct lateness *lateness, uint32_t activity);

#endif
