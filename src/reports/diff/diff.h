/* Two traces, or two sets of traces of repeated runs, compared: A before, B after.
 *
 *     diff.c       which runs there are, and which way of iterations both sides have
 *     run.c        what a side keeps of one trace, and where it ran
 *     samples.h    times by name, and what differs between two sides
 *     positions.c  kernels of an iteration by their position
 *     layers.c     layers
 *
 * docs/diff.md defines every term and number. Traces are read one after the other. Of each trace
 * these are kept: the data of samples.h, 8 bytes an iteration, and 16 bytes for each kernel of its
 * median iteration. Only one event graph is in memory at a time (deps.h, iterations.h).
 */
#ifndef MP_REPORTS_DIFF_DIFF_H
#define MP_REPORTS_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/storage.h"
#include "base/status.h"
#include "profile/common/align.h"
#include "profile/common/statistics.h"
#include "profile/names/names.h"
#include "profile/quality.h"
#include "reports/diff/samples.h"
#include "reports/iterations/iterations.h"

/* ---- Positions ----
 *
 * The kernels of one iteration of each side in the order of their launches, and which of them
 * correspond to each other.
 *
 * The iteration is the one at P50 of the latencies, from the run whose P50 is the median one. The
 * sequences are aligned by name (align.h). What lies between two pairs of equal kernels is a
 * change: kernels of A were removed, kernels of B were added, or kernels of A were replaced by
 * kernels of B, the first by the first.
 */

/* A kernel, or a graph that was recorded as a whole, in its iteration. */
struct diff_place {
    uint64_t ns;
    uint32_t item; /* name: id in the side's kernels, in the result in those of both sides */
};

/* The median iteration of a run. */
struct diff_sequence {
    struct diff_place *places; /* owned */
    size_t count;
    uint64_t p50;     /* latency of the run */
    uint64_t begin;   /* of the iteration, ns of the recorder's clock */
    size_t iteration; /* its number in the run, from 1 */
    size_t run;       /* from 1 */
};

struct diff_sequences {
    struct diff_sequence *items; /* by run; owned */
    size_t count, capacity;
};

void diff_sequences_free(struct diff_sequences *sequences);

/* Consecutive pairs that are no pairs of equal kernels. */
struct diff_stretch {
    size_t first;      /* pair */
    size_t count;      /* pairs */
    uint32_t begin[2]; /* position of its first kernel on each side, from 0; if it has none there,
                          of what follows */
    uint32_t length[2];
    uint64_t ns[2];
};

/* A kernel and what it became. */
struct diff_pair {
    uint32_t place[2]; /* positions; ALIGN_NONE: there is none */
};

struct diff_positions {
    struct diff_sequence sides[2]; /* owned */
    struct mp_intern names;        /* by place.item */
    struct diff_pair *pairs;       /* in order; owned */
    size_t count;
    struct diff_stretch *changes; /* owned */
    size_t change_count;
    size_t equal;                    /* pairs of equal kernels */
    size_t added, removed, replaced; /* kernels; pairs of them */
};

/* Takes the median sequence of each side; `a` and `b` give names to their places. MP_ERR_MEMORY,
 * MP_ERR_LIMIT; else diff_positions_free. */
enum mp_status diff_positions_make(struct diff_sequences *a_sequences, const struct diff_samples *a,
                                   struct diff_sequences *b_sequences, const struct diff_samples *b,
                                   struct diff_positions *positions);

void diff_positions_free(struct diff_positions *positions);

const char *diff_positions_name(const struct diff_positions *positions, int side, uint32_t place);

/* ---- The whole ---- */

/* Runs a side, from which on runs are the samples if an interval can be computed from them. */
#define DIFF_MIN_RUNS 3

struct diff_options {
    struct iterations_options iterations; /* as miniprof iters has them */
    enum names_style style;
    bool shapes; /* kernels by name and launch shape */
};

/* A trace. */
struct diff_run {
    const char *path;
    uint64_t iterations;
    uint64_t p50; /* latency, ns */
    uint64_t outside;
    bool whole;
    const struct quality_gap *gap; /* work that is missing; NULL: none is known */
    bool no_calls;
    bool no_work;                     /* nothing ran on a GPU */
    char warning[QUALITY_TEXT_BYTES]; /* what is missing; empty: nothing */
};

/* In what the sides may differ. The text covers all runs of a side. */
enum diff_fact_kind {
    DIFF_FACT_DEVICES,
    DIFF_FACT_HOST,
    DIFF_FACT_DRIVER,
    DIFF_FACT_CUPTI,
    DIFF_FACT_MINIPROF,
    DIFF_FACT_COMMAND,
    DIFF_FACT_SETTINGS, /* MINIPROF_* settings, except where the trace is written */
    DIFF_FACTS
};

#define DIFF_NO_LAYER "[no NVTX range]" /* the layer of work without a range */

