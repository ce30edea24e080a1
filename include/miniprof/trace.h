/* libmptrace: reading miniprof traces.
 *
 * Simple use: open a trace, run a cursor over it, look at the batches.
 *
 *     struct mp_trace *trace;
 *     struct mp_cursor *cursor;
 *     struct mp_batch batch;
 *     struct mp_error error;
 *     if (mp_trace_open("app.mpt", &trace, &error) != MP_OK) ...
 *     mp_cursor_open(trace, &cursor, &error);
 *     while (mp_cursor_next(cursor, &batch) == MP_OK)
 *         if (!strcmp(batch.table->name, "kernel")) ... batch.columns[i][row] ...
 *     mp_cursor_close(cursor);
 *     mp_trace_close(trace);
 *
 * Memory is bounded by the largest chunk (format.h holds the limits), not by the size of the file.
 * Nothing here prints or exits. One thread at a time may use a cursor. Several cursors of one trace
 * may run in threads of their own, unless the trace is followed (mp_trace_follow); then one thread
 * at a time may use the trace and its cursors. Several traces are independent of each other.
 */
#ifndef MINIPROF_TRACE_H
#define MINIPROF_TRACE_H

#include <miniprof/format.h>
#include <miniprof/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What tables and columns there are (the same for every trace) ---- */

enum mp_type {
    MP_TYPE_UINT,
    MP_TYPE_INT,      /* two's complement in the uint64_t */
    MP_TYPE_TIME,     /* ns of the recorder's clock; 0 is unknown */
    MP_TYPE_DURATION, /* ns, two's complement: damaged records may have a negative one */
    MP_TYPE_HEX,      /* handles, addresses, bits */
    MP_TYPE_BOOL,
    MP_TYPE_ENUM, /* mp_enum_name gives the name of a value */
    MP_TYPE_REF,  /* the `id` of a row of table `reference`; 0 is none */
    MP_TYPE_TEXT
};

enum mp_unit {
    MP_UNIT_NONE,
    MP_UNIT_NS,
    MP_UNIT_BYTES,
    MP_UNIT_COUNT,
    MP_UNIT_KHZ,
    MP_UNIT_KBYTES_PER_S
};

struct mp_column_info {
    const char *name;
    const char *reference; /* REF: table's name; ENUM: enumeration's name; else NULL */
    enum mp_type type;
    enum mp_unit unit;
    uint8_t id; /* on disk */
};

enum mp_table_kind {
    MP_TABLE_DEFINITION, /* what rows refer to */
    MP_TABLE_EVENT,      /* what the program did: the records */
    MP_TABLE_NOTE        /* about the recording itself */
};

struct mp_table_info {
    const char *name;
    const char *doc;
    const struct mp_column_info *columns; /* column_count of them */
    enum mp_table_kind kind;
    uint16_t id;    /* on disk */
    uint16_t since; /* format version that introduced it */
    uint8_t column_count;
};

/* All tables, definitions first; `*count` of them. */
MP_PUBLIC const struct mp_table_info *mp_tables(size_t *count);

/* The table of that name; NULL if there is none. */
MP_PUBLIC const struct mp_table_info *mp_table_by_name(const char *name);

/* The table with that id on disk; NULL if there is none. */
MP_PUBLIC const struct mp_table_info *mp_table_by_id(unsigned id);

/* Index of the column of that name in `table->columns`; -1 if there is none. */
MP_PUBLIC int mp_column_index(const struct mp_table_info *table, const char *name);

/* What the column at that index means, in words; NULL if there is none. */
MP_PUBLIC const char *mp_column_doc(const struct mp_table_info *table, int column);

/* Name of a value of an enumeration (`reference` of an ENUM column); NULL if it has none. */
MP_PUBLIC const char *mp_enum_name(const char *enumeration, uint64_t value);

/* ---- A trace ---- */

struct mp_trace;

/* Opens a trace and reads its header. Chunks after a damaged header can still be read: the trace
 * then has no properties, and the cursor's damage says so. On failure *trace is NULL and *error
 * (which may be NULL) says in one line what is wrong: MP_ERR_IO (cannot open or read),
 * MP_ERR_FORMAT (not a miniprof trace), MP_ERR_VERSION (written by a newer miniprof),
 * MP_ERR_DAMAGED (a damaged header and no chunk), MP_ERR_MEMORY. */
