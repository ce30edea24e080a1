/* From what the threads hand over to rows in the file: everything that the writer thread owns.
 *
 * One round takes, in this order,
 *     1. the work queue: buffers are decoded, capture marks applied
 *     2. the launches that were profiled for metrics
 *     3. the call logs of all threads
 *     4. the waits of all threads
 *     5. the samples of counters
 *     6. the NVTX events of all threads
 *
 * Before each entry of 2 to 6 the writer looks at the queue again. So it uses whatever a thread
 * logged after it posted a mark only after that mark. Otherwise rows between cudaProfilerStart and
 * the next round could be written before the mark and be discarded with the rows before it.
 */
#ifndef MP_RECORD_ROWS_RECORDING_H
#define MP_RECORD_ROWS_RECORDING_H

#include "record/core/call_log.h"
#include "record/core/work.h"
#include "record/counters/profiled.h"
#include "record/counters/samples.h"
#include "record/cupti/gpu.h"
#include "record/cupti/launch_matching.h"
#include "record/names/payloads.h"
#include "record/nccl/collectives.h"
#include "record/rows/decode.h"
#include "record/rows/host_rows.h"
#include "record/rows/nvtx_ranges.h"
#include "record/rows/quality.h"
#include "record/rows/stack_rows.h"

#define STEP_NAME_BYTES 64u

struct recording {
    struct mp_writer *writer;
    struct flight_notes *flight; /* the flight recorder takes the chunks; NULL: a file does */
    const char *path;            /* of the file, for messages */
    struct buffer_pool *pool;
    struct work_queue *queue;
    struct call_logs *logs; /* NULL in tests */
    struct waits *waits;
    struct edge_store *edges;
    struct profiled_store *profiled;
    struct sample_store *samples;               /* NULL in tests */
    struct gpu *gpu;                            /* NULL in tests */
    struct stacks *stacks;                      /* NULL in tests */
    struct host_nodes *host_nodes;              /* NULL in tests */
    const char (*step_names)[STEP_NAME_BYTES];  /* by the event of CALL_ENTRY_STEP */
    bool metrics;                               /* kernels may be profiled */
    bool follows;                               /* work on the device has records */
    const _Atomic uint64_t *paths_lost;         /* nodes of graphs without room, seen by others */
    const _Atomic uint64_t *device_graphs;      /* graphs whose work may have no records: */
    const _Atomic uint64_t *conditional_graphs; /* graphs.h */
    const _Atomic uint64_t *device_launchers;   /* modules, likewise: cupti/contexts.h */
    bool paths_wanted; /* record the NVTX ranges in which nodes of graphs are made */
    struct paths paths;
    struct carried carried;
    struct payloads payloads;
    struct collectives collectives;
    struct capture capture;
    struct dictionary dictionary;
    struct decoder decoder;
    struct host_rows host_rows;
    struct stack_rows stack_rows;
    struct lag lag;
    struct launch_matching matching;
    uint32_t captured_until; /* the recorder's, as it was last seen */
    struct quality quality;
    uint64_t untimed_before_end; /* records without times that came before the process ended */
    uint64_t nvtx_events;        /* delivered, kept or not */
    uint64_t begin_time; /* when recording began, for a range that begins with the process */
    int64_t begin_ms;    /* the same on CLOCK_MONOTONIC, which the trace's clock need not be */
    void (*rest)(const void *context); /* called between buffers; NULL: there is no time for it */
    const void *rest_context;
    bool failure_said;
    bool wait_said; /* that the disk is full */
};

/* Takes over an open writer; `at_once`: a capture range begins now. MP_ERR_MEMORY. */
enum mp_status recording_open(struct recording *recording, struct mp_writer *writer,
                              const struct cupti_api *cupti, const struct api_set *api,
                              uint32_t capture_mode, bool at_once);

/* Takes all that is waiting. */
void recording_round(struct recording *recording);

/* Takes in what there is: a round of the writer. */
void recording_take(struct recording *recording);

/* Waits a moment until something comes, and takes it. The writer only. */
void recording_take_next(struct recording *recording);

/* Has CUPTI flushed and takes what comes, until the flush is done or `ms` are over. The writer
 * only. */
void recording_gather(struct recording *recording, int ms);

/* Writes what was taken to the file, with the counters that have changed. */
void recording_flush(struct recording *recording);

/* Whether this recording makes CUPTI slower over time (cupti/activity.h). Not with metrics,
 * where each launch waits for its kernel. Any thread. */
bool recording_slows_cupti(const struct recording *recording);

/* Discards all rows and numbers, and continues. */
void recording_begin_anew(struct recording *recording);

/* Writes the driver calls that waited to see whether a runtime call encloses them, and looks up the
 * ranges of nodes of graphs that have just run. */
void recording_settle(struct recording *recording);

/* Ends the open range at `time` and appends what still waits; recording_flush follows. */
void recording_end(struct recording *recording, uint64_t time);

/* Frees all but the writer. */
void recording_close(struct recording *recording);

/* ---- Rows of counters: of profiled launches and of samples ---- */

/* Appends the rows of a launch if it is kept, and frees it. */
void profiled_append(struct profiled_store *store, struct recording *recording,
                     struct profiled_launch *launch);

/* The metrics of a plan as rows, once for each file; answers the id of the first, 0 for none. */
uint32_t profiled_define(struct profiled_store *store, struct recording *recording,
                         const struct metric_plan *plan);

/* Appends the definitions of counters that this file has not. */
void sample_rows_define(struct sample_store *store, struct recording *recording);

/* Appends the samples of a batch that are in capture ranges, and frees it. */
void sample_rows_append(struct sample_store *store, struct recording *recording,
                        struct sample_batch *batch);

#endif
