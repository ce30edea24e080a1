/* What the rules of `advise` share; for advise*.c only.
 *
 *     advise.c          the table of rules; thresholds that all of them have; sorting
 *     gain.c     replay, and what it gains an iteration
 *     calls.c    calls one after the other, stretches of launches
 *     names.c    what has most time, for the lines of a finding
 *     launch.c   launch_bound, host_bound
 *     copies.c   pageable_copies, synchronous_copies, exposed_copies
 *     wait.c     needless_wait
 *     kernels.c  small_kernels
 *     layers.c   the layer of each activity
 *     slow.c     slow_layer, reformat_layers
 *     alloc.c    allocation
 *     streams.c  unused_streams
 *     tail.c     tail
 *     faults.c   page_faults
 */
#ifndef MP_ANALYZE_ADVISE_BUILD_H
#define MP_ANALYZE_ADVISE_BUILD_H

#include "analyze/advise/advise.h"
#include "analyze/deps/deps.h"
#include "analyze/layers/layers.h"
#include "analyze/replay/replay.h"

/* What a call launched; of the piece that launched it. */
enum advise_launched {
    ADVISE_LAUNCHED_KERNEL = 1, /* outside graphs */
    ADVISE_LAUNCHED_GRAPH = 2,
    ADVISE_LAUNCHED_HTOD = 4,
    ADVISE_LAUNCHED_DTOH = 8, /* in graphs too */
    ADVISE_LAUNCHED_OTHER = 16,
    ADVISE_LAUNCHED_AWAITED = 32 /* a copy that the call waits for */
};

/* A path of NVTX ranges; times and counts of iterations that count. */
struct advise_layer {
    uint64_t time;    /* ns, of its kernels that are in no range inside it, and graphs as a whole */
    uint64_t moved;   /* ns, of what advise_layer_moves */
    uint32_t kernels; /* likewise */
    uint32_t row;     /* in result.layers; LAYER_NONE: it has none */
    bool is_range;    /* and not that of an iteration */
    bool moves;       /* it is a reformat or copy layer by its name or type, or inside of one */
};

/* Zero: the trace has none, or more than MOST_PATHS. */
struct advise_layers {
    struct layers_result result;
    uint32_t *of; /* by device activity, from host_count: index of `nodes`, plus 1; 0: not known;
                     owned */
    struct advise_layer *nodes; /* by node of the tree; owned */
    size_t count, capacity;
    uint64_t time; /* ns, of all device work of iterations that count */
    bool any;      /* work of them is in a range that is not an iteration's */
};

struct advise {
    struct advice *advice;
    const struct deps *deps;
    struct mp_trace *trace;
    const struct iterations *iterations;
    const struct iteration_measures *measures;
    const struct iterations_summary *summary;
    struct mp_error *error;
    uint64_t step;
    size_t judged;
    bool has_work;     /* an iteration has device work */
    uint8_t *regular;  /* by iteration: no outlier; owned */
    uint8_t *launched; /* by piece: enum advise_launched; owned */
    uint8_t *edits;    /* by activity: enum deps_edit, all 0 when a rule begins; owned */
    double factor;     /* of DEPS_EDIT_SCALED */
    uint64_t *before;  /* by iteration: its step as recorded, ns; owned */
    uint64_t *after;   /* in the last replay; owned */
    struct deps_replayer replayer;
    struct advise_layers layers;
};

typedef enum mp_status advise_judge(struct advise *advise, struct advise_finding *finding);

advise_judge advise_launch_bound, advise_pageable_copies, advise_synchronous_copies,
    advise_needless_wait, advise_exposed_copies, advise_small_kernels, advise_allocation,
    advise_host_bound, advise_slow_layer, advise_unused_streams, advise_tail, advise_page_faults,
    advise_reformat_layers;

/* ---- gain.c ---- */

/* Sets up the replay and the steps as recorded. MP_ERR_MEMORY; advise_gain_free in any case. */
enum mp_status advise_gain_init(struct advise *advise);
void advise_gain_free(struct advise *advise);

/* By how much advise->edits make a step shorter, ns, mean of the iterations that are no outliers;
 * 0 if they do not. MP_ERR_MEMORY. */
enum mp_status advise_replay(struct advise *advise, uint64_t *gain);

/* ---- calls.c ---- */

/* A call that is inside no other, with all that is inside of it. */
struct advise_call {
    uint32_t first; /* pieces */
    uint32_t last;
    uint32_t iteration; /* DEPS_NONE: none */
    uint32_t launched;  /* enum advise_launched, of all pieces */
    bool waits;         /* it synchronises, or waits for its copy */
    uint64_t gap;       /* ns of host code before it, as far as it lies in its iteration */
};

enum mp_status advise_note_launches(struct advise *advise);

/* The call at *at of a thread, which is then that of the next one; false at the lane's end. */
bool advise_next_call(const struct advise *advise, const struct deps_lane *lane, uint32_t *at,
                      struct advise_call *call);