struct diff_side {
    struct diff_run *runs; /* owned */
    size_t run_count, run_capacity;
    uint64_t *latencies; /* ns, of all iterations, run by run in order of time; owned */
    size_t iterations, latency_capacity;
    struct statistics latency;
    struct diff_samples quantities; /* items: enum iteration_quantity, + 1 */
    struct diff_samples kernels;    /* and copies, sets, graphs as a whole */
    struct diff_samples layers;     /* calls: pieces of work */
    struct diff_sequences sequences;
    struct mp_intern said[DIFF_FACTS]; /* the different values of each fact that runs have */
    char *facts[DIFF_FACTS];           /* that in one text; owned; see diff_fact */
    bool has_layers;                   /* NVTX ranges inside its iterations, with work */
};

struct diff {
    /* How iterations are recognised on both sides. */
    enum iterations_way way;
    bool found;    /* not asked for */
    char *name;    /* NVTX: of the ranges; owned */
    char why[512]; /* why this way was taken if the runs have different ones; may be empty */

    struct diff_side sides[DIFF_SIDES];
    bool by_runs; /* samples are medians of runs, else iterations */
    struct shift latency;
    enum diff_change change;     /* of the latency, however small it is */
    struct diff_rows quantities; /* by enum iteration_quantity */
    struct diff_rows kernels;
    struct diff_rows layers; /* none unless both sides have them */
    struct diff_positions positions;
    struct diff_items items[DIFF_SIDES][3]; /* that the rows point into */
};

/* The traces at these paths, at least one a side. MP_ERR_ARGUMENT: no such iterations, range;
 * MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT; *error begins with the path. *diff is then empty, else
 * diff_free. */
enum mp_status diff_build(const char *const *a, size_t a_count, const char *const *b,
                          size_t b_count, const struct diff_options *options, struct diff *diff,
                          struct mp_error *error);

void diff_free(struct diff *diff);

/* By how much the latency exceeds A's P50, in percent of it: the shift. 0 if A takes no time. */
double diff_percent(const struct diff *diff);

/* Whether the latency is greater by more than this percentage, and its interval excludes 0. */
bool diff_is_above(const struct diff *diff, double percent);

/* Whether all traces are complete. */
bool diff_is_whole(const struct diff *diff);

/* What is missing in the first run in which something is; NULL: nothing is known to be. */
const struct quality_gap *diff_gap(const struct diff *diff);

/* Words: "GPU", "CUPTI". */
const char *diff_fact_name(enum diff_fact_kind kind);
const char *diff_change_name(enum diff_change change);
const char *diff_quantity_change_name(enum diff_change change); /* "more", "less" */

/* ---- Between the files ---- */

/* A trace, read. */
struct diff_reading {
    struct mp_trace *trace;
    const struct diff_options *options;
    struct deps *deps;
    const struct iterations *iterations;
    const struct iteration_measures *measures; /* by iteration */
    const struct iterations_summary *summary;
    bool median; /* runs are the samples */
};

/* Adds a run to its side. MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status diff_run_take(struct diff_side *side, const struct diff_reading *reading,
                             const char *path, struct mp_error *error);

/* Which iteration a piece of work belongs to, found by its begin and its launching call. This is
 * the part of an event graph that is needed to assign work to layers. */
struct diff_mark {
    uint64_t begin;
    uint32_t correlation; /* its low bits */
    uint32_t iteration;
};

struct diff_marks {
    struct diff_mark *items; /* by begin; owned */
    size_t count;
    size_t iterations;
};

/* MP_ERR_MEMORY; else free(marks->items). */
enum mp_status diff_marks_make(const struct diff_reading *reading, struct diff_marks *marks);

/* Adds the times of a run's layers: device time of all work in paths of NVTX ranges (layers.h), by
 * the iteration that the work belongs to. Reads the trace again. MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT.
 */
enum mp_status diff_layers_take(struct diff_side *side, struct mp_trace *trace,
                                const struct diff_marks *marks, const struct diff_options *options,
                                bool median, struct mp_error *error);

/* Makes the side's facts from what was added, after all runs. MP_ERR_MEMORY. */
enum mp_status diff_facts_finish(struct diff_side *side);

void diff_facts_free(struct diff_side *side);

/* Empty: not known. */
static inline const char *diff_fact(const struct diff_side *side, int kind)
{
    return side->facts[kind] ? side->facts[kind] : "";
}

/* Cells of a run: what each item has in each iteration. */
struct diff_cells {
    struct diff_cell *cells; /* owned */
    size_t count, capacity;
    uint32_t *open; /* by item: its cell of this iteration + 1 - first; owned */
    size_t open_capacity;
    size_t first; /* cell of this iteration */
};

/* Adds to an item's cell of the present iteration. MP_ERR_MEMORY. */
enum mp_status diff_cells_add(struct diff_cells *cells, uint32_t item, uint64_t ns, uint32_t calls);

/* Ends the iteration. */
void diff_cells_next(struct diff_cells *cells);

void diff_cells_free(struct diff_cells *cells);

#endif
