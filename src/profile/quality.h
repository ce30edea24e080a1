/* How complete a trace is: what its writer lost, what the file has lost since, and what its rows
 * lack.
 *
 * If a report rests on incomplete data, its first line says so.
 */
#ifndef MP_PROFILE_QUALITY_H
#define MP_PROFILE_QUALITY_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "profile/definitions.h"
#include "profile/dense.h"

/* ---- Kernels without times ----
 *
 * Kernels without times, and whether they are too many for conclusions.
 *
 * CUPTI gives none for kernels that were under way when its clock was given again, which are
 * few, and for all nodes of CUDA graphs when kernels are recorded one after the other
 * (--concurrent-kernels off). What is left then is another program: the GPU seems idle.
 */

/* Of the whole trace, also where one capture range is reported. */
struct untimed {
    bool counted;
    bool serial;            /* recorded with --concurrent-kernels off */
    uint64_t kernels;       /* rows */
    uint64_t without;       /* of them, without a begin */
    uint64_t nodes;         /* rows of kernels that are nodes of CUDA graphs */
    uint64_t nodes_without; /* of them, without a begin */
};

/* ---- Quality ---- */

/* What one capture range lacks. */
struct range_loss {
    uint64_t range;
    int64_t dropped;    /* records, at most: dropped while it was open or shortly after */
    int64_t unanswered; /* launched kernels without a record */
    int64_t lost_work;  /* as in struct quality */
    int64_t earlier;    /* ns from its begin on in which work launched before it ran */
    uint64_t length;    /* ns, if `earlier` is not 0 (quality_examine) */
};

/* The counter of quality.recording_scale, and its value if no scale meets them. */
#define RECORDING_SCALE    "recording_scale"
#define RECORDING_NO_SCALE UINT64_C(1000000)

struct quality {
    uint64_t only;            /* the capture range that is reported, 0: all; the analysis sets it */
    uint64_t dropped;         /* records that the recorder counted as lost */
    uint64_t taken_over;      /* among them: calls whose records another CUPTI client got */
    uint64_t unknown_times;   /* rows that a report left out: begin unknown (0) */
    uint64_t reversed_times;  /* rows that a report left out: end before begin */
    uint64_t zero_times;      /* records that the recorder got without times */
    struct untimed untimed;   /* kernels among them */
    uint64_t undefined;       /* rows whose name the trace does not hold */
    uint64_t cupti_errors;    /* times that CUPTI said tracing failed */
    uint64_t callbacks_taken; /* 1: the recorder went without CUPTI's callbacks */
    uint64_t forced_exits;    /* the process ended before everything was written */
    uint64_t profiled; /* kernels measured for metrics; their times are the range profiler's: no
                          loss, but different times */
    uint64_t device_graphs;       /* graphs that the device may launch by itself */
    uint64_t conditional_graphs;  /* graphs with nodes whose bodies may run repeatedly */
    uint64_t device_launches;     /* rows of what the device launched by itself */
    uint64_t baseline_steps;      /* steps in capture ranges, with MINIPROF_BASELINE */
    uint64_t recording_scale;     /* 1 + thousandths: a factor for modelled costs, so that they meet
                                     what runs without CUPTI took; 0: nobody has compared */
    uint64_t baseline_unrecorded; /* of them, those in which nothing was recorded: no loss */
    struct mp_damage damage;
    bool checked;              /* `damage` is of all chunks, also of those that no pass read */
    uint64_t unanswered;       /* launched kernels without a record */
    uint64_t lost_work;        /* these, and dropped records that may have been of the GPU's work */
    uint64_t device_launchers; /* modules whose kernels launch kernels, which have no records */
    uint64_t earlier_work;     /* ns of work launched before its range, in all ranges */
    uint64_t running_at_end;   /* kernels and copies that the end of the process did not wait for */
    struct dense counters;     /* of struct quality_counter, by string id of the name */
    struct loss_row *rows;     /* of the table `loss`; owned */
    size_t row_count, row_capacity;
    struct range_loss
        *ranges; /* those that lack something, by number; after quality_finish; owned */
    size_t range_count;
};

/* A row of `loss`. */
struct loss_row {
    uint64_t range, name;
    int64_t value;
};

struct quality_counter {
    uint64_t value; /* the last one */
    bool present;
};

/* Sets up for a trace; allocates nothing. */
void quality_init(struct quality *quality, const struct mp_trace *trace);

void quality_free(struct quality *quality);

/* Adds the columns that quality_take needs to the masks, which stand in the order of mp_tables().
 */
void quality_columns(uint32_t *masks);

/* Keeps the rows of a batch of the table `quality`; other tables are passed over. MP_OK or
 * MP_ERR_MEMORY. */
enum mp_status quality_take(struct quality *quality, const struct mp_batch *batch);

/* After the last batch: damage that the cursor met, and records lost. */
void quality_finish(struct quality *quality, const struct mp_trace *trace,
                    const struct mp_cursor *cursor, const struct definitions *definitions);

/* Adds the damage that another pass over the trace met, in other tables. Damage between chunks,
 * which all passes meet, counts once; so do damaged chunks if all were checked. */
void quality_join(struct quality *quality, const struct mp_damage *met);

/* After quality_finish: reads what quality_gap needs beside the counters, once, if these call for
 * it. MP_ERR_IO, MP_ERR_MEMORY, with a text in *error. */
enum mp_status quality_examine(struct quality *quality, struct mp_trace *trace,
                               struct mp_error *error);

/* The counters in the order of their names' ids: false when there is none at or after *position,
 * which starts at 0. `*name` is NULL when its text was lost. */
bool quality_next_counter(const struct quality *quality, const struct definitions *definitions,
                          size_t *position, const char **name, uint64_t *value);

/* What the capture range lacks; NULL: nothing that is known. After quality_finish. */
const struct range_loss *quality_range(const struct quality *quality, uint64_t range);

/* Whether nothing is missing, in the range `only` if there is one. */
bool quality_is_whole(const struct quality *quality);

/* Work of the GPU that is known to be missing from the trace, or has no times. Then nothing is
 * claimed about busy time, causes of idle time, paths and gains: what is left is another program,
 * in which the GPU seems idle. */
struct quality_gap {
    const char *key; /* for JSON */
    const char *why; /* for where a conclusion would stand */
};

/* The first that applies to the range `only`, or to the trace; NULL: none is known. Static. */
const struct quality_gap *quality_gap(const struct quality *quality);

#define QUALITY_TEXT_BYTES 768

/* What callbacks_taken means for a reader. */
#define QUALITY_CALLBACKS_NOTE                                                                     \
    "Another profiler had CUPTI's callbacks: synchronisation, stacks and edges of graphs are not " \
    "in the trace."

/* One line without a newline on what is missing; an empty text when nothing is. Returns `text`. */
const char *quality_describe(const struct quality *quality, char *text, size_t size);

#endif
