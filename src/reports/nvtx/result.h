/* What happened inside the NVTX ranges, by thread, domain and name: nvprof's NVTX result.
 *
 * Every instance of a range counts what was launched inside it: the work of calls that lie
 * completely inside, in the thread that began the range, however late the work runs. Launches of
 * CUDA graphs count too. Nested ranges each count the work. So a range inside another one of its
 * own name counts the work again, and its time too. A range that another thread ends belongs to the
 * thread that began it. A range without an end lasts to the end of the trace (or of the chosen
 * capture range). A pop without a push is ignored; marks are no ranges.
 *
 * One part has no counterpart in nvprof: the ranges in which nodes of CUDA graphs were captured,
 * with the work of these nodes, whoever launched the graph and when. The same work also counts in
 * the ranges that launched it.
 */
#ifndef MP_REPORTS_NVTX_RESULT_H
#define MP_REPORTS_NVTX_RESULT_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/profile.h"
#include "reports/summary/summary.h"

struct nvtx_options {
    uint64_t range; /* id of a capture range: only what begins in it; 0: everything */
    enum names_style style;
    bool all_calls; /* also calls that launched nothing, which nvprof leaves out */
};

/* Work or calls inside a range, by total time, then by name; percentages are of the group. */
struct nvtx_group {
    const struct summary_row *rows; /* row_count of them */
    size_t row_count;
    uint64_t total; /* ns */
};

/* The instances of one name in one domain of one thread. */
struct nvtx_named_range {
    uint64_t thread;    /* the trace's number of the thread that began them */
    const char *domain; /* NULL: the default domain */
    const char *name;
    struct summary_row instances; /* how many and how long; 100 percent */
    uint64_t unfinished;          /* of the instances: those without an end in the trace */
    uint64_t cut;                 /* those that go on outside of their capture range */
    struct nvtx_group groups[SUMMARY_GROUPS];
};

/* One name in one domain of one thread that captured. */
struct nvtx_captured_range {
    uint64_t thread;    /* the trace's number of the thread */
    const char *domain; /* NULL: the default domain */
    const char *name;
    uint64_t nodes; /* nodes that were captured in it, and ran */
    struct nvtx_group work;
};

struct nvtx_result {
    /* By thread in order of appearance in the trace, then by domain (named ones by name, then the
     * default one), then by name. */
    struct nvtx_named_range *ranges;
    size_t range_count;
    struct nvtx_captured_range *captured; /* in the same order */
    size_t captured_count;
    uint64_t unfinished;      /* instances without an end */
    uint64_t cut;             /* instances that go on outside of their capture range */
    bool no_calls;            /* the trace has no API calls, so no work belongs to any range */
    struct summary_row *rows; /* of all groups */
    struct summary_row *captured_rows;
    struct mp_intern names;
    struct profile *profile; /* of the trace; the caller's */
    struct quality quality;  /* the profile's, whose arrays it shares, and rows left out */
};

/* How ranges are listed: by thread, the default domain (NULL) before others, by name. */
struct nvtx_key {
    uint64_t thread;
    const char *domain;
    const char *name;
};

int nvtx_key_compare(struct nvtx_key left, struct nvtx_key right);

/* Reads the trace in passes over ranges, calls and work. Time grows with the rows, and for each
 * call with the ranges of its thread that overlap without nesting. Memory: 56 bytes an instance of
 * a range, and 24 bytes a call inside one (32 if the calls are not in order), once for each
 * overlapping range around the call. A trace without ranges gives an empty result and needs no
 * second pass. A trace with captured nodes needs one pass more, and the memory that captured.h
 * states. MP_ERR_ARGUMENT when there is no such capture range, MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT (2^31 ranges, 2^32 calls); the result is then empty. On success nvtx_result_free
 * gives it back. */
enum mp_status nvtx_result_build(struct profile *profile, const struct nvtx_options *options,
                                 struct nvtx_result *result, struct mp_error *error);

void nvtx_result_free(struct nvtx_result *result);

/* ---- The second half, captured.c: work in CUDA graphs, by the ranges of its nodes' capture ----
 */

/* Fills in result->captured. If any node has a path, the work is read once more. A piece of work
 * counts once in each range of its path, even if two ranges of the path have the same name. Names,
 * definitions of strings and shapes, and quality are the result's. MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT. */
enum mp_status nvtx_captured_build(struct nvtx_result *result, const struct nvtx_options *options,
                                   const struct capture_range *range, struct mp_error *error);

#endif
