/* What the rules of `advise` share; for advise*.c only.
 *
 *     advise.c   the table of rules; thresholds that all of them have; sorting
 *     gain.c     replay, and what it gains an iteration; whose lines a finding is about
 *     calls.c    the calls of a thread in order, stretches of launches
 *     names.c    what has most time, what kernels are, the framework; lines of a finding
 *     layers.c   the layer of each activity
 *     launch.c   launch_bound, host_bound, small_kernels, allocation
 *     copies.c   pageable_copies, synchronous_copies, exposed_copies, constant_copies, page_faults
 *     streams.c  unused_streams, needless_wait
 *     graphs.c   graph_instantiation
 *     pools.c    pool_release; what each call does to memory pools
 *     loading.c  code_loading, blocked_calls
 *     slow.c     slow_layer, reformat_layers, tail
 *     kernels.c  layout_changes, split_k, repeated_casts, unfused_pointwise, low_precision,
 *                small_grids; launch shapes and limits of devices
 *     sampled.c  what was sampled while kernels and copies ran
 */
#ifndef MP_REPORTS_ADVISE_BUILD_H
#define MP_REPORTS_ADVISE_BUILD_H

#include "base/text/units.h"
#include "profile/names/kernel_kinds.h"
#include "profile/names/shapes.h"
#include "reports/advise/advise.h"
#include "reports/counters/counters.h"
#include "reports/deps/deps.h"
#include "reports/layers/layers.h"
#include "reports/replay/replay.h"
#include "reports/stacks/stacks.h"

/* What a call launched. Only the piece that launched it has the bit. */
enum advise_launched {
    ADVISE_LAUNCHED_KERNEL = 1, /* outside graphs */
    ADVISE_LAUNCHED_GRAPH = 2,
    ADVISE_LAUNCHED_HTOD = 4,
    ADVISE_LAUNCHED_DTOH = 8, /* in graphs too */
    ADVISE_LAUNCHED_OTHER = 16,
    ADVISE_LAUNCHED_AWAITED = 32 /* a copy that the call waits for */
};

/* A path of NVTX ranges. Times and counts are those of iterations that count. */
struct advise_layer {
    uint64_t
        time; /* ns, of its own kernels and of graphs recorded as wholes, not of ranges inside it */
    uint64_t moved;   /* ns, of work for which advise_layer_moves answers true */
    uint32_t kernels; /* likewise */
    uint32_t row;     /* in result.layers; LAYER_NONE: it has none */
    bool is_range;    /* not the range of an iteration */
    bool moves;       /* by name or type a reformat or copy layer, or inside such a layer */
};

/* All zero: the trace has no layers, or more than MAX_PATHS. */
struct advise_layers {
    struct layers_result result;
    uint32_t *of; /* by device activity, from host_count: index of `nodes`, plus 1; 0: not known;
                     owned */
    struct advise_layer *nodes; /* by node of the tree; owned */
    size_t count, capacity;
    uint64_t time; /* ns, of all device work of iterations that count */
    bool any;      /* some of their work is in a range that is not an iteration's */
};

/* What a call does, by its name. */
enum advise_call_kind {
    ADVISE_CALL_OTHER,
    ADVISE_CALL_ALLOCATES,    /* or frees */
    ADVISE_CALL_MAPS,         /* virtual memory: makes, maps or unmaps it */
    ADVISE_CALL_COPIES,       /* and waits for the copy */
    ADVISE_CALL_LAUNCHES,     /* a kernel or host function */
    ADVISE_CALL_CAPTURES,     /* begins to capture */
    ADVISE_CALL_INSTANTIATES, /* a graph */
    ADVISE_CALL_UPDATES,      /* an executable graph */
    ADVISE_CALL_DESTROYS,     /* a graph */
    ADVISE_CALL_LOADS         /* links, loads or unloads code */
};

/* What the activities of a name are. */
struct advise_kind {
    uint8_t kind;      /* enum kernel_kind */
    uint8_t precision; /* enum kernel_precision */
    uint8_t framework; /* enum kernel_framework */
    uint8_t call;      /* enum advise_call_kind */
    bool communicates;
    bool known; /* a kernel has the name */
};

