/* The event graph of a trace: activities, what each had to wait for, and what bound it.
 *
 * docs/dependency-analysis.md defines every term, rule and number; numbers in parentheses, such as
 * (D3), and sections refer to that page. Activities stand lane by lane: each thread, then each
 * stream, is one stretch of the array, in order of time.
 *
 *     activities   | thread 0: c c c c | thread 1: c c | stream 0: k k k k k | stream 1: k k |
 *     lanes        first, count of each stretch
 *
 * So program order and the position in a stream need no memory. Of every other kind of dependency
 * an activity holds the one predecessor that counts. Slack and replay need all predecessors, so
 * they need fronts of several activities. If deps_options.fronts asks for them, `fronts` holds
 * them.
 *
 *     deps_load            reads, sorts, links         once a trace
 *     deps_window_*        what to look at             capture ranges, NVTX ranges
 *     deps_path            critical path of a window   rows by name and parts
 *     deps_slack           slack of each activity      replay.h: what-if
 */
#ifndef MP_REPORTS_DEPS_DEPS_H
#define MP_REPORTS_DEPS_DEPS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/activity.h"
#include "profile/common/statistics.h"
#include "profile/profile.h"

#define DEPS_NONE         UINT32_MAX
#define DEPS_TOLERANCE_NS 2000 /* section 2: two clocks */

enum deps_kind {
    DEPS_CALL,
    DEPS_KERNEL,
    DEPS_COPY,
    DEPS_SET,
    DEPS_GRAPH,         /* a graph launch as a whole */
    DEPS_HOST_FUNCTION, /* called by a stream or a graph */
    DEPS_WAIT,          /* a thread waits outside of CUDA */
    DEPS_TRANSFER,      /* of a job: a kernel of NCCL, once all that it needs have come */
    DEPS_KINDS
};

/* The rules by which an activity has to wait. The page's number of a rule is its value. */
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
    DEPS_WOKEN,
    DEPS_PEER,
    DEPS_BY_TIME,
    DEPS_REASONS
};

/* Time on the path that belongs to no activity: what nvprof's <Other> consists of, and what
 * recording costs, which is not in it. The first DEPS_HOST_PARTS are host code of a thread. */
enum deps_part {
    DEPS_HOST_CODE,     /* as far as it is not divided, */
    DEPS_COMPUTING,     /* or on a processor, */
    DEPS_NOT_SCHEDULED, /* ready, but without a processor, */
    DEPS_BLOCKED,       /* or blocked in the kernel */
    DEPS_HOST_PARTS,
    DEPS_LAUNCH_LATENCY = DEPS_HOST_PARTS,
    DEPS_STREAM_GAP,
    DEPS_DEPENDENCY_LATENCY,
    DEPS_RETURN,
    DEPS_NO_KNOWN_CAUSE,
    DEPS_RECORDING, /* the last one: at the end of each piece, what deps->recording has of it */
    DEPS_PARTS,
    DEPS_OTHER,  /* all parts but DEPS_RECORDING together */
    DEPS_NO_PART /* an activity's own time */
};

enum deps_flag {
    /* of pieces of calls and waits */
    DEPS_CONTINUED = 1 << 0,    /* not the first piece */
    DEPS_CONTINUES = 1 << 1,    /* not the last piece */
    DEPS_SYNCHRONISES = 1 << 2, /* a call whose purpose is to wait */
    DEPS_BLOCKS = 1 << 3,       /* a call that synchronises by contract or in effect */
    DEPS_RESETS = 1 << 4,       /* a call that ends a context */
    DEPS_POLLS = 1 << 5,        /* a query inside a polling loop */
    DEPS_STACKED = 1 << 6,      /* a call whose stack was taken */
    DEPS_SLEEPS = 1 << 7,       /* a wait for nobody */
    DEPS_ASKS = 1 << 12,        /* a query, or a loop of them */
    DEPS_LOCKS = 1 << 13,       /* a wait for a lock */
    /* of work */
    DEPS_NODE = 1 << 8,     /* a node of a graph launch */
    DEPS_NOT_ROOT = 1 << 9, /* a node that depends on others of its launch */
    DEPS_LATE = 1 << 14,    /* it begins long after all that it is known to wait for (D11) */
    DEPS_AWAITED = 1 << 10, /* a copy that its own call waits for, if it ends inside the call */
    DEPS_ARRIVES = 1 << 11  /* of a job: a kernel of NCCL until it runs (DEPS_TRANSFER); its time is
                               that of waiting for peers */
};

