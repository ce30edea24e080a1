/* Writes tables as an SQLite file or as a folder with a Parquet file for each, from one description
 * of their columns:
 *
 *     static const struct tables_column columns[] = {
 *         {"start", TABLES_INT, TABLES_REQUIRED}, {"text", TABLES_TEXT, 0}};
 *     static const struct tables_table all[] = {{"NVTX_EVENTS", columns, 2}};
 *
 *     MP_TRY(tables_open_folder(path, all, 1, &tables, error));
 *     struct tables_cell cells[2] = {TABLES_NUMBER(start)};    // text is NULL
 *     MP_TRY(tables_put(tables, 0, cells));
 *     return tables_close(tables, error);
 *
 * A table comes into being with its first row. A required cell that is not given is 0 or an empty
 * text. Memory is that of the back end: SQLite's cache, or one group of rows for each Parquet file.
 */
#ifndef MP_EXPORT_TABLES_H
#define MP_EXPORT_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

#define TABLES_MAX_COLUMNS 64

enum tables_type {
    TABLES_INT,
    TABLES_INT32, /* SQLite has one kind of whole number, and no bool */
    TABLES_BOOL,
    TABLES_REAL,
    TABLES_TEXT
};

enum tables_flag {
    TABLES_REQUIRED = 1, /* never NULL */
    TABLES_KEY = 2       /* SQLite: the primary key */
};

struct tables_column {
    const char *name;
    uint8_t type;  /* enum tables_type */
    uint8_t flags; /* enum tables_flag */
};

struct tables_table {
    const char *name;
    const struct tables_column *columns;
    unsigned column_count; /* 1 to TABLES_MAX_COLUMNS */
};

enum tables_cell_kind { TABLES_CELL_NONE, TABLES_CELL_NUMBER, TABLES_CELL_REAL, TABLES_CELL_TEXT };

struct tables_cell {
    union {
        int64_t number;
        double real;
        const char *text; /* valid UTF-8; may be gone after tables_put */
    };
    uint32_t bytes; /* of the text */
    uint8_t kind;   /* enum tables_cell_kind; a zeroed cell is NULL */
};

#define TABLES_NUMBER(value)                                                                       \
    ((struct tables_cell){.number = (int64_t)(value), .kind = TABLES_CELL_NUMBER})
#define TABLES_WORDS(value, size)                                                                  \
    ((struct tables_cell){.text = (value), .bytes = (uint32_t)(size), .kind = TABLES_CELL_TEXT})

/* NULL for NULL; NULL for 0. */
static inline struct tables_cell tables_words(const char *text)
{
    return text ? TABLES_WORDS(text, strlen(text)) : (struct tables_cell){.kind = TABLES_CELL_NONE};
}

static inline struct tables_cell tables_some(uint64_t number)
{
    return number ? TABLES_NUMBER(number) : (struct tables_cell){.kind = TABLES_CELL_NONE};
}

struct tables;

/* Begins an SQLite file in `out`, an empty regular file of which `path` is for messages. The
 * description must live until the end. MP_ERR_IO, MP_ERR_MEMORY; MP_ERR_ARGUMENT: `out` is no such
 * file; MP_ERR_UNSUPPORTED: a build without SQLite. */
enum mp_status tables_open_sqlite(FILE *out, const char *path, const struct tables_table *all,
                                  unsigned count, struct tables **tables, struct mp_error *error);

/* Begins Parquet files in a folder. */
enum mp_status tables_open_folder(const char *folder, const struct tables_table *all,
                                  unsigned count, struct tables **tables, struct mp_error *error);

/* Makes a table that may stay without rows. Fails as tables_put. */
enum mp_status tables_begin(struct tables *tables, unsigned table);

/* Adds a row to table number `table`: a cell for each column. After MP_ERR_IO errno says why. The
 * first failure sticks. */
enum mp_status tables_put(struct tables *tables, unsigned table, const struct tables_cell *cells);

/* Completes the files and frees `tables`; returns the first failure of all. */
enum mp_status tables_close(struct tables *tables, struct mp_error *error);

/* Frees without completing anything. NULL is allowed. */
void tables_abandon(struct tables *tables);

/* ---- Inside of this folder: where tables go ---- */

struct tables_back {
    /* Makes a table; *handle is what the others are given. */
    enum mp_status (*begin)(void *state, const struct tables_table *table, void **handle,
                            struct mp_error *error);
    enum mp_status (*put)(void *state, const struct tables_table *table, void *handle,
                          const struct tables_cell *cells, struct mp_error *error);
    /* Frees the handle in any case; `whole` completes the table. */
    enum mp_status (*end)(void *state, void *handle, bool whole, struct mp_error *error);
    /* Frees `state`. */
    enum mp_status (*close)(void *state, bool whole, struct mp_error *error);
};

/* Takes over `state`, which is closed if it fails. */
enum mp_status tables_new(const struct tables_back *back, void *state,
                          const struct tables_table *all, unsigned count, struct tables **tables,
                          struct mp_error *error);

#endif
