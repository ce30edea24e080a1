/* Inside of the format `perfetto`, a .pftrace for Perfetto's UI and trace processor, or a .zip of
 * them: what its files share of the export and of the process whose rows come.
 *
 *     perfetto.c    the format's hooks       packets.c   packets, numbers for texts, into a file
 *     gpu.c         GPUs and their work      proto.c     the wire format of protocol buffers
 *     host.c        calls, NVTX, waits       slices.c    slices that nest, on tracks
 *     counters.c    memory, metrics          links.c     event ids: who launched, who waited
 *     insights.c    path, iterations, advice zip.c       several processes in one file
 *
 * docs/export.md says what stands where.
 */
#ifndef MP_EXPORT_PERFETTO_BUILD_H
#define MP_EXPORT_PERFETTO_BUILD_H

#include "base/data/map.h"
#include "export/format.h"
#include "export/perfetto/packets.h"
#include "profile/names/shapes.h"
#include "profile/stacks/call_stacks.h"
#include "reports/deps/deps.h"

/* ---- slices.c ---- */

/* Slices on tracks. Perfetto gets a begin and an end of each, sorts all by time (what has the same
 * time stays in the order of the file), and an end closes what began last on its track. So the
 * slices of a track must nest, and of several that begin at once the longest must come first. Rows
 * of a trace come in order of their ends, so each track holds its last slices back and sorts them:
 *
 *     rows           |-inner-|, |---outer---|        held: outer, inner
 *     lane 0         |---outer---|
 *                     |-inner-|
 *     lane 1                   |--does not nest--|   a further track of the same name
 *
 * An NVTX range with more than 512 inside comes when those are written, but still nests. Only if it
 * began in the very nanosecond of its first inner range, Perfetto takes one for the other.
 *
 * Memory: 40 KiB a track at most, and 8 bytes for each slice that is around another one.
 */

/* A slice, and what is written with it besides its name; 0: nothing. */
struct slice {
    uint64_t start, duration; /* ns, of the recorder's clock */
    uint64_t name;            /* packets_name */
    uint64_t correlation;
    uint64_t callers;   /* callers_of */
    uint64_t value;     /* of the argument below */
    uint32_t activity;  /* DEPS_NONE: none */
    uint8_t category;   /* enum category */
    uint8_t argument;   /* enum argument */
    uint8_t value_type; /* as NVTX's payloads; 0: a number without sign */
    bool nests;         /* in every slice that ends later, so it may come late */
    bool open, cut;     /* an NVTX range */
    const struct iteration_measures *measures; /* NULL: none */
};

struct slice_lane;

struct track {
    uint64_t uuid, parent;
    const char *name;
    char *owned_name; /* NULL: not owned */
    struct slice *held;
    size_t held_count, held_capacity;
    struct slice_lane *lanes;
    size_t lane_count, lane_capacity;
};

/* Of the process whose slices are written. */
struct slices {
    struct packets *packets;
    uint64_t next_uuid;
    /* Writes the links of an activity, inside of the event. */
    void (*correlate)(void *context, uint32_t activity);
    void *context;
};

/* Announces a track below `parent` (0: none) and returns its number. */
uint64_t track_announce(struct slices *slices, uint64_t parent, const char *name, unsigned rank);

/* The slice is written now or later. MP_ERR_MEMORY. */
enum mp_status track_add(struct slices *slices, struct track *track, const struct slice *slice);

/* Writes what is held back. */
enum mp_status track_flush(struct slices *slices, struct track *track);
void track_free(struct track *track);

/* Writes a moment on the track. */
enum mp_status track_instant(struct slices *slices, struct track *track, uint64_t time,
                             uint64_t name, enum category category);

/* Write one slice at once, on a track whose slices nest and come in order. packet_end wants the
 * answer: what is annotated before it belongs to the slice. */
struct slice_parts {
    size_t packet, event;
};
struct slice_parts slice_begin(struct packets *packets, uint64_t uuid, uint64_t time, uint64_t name,
                               enum category category);
void slice_end(struct packets *packets, uint64_t uuid, uint64_t time,
               const struct slice_parts *parts);

/* ---- links.c ---- */

/* Event ids of GPU work, and what the event graph says of them: which work a call launched, which
 * work a call or other work waited for. docs/dependency-analysis.md has the terms.
 *
 *     id of an activity = first + index in the graph      with the analyses
 *     id of a row       = first + rows of work before it  without
 *
 * Ids are unique in an export. Memory: 4 bytes a call, 4 bytes a device activity, 4 bytes a front.
 */

/* Streams of which an activity is listed, at most. */
#define LINKS_MAX 256

struct links {
    const struct deps *deps;  /* NULL: no analyses */
    uint64_t first;           /* id of activity 0 */
    uint64_t next;            /* of the next row that is no activity */
    uint32_t *launched_first; /* by call: where its list begins; one more at the end */
    uint32_t *launched;       /* activities */
    uint32_t *front_epochs;   /* of fronts: the question that visited each last */
    uint32_t *stack;
    size_t stack_capacity;
    uint32_t epoch;
    uint32_t found[LINKS_MAX];
    size_t found_count;
};

/* Begins ids at `first`. `deps` is NULL without analyses. MP_ERR_MEMORY. */
enum mp_status links_init(struct links *links, const struct deps *deps, uint64_t first);
void links_free(struct links *links);

