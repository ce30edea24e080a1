/* Writes Parquet files, which DuckDB, ClickHouse, Spark, Trino, pandas and polars read.
 *
 * A caller describes a table, puts the cells of one row after the other, and ends each row:
 *
 *     static const struct parquet_column columns[] = {
 *         {"start_ns", PARQUET_INT64, PARQUET_TIME}, {"name", PARQUET_STRING, 0},
 *         {"graph_id", PARQUET_INT32, PARQUET_OPTIONAL}};
 *     static const struct parquet_table table = {"kernel", columns, 3};
 *
 *     MP_TRY(parquet_begin(out, &table, NULL, &writer, error));
 *     for (...) {
 *         parquet_put_int(writer, 0, start);
 *         parquet_put_text(writer, 1, name, bytes);
 *         if (parquet_end_row(writer) != MP_OK) // graph_id is NULL
 *             break;
 *     }
 *     return parquet_end(writer, error);
 *
 * Rows are collected to groups of 122,880 (DuckDB's own), each with the minimum and maximum of
 * each column, so that a reader skips groups that a filter rules out. Pages are compressed by zstd.
 * Memory is that of one group: at most 1 MiB a column and 16 MiB of distinct text, and as much
 * again to encode the largest column; the footer adds about 100 bytes for each column of a group.
 *
 * A file without its last bytes is no Parquet file, and these are written only if all before them
 * were. The first failure sticks: what follows is ignored, and parquet_end returns it.
 *
 * Rules are those of github.com/apache/parquet-format: README.md, Encodings.md, LogicalTypes.md,
 * src/main/thrift/parquet.thrift. One thread at a time.
 */
#ifndef MP_EXPORT_PARQUET_PARQUET_H
#define MP_EXPORT_PARQUET_PARQUET_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

#define PARQUET_GROUP_ROWS     122880u     /* rows of a group */
#define PARQUET_GROUP_TEXT     (16u << 20) /* bytes of distinct text at which a group ends early */
#define PARQUET_MAX_TEXT_BYTES (16u << 20) /* of one cell */

/* Values may be in files' options: append-only. */
enum parquet_type {
    PARQUET_BOOL,
    PARQUET_INT32, /* signed */
    PARQUET_INT64, /* signed */
    PARQUET_DOUBLE,
    PARQUET_STRING, /* UTF-8 */
};

enum parquet_flag {
    PARQUET_OPTIONAL = 1, /* the cell of a row may be NULL */
    PARQUET_TIME = 2,     /* of an INT64: nanoseconds since the Unix epoch, UTC. Readers have a time
                           * without a zone: TIMESTAMP_NS of DuckDB, DateTime64(9) of ClickHouse */
};

struct parquet_column {
    const char *name; /* UTF-8, unlike all others of the table */
    enum parquet_type type;
    unsigned flags; /* enum parquet_flag */
};

struct parquet_table {
    const char *name; /* of the schema's root; readers show it seldom */
    const struct parquet_column *columns;
    unsigned column_count; /* 1 or more */
};

struct parquet_note {
    const char *key, *value; /* text that a reader finds with the file, "key_value_metadata" */
};

struct parquet_options {
    int level;           /* of zstd, 1 to 19; 0: 1 */
    uint32_t group_rows; /* rows of a group, at most PARQUET_GROUP_ROWS; 0: that many */
    const struct parquet_note *notes;
    unsigned note_count;
};

struct parquet_writer;

/* Begins a file at the present position of `out`, which need not be able to seek and stays the
 * caller's. The table and all that it points to must live until the end; `options`, which may be
 * NULL, only during the call. MP_ERR_MEMORY, MP_ERR_IO; then *writer is NULL. */
enum mp_status parquet_begin(FILE *out, const struct parquet_table *table,
                             const struct parquet_options *options, struct parquet_writer **writer,
                             struct mp_error *error);

/* Put one cell of the present row; cells may come in any order. What does not suit the column (a
 * number over 32 bits, a second cell, NULL in a column without PARQUET_OPTIONAL, text over
 * PARQUET_MAX_TEXT_BYTES) is a failure: MP_ERR_ARGUMENT or MP_ERR_LIMIT.
 *
 * parquet_put_int is for INT64, INT32 and BOOL (not 0: true). parquet_put_text copies the bytes;
 * each byte that is no UTF-8 becomes U+FFFD, because readers refuse others; `text` may be NULL if
 * `bytes` is 0. */
void parquet_put_int(struct parquet_writer *writer, unsigned column, int64_t value);
void parquet_put_double(struct parquet_writer *writer, unsigned column, double value);
void parquet_put_text(struct parquet_writer *writer, unsigned column, const char *text,
                      size_t bytes);
void parquet_put_null(struct parquet_writer *writer, unsigned column);

/* Ends the row: cells of optional columns that were not put are NULL, all others must be there. A
 * full group is written. Returns the first failure of all so far. */
enum mp_status parquet_end_row(struct parquet_writer *writer);

/* Writes what is left and the footer, flushes `out` and frees the writer. Returns the first failure
 * of all, and why in `error`: MP_ERR_IO ends with the system's reason. After a failure the file has
 * no footer, so no reader takes it; the caller removes it. */
enum mp_status parquet_end(struct parquet_writer *writer, struct mp_error *error);

/* Frees the writer without writing anything. NULL is allowed. */
void parquet_abandon(struct parquet_writer *writer);

#endif
