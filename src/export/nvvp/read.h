/* Inside nvvp_read: what its files share. read.c opens and closes, and reads what nvvp_write wrote;
 * reader.c has what both ways need. plain.c says where rows of other files come from, and
 * plain_rows.c turns these into rows of a trace.
 */
#ifndef MP_EXPORT_NVVP_READ_H
#define MP_EXPORT_NVVP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "base/status.h"
#include "export/nvvp/schema.h"
#include "export/sqlite.h"
#include "trace/writer.h"

struct nvvp_reader {
    struct export_db db;
    struct mp_error *error;
    int fd;                   /* of the trace; the caller's */
    struct mp_writer *writer; /* NULL before nvvp_start_trace */
    uint64_t max_rows;        /* that a table can have in a file of this size */
};

enum mp_status nvvp_read_plain(struct nvvp_reader *reader);

/* Adds a line to the header; line breaks and NULs in the value become spaces. */
void nvvp_add_property(struct mp_buffer *header, const char *key, const char *value, size_t bytes);

/* Begins the trace with these "key=value\n" lines, to which a NUL is added. */
enum mp_status nvvp_start_trace(struct nvvp_reader *reader, struct mp_buffer *header);

/* The next row of a statement; *rows is then its number. A damaged file cannot make the rows
 * endless. MP_OK, MP_END or a failure. */
enum mp_status nvvp_next_row(const struct nvvp_reader *reader, sqlite3_stmt *statement,
                             uint64_t *rows);

/* "'x.nvvp' is damaged: " and what is wrong with a value: "table, row 7: 'start' is no number". */
enum mp_status nvvp_bad_value(const struct nvvp_reader *reader, const char *table, uint64_t row,
                              const char *column, const char *what);

/* The status and reason if rows could not be written into the trace; otherwise MP_OK. */
enum mp_status nvvp_check_writer(const struct nvvp_reader *reader);

enum mp_status nvvp_no_memory(const struct nvvp_reader *reader);

/* ---- Several tables in one order ---- */

struct nvvp_source {
    const char *table;       /* by which errors name it */
    sqlite3_stmt *statement; /* the merge finalizes it */
    uint64_t rows;           /* read so far */
    uint64_t time;           /* of the row at hand */
    bool at_end;
};

/* Runs through all sources; their statements are ready. `sources` are `count` structs of `bytes`
 * bytes that begin with a struct nvvp_source. `read` takes the statement's present row and sets
 * `time`; `take` passes the row on. */
enum mp_status nvvp_merge(struct nvvp_reader *reader, void *sources, size_t count, size_t bytes,
                          enum mp_status (*read)(void *context, struct nvvp_source *),
                          enum mp_status (*take)(void *context, struct nvvp_source *),
                          void *context);

/* ---- Ranges ---- */

struct nvvp_open_markers;

/* A zeroed struct is ready for use. Memory depends on the ranges that are open at the same time,
 * and on those that were not pushed. */
struct nvvp_marker_kinds {
    struct mp_intern threads;
    struct nvvp_open_markers *open; /* of thread 1 at [0] */
    size_t capacity;
    struct mp_map thread_of; /* id of an open range -> its thread */
    struct mp_map started;   /* ids that were not pushed */
};

void nvvp_marker_kinds_free(struct nvvp_marker_kinds *kinds);

/* ---- Files without MINIPROF_ tables ---- */

struct nvvp_plain {
    struct nvvp_reader *reader;
    struct mp_map strings; /* _id_ in StringTable -> string of the trace */
    uint32_t string_count; /* of the trace */
    struct mp_intern
        streams; /* what is known of each stream by its id in the trace; the next ones likewise */
    struct mp_intern shapes;
    struct mp_intern functions;
    struct mp_intern threads;
    struct mp_map thread_names; /* tid -> string of the trace */
    struct nvvp_marker_kinds markers;
    struct mp_map domains;  /* id of an open range -> its domain, as a string of the trace */
    uint64_t names_missing; /* names that StringTable does not have */
};

/* The present row of a statement. */
struct nvvp_plain_source {
    struct nvvp_source source; /* first: nvvp_merge */
    const struct nvvp_plain_kind *kind;
    union {
        struct nvvp_CONCURRENT_KERNEL kernel;
        struct nvvp_MEMCPY copy;
        struct nvvp_MEMCPY2 peer_copy;
        struct nvvp_MEMSET set;
        struct nvvp_RUNTIME call; /* and of DRIVER */
        struct nvvp_SYNCHRONIZATION wait;
        struct nvvp_CUDA_EVENT event;
        struct nvvp_STREAM stream;
        struct nvvp_MARKER marker;
        struct nvvp_NAME name;
        struct nvvp_OVERHEAD overhead;
        struct nvvp_DEVICE device;
        struct nvvp_CONTEXT context;
        struct nvvp_UNIFIED_MEMORY_COUNTER unified;
        struct nvvp_MEMORY memory;
    } row;
    uint64_t extra[6]; /* what other tables say about the row */
};

typedef enum mp_status nvvp_take(struct nvvp_plain *plain, const struct nvvp_plain_source *source);

nvvp_take nvvp_take_device, nvvp_take_context, nvvp_take_stream, nvvp_take_name, nvvp_take_kernel,
    nvvp_take_copy, nvvp_take_peer_copy, nvvp_take_set, nvvp_take_runtime, nvvp_take_driver,
    nvvp_take_wait, nvvp_take_event, nvvp_take_marker, nvvp_take_overhead, nvvp_take_unified,
    nvvp_take_allocation, nvvp_take_release;

/* Adds a row of MARKER to plain->markers. */
nvvp_take nvvp_look_at_marker;

/* Defines a string of the trace; 0 when memory is out. */
uint32_t nvvp_define_string(struct nvvp_plain *plain, const char *text, size_t bytes);

#endif