/* An activity `i`. If its lane is a thread it is a call or wait, or one piece of it; else it is
 * work: of the device, or a host function that a stream calls.
 *
 *     i < host_count     <=>  lane is a thread  <=>  kind is DEPS_CALL or DEPS_WAIT
 *     begin              <=   end
 *
 *   a piece:
 *     first_of_call        <=   i <= last_of_call; all three are pieces of the same call
 *     first_of_call < i    <=>  DEPS_CONTINUED
 *     i < last_of_call     <=>  DEPS_CONTINUES
 *     awaited            is   work whose end lets the call return; only a last piece has it
 *     front              :=   all work that the call waits for; `awaited` ends last
 *
 *   work:
 *     launch             is   the first piece of the call with this correlation id
 *     has_launch         :=   launch is known and not DEPS_NOT_ROOT
 *     launch_class       is   valid if has_launch
 *     end(own_lane)      <=   begin; that of a node is in its lane, but stream order may lead
 *                             through a graph launch whose nodes ran in other lanes
 *     begin(overlapped)  <=   begin < end(overlapped); a kernel that began by programmatic launch
 *     last_awaited       :=   overlapped if known, else the later of own_lane and other_lane
 *     front              :=   all predecessors but own_lane and overlapped; of a node, all
 *
 *   bound (deps_bind; section 3), of a piece:
 *     DEPS_WOKEN          <=>  the last piece of a wait whose waker is known
 *     reason              if   end(awaited) > begin
 *     DEPS_PROGRAM_ORDER  otherwise
 *   of work:
 *     DEPS_UNKNOWN        <=>  neither has_launch nor last_awaited
 *     DEPS_LAUNCH         if   has_launch, nothing overlapped, and the launch arrives last
 *     DEPS_GRAPH_EDGE     else if DEPS_NOT_ROOT
 *     DEPS_STREAM_ORDER   else if last_awaited is own_lane or overlapped
 *     reason              otherwise
 *
 * Indexes are DEPS_NONE where there is nothing. */
struct deps_activity {
    uint64_t begin; /* ns of the recorder's clock */
    uint64_t end;
    uint64_t correlation; /* 0: unknown */
    uint32_t lane;
    uint32_t name; /* in deps->names, from 1 */
    union {
        struct {                    /* a piece */
            uint32_t first_of_call; /* of its call or wait */
            uint32_t last_of_call;
            uint32_t awaited; /* what ends last of all that the call waits for */
        };
        struct {                 /* work */
            uint32_t launch;     /* first piece of the launching call */
            uint32_t own_lane;   /* predecessor by stream order, or by a graph edge of its lane */
            uint32_t other_lane; /* predecessor by `reason`, which ends last of these */
            uint32_t overlapped; /* predecessor in order that still ran when this began */
            union {
                uint32_t launch_class; /* in deps->launch_latencies */
                uint32_t node;         /* its row of `node`, until deps_link */
            };
        };
    };
    uint32_t front; /* a reference to all of them, if asked for (fronts.h) */
    union {
        uint32_t shape;  /* kernel: its row of `shape`; in a job a number of its grid and blocks */
        uint32_t copy;   /* copy: in deps->copies */
        uint32_t wait;   /* wait: in deps->waits */
        uint32_t runner; /* host function: lane of the thread that ran it */
    };
    uint16_t flags;     /* enum deps_flag */
    uint8_t kind;       /* enum deps_kind */
    uint8_t reason : 4; /* enum deps_reason: the rule of `awaited` or `other_lane` */
    uint8_t bound : 4;  /* enum deps_reason: the rule that arrived last */
};

/* A trace has millions of them: one is one cache line. */
_Static_assert(sizeof(struct deps_activity) == 64, "an activity has 64 bytes");
_Static_assert(DEPS_REASONS <= 16, "a reason has 4 bits");

/* What only copies have. */
struct deps_copy {
    uint64_t bytes : 43;   /* or as many as fit */
    uint64_t count : 16;   /* copies of a batch, or as many as fit; else 1 */
    uint64_t pageable : 1; /* the memory on the host is */
    uint64_t kind : 4; /* enum mp_copy_kind; MP_copy_kind_unknown for a kind without a name there */
};

/* What only waits have. */
struct deps_wait {
    uint64_t woken;         /* ns */
    uint32_t waker;         /* lane; DEPS_NONE: not known */
    uint32_t piece;         /* the last piece of that lane that began before; DEPS_NONE */
    uint32_t host_function; /* activity that the waker ran then; DEPS_NONE */
};

/* A stretch of a thread whose host code is divided (section 5); times in ns. */
struct deps_stretch {
    uint64_t begin;
    uint64_t end;
    uint64_t host; /* host code in it; of that */
    uint64_t ready;
    uint64_t blocked;
    uint32_t lane;
};

