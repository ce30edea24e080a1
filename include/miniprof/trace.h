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
 * Memory is bounded by the largest chunk (format.h holds the limits), not by the file. Nothing here
 * prints or exits. A trace and its cursors belong to one thread at a time; several traces, or
 * several cursors of one trace in one thread, do not disturb each other.
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
    const char *doc;
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

/* Name of a value of an enumeration (`reference` of an ENUM column); NULL if it has none. */
MP_PUBLIC const char *mp_enum_name(const char *enumeration, uint64_t value);

/* ---- A trace ---- */

struct mp_trace;

/* Opens a trace and reads its header. A damaged header does not hide the chunks behind it: the
 * trace then has no properties, and the cursor's damage says so. On failure *trace is NULL and
 * *error (which may be NULL) says in one line what is wrong: MP_ERR_IO (cannot open or read),
 * MP_ERR_FORMAT (not a miniprof trace), MP_ERR_VERSION (written by a newer miniprof),
 * MP_ERR_DAMAGED (a damaged header and no chunk), MP_ERR_MEMORY. */
MP_PUBLIC enum mp_status mp_trace_open(const char *path, struct mp_trace **trace,
                                       struct mp_error *error);

/* Closes the trace; its cursors must be closed before. NULL is allowed. */
MP_PUBLIC void mp_trace_close(struct mp_trace *trace);

/* Value of a key of the header ("pid", "command", "clock", ...; docs/trace-format.md lists them),
 * or NULL. Belongs to the trace. */
MP_PUBLIC const char *mp_trace_property(const struct mp_trace *trace, const char *key);

/* The header's keys in file order: false when `index` is past the last one. */
MP_PUBLIC bool mp_trace_property_at(const struct mp_trace *trace, size_t index, const char **key,
                                    const char **value);

/* Size of the file, bytes, when it was opened, or looked at again. */
MP_PUBLIC uint64_t mp_trace_bytes(const struct mp_trace *trace);

/* The same without the holes of a sparse file, which take no room on disk. What the file says can
 * justify memory by these bytes only. */
MP_PUBLIC uint64_t mp_trace_data_bytes(const struct mp_trace *trace);

/* What the chunk index at the end of the file says, without reading the chunks. */
struct mp_index {
    bool present; /* false: the program did not end in order, or the file was cut */
    uint32_t chunks;
    uint64_t rows;
    uint64_t dropped;
};

/* Fills in *index; all zero if there is none. */
MP_PUBLIC void mp_trace_index(const struct mp_trace *trace, struct mp_index *index);

/* ---- Rows ---- */

/* The rows of one chunk, column by column. Belongs to the cursor, valid until its next call. */
struct mp_batch {
    const struct mp_table_info *table;
    uint32_t rows;
    /* `rows` values of each selected column, in the order of table->columns; NULL for columns that
     * were not selected, and for TEXT columns. Columns that the file lacks read as 0. */
    const uint64_t *columns[MP_MAX_COLUMNS];
    /* The TEXT column, if the table has one: row i is text[text_end[i-1]] to text[text_end[i]], the
     * first from text[0]; not NUL-terminated. */
    const char *text;
    const uint32_t *text_end;
    uint64_t first_time;
    uint64_t last_time;
};

/* A chunk as it stands in the file. */
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
    uint64_t bytes_skipped;  /* that belong to no intact chunk */
    uint64_t chunks_damaged; /* with an intact header but a bad checksum, or columns that cannot be
                                decoded */
    uint64_t rows_damaged;   /* that those headers promised */
    uint64_t chunks_missing; /* by gaps in the sequence numbers */
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

/* Delivers of `table` only the columns whose bits are set (bit i: table->columns[i]); 0 skips the
 * table's chunks without reading them. */
MP_PUBLIC void mp_cursor_select(struct mp_cursor *cursor, const struct mp_table_info *table,
                                uint32_t column_mask);

/* The next chunk's rows, in file order. Damaged parts are passed over and counted.
 * MP_OK, MP_END, or MP_ERR_IO / MP_ERR_MEMORY, after which only closing is possible. */
MP_PUBLIC enum mp_status mp_cursor_next(struct mp_cursor *cursor, struct mp_batch *batch);

/* The next chunk's header, without decoding it; the same results. With `verify` the checksum of its
 * columns is checked too, and a chunk that fails is passed over and counted. */
MP_PUBLIC enum mp_status mp_cursor_next_chunk(struct mp_cursor *cursor, struct mp_chunk *chunk,
                                              bool verify);

/* The rows of the chunk whose header stands at `offset`, as mp_cursor_next_chunk of any cursor of
 * this trace gave it: chunks stand alone and can be read in any order. The cursor stays where it
 * is; columns are as selected, and MP_ERR_ARGUMENT says that none of the table is, or that the
 * table is not known. MP_ERR_DAMAGED: the chunk cannot be decoded, which is counted as
 * mp_cursor_next counts it, or there is no chunk at `offset`; other chunks can be read after that.
 * MP_ERR_IO, MP_ERR_MEMORY. */
MP_PUBLIC enum mp_status mp_cursor_read_chunk(struct mp_cursor *cursor, uint64_t offset,
                                              struct mp_batch *batch);

/* Goes back to the first chunk; damage counts start again. */
MP_PUBLIC void mp_cursor_rewind(struct mp_cursor *cursor);

/* Damage met so far; complete after MP_END. */
MP_PUBLIC void mp_cursor_damage(const struct mp_cursor *cursor, struct mp_damage *damage);

/* ---- A trace that is still being written ----
 *
 * The collector writes whole chunks and changes nothing that it has written, but that it may cut
 * the file back to its header and begin anew (docs/trace-format.md, section 4).
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
    MP_GROWTH_NONE,      /* nothing has come, or no whole chunk */
    MP_GROWTH_MORE,      /* the file is longer */
    MP_GROWTH_ENDED,     /* it has its index: what the cursor has not delivered yet is the rest */
    MP_GROWTH_RESTARTED, /* it was cut back: the cursor is at its first chunk again */
    MP_GROWTH_REMOVED    /* it has no name any more, or another file has it; otherwise as MORE */
};

/* Opens a trace as mp_trace_open does, for cursors that stop in front of what is not all there at
 * the end of the file, instead of counting it as damage; MP_END then means: up to now. A file whose
 * header is not all there is refused, with MP_ERR_FORMAT or MP_ERR_DAMAGED: to be tried again. */
MP_PUBLIC enum mp_status mp_trace_follow(const char *path, struct mp_trace **trace,
                                         struct mp_error *error);

/* After MP_END, of a trace from mp_trace_follow: looks at the file again, and lets the cursor go on
 * where it stopped. Of several cursors of a trace one may be followed with; the others have to be
 * rewound. MP_ERR_IO, MP_ERR_MEMORY, and MP_ERR_ARGUMENT for a trace from mp_trace_open. */
MP_PUBLIC enum mp_status mp_cursor_follow(struct mp_cursor *cursor, enum mp_growth *growth,
                                          struct mp_error *error);

/* One line for a person about the damage into `text` (at most `size` bytes, NUL included); false
 * and an empty text when there is none. A missing index alone counts as damage. */
MP_PUBLIC bool mp_damage_describe(const struct mp_damage *damage, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
