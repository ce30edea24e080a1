/* How iterations are found; for the files of this folder only.
 *
 *     iterations.c  which way is taken; capture ranges; the whole trace
 *     candidates.c  the score of each candidate; the best one is kept. What is only a part of an
 *                   iteration, or a library's, does not compete
 *     load.c        how much GPU work was launched when, and the share that candidates cover
 *     nvtx.c        NVTX ranges: which names
 *     graph.c       launches of one CUDA graph
 *     kernels.c     a sequence of kernels that repeats
 *     segments.c    what a thread launches before it waits, and whether it is the same each time
 *     requests.c    segments as iterations
 *     series.c      a period of a sequence, where it stands, and where in it iterations begin
 *     assign.c      what belongs to which
 *     measure.c     times and counts; idle time by cause
 *     sum_up.c      statistics, thread by thread too; headline.c: what is said first
 */
#ifndef MP_REPORTS_ITERATIONS_BUILD_H
#define MP_REPORTS_ITERATIONS_BUILD_H

#include "base/data/algorithms.h"
#include "reports/deps/deps.h"
#include "reports/deps/lookup.h"
#include "reports/iterations/iterations.h"

/* GPU work by the moment at which it was launched, load.c. Work is time of the device, ns: the sum
 * of the durations of kernels, copies, sets and graphs. A thread is independent if it waits for
 * its own work twice or more. What other threads launch is somebody's, such as autograd's. */
struct iterations_load {
    const struct deps *deps;
    uint64_t *sums;       /* by call's piece: the work that the pieces before it launched; owned */
    uint8_t *independent; /* by thread's lane; owned */
    uint64_t total;
    uint32_t only_lane; /* that launched all work; DEPS_NONE: there are several */
    bool has_moments;   /* the next ones are made when they are needed */
    uint32_t *moments;  /* activities, by begin: calls that launch, work without a call; owned */
    uint64_t *all;      /* work before the first n moments; owned */
    uint64_t *helpers;  /* the same of work that no independent thread launched; owned */
    uint32_t moment_count;
};

/* Calls of a thread, and the wait for what they launch. */
struct iterations_wait {
    uint32_t first, last; /* pieces; last is that of the wait, or the thread's last */
    uint64_t end;         /* of the wait; 0: there is none */
};

struct iterations_finder {
    const struct deps *deps;
    struct mp_trace *trace;
    const struct iterations_options *options;
    const struct capture_range *only; /* options->range; NULL: all of the trace */
    struct iterations *result;
    size_t capacity; /* of result->items */
    struct mp_error *error;
    char none[256]; /* why a way found nothing */
    struct iterations_load load;
    size_t thread_first; /* of result->items: the first of the thread and range added to last */
    const struct capture_range *range; /* of the last one that was added */
    bool left_out;                     /* the last one that was added */
    struct iterations_wait awaited;    /* the last answer of iterations_awaited */
    size_t min;                        /* fewer iterations count as none */
    /* The best candidate so far. */
    struct iteration *best;
    size_t best_count;
    size_t best_capacity;
    struct iterations_candidate best_facts; /* its name and domain are owned */
    uint32_t best_period;                   /* KERNELS: see struct iterations */
    uint64_t best_kernels;
    size_t best_unfinished;
    size_t candidate_capacity;
};

/* Appends an iteration; what it cannot be without ends at `own_end`. If that lies after the
 * capture range in which it begins, it is left out and counted. Otherwise it ends with the range at
 * the latest. MP_ERR_MEMORY. */
enum mp_status iterations_add(struct iterations_finder *finder, uint64_t begin, uint64_t own_end,
                              uint64_t host_end, uint32_t thread);

/* Lets the one that was added last last until the next one begins, if that is in the same range. */
void iterations_last_until(struct iterations_finder *finder, uint64_t begin);

/* When the capture range ends that a moment lies in; UINT64_MAX: in none, or it was not ended. */
uint64_t iterations_range_end(const struct iterations_finder *finder, uint64_t time);