struct deps_lane {
    uint64_t id; /* thread: its number in the trace; stream: CUPTI's id */
    uint64_t tid;
    uint64_t context; /* streams: CUPTI's id; threads: 0 */
    uint64_t device;  /* streams: ordinal */
    uint32_t first;   /* activity */
    uint32_t count;
    uint32_t process; /* of a job (reports/job); else 0 */
    uint32_t group;   /* of threads: the first one of the same name, in a job of the same rank */
    bool is_thread;
    bool takes_part; /* a thread that launches work or waits for it: it does not only ask */
    bool watches;    /* one that only asks, and that nobody waits for but for its locks */
};

/* A stretch of time whose critical path is asked for. */
struct deps_window {
    uint64_t id;    /* capture range's, or the iteration's number from 1; 0: the whole trace */
    uint64_t begin; /* ns */
    uint64_t end;
    uint64_t host_end;                 /* host_end before device work prolonged the window */
    uint64_t from, until;              /* begin and end as recorded: decide what belongs to it */
    bool fixed_begin;                  /* replays do not move the begin */
    uint32_t thread;                   /* lane of the NVTX range; DEPS_NONE: see section 5 */
    const struct capture_range *range; /* NULL: by time alone */
};

struct deps_windows {
    struct deps_window *items; /* owned */
    size_t count;
    uint32_t *of;      /* iterations: by device activity, the id less 1 of the window that does not
                          end before it; DEPS_NONE. NULL: windows end with the host. Owned */
    size_t unfinished; /* NVTX ranges that were left out: no begin or end in the trace */
};

/* What was seen of one kind of step (section 3); times in ns. */
struct deps_latency {
    uint64_t shortest; /* UINT64_MAX: never seen */
    uint64_t p50;
    uint64_t p90;
    uint32_t examples;
    uint32_t call;  /* launches: name of the call, in deps->names; else 0 */
    uint32_t work;  /* launches: name of the copy or graph, in deps->names; else 0 */
    uint64_t graph; /* launches of nodes: CUPTI's id of the graph */
    uint8_t kind;   /* enum deps_kind */
    uint8_t place;  /* 0 outside graphs, 1 a root, 2 another node of a graph */
};

/* A class with fewer examples is not known well: its shortest latency is the least one. */
#define DEPS_ENOUGH_EXAMPLES 20

struct deps_counts {
    uint64_t dependencies; /* that were looked at, with those that were left out */
    uint64_t clamped;
    uint64_t contradicted;
    uint64_t overlapping;
    uint64_t unknown_events;
    uint64_t unknown_values; /* waits of streams for values that no stream is known to write */
    uint64_t undecided; /* device activities that their launch or their stream may have bound */
    uint64_t unknown_wakers; /* waits whose thread or waker is not known, or both are the same */
    uint64_t wrong_wakers;   /* waits whose waker cannot have woken them then */
    uint64_t unlaunched;     /* device activities without a launching call in the trace */
    uint64_t unknown_graphs; /* launches of graphs without edges in the trace */
};

/* A class for each kind: outside graphs, roots of graphs, other nodes. */
#define DEPS_CLASSES ((size_t)3 * DEPS_KINDS)

struct deps_fronts; /* fronts.h */

/* How much shorter something is, ns, by activity: what recording costs there, or what else a replay
 * takes away. Of a piece `before` is host code before it, and `within` its own time or, if it
 * waits, its return. Of work `before` is the lag of its launch, `within` the lag of its
 * predecessors, and `own` its time. Nothing gets shorter than 0. */
struct deps_less {
    uint32_t *before; /* all owned; NULL: not known */
    uint32_t *within;
    uint32_t *own; /* of pieces unused */
};

