/* Inside of lateness: from questions to entries to causes.
 *
 *     questions.c  which two ranks of each instance to compare, and since when
 *     walk.c       the steps of a path as entries
 *     ranges.c     the NVTX ranges in which host code ran
 *     lateness.c   one path less the other
 */
#ifndef MP_REPORTS_RANKS_INSIDE_H
#define MP_REPORTS_RANKS_INSIDE_H

#include "reports/deps/deps.h"
#include "reports/ranks/lateness.h"

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

/* Fills lateness->whys but for the causes, and the questions. MP_ERR_MEMORY. */
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
