/* The recorder's counters about its own trace: what was lost and why, and what looks wrong.
 *
 * At each flush a counter that has changed goes to the table `quality`. The total of losses goes
 * into every chunk header. A cut of the file starts the counters at 0 again.
 *
 * `values` belong to the writer thread, which gathers them from the modules that count.
 */
#ifndef MP_RECORD_ROWS_QUALITY_H
#define MP_RECORD_ROWS_QUALITY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/chunks.h"

/* Q(name, is it a number of lost records?) */
#define QUALITY_COUNTERS(Q)                                                                        \
    Q(dropped_overflow, true)      /* no buffer was free: MINIPROF_BUFFER_MB is too small */       \
    Q(dropped_by_cupti, true)      /* CUPTI had no buffer at all */                                \
    Q(dropped_at_least, true)      /* the same before CUDA 12.9, estimated from the bytes */       \
    Q(dropped_calls, true)         /* callbacks, and launches of graphs, that found no room */     \
    Q(dropped_nvtx, true)          /* NVTX events that found no room */                            \
    Q(dropped_payloads, true)      /* NVTX payloads, schemas or NCCL operations without room */    \
    Q(dropped_marks, true)         /* capture marks that found no room */                          \
    Q(dropped_edges, true)         /* edges of CUDA graphs that found no room */                   \
    Q(dropped_paths, true)         /* nodes of CUDA graphs whose NVTX ranges found no room */      \
    Q(dropped_stacks, true)        /* stacks that found no room or could not be walked */          \
    Q(dropped_waits, true)         /* waits of host threads that found no room */                  \
    Q(dropped_functions, true)     /* host functions given to graphs, beyond the most */           \
    Q(dropped_metrics, true)       /* profiled launches whose values found no room */              \
    Q(dropped_samples, true)       /* samples of counters that found no room */                    \
    Q(dropped_taken_over, true)    /* calls whose records another CUPTI client got, at least */    \
    Q(dropped_foreign_times, true) /* device records with times of another clock */                \
    Q(dropped_unwritten, true)     /* rows for which the disk had no room */                       \
    Q(buffers_exhausted, false)    /* requests for a buffer when no large one was free */          \
    Q(zero_timestamps, false)      /* records whose begin or end CUPTI did not know */             \
    Q(reversed_timestamps, false)  /* records that end before they begin */                        \
    Q(inexact_nvtx_times, false)   /* NVTX times that may be off by more than a microsecond */     \
    Q(unknown_payloads, false)     /* NVTX payloads whose schema nobody registered */              \
    Q(unknown_records, false)      /* records of a kind that was not asked for */                  \
    Q(undefined_references, false) /* memory was out: rows without their string or shape */        \
    Q(nested_driver_calls, false)  /* left out: inside a runtime call */                           \
    Q(cupti_errors, false)         /* CUPTI said that tracing failed */                            \
    Q(callbacks_taken, false)      /* 1: another client has CUPTI's callbacks (cupti/attach.h) */  \
    Q(forced_exits, false)         /* the last flush took too long and was given up */             \
    Q(gpu_behind_ms,                                                                               \
      false) /* the largest lag of the GPU's records, if 5 s (cupti/launch_matching.h) */          \
    Q(clock_renewals, false) /* CUPTI got its clock again, not to get slower (cupti/activity.h) */ \
    Q(device_graphs, false)  /* executable graphs that the device may launch by itself */          \
    Q(conditional_graphs, false)  /* executable graphs with conditional nodes */                   \
    Q(device_launchers, false)    /* modules whose kernels launch kernels (cupti/contexts.h) */    \
    Q(device_launches, false)     /* rows of what the device launched by itself */                 \
    Q(sample_overflows, false)    /* times that the GPU had no room for samples */                 \
    Q(profiled_kernels, false)    /* kernel rows with the times of the metrics' profiler */        \
    Q(baseline_steps, false)      /* steps in capture ranges (process/baseline.h) */               \
    Q(baseline_unrecorded, false) /* of them, those in which nothing was recorded */               \
    Q(nccl_plugin, false)         /* version of the plugin interface that NCCL has chosen */       \
    Q(running_at_end, false)  /* records without times of work that the end did not wait for */    \
    Q(earlier_work_ns, false) /* work launched before its range was under way in it */             \
    Q(unanswered_launches, false) /* launched kernels whose records never came */                  \
    Q(writer_cpu_ns, false)       /* CPU time of the writer thread */