struct deps {
    enum names_style style; /* of names of kernels */
    struct deps_activity *activities;
    uint32_t count;
    uint32_t host_count; /* the first ones are pieces of calls */
    struct deps_copy *copies;
    size_t copy_count, copy_capacity;
    struct deps_wait *waits;
    size_t wait_count, wait_capacity;
    struct deps_stretch *stretches; /* by lane and begin; they do not overlap */
    size_t stretch_count, stretch_capacity;
    struct deps_lane *lanes; /* threads first */
    uint32_t lane_count;
    uint32_t thread_count;
    struct mp_intern names;
    struct mp_map launch_classes;          /* class key -> index */
    struct deps_latency *launch_latencies; /* by launch class */
    size_t launch_class_capacity;
    struct deps_latency latencies[DEPS_CLASSES]; /* by deps_class, of all other rules */
    struct deps_fronts *fronts;                  /* NULL unless asked for */
    struct deps_less recording; /* what recording costs (recording_cost.h); `before` is NULL where
                                   that is not known */
    const char *why_not_recording; /* static: why that is not known; NULL: it is, or nobody asked */
    uint64_t *recorded; /* by activity: its begin before deps_retime; NULL: as it is; owned */
    uint32_t *ranks;    /* of a job, by process: their ranks; NULL: one process; owned. Names begin
                           with "rank1:" then */
    uint32_t process_count; /* 0 if `ranks` is NULL */
    uint64_t *peers; /* by device activity, from host_count on: ns from its begin in which it waited
                        for its peers; NULL: that is not known; owned */
    struct deps_counts counts;
    bool no_calls;           /* the trace has no API calls */
    bool no_syncs;           /* the trace has no rows of `sync` */
    struct profile *profile; /* of the trace; owned */
    struct quality quality;  /* the profile's, whose arrays it shares, and rows left out */
};

struct deps_options {
    enum names_style style;
    bool suffixes; /* API functions with the version suffixes that nvprof keeps: all but _v3020 */
    bool fronts;   /* for deps_slack and deps_replay */
    bool check;    /* the checksum of every chunk (profile.h) */
    const struct peer_waits *peers; /* of this trace; NULL: not known */
};

/* Reads the trace and builds the graph: O(rows) time, at most 100 bytes of memory an activity
 * (without fronts), and 64 more while calls are linked if streams wait for values in memory.
 * MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT (over 2^31 activities); `deps` is then empty. On success
 * deps_free gives it back. */
enum mp_status deps_load(struct mp_trace *trace, const struct deps_options *options,
                         struct deps *deps, struct mp_error *error);

void deps_free(struct deps *deps);

/* Nothing for each of `count` activities. MP_ERR_MEMORY; deps_less_free in any case. */
enum mp_status deps_less_new(size_t count, struct deps_less *less);
void deps_less_free(struct deps_less *less);

/* Name of an activity; owned by `deps`. */
const char *deps_name(const struct deps *deps, const struct deps_activity *activity);

/* ---- Windows ---- */

/* The capture range with this id, or all of them for 0; the whole trace if it has none.
 * MP_ERR_ARGUMENT: no such range. deps_windows_free gives `windows` back. */
enum mp_status deps_windows_ranges(const struct deps *deps, uint64_t range,
                                   struct deps_windows *windows, struct mp_error *error);

/* ---- Threads ---- */

/* The lane of a thread, by the system's id or by its name; DEPS_NONE if there is none, or several
 * have the name. */
uint32_t deps_find_thread(const struct deps *deps, const char *asked);

/* "; there are: 4001, 4002 'loader', ..." for a message. Returns `text`. */
#define DEPS_THREADS_BYTES 512
const char *deps_list_threads(const struct deps *deps, char text[DEPS_THREADS_BYTES]);

/* "'loader'", or "thread 4012" if it has no name. Not of a job. */
#define DEPS_THREAD_BYTES 48
void deps_name_thread(const struct deps *deps, uint32_t lane, char text[DEPS_THREAD_BYTES]);

/* Those that only watch, likewise ("1075 'pt_nccl_watchdg'"); how many there are. */
uint32_t deps_list_watchers(const struct deps *deps, char text[DEPS_THREADS_BYTES]);

/* Why deps_find_thread found none, with that list. Returns `text`. */
#define DEPS_REFUSAL_BYTES (DEPS_THREADS_BYTES + 128)
const char *deps_refuse_thread(const struct deps *deps, const char *asked,
                               char text[DEPS_REFUSAL_BYTES]);

/* Makes each window one of this thread: it ends with the thread's last call or wait that began in
 * it, and device work that runs on does not prolong it. Windows in which the thread has neither,
 * and NVTX ranges of other threads, are left out. `thread` is the system's id or a name.
 * MP_ERR_ARGUMENT if no window is left: the message lists the threads; `windows` is then empty. */
enum mp_status deps_windows_of_thread(const struct deps *deps, const char *thread,
                                      struct deps_windows *windows, struct mp_error *error);

void deps_windows_free(struct deps_windows *windows);

/* Whether an activity belongs to the window. Calls belong by their begin; device work by the
 * capture range in which it was launched, or by its begin. It is the begin as recorded that counts.
 */
bool deps_in_window(const struct deps *deps, const struct deps_window *window,
                    const struct deps_activity *activity);

/* ---- The critical path ---- */

