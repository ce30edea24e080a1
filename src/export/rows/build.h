/* Inside of the rows: what the files of this folder share.
 *
 *     rows.c      opens a trace, goes through its batches, hands out rows
 *     definitions.c  the first pass: what rows refer to by number
 *     sources.c   which tables have rows, and what a row is called
 *     lookup.c    texts, names of definitions, threads, and the places where work ran
 *     nvtx.c      from pushes and pops to ranges
 *     filter.c    devices, capture ranges
 *     analyses.c  the event graph, iterations, critical paths
 *     samples.c   sampled counters, from a separate pass
 */
#ifndef MP_EXPORT_ROWS_BUILD_H
#define MP_EXPORT_ROWS_BUILD_H

#include "base/data/map.h"
#include "base/data/storage.h"
#include "export/rows/rows.h"
#include "profile/activity.h"
#include "profile/nvtx/match.h"
#include "profile/quality.h"
#include "trace/schema.h"

/* A table whose rows are exported. */
struct export_source {
    const struct activity_table *table;
    uint8_t kind;     /* enum export_kind; of nvtx both kinds, see nvtx.c */
    uint8_t activity; /* enum deps_kind; DEPS_KINDS: none */
    /* Fills in name and raw_name. */
    enum mp_status (*describe)(struct export_rows *rows, struct export_row *row);
};

/* Returns all of them; *count of them. */
const struct export_source *export_sources(size_t *count);

/* What is known of a definition's name. */
struct export_memo {
    uint32_t name, raw; /* texts; name 0: not looked up yet */
    bool undefined;
};

enum export_memo_index {
    EXPORT_MEMO_STRING,
    EXPORT_MEMO_SHAPE,
    EXPORT_MEMO_FUNCTION,
    EXPORT_MEMO_METRIC,
    EXPORT_MEMOS
};

/* A thread or a row of `stream`, with its lane in the event graph. */
struct export_lane {
    uint32_t lane;              /* DEPS_NONE: none */
    uint32_t next;              /* the activity that probably comes next */
    bool wanted;                /* of threads: launched work on the chosen devices */
    bool known;                 /* what follows and `lane` are filled in */
    struct export_place *place; /* in the arena; NULL: not defined; the same for the next */
    struct export_thread *thread;
};

/* A range of NVTX that is open. */
struct export_open {
    struct mp_row_nvtx row; /* of its push or start */
    uint32_t depth;
    bool used;
};

struct export_nvtx {
    struct nvtx_match match; /* items: index of `open` */
    struct export_open *open;
    size_t count, capacity;
    size_t free_count, free_capacity;
    uint32_t *free;           /* places of `open` that are not used */
    bool ended;               /* only open ranges are left: */
    size_t position;          /* of the next one */
    uint64_t last;            /* when the trace ends */
    struct export_open shown; /* of the row that is handed out */
    const uint64_t *columns[MP_COLUMN_COUNT_nvtx];
};

struct export_rows {
    struct mp_trace *trace;
    struct export_options options;
    struct definitions definitions;
    struct shapes shapes;
    struct mp_row_device *devices; /* each ordinal once */
    size_t device_count, device_capacity;
    struct mp_map contexts; /* CUPTI's id -> ordinal of its device */
    struct dense functions; /* of struct export_function */
    struct dense metrics;   /* of uint64_t: names, by id of a metric */
    struct quality quality;
    struct mp_damage earlier; /* that the pass over the definitions met */
    struct capture_ranges ranges;
    const struct capture_range *range; /* NULL: everything */
    size_t last_range;                 /* of the row before */
    struct mp_intern texts;
    struct mp_buffer clean;
    struct dense memos[EXPORT_MEMOS];
    struct mp_arena arena;
    struct mp_intern place_keys;
    struct export_place **places; /* by number, from 1 */
    size_t place_capacity;
    struct dense streams; /* of struct export_lane */
    struct dense threads; /* of struct export_lane */
    uint32_t thread_count;
    struct mp_map launched; /* correlation -> whether on a chosen device */
    bool by_device;
    struct export_analyses analyses;
    uint64_t *latest; /* by iteration: the last host end up to it */
    struct export_nvtx nvtx;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    const struct export_source *source; /* of the batch; NULL: none yet */
    uint32_t at;                        /* row of the batch */
    bool ended;
};

/* ---- definitions.c ---- */

/* Reads the definitions and the capture ranges, and finds the chosen one. */
enum mp_status export_definitions_load(struct export_rows *rows, struct mp_error *error);
void export_definitions_free(struct export_rows *rows);

/* ---- lookup.c ---- */

enum mp_status export_text_put(struct export_rows *rows, const char *text, size_t bytes,
                               struct export_text *result);

/* Fills in the names of a shape, function or metric. Counts a row whose one is undefined. */
enum mp_status export_text_name(struct export_rows *rows, enum export_memo_index index, uint64_t id,
                                struct export_row *row);

/* Find what is known of a row of `stream`, of a thread; *lane is NULL for a number that a file of
 * this size cannot have. */
enum mp_status export_stream(struct export_rows *rows, uint64_t stream, struct export_lane **lane);
enum mp_status export_thread(struct export_rows *rows, uint64_t thread, struct export_lane **lane);

/* ---- nvtx.c ---- */

/* Takes a row of `nvtx`. *is says whether it is a row of the export: a mark or the end of a
 * range. */
enum mp_status export_nvtx_take(struct export_rows *rows, struct export_row *row, bool *is);

/* Returns, after the last row, the next range that is still open; MP_END after them. */
enum mp_status export_nvtx_next_open(struct export_rows *rows, struct export_row *row);

/* Fills in the rest of a row of NVTX that is wanted. */
enum mp_status export_nvtx_describe(struct export_rows *rows, struct export_row *row);

void export_nvtx_free(struct export_nvtx *nvtx);

/* ---- filter.c ---- */

/* Checks the chosen devices, and finds out which calls and threads launched work there. */
enum mp_status export_filter_load(struct export_rows *rows, struct mp_error *error);

/* Whether a row of the device or the host is on a chosen device. */
bool export_filter_device(const struct export_rows *rows, const struct export_source *source,
                          const struct export_row *row, const struct export_lane *lane);

/* Whether the row is in the chosen capture range; fills in capture_range. */
bool export_filter_range(struct export_rows *rows, const struct export_source *source,
                         struct export_row *row);

/* ---- analyses.c ---- */

enum mp_status export_analyses_load(struct export_rows *rows, struct mp_error *error);
void export_analyses_free(struct export_rows *rows);

/* Fills in activity and iteration; returns whether the row is in the chosen iterations. */
bool export_analyses_row(const struct export_rows *rows, const struct export_source *source,
                         struct export_row *row, struct export_lane *lane);

/* Find the lane of a thread by its number; of a stream. */
uint32_t export_analyses_thread(const struct export_rows *rows, uint64_t thread);
uint32_t export_analyses_stream(const struct export_rows *rows, uint64_t row,
                                const struct export_place *place);

#endif