/* What was sampled (sampled.c). */
struct advise_sampled {
    bool any;
    struct counters_result result;
    struct counters_brief *briefs; /* by name; owned */
    bool *known;                   /* by name: it has its brief; owned */
    double *factors;               /* by name, while a rule is judged; owned */
};

/* What knows the lines of activities (gain.c). All zero: the trace has no stacks. */
struct advise_callers {
    uint32_t *first; /* by frame: the first one of its line; owned */
    struct host_samples samples;
    struct stacks_makers makers;
};

struct advise_call;

/* What a call, as a launch that needs it first, spends on loading code; times in ns. */
struct advise_load {
    uint32_t call;      /* its first piece */
    uint64_t time;      /* of all; not more than the call's own */
    uint64_t compiling; /* PTX */
};

struct advise {
    struct advice *advice;
    const struct deps *deps;
    const struct iterations *iterations;
    const struct iteration_measures *measures;
    const struct iterations_summary *summary;
    struct mp_error *error;
    uint64_t step;  /* P50, as recorded */
    uint64_t basis; /* P50 of the run that gains are of */
    uint64_t mean;  /* step of that run */
    size_t judged;
    bool has_work;    /* an iteration has device work */
    uint8_t *regular; /* by iteration: it counts (advice.judged); owned */
    uint8_t *steady;  /* the same, with outliers but for warm-up; owned */
    size_t steady_count;
    uint8_t *launched; /* by piece: enum advise_launched; owned */
    uint8_t *edits;    /* by activity: enum deps_edit, all 0 when a rule begins; owned */
    double factor;     /* of DEPS_EDIT_SCALED */
    double (*factor_of)(const void *context, uint32_t activity); /* NULL: `factor` for all */
    uint64_t *before; /* by iteration: its step in the run that gains are of, ns; owned */
    uint64_t *after;  /* the same in the last replay; owned */
    struct deps_replayer replayer;
    bool solved;               /* it has a run */
    struct advise_kind *kinds; /* by name; owned */
    uint32_t any_kind;         /* bit i: a kernel is of enum kernel_kind i */
    uint32_t any_call;         /* bit i: a call is of enum advise_call_kind i */
    uint8_t *pools;            /* by piece: enum advise_pool; NULL: no rows of pools; owned */
    struct advise_load *loads; /* by call; owned */
    size_t load_count;
    struct deps_less gone; /* while a rule is judged that shortens calls; all NULL otherwise */
    enum kernel_framework framework;
    bool has_occupancy; /* of a kernel in an iteration */
    struct advise_layers layers;
    struct advise_sampled sampled;
    struct advise_callers callers;
};

typedef enum mp_status advise_judge(struct advise *advise, struct advise_finding *finding);

advise_judge advise_launch_bound, advise_pageable_copies, advise_synchronous_copies,
    advise_needless_wait, advise_exposed_copies, advise_small_kernels, advise_allocation,
    advise_host_bound, advise_slow_layer, advise_unused_streams, advise_tail, advise_page_faults,
    advise_reformat_layers, advise_layout_changes, advise_unfused_pointwise, advise_low_precision,
    advise_split_k, advise_repeated_casts, advise_small_grids, advise_constant_copies,
    advise_memory_bound, advise_idle_tensor_cores, advise_few_sms, advise_full_pcie,
    advise_low_clocks, advise_nccl_waiting, advise_graph_instantiation, advise_pool_release,
    advise_code_loading, advise_blocked_calls;

/* ---- gain.c ---- */

/* Sets up the replay and the steps without a change. Gains are of the run without what recording
 * costs, if that is known. MP_ERR_MEMORY; advise_gain_free in any case. */
enum mp_status advise_gain_init(struct advise *advise);
void advise_gain_free(struct advise *advise);

/* By how much advise->edits make a step shorter, in ns: the mean over the iterations that are no
 * outliers, or 0 if the step gets longer. MP_ERR_MEMORY. */
enum mp_status advise_replay(struct advise *advise, uint64_t *gain);