struct deps_row {
    uint64_t critical;       /* ns */
    uint64_t waiting;        /* ns; of calls and waits */
    uint64_t device_waiting; /* ns; of device activities */
    uint64_t calls;
};

struct deps_result {
    struct deps_row *rows; /* by name id; owned; [0] is unused */
    uint32_t row_count;    /* names + 1 */
    uint64_t parts[DEPS_PARTS];
    uint64_t (*host)[DEPS_HOST_PARTS]; /* of them, by group of threads; owned */
    uint32_t thread_count;
    uint64_t recording_inside; /* ns, of DEPS_RECORDING: in the recorded time of device work */
    uint64_t by_time;          /* ns: of device work that the path reached by DEPS_BY_TIME */
    uint64_t late_launches;    /* ns, of DEPS_LAUNCH_LATENCY: in calls that launch and do something
                                  else first: more than 5 times the P50 of the latency */
    uint64_t window;           /* ns: the sum of all critical times and parts */
};

/* An empty result for this graph. MP_ERR_MEMORY. */
enum mp_status deps_result_init(const struct deps *deps, struct deps_result *result);

void deps_result_clear(struct deps_result *result);
void deps_result_free(struct deps_result *result);

/* Adds a window's path, waiting times and calls to the result. If `critical` is not NULL, it holds
 * deps->count sums in ns, and each activity's time on the path is added to its sum. */
void deps_path(const struct deps *deps, const struct deps_window *window,
               struct deps_result *result, uint64_t *critical);

/* A stretch of a critical path. */
struct deps_step {
    uint64_t begin; /* ns */
    uint64_t end;
    uint32_t activity; /* whose own time it is; DEPS_NONE: time of the part */
    uint32_t lane; /* host code, launch latency, return: the thread; else that of what the time is
                      before; DEPS_NONE: not known */
    uint8_t part;  /* enum deps_part; host code is not divided; DEPS_NO_PART: an activity's */
};

struct deps_steps {
    struct deps_step *items; /* from the window's begin to its end, without holes; owned */
    size_t count, capacity;
};

/* The window's path, step by step: times of an activity or part add up to what deps_path says.
 * MP_ERR_MEMORY. On success the caller frees steps->items. */
enum mp_status deps_path_steps(const struct deps *deps, const struct deps_window *window,
                               struct deps_steps *steps);

/* The path from the moment `begin` to the begin of an activity of the device, in the same way. */
enum mp_status deps_path_before(const struct deps *deps, uint32_t activity, uint64_t begin,
                                struct deps_steps *steps);

/* What recording costs on the path from `begin` to `end`, ns: to the begin of a device activity, or
 * if `work` is DEPS_NONE, on a thread, which may be DEPS_NONE too. Takes no memory. */
uint64_t deps_recording_before(const struct deps *deps, uint32_t work, uint32_t thread,
                               uint64_t begin, uint64_t end);

/* ---- The paths of many windows ---- */

/* Windows of one kind, such as iterations. Statistics are over all of them, times in ns. */
struct deps_iterations {
    struct statistics window;    /* length of the windows */
    struct statistics *critical; /* by name id; owned */
    struct statistics *waiting;  /* by name id: calls and device work; owned */
    struct statistics parts[DEPS_PARTS];
    struct statistics (*host)[DEPS_HOST_PARTS]; /* of them, by group of threads; owned */
    struct deps_result total;                   /* of all windows */
    uint32_t *by_length;                        /* windows' indexes, slowest first; owned */
    uint32_t median;                            /* index of the window at P50 */
};

/* MP_ERR_MEMORY. deps_iterations_free gives it back. */
enum mp_status deps_iterations_build(const struct deps *deps, const struct deps_windows *windows,
                                     struct deps_iterations *iterations);

void deps_iterations_free(struct deps_iterations *iterations);

/* ---- Activities ---- */

/* Finds the shortest latencies and what binds each activity, by the times and predecessors that
 * they have now: for those who have changed them. MP_ERR_MEMORY. */
enum mp_status deps_bind(struct deps *deps);

/* Waiting time of one activity (a call's piece), ns. */
uint64_t deps_waiting(const struct deps *deps, const struct deps_activity *activity);

/* What bound the activity: its index, or DEPS_NONE. By program order, the previous piece of the
 * thread; by its launch, the launching call. */
uint32_t deps_bound_to(const struct deps *deps, uint32_t index);

/* Slack of each activity of the windows, ns, into slack[deps->count]; the others keep their value.
 * The windows must not overlap. Needs deps_options.fronts. MP_ERR_MEMORY. */
enum mp_status deps_slack(const struct deps *deps, const struct deps_windows *windows,
                          uint64_t *slack);

#endif
