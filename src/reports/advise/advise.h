/* What to do next: findings on the iterations of a trace. Each finding has its evidence, what a
 * change would gain, and what to do. docs/advise.md defines every rule, its threshold and its gain.
 *
 *     iterations ──┐
 *     event graph ─┼─> rules, one after the other ──> findings: estimates, then bounds
 *     measures ────┘        │        ▲
 *                           ▼        │
 *                        replay with what the rule would change (replay/replay.h)
 *
 * Without a number there is no finding. Each gain assumes its own change alone, so gains do not add
 * up. Memory, besides that of graph, iterations and replayer: 4 bytes an activity and 25 an
 * iteration. With NVTX ranges: 4 bytes a device activity, and 8 an activity while the path of a
 * slow layer is followed. Before the replay also what the layers need (layers.h).
 */
#ifndef MP_REPORTS_ADVISE_ADVISE_H
#define MP_REPORTS_ADVISE_ADVISE_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "profile/stacks/call_stacks.h"
#include "reports/deps/deps.h"
#include "reports/iterations/iterations.h"

#define ADVISE_LINES      5
#define ADVISE_NUMBERS    10
#define ADVISE_PATHS      4 /* of layers that lines name */
#define ADVISE_TEXT_BYTES 256
#define ADVISE_CALLERS    3 /* lines of the program, and as many of packages */

/* In the order of docs/advise.md, which is that of findings that are otherwise equal. */
enum advise_rule_id {
    ADVISE_LAUNCH_BOUND,
    ADVISE_PAGEABLE_COPIES,
    ADVISE_SYNCHRONOUS_COPIES,
    ADVISE_NEEDLESS_WAIT,
    ADVISE_EXPOSED_COPIES,
    ADVISE_SMALL_KERNELS,
    ADVISE_ALLOCATION,
    ADVISE_HOST_BOUND,
    ADVISE_SLOW_LAYER,
    ADVISE_UNUSED_STREAMS,
    ADVISE_TAIL,
    ADVISE_PAGE_FAULTS,
    ADVISE_REFORMAT_LAYERS,
    ADVISE_LAYOUT_CHANGES,
    ADVISE_UNFUSED_POINTWISE,
    ADVISE_LOW_PRECISION,
    ADVISE_SPLIT_K,
    ADVISE_REPEATED_CASTS,
    ADVISE_SMALL_GRIDS,
    ADVISE_CONSTANT_COPIES,
    ADVISE_MEMORY_BOUND,
    ADVISE_IDLE_TENSOR_CORES,
    ADVISE_FEW_SMS,
    ADVISE_FULL_PCIE,
    ADVISE_LOW_CLOCKS,
    ADVISE_NCCL_WAITING,
    ADVISE_GRAPH_INSTANTIATION,
    ADVISE_POOL_RELEASE,
    ADVISE_CODE_LOADING,
    ADVISE_BLOCKED_CALLS,
    ADVISE_LATE_RANK, /* of a job (reports/job), one for each late rank; the next five likewise */
    ADVISE_SLOWED_GPU,
    ADVISE_SLOWER_CLOCKS,
    ADVISE_UNEVEN_STAGES,
    ADVISE_BUBBLES,
    ADVISE_TRANSFERS,
    ADVISE_RULES
};

/* Where a gain comes from. */
enum advise_method {
    ADVISE_BY_REPLAY,
    ADVISE_BY_REPLAY_BOUNDED, /* the replay's gain, or a smaller upper bound */
    ADVISE_BY_TIMES           /* recorded times, added up */
};

/* What a gain is. Bounds come after all estimates. */
enum advise_certainty {
    ADVISE_ESTIMATE, /* the replay has all that the change does, or the trace shows what it leads to
                      */
    ADVISE_BOUND     /* the most that the change gains: how much of it is possible is not known */
};

/* A line of names or iterations below the evidence: "12.345us  cudaMalloc". */
struct advise_line {
    const char *name; /* owned by the graph or the advice; NULL: the text alone says everything */
    bool is_path;     /* name of a layer, whose end is its most important part */
    size_t iteration; /* the iteration that the text is about, from 1; 0: none */
    char text[96];
};

/* A number of the evidence, for scripts. */
struct advise_number {
    const char *key; /* static; times end in _ns, sizes in _bytes */
    double value;
};

/* What a line has to do with a finding. */
enum advise_caller_kind {
    ADVISE_CALLED_FROM, /* the program's line: its calls, and work of these */
    ADVISE_HOST_CODE,   /* the program's line: what it computes between calls */
    ADVISE_IN_PACKAGE   /* a line of an installed package that was called from there */
};