/* The same over the iterations that are `steady`, as a usual step's (below): for what makes
 * outliers. */
enum mp_status advise_replay_steady(struct advise *advise, uint64_t *gain);

/* What such a mean is of a usual step. If steps differ so much that the gain is more than their
 * P50, its share of the mean step counts. Never more than the step. */
uint64_t advise_usual_gain(const struct advise *advise, uint64_t gain);

/* ns of the call's own time go, and with them what the work that it launched waited for: of a call
 * that did something else before it launched. Between advise_gone_init, MP_ERR_MEMORY, and
 * advise_gone_free, in any case. */
enum mp_status advise_gone_init(struct advise *advise);
void advise_gone_free(struct advise *advise);
void advise_shorten(struct advise *advise, const struct advise_call *call, uint64_t ns);

/* ---- calls.c ---- */

/* A call that is inside no other call, together with all calls inside it. */
struct advise_call {
    uint32_t first; /* pieces */
    uint32_t last;
    uint32_t iteration; /* DEPS_NONE: none */
    uint32_t launched;  /* enum advise_launched, of all pieces */
    bool waits;         /* it synchronises, or waits for its copy */
    uint64_t gap;       /* ns of host code before it, as far as it lies in its iteration */
};

enum mp_status advise_note_launches(struct advise *advise);

/* Delivers the call at *at of a thread and moves *at to the next call; false at the lane's end. */
bool advise_next_call(const struct advise *advise, const struct deps_lane *lane, uint32_t *at,
                      struct advise_call *call);

/* The call's time, ns, with that of the calls inside it. */
uint64_t advise_call_time(const struct advise *advise, const struct advise_call *call);

/* The call's time that is not spent waiting for work, ns. */
uint64_t advise_own_time(const struct advise *advise, const struct advise_call *call);

/* The iteration whose step a piece belongs to: its own, or if it has none and iterations are no
 * requests, the next one. DEPS_NONE. */
uint32_t advise_step_of(const struct advise *advise, uint32_t piece);

/* Host code of one iteration, ns. */
struct advise_span {
    uint64_t begin, end;
};

/* Host code right before a piece, as far as it lies in iterations of its thread: how many there
 * are. */
size_t advise_host_spans(const struct advise *advise, uint32_t piece, struct advise_span spans[2]);

/* The same together, ns. */
uint64_t advise_host_before(const struct advise *advise, uint32_t piece);

/* The part of the host code before a piece that lies outside iterations; `context` is a struct
 * advise. For deps_edits.host_kept. */
uint64_t advise_host_kept(const void *context, uint32_t piece);

/* Adds an edit to all pieces of a call. */
void advise_edit_call(struct advise *advise, const struct advise_call *call, unsigned edits);

/* Marks that launching this activity takes no time, if it is launched outside a graph. */
void advise_edit_launch(struct advise *advise, uint32_t index);

/* The same, with the host code before the launch, up to ADVISE_MAX_LAUNCH_GAP: an operator of its
 * own has launched it. */
void advise_edit_operator(struct advise *advise, uint32_t index);

/* Marks that work of the device is gone, together with the call that launches it outside graphs. */
void advise_edit_gone(struct advise *advise, uint32_t index);

const char *advise_call_name(const struct advise *advise, const struct advise_call *call);

/* Whether the activity belongs to an iteration that is no outlier. */
static inline bool advise_counts(const struct advise *advise, uint32_t index)
{
    uint32_t of = advise->iterations->of[index];

    return of != DEPS_NONE && advise->regular[of];
}

/* The same of the host code before a piece, which two iterations may share. */
static inline bool advise_counts_host(const struct advise *advise, uint32_t piece)
{
    const struct deps *deps = advise->deps;

    return advise_counts(advise, piece) ||
           (piece > deps->lanes[deps->activities[piece].lane].first &&
            advise_counts(advise, piece - 1));
}

/* ns. Longer host code between two launches is work of its own, which a graph would not remove:
 * frameworks take 5 to 30 us an operator (ResNet-50 in PyTorch: 20 us). */
