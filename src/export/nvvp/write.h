/* Inside nvvp_write: what its two files share. write.c makes the file and writes our own tables;
 * write_rows.c writes a row into nvprof's tables. */
#ifndef MP_EXPORT_NVVP_WRITE_H
#define MP_EXPORT_NVVP_WRITE_H

#include <miniprof/trace.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "export/nvvp/schema.h"
#include "export/sqlite.h"
#include "profile/dense.h"
#include "profile/nvtx/match.h"

/* A zeroed struct is ready for use. */
struct nvvp_markers {
    struct nvtx_match match; /* items: numbers */
    uint32_t last;           /* number given */
};

struct nvvp_writer {
    struct export_db db;
    struct mp_error *error;
    sqlite3_stmt *theirs[NVVP_TABLE_COUNT]; /* INSERT into nvprof's tables */
    sqlite3_stmt *ours[MP_TABLE_COUNT];     /* INSERT into MINIPROF_ tables; NULL: there is none */
    sqlite3_stmt *string;                   /* INSERT into StringTable */
    sqlite3_stmt *string_if_new;            /* the same, but never replaces a row */
    sqlite3_stmt *string_exact;             /* INSERT into MINIPROF_STRING */
    sqlite3_stmt *release;                  /* UPDATE of CUPTI_ACTIVITY_KIND_MEMORY */
    uint64_t rows[MP_TABLE_COUNT];          /* of each table, so far */
    uint64_t offset;                        /* added to times */
    uint64_t pid;
    struct dense streams; /* of struct mp_row_stream, by id; the others likewise */
    struct dense shapes;
    struct dense functions;
    struct dense threads;
    struct nvvp_markers markers;
    struct mp_map live;           /* address -> row of CUPTI_ACTIVITY_KIND_MEMORY */
    uint32_t memory_rows;         /* of CUPTI_ACTIVITY_KIND_MEMORY */
    struct mp_buffer string_text; /* a text made valid */
};

/* Writes what nvprof's tables hold of the batch's row number `rows` (the last one counted), and
 * keeps what later rows need of a definition. */
enum mp_status nvvp_write_row(struct nvvp_writer *writer, const struct mp_batch *batch,
                              uint32_t row);

#endif
