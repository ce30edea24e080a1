/* The rows of a trace as an exporter wants them: filtered, with texts instead of numbers, ranges
 * matched, and with what the analyses know of each.
 *
 *     struct export_rows *rows;
 *     MP_TRY(export_rows_open(trace, &options, &rows, error));
 *     while ((status = export_rows_next(rows, &row)) == MP_OK)
 *         format->row(state, &row);
 *     export_rows_close(rows);
 *
 * Rows come table by table as the file has them: in order of time within a thread or stream, not
 * over all. Definitions come on demand: a text is handed out with a number that is the same for the
 * same text, so that a format can intern it. Memory is bounded by the definitions and the open
 * ranges. Only with options.analyses the event graph is held too (100 bytes an activity).
 *
 * Rows whose begin is unknown, or whose end lies before it, do not come; the quality counts them. A
 * range that is open at the end of the trace comes last, and ends where `miniprof nvtx` ends it.
 */
#ifndef MP_EXPORT_ROWS_ROWS_H
#define MP_EXPORT_ROWS_ROWS_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/metrics/sampled.h"
#include "base/status.h"
#include "profile/names/shapes.h"
#include "profile/set.h"
#include "reports/deps/deps.h"
#include "reports/iterations/iterations.h"
#include "trace/schema.h"

/* What a row is of. */
enum export_kind {
    EXPORT_KERNEL,
    EXPORT_COPY,
    EXPORT_SET,
    EXPORT_GRAPH,         /* a graph launch as a whole */
    EXPORT_HOST_FUNCTION, /* called by a stream or a graph */
    EXPORT_CALL,
    EXPORT_SYNC,  /* what a synchronising call named; the call is another row */
    EXPORT_WAIT,  /* of a thread, outside of CUDA */
    EXPORT_RANGE, /* NVTX: push and pop, or start and end; when it ends */
    EXPORT_MARK,  /* NVTX */
    EXPORT_MEMORY,
    EXPORT_POOL,
    EXPORT_UNIFIED,
    EXPORT_OVERHEAD,
    EXPORT_COLLECTIVE, /* a call of NCCL; its kernel is another row */
    EXPORT_METRIC,
    EXPORT_KINDS
};

/* The word for a kind in exports: `kernel`, `copy`, `range`, ... */
const char *export_kind_key(enum export_kind kind);

/* A text of the trace, valid UTF-8 (what was not is U+FFFD), NUL-terminated. Lives as long as the
 * rows. */
struct export_text {
    const char *text; /* NULL: none, or not defined */
    size_t bytes;
    uint32_t id; /* from 1, the same for the same text in one export_rows; 0: none */
};

/* Where work ran. */
struct export_place {
    uint64_t device; /* ordinal */
    uint64_t context;
    uint64_t stream;
    uint32_t id; /* from 1, dense: a number for (device, context, stream) */
};

struct export_thread {
    uint64_t tid;
    struct export_text name;
    uint32_t id; /* from 1, dense */
};

struct export_row {
    enum export_kind kind;
    uint64_t start;       /* ns of the recorder's clock; never 0 */
    uint64_t duration;    /* ns; 0 for a moment */
    uint64_t correlation; /* 0: none */
    /* Kernels: in the wanted style. Copies, sets: nvprof's `[CUDA memcpy HtoD]`. Calls: without
     * CUPTI's suffix. Ranges and marks: the message. Never NULL: what the trace does not hold is
     * `[unnamed kernel]`, `[unnamed call]`, `<unnamed>`. */
    struct export_text name;
    struct export_text raw_name;      /* kernels: mangled; calls: with the suffix; else as `name` */
    struct export_text domain;        /* NVTX; none: the default one */
    const struct export_place *place; /* of the GPU's work; else NULL */
    const struct export_thread *thread; /* of the host; NULL: none, or unknown */
    const struct launch_shape *shape;   /* of kernels; NULL: not defined */
    uint64_t graph;                     /* CUPTI's id; 0: outside of graphs */
    uint64_t graph_node;                /* CUPTI's id; 0: none */
    uint64_t capture_range;             /* in which it was launched or called; 0: none */
    /* NVTX ranges: of a push or start without an end, `open`; one that goes on outside of the
     * capture range, `cut`. `depth`: pushes around it in its thread and domain. */
    bool open, cut;
    bool pushed; /* push and pop; else start and end */
    uint32_t depth;
    uint32_t iteration; /* from 1; 0: none, or analyses are off */
    uint32_t activity;  /* of analyses->deps; DEPS_NONE: none, or analyses are off */
    /* All columns of the row as the trace has them (export_row_kernel below); for a range, those of
     * its push or start. */
    const uint64_t *const *columns;
    uint32_t index;
};