#define ADVISE_MAX_LAUNCH_GAP 100000u

/* Marks the pieces of the calls of every stretch of launches: those after its first launch, up to
 * its last one, with what lies between. A stretch ends where the iteration ends, where a call
 * waits, or where host code is longer than ADVISE_MAX_LAUNCH_GAP. `marks` is by piece. With
 * `with_graphs`, launches of graphs are part of a stretch. */
void advise_mark_launches(const struct advise *advise, bool with_graphs, uint8_t *marks,
                          uint8_t mark);

/* ---- pools.c ---- */

/* What a call does to a pool; bits. */
enum advise_pool {
    ADVISE_POOL_RELEASES = 1, /* a wait gives back what the pool does not use */
    ADVISE_POOL_GROWS = 2,    /* an allocation makes the pool larger than it was */
    ADVISE_POOL_REGROWS = 4   /* one makes it as large as it was before it gave something back */
};

/* Finds advise->pools. MP_ERR_IO, MP_ERR_MEMORY, with a text in advise->error. */
enum mp_status advise_pools_load(struct advise *advise);

/* ---- loading.c ---- */

/* Finds advise->loads. MP_ERR_IO, MP_ERR_MEMORY, with a text in advise->error. */
enum mp_status advise_loads_load(struct advise *advise);

/* ---- streams.c ---- */

/* Receives a call that waits although the host needs nothing from the wait, and the next call,
 * which launches. */
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

/* Calls that a rule is about, in the steps that count. */
struct advise_calls {
    struct advise_tally tally;
    uint64_t count;
    uint64_t time; /* ns */
};

/* MP_ERR_MEMORY; advise_tally_free of its tally in any case. */
enum mp_status advise_calls_init(struct advise_calls *calls, const struct deps *deps);
void advise_calls_add(const struct advise *advise, struct advise_calls *calls,
                      const struct advise_call *call, uint64_t ns);

/* Appends the names with most time as lines of the finding, with time and count an iteration. */
void advise_tally_lines(const struct advise *advise, const struct advise_tally *tally,
                        struct advise_finding *finding);

/* The same, but at most this many lines. */
void advise_tally_max(const struct advise *advise, const struct advise_tally *tally, size_t max,
                      struct advise_finding *finding);

/* The same for a tally over the steps that are `steady`. */
void advise_tally_steady(const struct advise *advise, const struct advise_tally *tally, size_t max,
                         struct advise_finding *finding);

/* ---- Kinds, names.c ---- */

enum mp_status advise_kinds_load(struct advise *advise);

/* Whether a call of the trace is of that kind: if not, no rule needs to look for it. */
static inline bool advise_has_call(const struct advise *advise, enum advise_call_kind kind)
{
    return advise->any_call >> kind & 1;
}

/* What the call does. */
static inline enum advise_call_kind advise_kind_of_call(const struct advise *advise,
                                                        const struct advise_call *call)
{
    return (enum advise_call_kind)advise->kinds[advise->deps->activities[call->first].name].call;
}

/* Whether a kernel is of that kind: if not, no rule needs to look for it. */
static inline bool advise_has_kind(const struct advise *advise, enum kernel_kind kind)
{
    return advise->any_kind >> kind & 1;
}

/* Whether the activity is a kernel of that kind in an iteration. */
bool advise_is_kind(const struct advise *advise, uint32_t index, enum kernel_kind kind);

/* Kernels or copies that a rule is about, in iterations that count. */
struct advise_picked {
    struct advise_tally tally;
    uint64_t count;
    uint64_t time; /* ns */
};

/* MP_ERR_MEMORY; advise_tally_free of its tally in any case. */
enum mp_status advise_picked_init(struct advise_picked *picked, const struct deps *deps);
void advise_picked_add(const struct advise *advise, struct advise_picked *picked, uint32_t index);

/* Their share of the time of all kernels. */
double advise_picked_percent(const struct advise *advise, const struct advise_picked *picked);

/* Appends the numbers kernels, kernels_ns and kernel_percent, and a line for each name. */
void advise_picked_tell(const struct advise *advise, const struct advise_picked *picked,
                        struct advise_finding *finding);