/* Where what the thread launches from this call on has been waited for, for an iteration that
 * begins at `begin`. If that wait begins at `limit` or later, or makes the iteration much longer
 * than those before, the end of the call. */
uint64_t iterations_awaited(struct iterations_finder *finder, uint64_t begin, uint32_t call,
                            uint64_t limit);

/* Whether a call waits for work of its thread: it synchronises, polls, or ends the context. */
static inline bool iterations_is_wait(const struct deps_activity *call)
{
    return call->flags & (DEPS_SYNCHRONISES | DEPS_POLLS | DEPS_RESETS);
}

/* The ways: each offers its candidates. If none is offered, finder->none says why. */
enum mp_status iterations_by_nvtx(struct iterations_finder *finder);
enum mp_status iterations_by_graph(struct iterations_finder *finder);
enum mp_status iterations_by_kernels(struct iterations_finder *finder);
enum mp_status iterations_by_syncs(struct iterations_finder *finder);
enum mp_status iterations_by_requests(struct iterations_finder *finder);

/* Puts the ranges of a name into finder->result; `domain` NULL: of any. Without one finder->none
 * says why. */
enum mp_status iterations_nvtx_ranges(struct iterations_finder *finder, const char *name,
                                      const char *domain);

/* ---- Sequences, series.c ---- */

/* How long the thread pauses before the items at a place of the period, in any unit. */
typedef double iterations_pause(const void *context, uint32_t place);

/* Items in order of time, and where a period of them stands. */
struct iterations_series {
    const struct iterations_finder *finder;
    uint32_t *symbols; /* by item, made by the caller; owned */
    uint32_t count;
    uint64_t (*moment_at)(const void *context, uint32_t at);
    bool (*is_alike)(const void *context, uint32_t a, uint32_t b); /* whatever was before them */
    const void *context;     /* for both, and for iterations_pause */
    uint32_t first, end;     /* items of the capture range with most of them */
    struct mp_period period; /* the stretch in these; iterations begin somewhere in it */
    uint32_t *starts;        /* items at which a whole period begins; owned */
    size_t start_count, start_capacity;
};

/* Fills in `first`, `end`, `period`; period.period 0: nothing repeats so often. MP_ERR_MEMORY. */
enum mp_status iterations_find_period(struct iterations_series *series, unsigned repeats);

/* Fills in `starts`. MP_ERR_MEMORY. */
enum mp_status iterations_find_starts(struct iterations_series *series, iterations_pause *pause);

/* The item after the period starts[index], if another period begins there; else UINT32_MAX. */
uint32_t iterations_next_start(const struct iterations_series *series, size_t index);

void iterations_series_free(struct iterations_series *series);

/* ---- Candidates, candidates.c ---- */

/* Scores finder->result->items, which are those of the candidate, and takes them away. The names of
 * `candidate` are copied. MP_ERR_MEMORY. */
enum mp_status iterations_offer(struct iterations_finder *finder,
                                const struct iterations_candidate *candidate);

/* The highest score that a candidate of this way can have. */
double iterations_favour(enum iterations_way way);

/* Whether the thread waits for every second iteration of finder->result, or copies something to the
 * device for it. */
bool iterations_are_paced(const struct iterations_finder *finder, uint32_t lane);

/* Puts the best candidate, if there is one, into finder->result; false if there is none. */
bool iterations_take_best(struct iterations_finder *finder);

void iterations_candidates_free(struct iterations_candidate *candidates, size_t count);

/* ---- Load, load.c ---- */

/* After iterations_note_launches. MP_ERR_MEMORY; iterations_load_free in any case. */
enum mp_status iterations_load_init(struct iterations_finder *finder);
void iterations_load_free(struct iterations_load *load);

/* Fills in the shares of work that windows cover, and how alike they are. Sorts the windows.
 * `everywhere`: the windows are of the process, not of a thread. MP_ERR_MEMORY.
 */
enum mp_status iterations_load_share(struct iterations_load *load, struct iteration *windows,
                                     size_t count, bool everywhere,
                                     struct iterations_candidate *candidate);

