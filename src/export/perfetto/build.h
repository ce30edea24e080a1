/* Inside of the format: what its files share of the export and of the process whose rows come. */
#ifndef MP_EXPORT_PERFETTO_BUILD_H
#define MP_EXPORT_PERFETTO_BUILD_H

#include "base/data/map.h"
#include "export/common/format.h"
#include "export/perfetto/links.h"
#include "export/perfetto/slices.h"
#include "profile/names/shapes.h"
#include "profile/stacks/call_stacks.h"

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
    bool known;    /* to be told from a hole */
    struct device_limits limits;
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

/* ---- gpus.c ---- */

/* Reads the process's devices and gives their GPUs numbers. */
enum mp_status gpus_load(struct perfetto *perfetto, struct mp_error *error);

/* What is known of a device; all zero but `gpu` for one that the trace does not define. */
const struct device *gpus_device(const struct process *process, uint64_t ordinal);

/* The number of its GPU: its ordinal, if it is not defined. */
uint64_t gpus_number(const struct process *process, uint64_t ordinal);

/* ---- gpu.c ---- */

/* Announces kinds of work. */
void gpu_begin(struct perfetto *perfetto);
enum mp_status gpu_row(struct perfetto *perfetto, const struct export_row *row);

/* ---- collectives.c ---- */

/* What a kernel of NCCL carries, as arguments of its launch. */
void collectives_write(struct perfetto *perfetto, const struct export_row *row);

/* ---- host.c ---- */

/* Announces the process. */
void host_begin(struct perfetto *perfetto);
enum mp_status host_row(struct perfetto *perfetto, const struct export_row *row);
enum mp_status host_end(struct perfetto *perfetto);
void host_free(struct process *process);

/* ---- callers.c ---- */

/* Reads the stacks of the process. callers_of: the number of a call's stack, interned; 0: none. */
enum mp_status callers_begin(struct perfetto *perfetto, struct mp_error *error);
uint64_t callers_of(struct perfetto *perfetto, uint64_t correlation);
void callers_free(struct process *process);

/* ---- counters.c ---- */

enum mp_status counters_row(struct perfetto *perfetto, const struct export_row *row);
enum mp_status counters_samples(struct perfetto *perfetto, struct mp_error *error);
void counters_free(struct process *process);

/* ---- insights.c ---- */

/* The tracks "miniprof": critical path, iterations, advice. */
enum mp_status insights_write(struct perfetto *perfetto, struct mp_error *error);

#endif