MP_PUBLIC enum mp_status mp_trace_open(const char *path, struct mp_trace **trace,
                                       struct mp_error *error);

/* Closes the trace. Close its cursors first. NULL is allowed. */
MP_PUBLIC void mp_trace_close(struct mp_trace *trace);

/* Value of a key of the header ("pid", "command", "clock", ...; docs/trace-format.md lists them),
 * or NULL. Belongs to the trace. */
MP_PUBLIC const char *mp_trace_property(const struct mp_trace *trace, const char *key);

/* The header's keys in file order. Returns false when `index` is past the last key. */
MP_PUBLIC bool mp_trace_property_at(const struct mp_trace *trace, size_t index, const char **key,
                                    const char **value);

/* Size of the file in bytes when it was opened, or when mp_cursor_follow last looked at it. */
MP_PUBLIC uint64_t mp_trace_bytes(const struct mp_trace *trace);

/* The same without the holes of a sparse file, which take no room on disk. What the file says can
 * justify memory by these bytes only. */
MP_PUBLIC uint64_t mp_trace_data_bytes(const struct mp_trace *trace);

/* What the chunk index at the end of the file says, without reading the chunks. */
struct mp_index {
    bool present; /* false: the program did not end normally, or the file was cut */
    uint32_t chunks;
    uint64_t rows;
    uint64_t dropped;
};

/* Fills in *index; all zero if there is none. */
MP_PUBLIC void mp_trace_index(const struct mp_trace *trace, struct mp_index *index);

/* ---- Rows ---- */

/* The rows of one chunk, column by column. The batch belongs to the cursor and is valid until the
 * cursor's next call. */
struct mp_batch {
    const struct mp_table_info *table;
    uint32_t rows;
    /* `rows` values of each selected column, in the order of table->columns. NULL for TEXT columns
     * and for columns that were not selected. A column that the file lacks reads as 0. */
    const uint64_t *columns[MP_MAX_COLUMNS];
    /* The TEXT column, if the table has one. Row i is text[text_end[i-1]] to text[text_end[i]]; the
     * first row begins at text[0]. Not NUL-terminated. */
    const char *text;
    const uint32_t *text_end;
    uint64_t first_time;
    uint64_t last_time;
};

/* A chunk as it is in the file. */
struct mp_chunk {
    const struct mp_table_info *table; /* NULL: a table of a newer writer */
    uint64_t offset;                   /* in the file, of its header */
    uint32_t sequence;
    uint32_t rows;
    uint32_t raw_bytes;
    uint32_t packed_bytes;
    uint32_t file_bytes; /* its header included */
    uint16_t table_id;
    uint64_t first_time;
    uint64_t last_time;
    uint64_t dropped;
};

/* What could not be read. All zero for an intact file that ended in order. */
struct mp_damage {
    uint64_t bytes_skipped;  /* bytes that belong to no intact chunk */
    uint64_t chunks_damaged; /* their header is intact, but the checksum is wrong or a column cannot
                                be decoded */
    uint64_t rows_damaged;   /* rows that those headers promised */
    uint64_t chunks_missing; /* known from gaps in the sequence numbers */
    uint64_t chunks_unknown; /* of tables that this reader does not know: skipped, not damage */
    uint64_t first_offset;   /* where the first damage is */
    bool truncated;          /* the file ends inside a chunk */
    bool no_index;           /* no intact index at the end */
    bool header_lost;        /* the file header is damaged: there are no properties */
};

struct mp_cursor;

/* A cursor at the first chunk; all tables and columns are selected. */
MP_PUBLIC enum mp_status mp_cursor_open(struct mp_trace *trace, struct mp_cursor **cursor,
                                        struct mp_error *error);

/* Frees the cursor. NULL is allowed. */
MP_PUBLIC void mp_cursor_close(struct mp_cursor *cursor);

/* Selects the columns of `table` that the cursor delivers (bit i: table->columns[i]). With mask 0
 * the cursor skips the table's chunks without reading them. */
MP_PUBLIC void mp_cursor_select(struct mp_cursor *cursor, const struct mp_table_info *table,
                                uint32_t column_mask);

/* The next chunk's rows, in file order. Damaged parts are skipped and counted. MP_OK, MP_END, or
 * MP_ERR_IO / MP_ERR_MEMORY, after which the cursor can only be closed. */
MP_PUBLIC enum mp_status mp_cursor_next(struct mp_cursor *cursor, struct mp_batch *batch);