/* ---- Segments, segments.c ---- */

/* What a thread launches, up to its waits for it: from the first call that launches work to the
 * end of the last wait before it launches again. Copies back after a wait are still part of it. */
struct iterations_segment {
    uint64_t begin;
    uint64_t end;
    uint32_t symbol; /* alike in segments with the same launching calls */
    uint32_t first;  /* piece that begins it */
    uint32_t last;   /* the wait that ends it */
};

struct iterations_segments {
    const struct deps *deps;
    const uint8_t *launched;
    uint32_t at; /* the next piece */
    uint32_t end;
};

struct iterations_segments iterations_segments_of(const struct deps *deps, const uint8_t *launched,
                                                  uint32_t lane);

/* The next complete segment; false: there is none. */
bool iterations_segments_next(struct iterations_segments *segments,
                              struct iterations_segment *segment);

/* Whether a segment launches what another one launches at last, as it does if recording began in
 * its middle. */
bool iterations_segments_end_alike(const struct iterations_segments *segments,
                                   const struct iterations_segment *cut,
                                   const struct iterations_segment *whole);

/* Whether a thread does the same from wait to wait, and sometimes more:. MP_ERR_MEMORY. */
enum mp_status iterations_segments_alike(const struct iterations_finder *finder, uint32_t lane,
                                         bool *alike);

/* How many segments it has. */
size_t iterations_segments_count(const struct iterations_finder *finder, uint32_t lane);

/* The thread that options->name asks for, DEPS_NONE without one. MP_ERR_ARGUMENT: there is none,
 * and the message lists those that there are. */
enum mp_status iterations_asked_thread(struct iterations_finder *finder, uint32_t *lane);

/* Notes for every call what it launched. MP_ERR_MEMORY. */
enum mp_status iterations_note_launches(const struct deps *deps, struct iterations *result);

/* Assigns every call and activity to one of result->items, which are in order, and fills in what
 * follows from that for the items. MP_ERR_MEMORY. */
enum mp_status iterations_assign(struct iterations_finder *finder);

/* ---- What several of the files need to know ---- */

/* Host lane of the call that launched it; DEPS_NONE: not in the trace. */
static inline uint32_t iterations_thread(const struct deps *deps, const struct deps_activity *work)
{
    return work->launch == DEPS_NONE ? DEPS_NONE : deps->activities[work->launch].lane;
}

/* The end of a call. */
static inline uint64_t iterations_call_end(const struct deps *deps, uint32_t call)
{
    return deps->activities[deps->activities[call].last_of_call].end;
}

/* Where an iteration begins whose first work is this one: at the launching call, or at the copies
 * to the device and sets that are launched right before it. Not before `floor`. */
uint64_t iterations_begin(const struct iterations_finder *finder, const struct deps_activity *work,
                          uint64_t floor);

/* Whether the work is in the capture range that was asked for. */
static inline bool iterations_wanted(const struct iterations_finder *finder,
                                     const struct deps_activity *work)
{
    return !finder->only || range_has_work(finder->only, work->correlation, work->begin);
}

/* The first piece of a lane that may reach beyond `time`: its index, or the lane's end. */
static inline uint32_t iterations_call_at(const struct deps *deps, const struct deps_lane *lane,
                                          uint64_t time)
{
    uint32_t at = deps_first_from(deps, lane, time);

    return at > lane->first ? at - 1 : at;
}

/* For mp_sort: activities of the graph `context` by begin. */
static inline bool iterations_begins_before(const void *context, uint32_t a, uint32_t b)
{
    const struct deps *deps = context;

    return deps->activities[a].begin < deps->activities[b].begin;
}

/* Whether a copy is one of a kind; other activities are none. */
static inline bool iterations_is_copy(const struct deps *deps, const struct deps_activity *work,
                                      unsigned kind)
{
    return work->kind == DEPS_COPY && deps->copies[work->copy].kind == kind;
}

#endif
