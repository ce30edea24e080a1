/* The event graph of a trace: activities, what each had to wait for, and what bound it.
 *
 * docs/dependency-analysis.md defines every term and number; D1 to D8 and section numbers here
 * refer to that page. Activities stand lane by lane: each thread, then each stream, is one stretch
 * of the array, in order of time.
 *
 *     activities   | thread 0: c c c c | thread 1: c c | stream 0: k k k k k | stream 1: k k |
 *     lanes        first, count of each stretch
 *
 * So D1 and the position in a stream need no memory. The other dependencies of an activity are in
 * `stream_pred` (D3) and `cross` (D4, D5, D7; for calls D6, D8): of each kind the one activity that
 * counts. Slack and replay need all of them, so they need fronts of several activities. If
 * deps_options.fronts asks for them, `fronts` holds them.
 *
 *     deps_load            reads, sorts, links         once a trace
 *     deps_window_*        what to look at             capture ranges, NVTX ranges
 *     deps_path            critical path of a window   rows by name and parts
 *     deps_slack           slack of each activity      replay.h: what-if
 */
#ifndef MP_ANALYZE_DEPS_DEPS_H
#define MP_ANALYZE_DEPS_DEPS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/map.h"
#include "base/status.h"
#include "model/trace/definitions.h"
#include "model/trace/quality.h"
#include "model/trace/ranges.h"

#define DEPS_NONE         UINT32_MAX
#define DEPS_TOLERANCE_NS 2000 /* section 2: two clocks */

enum deps_kind {
    DEPS_CALL,
    DEPS_KERNEL,
    DEPS_COPY,
    DEPS_SET,
    DEPS_GRAPH, /* a graph launch as a whole */
    DEPS_KINDS
};

/* What bound an activity; the numbers are those of D1 to D8. */
enum deps_reason {
    DEPS_UNKNOWN,
    DEPS_PROGRAM_ORDER,
    DEPS_LAUNCH,
    DEPS_STREAM_ORDER,
    DEPS_EVENT,
    DEPS_DEFAULT_STREAM,
    DEPS_SYNCHRONISATION,
    DEPS_GRAPH_EDGE,
    DEPS_IN_EFFECT,
    DEPS_REASONS
};

/* What <Other> consists of. */
enum deps_part {
    DEPS_HOST_CODE,
    DEPS_LAUNCH_LATENCY,
    DEPS_STREAM_GAP,
    DEPS_DEPENDENCY_LATENCY,
    DEPS_RETURN,
    DEPS_NO_KNOWN_CAUSE,
    DEPS_PARTS
};

enum deps_flag {
    DEPS_CONTINUED = 1,     /* a call: a further piece of the call at `launch` */
    DEPS_CONTINUES = 2,     /* a call: not its last piece */
    DEPS_NODE = 4,          /* a node of a graph launch */
    DEPS_NOT_ROOT = 8,      /* a node that depends on others of its launch */
    DEPS_POLLS = 16,        /* a query inside a polling loop */
    DEPS_AWAITED = 32,      /* a copy that its own call waits for, if it ends inside the call */
    DEPS_BLOCKS = 64,       /* a call that synchronises by contract or in effect (D8) */
    DEPS_SYNCHRONISES = 128 /* a call whose purpose is to wait (D6) */
};

struct deps_activity {
    uint64_t begin; /* ns of the recorder's clock */
    uint64_t end;
    uint64_t correlation; /* 0: unknown */
    uint32_t lane;
    uint32_t name;        /* in deps->names, from 1 */
    uint32_t launch;      /* device: the launching call's first piece; call: see DEPS_CONTINUED */
    uint32_t stream_pred; /* device: D3, or D7 in its own lane; call: its last piece */
    uint32_t cross; /* device: D4, D5, or D7 in another lane; call: D6, D8: what ends last of all */
    uint32_t front; /* a reference to all of them, if asked for (fronts.h) */
    uint32_t launch_class; /* device: in shortest_launches (D2) */
    uint32_t detail;       /* kernel: its row of `shape`; copy: in deps->copies; else DEPS_NONE */
    uint8_t kind;          /* enum deps_kind */
    uint8_t cross_reason;  /* enum deps_reason */
    uint8_t bound;         /* enum deps_reason */
    uint8_t flags;         /* enum deps_flag */
};

/* What only copies have. */
struct deps_copy {
    uint64_t bytes : 55;   /* or as many as fit */
    uint64_t pageable : 1; /* the memory on the host is */
    uint64_t kind : 8; /* enum mp_copy_kind; MP_copy_kind_unknown for a kind without a name there */
};

struct deps_lane {
    uint64_t id; /* thread: its number in the trace; stream: CUPTI's id */
    uint64_t tid;
    uint64_t context; /* streams: CUPTI's id; threads: 0 */
    uint64_t device;  /* streams: ordinal */
    uint32_t first;   /* activity */
    uint32_t count;
    bool is_thread;
};

/* A stretch of time whose critical path is asked for. */
struct deps_window {
    uint64_t id;    /* capture range's, or the iteration's number from 1; 0: the whole trace */
    uint64_t begin; /* ns */
    uint64_t end;
    uint64_t host_end;                 /* host_end before device work prolonged the window */
    uint32_t thread;                   /* lane of the NVTX range; DEPS_NONE: see section 5 */
    const struct capture_range *range; /* NULL: by time alone */
};

