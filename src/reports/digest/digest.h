/* What one should know of a trace at first: the digest that `miniprof report` prints.
 *
 *     profile ──────┐
 *     event graph ──┼─> iterations, advice, names by time ──> digest: owns all of its text
 *
 * A digest holds no trace and no graph, so those of many processes can be kept and compared. It
 * computes nothing itself: each number is one that another family found (docs/report.md lists
 * which). Memory, besides that of these families while it is built: some 10 KB.
 */
#ifndef MP_REPORTS_DIGEST_DIGEST_H
#define MP_REPORTS_DIGEST_DIGEST_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/storage.h"
#include "base/status.h"
#include "profile/common/statistics.h"
#include "profile/names/names.h"
#include "profile/quality.h"
#include "reports/advise/advise.h"
#include "reports/recording_cost/recording_cost.h"

#define DIGEST_FINDINGS 3
#define DIGEST_HOT      5
#define DIGEST_DEVICES  16
#define DIGEST_COMMANDS 6

struct digest_options {
    const char *path;                     /* of the trace, for command lines */
    const char *by;                       /* what --iterations says; NULL: auto */
    struct iterations_options iterations; /* with the capture range, if one is asked for */
    enum names_style style;
    const struct peer_waits *peers; /* of the trace, in a job; NULL: not known */
};

/* ---- What was recorded ---- */

struct digest_device {
    uint64_t ordinal;
    const char *name; /* NULL: the trace does not say */
};

/* A trace of the flight recorder. Times: ns of the recorder's clock, 0: not known. */
struct digest_flight {
    const char *reason; /* NULL: the trace is none of its */
    const char *step;   /* name of the NVTX range that is a step; NULL: not known */
    uint64_t from, until, trigger;
    uint64_t took, limit; /* of a slow step */
};

struct digest_recording {
    const char *program; /* command line, else executable; NULL: unknown, as the next three */
    const char *host;
    const char *capture;  /* MINIPROF_CAPTURE */
    const char *recorder; /* miniprof's version */
    uint64_t pid, rank;   /* UINT64_MAX: unknown */
    uint64_t driver;      /* cuDriverGetVersion; 0: unknown, as the next two */
    uint64_t cupti;       /* cuptiGetVersion */
    uint64_t start;       /* ns since 1970 */
    struct digest_device devices[DIGEST_DEVICES]; /* that ran work, by ordinal */
    size_t device_count;
    size_t devices_left;      /* that are not in the list */
    const char *framework;    /* static; NULL: not known */
    double framework_percent; /* of the kernels in iterations */
    size_t ranges;            /* capture ranges */
    uint64_t range;           /* the one that was asked for; 0: all */
    uint64_t in_ranges;       /* ns; of those that ended */
    uint64_t span;            /* ns, from the first record to the last */
    uint64_t records;
    uint64_t bytes; /* of the file */
    struct digest_flight flight;
};

struct digest_quality {
    const struct quality_gap *gap; /* work that is known to be missing; NULL: none */
    bool whole;
    bool damaged;                     /* the file is cut, or parts of it cannot be read */
    char warning[QUALITY_TEXT_BYTES]; /* what is missing, without a full stop; "" if whole */
    uint64_t dropped;
    uint64_t unanswered; /* launched kernels without a record */
    uint64_t profiled;   /* kernels that were run again for metrics */
    uint64_t baseline_steps, baseline_unrecorded;
    bool callbacks_taken;        /* by another client: no synchronisation, stacks, edges */
    uint64_t device_graphs;      /* that the device may launch unseen */
    uint64_t conditional_graphs; /* whose bodies may run unseen */
};

/* ---- Iterations ---- */

struct digest_iterations {
    enum iterations_way way;
    bool asked_for;
    const char *name;      /* NVTX: of the ranges; else NULL */
    uint64_t graph;        /* GRAPH: the trace's id of it */
    uint32_t period;       /* KERNELS, SYNCS: how many make an iteration */
    const char *why_whole; /* WHOLE: why nothing else was taken; NULL: no reason */
    uint64_t count;
    uint64_t threads;
    uint64_t outliers;
    double coverage; /* share of the GPU work, 0 to 1 */
    double at_once;
    double throughput; /* a second; 0: no time passes */
};

/* Where the mean latency goes: parts that add up to it. */
enum digest_part {
    DIGEST_KERNELS, /* kernels run */
    DIGEST_COPIES,  /* only copies or sets run */
    DIGEST_OTHERS,  /* only work of other iterations runs */
    DIGEST_LAUNCH,  /* nothing runs, by cause: as ITERATION_IDLE_... */
    DIGEST_QUEUED,
    DIGEST_COPY,
    DIGEST_HOST,
    DIGEST_SYNC,
    DIGEST_PEER,
    DIGEST_RECORDING,
    DIGEST_UNKNOWN,
    DIGEST_PARTS
};

/* ---- The digest ---- */

/* A name and its device time, as `summary` has it. */
struct digest_hot {
    const char *name;
    uint64_t calls;
    uint64_t total; /* ns */
    double mean;    /* ns */
    double percent; /* of all device time */
};

/* A command line that looks further. */
struct digest_command {
    const char *why;  /* static; what it shows */
    const char *line; /* for a shell */
};

/* Zeroed, it holds nothing. */
struct digest {
    const char *path;
    const char *process; /* what tells it from other traces; NULL: it is alone. Not owned */
    struct digest_recording recording;
    struct digest_quality quality;
    struct digest_iterations iterations;
    struct statistics latency; /* ns */
    struct iterations_headline headline;
    struct recording_cost recording_cost; /* its name is owned */
    bool baseline_asked;                  /* MINIPROF_BASELINE was set */
    double busy;                          /* ns, mean: the GPU runs work of the iteration */
    double parts[DIGEST_PARTS];           /* ns, mean of all iterations */
    bool no_work;                         /* no GPU work in the trace */
    bool gpu_off;                         /* and the recorder was not to record any */
    bool no_calls;                        /* no API calls in the trace */
    bool knows_peers;                     /* how long kernels of NCCL wait */
    bool one_rank;                        /* of a job: NCCL's kernels wait for ranks elsewhere */
    uint64_t step;                        /* ns, P50, from end to end */
    uint64_t basis;                       /* the same of the run that gains are of */
    bool without_recording;               /* that run: as advice */
    struct advise_finding findings[DIGEST_FINDINGS]; /* names in their lines are owned */
    size_t finding_count;
    size_t findings_all;
    struct digest_hot hot[DIGEST_HOT]; /* by time */
    size_t hot_count;
    size_t hot_all; /* names there are */
    struct digest_command commands[DIGEST_COMMANDS];
    size_t command_count;
    struct mp_arena text;
};

/* Runs the analyses and keeps what they found. MP_ERR_ARGUMENT if there is no such capture range or
 * way; MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT. digest_free is needed in any case. */
enum mp_status digest_build(struct mp_trace *trace, const struct digest_options *options,
                            struct digest *digest, struct mp_error *error);

void digest_free(struct digest *digest);

/* Which of several is the slowest, by the P50 of its iterations. One with iterations goes before
 * one without, and that before one without GPU work. `count` is not 0. */
size_t digest_slowest(const struct digest *digests, size_t count);

/* "kernel_ns": the key of a part, as `iters` has it where it has that quantity. Static. */
const char *digest_part_key(enum digest_part part);

#endif
