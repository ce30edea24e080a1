/* Inside nvvp_read: what its files share. read.c opens and closes, read_ours.c reads what
 * nvvp_write wrote, plain*.c reads what nvprof wrote, and reader.c has what all of these need. */
#ifndef MP_EXPORT_NVVP_READ_H
#define MP_EXPORT_NVVP_READ_H

#include "base/data/buffer.h"
#include "export/common/db.h"
#include "export/nvvp/schema.h"
#include "trace/write/writer.h"

struct nvvp_reader {
    struct export_db db;
    struct mp_error *error;
    int fd;                   /* of the trace; the caller's */
    struct mp_writer *writer; /* NULL before nvvp_start_trace */
    uint64_t max_rows;        /* that a table can have in a file of this size */
};

enum mp_status nvvp_read_ours(struct nvvp_reader *reader);
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

#endif