struct deps_windows {
    struct deps_window *items; /* owned */
    size_t count;
    size_t unfinished; /* NVTX ranges that were left out: they have no end in the trace */
};

struct deps_counts {
    uint64_t clamped;
    uint64_t contradicted;
    uint64_t overlapping;
    uint64_t unknown_events;
    uint64_t unlaunched;     /* device activities without a launching call in the trace */
    uint64_t unknown_graphs; /* launches of graphs without edges in the trace */
};

/* A class for each kind: outside graphs, roots of graphs, other nodes. */
#define DEPS_CLASSES (3 * DEPS_KINDS)

struct deps_fronts; /* fronts.h */

struct deps {
    struct deps_activity *activities;
    uint32_t count;
    uint32_t host_count; /* the first ones are pieces of calls */
    struct deps_copy *copies;
    size_t copy_count, copy_capacity;
    struct deps_lane *lanes; /* threads first */
    uint32_t lane_count;
    uint32_t thread_count;
    struct mp_intern names;
    struct mp_map launch_classes; /* class key -> index */
    uint64_t *shortest_launches;  /* ns, by launch class (D2); UINT64_MAX: never seen */
    size_t launch_class_capacity;
    uint64_t
        shortest[DEPS_CLASSES]; /* ns, by deps_class (D3, D4, D5, D7); UINT64_MAX: never seen */
    struct deps_fronts *fronts; /* NULL unless asked for */
    struct deps_counts counts;
    bool no_calls; /* the trace has no API calls */
    bool no_syncs; /* the trace has no rows of `sync` */
    struct capture_ranges ranges;
    struct quality quality;
    struct definitions definitions;
};

struct deps_options {
    enum names_style style;
    bool suffixes; /* API functions with the version suffixes that nvprof keeps: all but _v3020 */
    bool fronts;   /* for deps_slack and deps_replay */
};

/* Reads the trace and builds the graph: O(rows) time, at most 100 bytes of memory an activity
 * (without fronts). MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT (over 2^31 activities); `deps` is then
 * empty. On success deps_free gives it back. */
enum mp_status deps_load(struct mp_trace *trace, const struct deps_options *options,
                         struct deps *deps, struct mp_error *error);

void deps_free(struct deps *deps);

/* Name of an activity; owned by `deps`. */
const char *deps_name(const struct deps *deps, const struct deps_activity *activity);

/* ---- Windows ---- */

/* The capture range with this id, or all of them for 0; the whole trace if it has none.
 * MP_ERR_ARGUMENT: no such range. deps_windows_free gives `windows` back. */
enum mp_status deps_windows_ranges(const struct deps *deps, uint64_t range,
                                   struct deps_windows *windows, struct mp_error *error);

/* The NVTX ranges called `name` (push and pop, start and end), each as a window; of nested ones in
 * a thread only the outermost. `range` 0: in all capture ranges. MP_ERR_ARGUMENT if there is none:
 * the message lists the names that exist. Reads the trace again. */
enum mp_status deps_windows_iterations(const struct deps *deps, struct mp_trace *trace,
                                       const char *name, uint64_t range,
                                       struct deps_windows *windows, struct mp_error *error);

void deps_windows_free(struct deps_windows *windows);

/* Whether an activity belongs to the window. Calls belong by their begin; device work by the
 * capture range in which it was launched, or by its begin. */
bool deps_in_window(const struct deps_window *window, const struct deps_activity *activity);

/* ---- The critical path ---- */

struct deps_row {
    uint64_t critical;       /* ns */
    uint64_t waiting;        /* ns; of calls */
    uint64_t device_waiting; /* ns; of device activities */
    uint64_t calls;
};

struct deps_result {
    struct deps_row *rows; /* by name id; owned; [0] is unused */
    uint32_t row_count;    /* names + 1 */
    uint64_t parts[DEPS_PARTS];
    uint64_t window; /* ns: the sum of all critical times and parts */
};

/* An empty result for this graph. MP_ERR_MEMORY. */
enum mp_status deps_result_init(const struct deps *deps, struct deps_result *result);

void deps_result_clear(struct deps_result *result);
void deps_result_free(struct deps_result *result);

/* Adds a window's path, waiting times and calls to the result. If `critical` is not NULL, it holds
 * deps->count sums in ns, and each activity's time on the path is added to its sum. */
void deps_path(const struct deps *deps, const struct deps_window *window,
               struct deps_result *result, uint64_t *critical);

/* Waiting time of one activity (a call's piece), ns. */
uint64_t deps_waiting(const struct deps *deps, const struct deps_activity *activity);

/* What bound the activity: its index, or DEPS_NONE. A call's previous piece for D1, the launching
 * call for D2. */
uint32_t deps_bound_to(const struct deps *deps, uint32_t index);

/* Slack of each activity of the windows, ns, into slack[deps->count]; the others keep their value.
 * The windows must not overlap. Needs deps_options.fronts. MP_ERR_MEMORY. */
enum mp_status deps_slack(const struct deps *deps, const struct deps_windows *windows,
                          uint64_t *slack);

/* The rest of what this family shows to others. */
#include "analyze/deps/iterations.h"
#include "analyze/deps/lookup.h"

#endif
