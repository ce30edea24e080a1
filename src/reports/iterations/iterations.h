/* The iterations of a trace: where each begins and ends, what belongs to it, and where its time
 * went. docs/iterations.md defines every term and number.
 *
 *     iterations_find       windows of time, and to which of them each call and activity belongs
 *     iterations_measure    of each window: latency, work of the GPU, idle time by cause
 *     iterations_sum_up     statistics over the windows, outliers, throughput
 *
 * All of them work on an event graph (deps.h) without fronts. Times are ns of the recorder's clock.
 * Memory, besides the graph's 64 bytes an activity: 4 bytes an activity of the whole trace and 4 of
 * the device, 48 bytes an iteration, and 192 bytes an iteration that is measured. While they are
 * found: 8 bytes a call, 24 bytes a launch if several threads launch, and 48 bytes an iteration of
 * the two candidates that are compared.
 */
#ifndef MP_REPORTS_ITERATIONS_ITERATIONS_H
#define MP_REPORTS_ITERATIONS_ITERATIONS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "profile/common/statistics.h"
#include "reports/deps/deps.h"

/* ---- Finding ---- */

/* How iterations are recognised; what comes first here is favoured by AUTO (candidates.c). */
enum iterations_way {
    ITERATIONS_AUTO,
    ITERATIONS_NVTX,     /* ranges of one name */
    ITERATIONS_RANGES,   /* capture ranges */
    ITERATIONS_GRAPH,    /* launches of one CUDA graph */
    ITERATIONS_KERNELS,  /* a sequence of kernels that repeats */
    ITERATIONS_SYNCS,    /* a thread waits for the GPU in a way that repeats */
    ITERATIONS_REQUESTS, /* from the first work after a wait to the wait for it, in any thread */
    ITERATIONS_WHOLE,    /* all of it is one */
    ITERATIONS_WAYS
};

/* Its word in JSON and on the command line. */
const char *iterations_way_key(enum iterations_way way);

struct iterations_options {
    enum iterations_way way; /* not ITERATIONS_WHOLE */
    const char *name; /* NVTX: NAME or NAME@DOMAIN; GRAPH: its id; KERNELS, SYNCS, REQUESTS: the
                         thread's id or name; NULL: the best candidate */
    uint64_t range;   /* id of a capture range: only iterations that begin in it; 0: all */
    bool all;         /* looks at all candidates, also at those that cannot win */
};

/* Something that repeats and could be the iterations. */
struct iterations_candidate {
    enum iterations_way way;
    char *name;              /* NVTX: of the ranges, else NULL; owned */
    char *domain;            /* NVTX: NULL for the default one; owned */
    uint64_t graph;          /* GRAPH: the trace's id of it */
    uint32_t thread;         /* lane, if all are in one thread; DEPS_NONE */
    uint32_t threads;        /* that have iterations */
    uint64_t count;          /* of iterations */
    double coverage;         /* share of the GPU work that is in them, 0 to 1 */
    double coverage_of_time; /* of the work that was launched from the first to the last of them */
    double regularity;       /* how alike their GPU work is, 0 to 1 */
    double score;            /* 0 to 1; 0: does not compete */
    bool library;            /* ranges of a library's domain */
};

struct iteration {
    uint64_t begin;    /* on the host */
    uint64_t host_end; /* of the range, of the call, or where the next one begins */
    uint64_t end;      /* host_end, or the end of the last device work that belongs to it */
    uint64_t devices;  /* devices that it uses: bits, iterations.device_slots by lane */
    uint32_t thread;   /* lane; DEPS_NONE: no thread of the trace, or not known */
    uint32_t launches; /* calls of the iteration that launched work */
    bool pipelined;    /* the next one begins before this one ends */
};

#define ITERATIONS_WHY_BYTES 512
#define ITERATIONS_LISTED    64

struct iterations {
    enum iterations_way way;
    bool found;       /* by ITERATIONS_AUTO */
    char *name;       /* NVTX: of the ranges; owned */
    char *domain;     /* NVTX: their domain, if it was chosen; else NULL; owned */
    double coverage;  /* share of the GPU work that belongs to iterations, 0 to 1 */
    uint32_t threads; /* that have iterations */
    uint64_t graph;   /* GRAPH: the trace's id of it */
    uint32_t period;  /* KERNELS: launches of an iteration */
    uint64_t kernels; /* KERNELS, GRAPH: kernels in iterations, of kernels_all */
    uint64_t kernels_all;
    char why_whole[ITERATIONS_WHY_BYTES]; /* WHOLE: why nothing else was taken; may be empty */

    struct iterations_candidate *candidates; /* the best first, ITERATIONS_LISTED at most; owned */
    size_t candidate_count;
    size_t candidates_left; /* that are not in the list */
    size_t chosen;          /* of candidates; candidate_count: none */