/* Returns the id of a row of work; `activity` may be DEPS_NONE. */
uint64_t links_id(struct links *links, uint32_t activity);

/* Returns what a call launched: *count activities. */
const uint32_t *links_launched(const struct links *links, uint32_t call, size_t *count);

/* Find what a call, or work of the GPU, waited for, and put the last activity of each stream into
 * links->found. MP_ERR_MEMORY.
 *
 * Of a call: what had not ended when the call began; what ended last in any case. Of work: what had
 * not ended when the work before it in its stream began, and what binds it; but not that work
 * itself, which stands right before it. Of a graph's nodes: all that edges lead to. */
enum mp_status links_awaited_by_call(struct links *links, uint32_t call);
enum mp_status links_awaited_by_work(struct links *links, uint32_t work);

/* ---- The state ---- */

/* Numbers of the processes after the first begin at multiples of it. */
#define PROCESS_NUMBERS (UINT64_C(1) << 20)

/* A GPU of the export: its number in Perfetto stands for it in all processes. */
struct gpu {
    uint64_t uuid_high, uuid_low; /* both 0: unknown, and then of one process only */
    uint64_t number;
};

/* A device of the process. */
struct device {
    uint64_t gpu;  /* the number of its GPU */
    char arch[16]; /* "sm_90"; "": unknown */
    bool known;    /* defined; else a hole of the array */
};

/* A kernel's launch shape on one stream, encoded. */
struct launch {
    size_t at, bytes; /* in process.encoded */
};

/* Tracks of a thread; the first one is the thread itself. */
enum {
    THREAD_CALLS,
    THREAD_SYNCS,
    THREAD_WAITS,
    THREAD_FUNCTIONS,
    THREAD_OVERHEADS,
    THREAD_TRACKS
};

struct thread_tracks {
    struct track tracks[THREAD_TRACKS];
    uint64_t uuid; /* 0: not announced */
};

/* Who called: stacks of the process, and which numbers are interned. */
struct callers {
    struct call_stacks stacks;
    struct number_set names, frames, known;
    struct mp_buffer text; /* of a frame without a function */
    bool loaded;
};

struct process {
    const struct export_process *of;
    const struct export_analyses *analyses; /* NULL: not known */
    uint64_t pid;
    uint64_t first_number; /* what the numbers of tracks, queues and contexts begin at */
    uint64_t uuid;         /* of its track */
    char name[256];
    struct slices slices;
    struct links links;
    struct ranks_operations *operations; /* of NCCL; NULL: none */
    struct dense devices;                /* of struct device, by ordinal */
    struct number_set contexts;          /* that are interned */
    struct number_set queues;
    struct callers callers;
    struct mp_map launches; /* shape and stream -> index of launch */
    struct launch *launch;
    size_t launch_count, launch_capacity;
    uint64_t last_key; /* of `launches` */
    uint32_t last_launch;
    struct mp_buffer encoded;
    struct thread_tracks *threads; /* by number */
    size_t thread_capacity;
    struct track unknown_thread[THREAD_TRACKS];
    struct track unified, pools;
    struct mp_map ranges; /* thread and domain -> index of `range` */
    struct track *range;
    size_t range_count, range_capacity;
    struct mp_map counters; /* what is counted -> index of `counter` */
    struct counter *counter;
    size_t counter_count, counter_capacity;
    struct mp_map live; /* address -> index of `sizes` */
    struct allocation *sizes;
    size_t size_count, size_capacity;
    uint32_t free_size; /* the first unused one; DEPS_NONE: none */
};

struct member {
    char name[128]; /* in the .zip */
    char machine[128];
};

struct perfetto {
    struct packets packets;
    struct zip zip;
    bool zipped;
    bool begun; /* a process */
    struct gpu *gpus;
    size_t gpu_count, gpu_capacity;
    struct mp_map pids; /* pid, and in a .zip its host -> how many had it */
    uint64_t next_event;
    uint64_t next_number;
    struct member *members;
    size_t member_count, member_capacity;
    struct process process;
};

/* ---- gpu.c ---- */

/* Gives the GPUs of the process numbers. MP_ERR_MEMORY. */
enum mp_status gpus_load(struct perfetto *perfetto);

/* Announces kinds of work. */
void gpu_begin(struct perfetto *perfetto);
enum mp_status gpu_row(struct perfetto *perfetto, const struct export_row *row);

/* ---- host.c ---- */

/* Announces the process. */
void host_begin(struct perfetto *perfetto);
enum mp_status host_row(struct perfetto *perfetto, const struct export_row *row);
enum mp_status host_end(struct perfetto *perfetto);
void host_free(struct process *process);

/* Reads the stacks of calls. */
enum mp_status callers_begin(struct perfetto *perfetto, struct mp_error *error);
void callers_free(struct process *process);

/* ---- counters.c ---- */

enum mp_status counters_row(struct perfetto *perfetto, const struct export_row *row);
enum mp_status counters_samples(struct perfetto *perfetto, struct mp_error *error);
void counters_free(struct process *process);

/* ---- insights.c ---- */

/* Writes the tracks "miniprof": critical path, iterations, advice. */
enum mp_status insights_write(struct perfetto *perfetto, struct mp_error *error);

#endif