/* Host code right before a piece, as far as it lies in iterations of its thread, ns. */
uint64_t advise_host_before(const struct advise *advise, uint32_t piece);

/* The rest of it; `context` is a struct
 * advise. For deps_edits.host_kept. */
uint64_t advise_host_kept(const void *context, uint32_t piece);

/* Adds an edit to all pieces of a call. */
void advise_edit_call(struct advise *advise, const struct advise_call *call, unsigned edits);

/* What launches the activity outside of a graph takes no time. */
void advise_edit_launch(struct advise *advise, uint32_t index);

const char *advise_call_name(const struct advise *advise, const struct advise_call *call);

/* Whether the activity belongs to an iteration that is no outlier. */
static inline bool advise_counts(const struct advise *advise, uint32_t index)
{
    uint32_t of = advise->iterations->of[index];

    return of != DEPS_NONE && advise->regular[of];
}

/* Host code between two launches that is longer is work of its own, which no graph takes away:
 * frameworks take 5 to 30 us an operator (ResNet-50 in PyTorch: 20 us). ns. */
#define ADVISE_MOST_LAUNCH_GAP 100000u

/* Marks the pieces of the calls of every stretch of launches: those behind its first launch, up to
 * its last one, with what lies between. A stretch ends where the iteration ends, a call waits, or
 * host code is longer than the above. `marks` is by piece; `with_graphs`: launches of graphs are
 * part of a stretch. */
void advise_mark_launches(const struct advise *advise, bool with_graphs, uint8_t *marks,
                          uint8_t mark);

/* ---- wait.c ---- */

/* A call that waits for nothing that the host needs, and the next call, which launches. */
typedef void advise_take_wait(struct advise *advise, const struct advise_call *wait,
                              const struct advise_call *next, void *context);
void advise_each_needless(struct advise *advise, advise_take_wait *take, void *context);

/* ---- names.c ---- */

struct advise_tally {
    uint64_t *time;  /* by name, ns; owned */
    uint32_t *count; /* by name; owned */
    uint32_t names;
};

enum mp_status advise_tally_init(struct advise_tally *tally, const struct deps *deps);
void advise_tally_free(struct advise_tally *tally);
void advise_tally_add(struct advise_tally *tally, uint32_t name, uint64_t ns);

/* The names with most time as lines of the finding, time and count an iteration. */
void advise_tally_lines(const struct advise *advise, const struct advise_tally *tally,
                        struct advise_finding *finding);

/* The same, at most so many. */
void advise_tally_most(const struct advise *advise, const struct advise_tally *tally, size_t most,
                       struct advise_finding *finding);

/* ---- layers.c ---- */

/* Finds the layer of each device activity; before there are a replayer and edits, as it needs
 * memory (layers.h, and 8 bytes a device activity) that it gives back but for 4 bytes a device
 * activity. MP_ERR_IO, MP_ERR_MEMORY, with a text in advise->error. */
enum mp_status advise_layers_load(struct advise *advise);
void advise_layers_free(struct advise *advise);

/* The layer of a device activity; LAYER_NONE. */
static inline uint32_t advise_layer_of(const struct advise *advise, uint32_t index)
{
    return advise->layers.of ? advise->layers.of[index - advise->deps->host_count] - 1 : LAYER_NONE;
}

/* Whether it is a kernel, or a graph as a whole: what a layer's time is of. */
bool advise_layer_kernel(const struct advise *advise, uint32_t index);

/* Whether a device activity is work of a reformat or copy layer: a kernel or a copy, but for copies
 * from and to the host, which bring something. */
bool advise_layer_moves(const struct advise *advise, uint32_t index);

/* The layer's path, kept in the advice; NULL if that has no room for more. MP_ERR_MEMORY. */
enum mp_status advise_layer_path(struct advise *advise, uint32_t node, const char **path);

/* ---- Small things, names.c ---- */

/* ns or counts of all iterations that count -> of one. */
double advise_mean(const struct advise *advise, uint64_t sum);

/* Mean of a quantity over the iterations that count. */
double advise_quantity(const struct advise *advise, enum iteration_quantity quantity);

void advise_number(struct advise_finding *finding, const char *key, double value);

__attribute__((format(printf, 2, 3))) void advise_evidence(struct advise_finding *finding,
                                                           const char *format, ...);
__attribute__((format(printf, 3, 4))) void advise_line(struct advise_finding *finding,
                                                       const char *name, const char *format, ...);
__attribute__((format(printf, 3, 4))) void advise_path_line(struct advise_finding *finding,
                                                            const char *path, const char *format,
                                                            ...);

/* `12.345us`, in one of a few static-free buffers of the caller. */
struct advise_text {
    char text[32];
};
struct advise_text advise_time(double ns);
struct advise_text advise_percent(double part, double whole);

/* `once`, `40.1 per iteration`. */
struct advise_text advise_often(double count);

#endif