    struct iteration *items; /* in order of begin; owned */
    size_t count;
    size_t unfinished; /* left out: without begin or end in the trace or in their capture range */
    size_t pipelined;  /* iterations that are */
    uint64_t outside;  /* device activities that belong to no iteration */
    uint32_t *of;      /* by activity of the graph: its iteration, or DEPS_NONE; owned */
    uint8_t *launched; /* by call's piece: what it launched, enum iterations_launched; owned */
    uint8_t *device_slots; /* by lane: which bit of `devices`; owned */
};

/* What a call launched; the first piece of a call has it. */
enum iterations_launched {
    ITERATIONS_LAUNCHED_KERNEL = 1, /* or a graph as a whole */
    ITERATIONS_LAUNCHED_HTOD = 2,
    ITERATIONS_LAUNCHED_COPY = 4, /* another copy */
    ITERATIONS_LAUNCHED_SET = 8,
    ITERATIONS_LAUNCHED_AWAITED = 16 /* a copy that the call waits for */
};

/* The share of GPU work that iterations should cover. */
#define ITERATIONS_ENOUGH_COVERAGE 0.8

/* Finds the iterations; reads the trace again for NVTX ranges and graphs. AUTO always finds at
 * least one iteration. If another way finds none, or the capture range does not exist, the result
 * is MP_ERR_ARGUMENT with a message that says what there is. MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT. After a failure *iterations is empty; else call iterations_free, before deps_free.
 */
enum mp_status iterations_find(const struct deps *deps, struct mp_trace *trace,
                               const struct iterations_options *options,
                               struct iterations *iterations, struct mp_error *error);

void iterations_free(struct iterations *iterations);

/* Whether ranges of the domain are a library's, not the program's. NULL: the default domain. */
bool iterations_library_domain(const char *domain);

/* ---- Measuring ---- */

/* What is measured of an iteration. Work of the GPU counts if it belongs to the iteration, as far
 * as it runs between the iteration's begin and end. Times of several activities are unions: time in
 * which two of them run counts once. */
enum iteration_quantity {
    ITERATION_LATENCY,     /* end minus begin; = BUSY + OTHERS + IDLE */
    ITERATION_HOST,        /* host_end less begin */
    ITERATION_API,         /* inside CUDA calls of its thread, within the host time */
    ITERATION_BUSY,        /* the GPU runs work of the iteration */
    ITERATION_KERNEL,      /* kernels, and graphs that were recorded as a whole */
    ITERATION_HTOD,        /* copies from the host to a device */
    ITERATION_DTOH,        /* from a device to the host */
    ITERATION_COPY_OTHER,  /* all others */
    ITERATION_SET,         /* memory sets */
    ITERATION_OVERLAP,     /* a copy and a kernel of the iteration run at the same time */
    ITERATION_OTHERS,      /* on the devices that it uses, only work of other iterations runs */
    ITERATION_IDLE,        /* nothing runs on these devices; the sum of the eight below */
    ITERATION_IDLE_LAUNCH, /* work was being launched: launch-bound */
    ITERATION_IDLE_QUEUED, /* from one activity to the next, which had been launched before */
    ITERATION_IDLE_COPY,   /* a copy call waits */
    ITERATION_IDLE_HOST,   /* the host is outside of CUDA */
    ITERATION_IDLE_SYNC,   /* a call that synchronises has not returned */
    ITERATION_IDLE_PEER, /* kernels of NCCL wait for those of other ranks, and nothing else runs */
    ITERATION_IDLE_RECORDING, /* what recording costs of all of these */
    ITERATION_IDLE_UNKNOWN,   /* the trace has no calls */
    ITERATION_TIMES,
    ITERATION_LAUNCHES = ITERATION_TIMES, /* calls that launched work */
    ITERATION_KERNELS,                    /* records of kernels and of graphs as a whole */
    ITERATION_COPIES,                     /* copies, also those of batches */
    ITERATION_BYTES,                      /* that they copied */
    ITERATION_QUANTITIES
};

/* Words for a report ("GPU busy") and keys for JSON ("busy_ns"). */
const char *iteration_quantity_name(enum iteration_quantity quantity);
const char *iteration_quantity_key(enum iteration_quantity quantity);

/* Whether it says something although work of the GPU is missing (quality_gap). */
bool iteration_quantity_is_of_host(enum iteration_quantity quantity);

struct iteration_measures {
    uint64_t values[ITERATION_QUANTITIES]; /* ns, counts, bytes */
};

/* Measures every iteration into measures[iterations->count]. O(activities + those that each window
 * overlaps). MP_ERR_MEMORY. */
enum mp_status iterations_measure(const struct deps *deps, const struct iterations *iterations,
                                  struct iteration_measures *measures);

/* A stretch of an iteration in which nothing ran. */
struct iterations_idle_span {
    uint32_t iteration;
    enum iteration_quantity cause; /* ITERATION_IDLE_... */
    uint64_t begin, end;
};

typedef void iterations_take_idle(void *context, const struct iterations_idle_span *span);

/* Delivers them, iteration by iteration: what ITERATION_IDLE is the sum of. MP_ERR_MEMORY. */
enum mp_status iterations_each_idle(const struct deps *deps, const struct iterations *iterations,
                                    iterations_take_idle *take, void *context);

