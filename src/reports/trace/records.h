/* Inside the trace printer: the rows of a GPU trace and an API trace, in order of time and in
 * words.
 *
 *     records.c   opens a trace and delivers its rows
 *     describe.c  what a record is called and where it ran
 *     columns.c   the table: which columns it has, in which units, and what they show of a row
 *     trace.c     the table of one trace, and that of several
 */
#ifndef MP_REPORTS_TRACE_RECORDS_H
#define MP_REPORTS_TRACE_RECORDS_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/storage.h"
#include "base/status.h"
#include "profile/activity.h"
#include "profile/definitions.h"
#include "profile/merge.h"
#include "profile/nvtx/captured.h"
#include "profile/nvtx/match.h"
#include "profile/ranges.h"
#include "reports/trace/trace.h"

/* In the order in which rows of the same time are printed. */
enum trace_kind {
    TRACE_NVTX,
    TRACE_CALL,
    TRACE_KERNEL,
    TRACE_COPY,
    TRACE_SET,
    TRACE_GRAPH,
    TRACE_UNIFIED,
    TRACE_KINDS
};

#define TRACE_API ((1u << TRACE_NVTX) | (1u << TRACE_CALL))
#define TRACE_GPU ((1u << TRACE_KINDS) - 1 - TRACE_API)

/* A bit next to the kinds that are present: the rows are those of several processes. */
#define TRACE_PROCESSES (1u << (TRACE_KINDS + 1))

/* Rows of graphs may say in which NVTX ranges their node was captured. */
#define TRACE_CAPTURED (1u << (TRACE_KINDS + 2))

/* Where the columns of a kind of rows are, and a mask of those that its rows are made of. */
const struct activity_table *trace_activity(enum trace_kind kind);
uint32_t trace_columns(enum trace_kind kind);

struct trace_shape {
    uint64_t grid[3];
    uint64_t block[3];
    uint64_t registers;
    uint64_t static_shared; /* bytes */
    uint64_t dynamic_shared;
    const char *grid_text; /* `(40 1 1)`; NULL: not asked for yet */
    const char *block_text;
};

/* Where work ran. Texts are NULL where it is unknown. */
struct trace_place {
    uint64_t device; /* ordinal */
    uint64_t context;
    uint64_t stream;
    const char *device_text; /* `TITAN V (0)` */
    const char *context_text;
    const char *stream_text;
    bool known; /* the numbers */
    bool described;
};

/* A row as it is printed. Texts are the trace's, and valid until the next row. */
struct trace_row {
    enum trace_kind kind;
    uint64_t start;       /* ns of the recorder's clock */
    uint64_t duration;    /* ns */
    uint64_t correlation; /* 0: none */
    uint64_t bytes;       /* of copies and sets */
    const char *process;  /* NULL: of the one trace that is printed */
    const char *kind_name;
    const char *name;                /* as in the table, with what belongs to it */
    const char *own_name;            /* without that */
    const char *kernel;              /* of a call that launched one; NULL: none */
    const char *domain;              /* of NVTX; else NULL */
    const char *captured;            /* `outer > inner`; NULL: no range, or not known */
    const struct trace_shape *shape; /* of kernels; NULL: none, or not defined */
    struct trace_place place;
    const char *source_memory; /* NULL: none; the same for the next */
    const char *target_memory;
    const char *source_device; /* of copies between devices */
    const char *target_device;
    const char *unified; /* what is said in this column; NULL: nothing */
    uint64_t source_context;
    uint64_t target_context;
    uint64_t thread;  /* of the system; 0: none */
    uint64_t value;   /* of unified memory */
    uint64_t address; /* of unified memory */
    bool has_duration;
    bool has_bytes;
};

struct trace_rows {
    struct mp_trace *trace;
    const struct traces_options *options;
    struct quality *quality; /* not owned */
    struct definitions definitions;
    struct dense shapes;  /* of struct trace_shape */
    struct dense places;  /* of struct trace_place, by stream */
    struct dense devices; /* of const char *, by ordinal: `TITAN V (0)` */
    struct mp_arena text;
    struct mp_buffer line;
    struct mp_buffer number;
    struct capture_ranges ranges;
    const struct capture_range *range; /* NULL: everything */
    struct nvtx_match nvtx;            /* items: names */
    struct launches *launches;         /* NULL: no API trace */
    struct captured captured;          /* empty unless asked for */
    struct mp_buffer path;             /* in words: */
    uint32_t path_id;                  /* this one; 0: none yet */
    struct merge *merge;
    enum trace_kind kinds[TRACE_KINDS]; /* of the tables of `merge` */
    uint32_t present;                   /* bit i: there are rows of kind i */
};