/* The next chunk's header, without decoding the chunk. Same results as mp_cursor_next. With
 * `verify` the checksum of the columns is checked too, and a chunk that fails is skipped and
 * counted. */
MP_PUBLIC enum mp_status mp_cursor_next_chunk(struct mp_cursor *cursor, struct mp_chunk *chunk,
                                              bool verify);

/* The rows of the chunk whose header stands at `offset`, as mp_cursor_next_chunk of any cursor of
 * this trace gave it. Each chunk can be decoded alone, so any order is possible. The cursor's
 * position does not change, and its selection of columns applies. MP_ERR_ARGUMENT: no column of the
 * table is selected, or the table is not known. MP_ERR_DAMAGED: there is no chunk at `offset`, or
 * the chunk cannot be decoded (then it is counted as mp_cursor_next counts it); other chunks can
 * still be read. MP_ERR_IO, MP_ERR_MEMORY. */
MP_PUBLIC enum mp_status mp_cursor_read_chunk(struct mp_cursor *cursor, uint64_t offset,
                                              struct mp_batch *batch);

/* The same, but column i goes into the caller's memory at columns[i], which has room for `rows`
 * values, and batch.columns[i] points there. So the chunks of a table can be put one after the
 * other without copies. `columns` has an item for each of table->columns, or is NULL. An item is
 * NULL if its column is to stay in the cursor's memory; of a TEXT column it is not looked at.
 * MP_ERR_LIMIT: the chunk has more than `rows` rows. If the call fails, what is in the caller's
 * memory has no meaning. */
MP_PUBLIC enum mp_status mp_cursor_read_chunk_into(struct mp_cursor *cursor, uint64_t offset,
                                                   uint64_t *const *columns, uint32_t rows,
                                                   struct mp_batch *batch);

/* Goes back to the first chunk; damage counts start again. */
MP_PUBLIC void mp_cursor_rewind(struct mp_cursor *cursor);

/* Damage met so far; complete after MP_END. */
MP_PUBLIC void mp_cursor_damage(const struct mp_cursor *cursor, struct mp_damage *damage);

/* ---- A trace that is still being written ----
 *
 * The recorder writes whole chunks and does not change what it has written, with one exception: it
 * may cut the file back to its header and start again (docs/trace-format.md, section 4).
 *
 *     mp_trace_follow("app.mpt", &trace, &error);
 *     mp_cursor_open(trace, &cursor, &error);
 *     do {
 *         while (mp_cursor_next(cursor, &batch) == MP_OK) ...
 *         sleep(1);
 *         mp_cursor_follow(cursor, &growth, &error);
 *         if (growth == MP_GROWTH_RESTARTED) ... forget everything ...
 *     } while (growth != MP_GROWTH_ENDED);
 */

enum mp_growth {
    MP_GROWTH_NONE,      /* nothing new, or not yet a whole chunk */
    MP_GROWTH_MORE,      /* the file is longer */
    MP_GROWTH_ENDED,     /* the index is written: no more chunks will come */
    MP_GROWTH_RESTARTED, /* the file was cut back: the cursor is at its first chunk again */
    MP_GROWTH_REMOVED    /* the file was deleted or replaced by another one; otherwise as MORE */
};

/* Opens a trace as mp_trace_open does, for a file that is still being written. Its cursors stop
 * before an incomplete chunk at the end of the file and do not count it as damage; MP_END then
 * means: nothing more so far. If the header itself is incomplete, the call fails with MP_ERR_FORMAT
 * or MP_ERR_DAMAGED, and the caller may try again. */
MP_PUBLIC enum mp_status mp_trace_follow(const char *path, struct mp_trace **trace,
                                         struct mp_error *error);

/* For a trace from mp_trace_follow, after MP_END: looks at the file again and lets the cursor go on
 * where it stopped. If a trace has several cursors, only one may follow; the others have to be
 * rewound. MP_ERR_IO, MP_ERR_MEMORY, and MP_ERR_ARGUMENT for a trace from mp_trace_open. */
MP_PUBLIC enum mp_status mp_cursor_follow(struct mp_cursor *cursor, enum mp_growth *growth,
                                          struct mp_error *error);

/* Writes one line about the damage, for a person, into `text` (at most `size` bytes, NUL included).
 * Returns false and an empty text if there is no damage. A missing index alone counts as damage. */
MP_PUBLIC bool mp_damage_describe(const struct mp_damage *damage, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