/* ---- Statistics ---- */

/* An iteration whose latency is over P50 + 3 * 1.4826 * MAD and at least 5 percent over P50. MAD is
 * the median distance from P50. */
struct iteration_outlier {
    uint32_t iteration;
    enum iteration_quantity
        grew;    /* the part of the latency that exceeds the median iteration's most */
    uint64_t by; /* ns */
};

#define ITERATIONS_KINDS 8

enum iterations_split { ITERATIONS_ALIKE, ITERATIONS_BY_RANGE, ITERATIONS_BY_MODE };

/* Iterations of a capture range, or of a mode. */
struct iterations_kind {
    uint64_t range; /* its id; BY_MODE: 0 */
    uint64_t count; /* of times */
    uint64_t min, p25, p50, p75, max;
};

/* What is said first (headline.c). Times are ns. */
struct iterations_headline {
    bool queued;  /* times are from end to end; else latencies */
    uint64_t p50; /* of all */
    size_t count; /* of times: of queued ones the first of a range has none */
    enum iterations_split split;
    struct iterations_kind kinds[ITERATIONS_KINDS]; /* in order of range, or of time */
    size_t kind_count;                              /* 0: ALIKE */
};

struct iterations_summary {
    struct statistics statistics[ITERATION_QUANTITIES];
    uint32_t median;                    /* the iteration at P50 of the latencies */
    uint64_t limit;                     /* ns: latencies above it are outliers */
    struct iteration_outlier *outliers; /* longest first; owned */
    size_t outlier_count;
    uint64_t begin;    /* of the first iteration */
    uint64_t end;      /* the last end of one */
    uint64_t recorded; /* ns: from first begin to last end in each capture range, added up */
    double throughput; /* iterations a second of that; 0: no time passes */
    double period;     /* ns, mean from begin to begin in a range; 0: no range has two */
    double at_once;    /* iterations, mean of that time */
    uint32_t max_at_once;
    struct iterations_headline headline;
};

/* `count` is iterations->count, not 0. MP_ERR_MEMORY; else iterations_summary_free. */
enum mp_status iterations_sum_up(const struct deps *deps, const struct iterations *iterations,
                                 const struct iteration_measures *measures,
                                 struct iterations_summary *summary);

void iterations_summary_free(struct iterations_summary *summary);

/* The headline's p50 if the iterations lay as these windows, `queued` or not. MP_ERR_MEMORY. */
enum mp_status iterations_usual(const struct deps *deps, const struct iterations *iterations,
                                const struct deps_window *moved, bool queued, uint64_t *p50);

/* MP_ERR_MEMORY. */
enum mp_status iterations_find_headline(const struct deps *deps,
                                        const struct iterations *iterations,
                                        struct iterations_headline *headline);

/* Where times are split: notes in `in` which iterations are of the kind that takes most time, at
 * least one. *most is that kind, the headline's. NULL, and `in` as it was: they are alike, or
 * queued ones fall into modes. MP_ERR_MEMORY. */
enum mp_status iterations_find_main_kind(const struct deps *deps,
                                         const struct iterations *iterations,
                                         const struct iterations_headline *headline, uint8_t *in,
                                         const struct iterations_kind **max);

/* The iterations of one thread. */
struct iterations_row {
    uint32_t thread; /* lane; DEPS_NONE: not known */
    struct statistics latency;
    uint64_t count;
    uint64_t busy; /* ns: the sum of ITERATION_BUSY */
};

/* Thread by thread, most busy time first. `*threads` is owned by the caller; iterations->threads
 * of them. MP_ERR_MEMORY. */
enum mp_status iterations_by_thread(const struct deps *deps, const struct iterations *iterations,
                                    const struct iteration_measures *measures,
                                    struct iterations_row **threads);

/* The iterations as windows of the event graph, with the same numbers, begins and ends.
 * MP_ERR_MEMORY; else deps_windows_free. */
enum mp_status iterations_windows(const struct deps *deps, const struct iterations *iterations,
                                  struct deps_windows *windows);

/* ---- All of it ---- */

/* Zeroed, it holds nothing. */
struct iterations_study {
    struct iterations iterations;
    struct iteration_measures *measures; /* by iteration; owned */
    struct iterations_summary summary;
    struct iterations_row *threads; /* iterations.threads of them; owned */
};

/* Finds, measures and sums up; fails as iterations_find does. iterations_study_free in any case.
 */
enum mp_status iterations_study(const struct deps *deps, struct mp_trace *trace,
                                const struct iterations_options *options,
                                struct iterations_study *study, struct mp_error *error);

/* Measures and sums up study->iterations, which have been found; the rest of *study is zero.
 * MP_ERR_MEMORY; iterations_study_free in any case. */
enum mp_status iterations_study_of(const struct deps *deps, struct iterations_study *study);

void iterations_study_free(struct iterations_study *study);

#endif