/* export_row_copy(row).bytes and so on: all columns of a row of that table by name. A column that
 * is not used costs nothing. */
#define EXPORT_VALUE(table, id, name, type, unit, codec, doc)                                      \
    .name = row->columns[MP_COLUMN_##table##_##name][row->index],
#define EXPORT_TYPED_ROW(table)                                                                    \
    __attribute__((always_inline)) static inline struct mp_row_##table export_row_##table(         \
        const struct export_row *row)                                                              \
    {                                                                                              \
        return (struct mp_row_##table){MP_COLUMNS_##table(EXPORT_VALUE)};                          \
    }
EXPORT_TYPED_ROW(kernel)
EXPORT_TYPED_ROW(copy)
EXPORT_TYPED_ROW(set)
EXPORT_TYPED_ROW(graph)
EXPORT_TYPED_ROW(host_function)
EXPORT_TYPED_ROW(call)
EXPORT_TYPED_ROW(sync)
EXPORT_TYPED_ROW(wait)
EXPORT_TYPED_ROW(nvtx)
EXPORT_TYPED_ROW(memory)
EXPORT_TYPED_ROW(pool)
EXPORT_TYPED_ROW(unified)
EXPORT_TYPED_ROW(overhead)
EXPORT_TYPED_ROW(collective)
EXPORT_TYPED_ROW(metric_value)
#undef EXPORT_TYPED_ROW
#undef EXPORT_VALUE

/* What the analyses know; the pointers of what is not known are NULL. */
struct export_analyses {
    struct deps deps; /* with fronts; times as recorded */
    struct iterations iterations;
    uint64_t *critical; /* by activity: ns on the critical paths of the iterations; of a call its
                           first piece has all; owned */
    bool known;
    char why_not[256]; /* `known` is false: one line */
};

struct export_options {
    enum names_style style;
    uint64_t range;   /* only capture range N; 0: everything */
    uint64_t devices; /* bit i: device i; 0: all. Host rows stay if they launched work there */
    uint64_t iterations_from, iterations_until; /* numbers from 1, both included; 0: all. Needs
                                                   analyses */
    const struct iterations_options *how;       /* what an iteration is; NULL: found */
    bool analyses;
    bool events;     /* parquet: the event tables too */
    bool one_run;    /* parquet: OUT, which exists, is the folder of the only run */
    const char *job; /* parquet: of the runs; NULL: the program's name */
    unsigned kinds;  /* bit i: rows of enum export_kind i; 0: all */
};

struct export_rows;

/* Opens a trace, with the passes that filters and analyses need. MP_ERR_ARGUMENT: there is no such
 * range, device or iteration; the message says what there is. MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT. If the analyses fail for a reason of the trace, export_analyses says why, and the
 * rows still come.
 */
enum mp_status export_rows_open(struct mp_trace *trace, const struct export_options *options,
                                struct export_rows **rows, struct mp_error *error);

/* The next row, valid until the next call. MP_OK, MP_END, MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status export_rows_next(struct export_rows *rows, struct export_row *row);

/* NULL is allowed. */
void export_rows_close(struct export_rows *rows);

/* The analyses of the rows; `known` is false unless they were asked for. */
const struct export_analyses *export_rows_analyses(const struct export_rows *rows);

/* Numbers a text of the caller like those of the rows. 0: no memory. */
uint32_t export_rows_intern(struct export_rows *rows, const char *text, size_t bytes);

/* Finds the text of such a number. MP_ERR_MEMORY: there is none. */
enum mp_status export_rows_text(struct export_rows *rows, uint32_t id, struct export_text *text);

/* The text of a string id, as columns that refer to the table `string` hold it; its text is NULL
 * for 0 and for what is not defined. MP_ERR_MEMORY. */
enum mp_status export_rows_string(struct export_rows *rows, uint64_t string,
                                  struct export_text *text);

/* A thread by the trace's number of it, as columns that refer to the table `thread` hold it;
 * *thread is NULL for 0 and for what is not defined. MP_ERR_MEMORY. */
enum mp_status export_rows_thread(struct export_rows *rows, uint64_t number,
                                  const struct export_thread **thread);

/* The GPUs of the trace, each ordinal once; *count of them. */
const struct mp_row_device *export_rows_devices(const struct export_rows *rows, size_t *count);

/* The GPU of an ordinal, and its limits; NULL: the trace does not define it. */
const struct mp_row_device *export_rows_device(const struct export_rows *rows, uint64_t ordinal);
const struct device_limits *export_rows_limits(const struct export_rows *rows, uint64_t ordinal);

/* What a kernel could use at this place: shapes_limits. */
bool export_rows_usable(const struct export_rows *rows, const struct export_place *place,
                        struct device_limits *limits);

/* A row of `sync` with the context that its stream belongs to (contexts_owner). */
struct mp_row_sync export_rows_sync(const struct export_rows *rows, const struct export_row *row);

/* The device of a context; 0 if the trace does not say. */
uint64_t export_rows_device_of(const struct export_rows *rows, uint64_t context);

/* Whether the priority of a stream is known. */
bool export_rows_priority(const struct export_rows *rows, uint64_t context, uint64_t stream,
                          int64_t *priority);

/* A function of CUDA by the trace's number of it. */
struct export_function {
    uint32_t cbid;
    bool driver; /* of the driver's API */
};

/* NULL: the trace does not define it. */
const struct export_function *export_rows_function(const struct export_rows *rows, uint64_t id);

/* The options that it was opened with. */
const struct export_options *export_rows_options(const struct export_rows *rows);

/* What was left out so far (profile/quality.h). */
const struct quality *export_rows_quality(const struct export_rows *rows);

#define EXPORT_UUID_BYTES 40

/* The UUID of a GPU, `01234567-89ab-cdef-0123-456789abcdef`, in `text`; NULL for one that is not
 * known, all 0. */
const char *export_uuid(uint64_t high, uint64_t low, char text[EXPORT_UUID_BYTES]);

/* ---- Sampled counters ---- */

#define EXPORT_COUNTER_BYTES 200u

/* A counter was `value` from start to end. */
struct export_sample {
    uint64_t counter; /* the trace's number of it, from 1 */
    uint64_t device;
    const char *name; /* valid UTF-8, EXPORT_COUNTER_BYTES at most; "sm_active", or CUPTI's */
    enum metric_unit unit;
    uint64_t start, end; /* ns of the recorder's clock */
    double value;        /* finite */
};

typedef enum mp_status export_take_sample(void *context, const struct export_sample *sample);

/* Delivers the samples of the trace as the options of the rows choose: one capture range, some
 * iterations and devices. What was counted comes if it lies there as a whole; a reading of NVML
 * comes cut to that time. Ends with what is not MP_OK. MP_ERR_IO, MP_ERR_MEMORY, with a text in
 * *error. */
enum mp_status export_samples(const struct export_rows *rows, export_take_sample *take,
                              void *context, struct mp_error *error);

#endif