/* A line that a finding is about, and its share. */
struct advise_caller {
    struct stack_frame frame; /* of the advice's stacks */
    double percent;           /* of the time of what the finding changes */
    enum advise_caller_kind kind;
};

struct advise_finding {
    enum advise_rule_id rule;
    uint64_t gain; /* ns an iteration: mean of the iterations that are no outliers; if that is more
                      than the step, its share of the mean step. Never more than the step (basis) */
    double percent;
    const char *title; /* static */
    const char *to_do; /* static */
    enum advise_method method;
    enum advise_certainty certainty;
    double confidence;   /* 0 to 1: docs/advise.md, section 1 */
    const char *assumes; /* static */
    char evidence[ADVISE_TEXT_BYTES];
    struct advise_line lines[ADVISE_LINES];
    size_t line_count;
    struct advise_number numbers[ADVISE_NUMBERS];
    size_t number_count;
    /* Those with most first; then, if one has almost all, those of packages. */
    struct advise_caller callers[2 * ADVISE_CALLERS];
    size_t caller_count; /* 0 without stacks in the trace */
};

/* Why a rule could not be judged. */
enum advise_reason {
    ADVISE_TRIED,
    ADVISE_NO_CALLS,     /* the trace has no API calls */
    ADVISE_NO_SYNCS,     /* another profiler had CUPTI's callbacks */
    ADVISE_NO_WORK,      /* nor GPU work */
    ADVISE_NO_LOOP,      /* a single iteration */
    ADVISE_FEW,          /* too few for outliers */
    ADVISE_NO_LAYERS,    /* no NVTX ranges in the iterations */
    ADVISE_NO_OCCUPANCY, /* of no kernel: no launch shapes or limits of the device */
    ADVISE_NO_SAMPLES,   /* no counters over time */
    ADVISE_PROFILED, /* kernels were run again for metrics: their times are the range profiler's */
    ADVISE_GAP,      /* work is missing: `gap` says which */
    ADVISE_ONE_RANK, /* NCCL's kernels wait for ranks that this trace does not know */
    ADVISE_REASONS
};

struct advice {
    struct advise_finding findings[ADVISE_RULES]; /* estimates first; greatest gain times
                                                    confidence first */
    size_t count;
    enum advise_reason reasons[ADVISE_RULES];
    const struct quality_gap *gap; /* static; NULL: none */
    uint64_t step;  /* ns, P50, as recorded: of a request its own time; else from end to end; for a
                       single iteration its latency */
    uint64_t basis; /* the same of the run that gains are of: `percent` refers to this */
    bool without_recording; /* that run lacks what recording costs; else it is the recorded one */
    size_t judged;          /* iterations that are no outliers, and of `kind` */
    const struct iterations_kind *kind; /* the study's: the capture range or mode that is judged;
                                           NULL: all */
    const char *framework;              /* static; NULL: not known */
    double framework_percent;           /* of the kernels in iterations, whose names say so */
    char *paths[ADVISE_PATHS];          /* owned */
    size_t path_count;
    struct call_stacks stacks; /* who called */
};

struct advise_input {
    const struct deps *deps; /* with fronts */
    const struct iterations_study *study;
};

/* Applies all rules. MP_ERR_IO, MP_ERR_MEMORY, with a text in *error. On success advise_free gives
 * the advice back. Some names in the lines are owned by the graph. */
enum mp_status advise_build(const struct advise_input *input, struct advice *advice,
                            struct mp_error *error);

void advise_free(struct advice *advice);

/* ---- Findings of others ---- */

/* A finding of this rule without its numbers. */
struct advise_finding advise_finding_of(enum advise_rule_id rule);

/* Puts a finding with a gain where it belongs, if it gains enough and there is room. */
void advise_add(struct advice *advice, struct advise_finding *finding);

/* Its evidence: a number under a static key, the sentence, a line. */
void advise_number(struct advise_finding *finding, const char *key, double value);
__attribute__((format(printf, 2, 3))) void advise_evidence(struct advise_finding *finding,
                                                           const char *format, ...);
__attribute__((format(printf, 3, 4))) void advise_line(struct advise_finding *finding,
                                                       const char *name, const char *format, ...);

/* Static text. */
const char *advise_rule_key(enum advise_rule_id rule);

/* A key ("no_calls") and words ("no API calls in the trace"). */
const char *advise_reason_key(const struct advice *advice, enum advise_reason reason);
const char *advise_reason_text(const struct advice *advice, enum advise_reason reason);

#endif