struct dictionary;

enum quality_counter {
#define QUALITY_ENUM(name, is_loss) QUALITY_##name,
    QUALITY_COUNTERS(QUALITY_ENUM)
#undef QUALITY_ENUM
        QUALITY_COUNT
};

struct quality {
    uint64_t values[QUALITY_COUNT];  /* since the process started */
    uint64_t base[QUALITY_COUNT];    /* those before the file was cut */
    uint64_t written[QUALITY_COUNT]; /* the last rows */
    uint64_t looked[QUALITY_COUNT];  /* those that are attributed to capture ranges */
    uint64_t from;                   /* the first capture range that they may concern */
    struct range_change {
        uint64_t range;
        int64_t value;
    } waiting[QUALITY_COUNT]; /* changes that are not written yet, of one range each */
};

/* The file was cut. */
void quality_restart(struct quality *quality);

/* Lost records since the start or the last cut. */
uint64_t quality_dropped(const struct quality *quality);

/* The rows that were appended last are lost: appends each counter anew. */
void quality_repeat(struct quality *quality);

/* The lost records in a reading of the counters. */
uint64_t quality_dropped_of(const uint64_t values[QUALITY_COUNT]);

/* Appends a row for each counter that has grown since the reading `before`, with the difference. */
void quality_append_since(const struct quality *quality, const uint64_t before[QUALITY_COUNT],
                          struct dictionary *dictionary, uint64_t time);

/* Losses since the last call may concern any capture range that was open since: appends them to
 * each of these. `last` is the number of the last range, 0: there was none. */
void quality_attribute(struct quality *quality, struct dictionary *dictionary, uint64_t last);

/* A counter that is no loss changes, for capture range `range`. */
void quality_change(struct quality *quality, struct dictionary *dictionary,
                    enum quality_counter counter, uint64_t range, int64_t change);

/* Appends a row for each counter that has changed. */
void quality_append(struct quality *quality, struct dictionary *dictionary, uint64_t time);

/* ---- What the flight recorder notes ----
 *
 * That is what the writer notes instead of rows while the trace stays in memory: capture ranges and
 * readings of the counters. Each file gets rows of those within its time (process/flight_file.c).
 * The writer only.
 */

#define FLIGHT_RANGES 8192u /* capture ranges whose begin and end are remembered */
#define FLIGHT_COUNTS 128u  /* readings of the counters */

/* A capture range; `end` is UINT64_MAX while it is open. */
struct flight_range {
    uint64_t number;
    uint64_t begin, end; /* ns */
    uint64_t begin_correlation, end_correlation;
    uint8_t begin_reason, end_reason;
};

struct flight_counts {
    uint64_t time;
    uint64_t values[QUALITY_COUNT];
};

struct flight_notes {
    const struct mp_chunk_ring *ring; /* the trace */
    uint64_t window;                  /* ns that it holds */
    struct flight_range ranges[FLIGHT_RANGES];
    uint64_t range_count; /* ranges, ever; the last FLIGHT_RANGES are kept */
    struct flight_counts counts[FLIGHT_COUNTS];
    uint64_t counts_taken;
};

/* The present time, but not before anything that was recorded: on the software GPU each thread has
 * its clock. */
uint64_t flight_time_now(const struct mp_chunk_ring *ring);

/* Instead of the rows of `capture` and `quality`. */
void flight_note_range(struct flight_notes *notes, uint64_t number, bool begins, uint8_t reason,
                       uint64_t time, uint64_t correlation);
void flight_note_counts(struct flight_notes *notes, const struct quality *quality);

#endif