/* Reads everything except the records. trace_rows_free is needed in any case. MP_ERR_ARGUMENT when
 * there is no such capture range, MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status trace_rows_open(struct trace_rows *rows, struct mp_trace *trace,
                               const struct traces_options *options, struct quality *quality,
                               struct mp_error *error);

void trace_rows_free(struct trace_rows *rows);

/* The next row. MP_OK, MP_END, MP_ERR_IO or MP_ERR_MEMORY. */
enum mp_status trace_rows_next(struct trace_rows *rows, struct trace_row *row);

/* After the last row: adds what was left out to the quality. */
void trace_rows_finish(struct trace_rows *rows);

/* Whether a row with these columns is printed at all, unless its times are invalid. */
bool trace_row_wanted(const struct trace_rows *rows, enum trace_kind kind,
                      const uint64_t *const *columns, uint32_t row);

/* Fills in a row from its columns, except for its times. MP_OK or MP_ERR_MEMORY, MP_ERR_IO. */
enum mp_status trace_describe(struct trace_rows *rows, const struct merge_row *from,
                              struct trace_row *row);

/* What CSV and nvprof's -u must know of all rows: the max of each kind of number. */
struct trace_survey {
    uint64_t first_start;
    uint64_t last_start;
    uint64_t duration;
    uint64_t bytes;
    uint64_t static_shared;
    uint64_t dynamic_shared;
    double throughput;
    bool any;
    bool peers; /* copies between devices */
};

/* With `units`, a pass over the columns of times and sizes; without, only over copies. MP_ERR_IO,
 * MP_ERR_MEMORY. */
enum mp_status trace_survey(struct trace_rows *rows, bool units, struct trace_survey *survey,
                            struct mp_error *error);

/* ---- The table ---- */

struct trace_table {
    struct report_table table;
    const struct report_out *out;
    uint32_t there;       /* kinds of which there are columns */
    uint64_t first_start; /* of the first row */
    uint64_t count;       /* rows printed */
};

/* Chooses the columns that have something to show; in a sheet always those of JSON. `json` is where
 * objects go if that is the format. */
void trace_table_begin(struct trace_table *table, const struct report_out *out,
                       struct json_writer *json, uint32_t present,
                       const struct trace_survey *survey);

/* Prints a row; above the first one the header, unless this is a sheet. */
void trace_table_put(struct trace_table *table, const struct trace_row *row);

/* ---- Around the table ---- */

/* Whether units of columns have to be measured. */
bool trace_needs_units(const struct report_out *out);

/* What the columns' short titles mean. */
void trace_print_notes(const struct trace_table *table);

/* ---- Which kernel a call launched ----
 *
 * Which kernel an API call launched, for calls that are read in order of time.
 *
 * A kernel begins after its launch; how long after depends on the depth of the device's queues. So
 * its row is searched ahead of the calls, in a window over the table `kernel`: the chunks that may
 * hold kernels of later calls. If a call's kernel is not in the window, the window grows, to at
 * most LAUNCHES_AHEAD kernels that begin after the call. Kernels that ended before the call leave
 * it. A channel of the device holds 1024 launches, so the window has room for some 250 full
 * channels.
 *
 * Memory: 48 bytes a chunk, and 24 to 50 bytes for each kernel in the window (a map and a list).
 * This is at most 13 MB, apart from kernels that overlap the call itself, whatever the size of the
 * trace. Kernels of CUDA graphs are not in the window, because one graph launch starts many.
 */

#define LAUNCHES_AHEAD (1u << 18)

struct launches;

/* Reads the chunk headers. *launches is the caller's to close, before the trace. MP_ERR_IO,
 * MP_ERR_MEMORY. */
enum mp_status launches_open(struct mp_trace *trace, struct launches **launches,
                             struct mp_error *error);

/* NULL is allowed. */
void launches_close(struct launches *launches);

/* The launch shape of the kernel with this correlation id, launched by a call that began at `time`;
 * 0 when there is none. Times must not go back from call to call. Damaged chunks are passed over.
 * MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status launches_find(struct launches *launches, uint64_t correlation, uint64_t time,
                             uint64_t *shape);

/* The max number of kernels that were in the window at the same time. */
size_t launches_max(const struct launches *launches);

#endif