/* ---- The framework, names.c ---- */

/* Needs kinds and layers. */
void advise_find_framework(struct advise *advise);

/* What to do in the framework's words; NULL: there are none for this rule. Static. */
const char *advise_in_words_of(enum kernel_framework framework, enum advise_rule_id rule);

/* ---- Callers, gain.c ---- */

/* Needs the advice's stacks. MP_ERR_IO, MP_ERR_MEMORY, with a text in advise->error;
 * advise_callers_free in any case. */
enum mp_status advise_callers_load(struct advise *advise);
void advise_callers_free(struct advise *advise);

/* The callers of what the rule's last replay changed. MP_ERR_MEMORY. */
enum mp_status advise_find_callers(struct advise *advise, struct advise_finding *finding);

/* ---- Grids, kernels.c ---- */

/* Whether occupancy is known of a kernel in an iteration: of its shape, on its device. */
bool advise_has_occupancy(const struct advise *advise);

/* Whether it ran in a green context, which has some of the GPU's SMs. */
static inline bool advise_is_green(const struct advise *advise, const struct deps_activity *work)
{
    const struct deps *deps = advise->deps;

    return contexts_parent(&deps->profile->definitions.contexts, deps->lanes[work->lane].context);
}

/* ---- sampled.c ---- */

/* Works out what was sampled, if anything was. MP_ERR_IO, MP_ERR_MEMORY, with a text in
 * advise->error; advise_sampled_free in any case. Needs kinds. */
enum mp_status advise_sampled_load(struct advise *advise);
void advise_sampled_free(struct advise *advise);

/* The share of device memory's throughput, of the tensor pipes or of the issue slots that kernels
 * like this one use by the samples, the greatest of them; 0: not known. So much of its time remains
 * however much work there is at once. */
double advise_used(const struct advise *advise, const struct deps_activity *work);

/* Whether samples tell that device memory is at its limit: no kernel of the same bytes is faster.
 */
bool advise_fills_memory(const struct advise *advise, const struct deps_activity *work);

/* ---- layers.c ---- */

/* Finds the layer of each device activity. Call it before the replayer and the edits exist, because
 * it needs much memory (layers.h, and 8 bytes a device activity). Of this it keeps 4 bytes a device
 * activity. MP_ERR_IO, MP_ERR_MEMORY, with a text in advise->error. */
enum mp_status advise_layers_load(struct advise *advise);
void advise_layers_free(struct advise *advise);

/* The layer of a device activity; LAYER_NONE. */
static inline uint32_t advise_layer_of(const struct advise *advise, uint32_t index)
{
    return advise->layers.of ? advise->layers.of[index - advise->deps->host_count] - 1 : LAYER_NONE;
}

/* Whether the activity is a kernel or a graph recorded as a whole: these make up a layer's time. */
bool advise_layer_kernel(const struct advise *advise, uint32_t index);

/* Whether a device activity is work of a reformat or copy layer: a kernel, or a copy other than
 * from or to the host. */
bool advise_layer_moves(const struct advise *advise, uint32_t index);

/* The layer's path, kept in the advice; NULL if the advice has no room for another path.
 * MP_ERR_MEMORY. */
enum mp_status advise_layer_path(struct advise *advise, uint32_t node, const char **path);

/* ---- Small things, names.c ---- */

/* From ns or counts of all iterations that count to the mean of one. */
double advise_mean(const struct advise *advise, uint64_t sum);

/* Mean of a quantity over the iterations that count. */
double advise_quantity(const struct advise *advise, enum iteration_quantity quantity);

__attribute__((format(printf, 3, 4))) void advise_path_line(struct advise_finding *finding,
                                                            const char *path, const char *format,
                                                            ...);

/* `12.35us`; `12.3 %`. */
struct mp_shown advise_time(double ns);
struct mp_shown advise_percent(double part, double whole);

/* Whether the mean reads `1`: what it counts has no plural. */
bool advise_is_one(double mean);

/* `once`, `40.1 per iteration`. */
struct mp_shown advise_often(double count);

#endif
