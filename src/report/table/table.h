/* The one table printer: columns are data, rows are cells, the format is text in nvprof's layout,
 * CSV in nvprof's layout, or JSON objects.
 *
 *     text   right-justified columns, two spaces between them; times and sizes with their units,
 *            or, unless units are REPORT_UNITS_AUTO, numbers of 8 characters below a row of units
 *     CSV    a quoted header row, a row of units if any column has one, numbers with six decimals,
 *            one unit for each time column, chosen by the greatest value that was measured
 *     JSON   an object for each row, keys from the columns, times in whole ns, sizes in bytes
 *
 * For nvprof's -u the form of times and percentages is known. For sizes and throughput in text the
 * form is our choice: 8 characters, in the unit of the column's greatest measured value.
 *
 *     report_begin(&table, &out, columns, count);
 *     for each row: report_measure(&table, cells);     (optional: fits widths and units)
 *     report_header(&table);
 *     for each row: report_row(&table, cells);
 *
 * Nothing is allocated; output errors are the stream's (ferror).
 */
#ifndef MP_REPORT_TABLE_TABLE_H
#define MP_REPORT_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/table/json.h"

#define REPORT_MOST_COLUMNS 40
#define REPORT_WIDEST_TEXT  64 /* measured text columns grow no wider */

enum report_format { REPORT_TEXT, REPORT_CSV, REPORT_JSON };

/* The unit of times, as nvprof's --normalized-time-unit: chosen for each cell (in CSV for each
 * column), for each column, or this one everywhere. JSON keeps ns. */
enum report_units {
    REPORT_UNITS_AUTO,
    REPORT_UNITS_COLUMN,
    REPORT_UNITS_NS,
    REPORT_UNITS_US,
    REPORT_UNITS_MS,
    REPORT_UNITS_S
};

/* The value of nvprof's option, `s`, `ms`, `us`, `ns`, `col` or `auto`; false for other texts. */
bool report_units_parse(const char *text, enum report_units *units);

/* Where a report goes and how. */
struct report_out {
    FILE *file; /* not owned */
    enum report_format format;
    enum report_units units;
    bool imported; /* lines begin with `======== ` instead of the process: nvprof -i */
    bool nvprof;   /* nvprof's own report, line for line */
};

enum report_kind {
    REPORT_CELL_TEXT,
    REPORT_CELL_GROUP,   /* text; printed with a colon, and only in the first row that has it */
    REPORT_CELL_COUNT,   /* number */
    REPORT_CELL_SIGNED,  /* number, two's complement */
    REPORT_CELL_HEX,     /* number */
    REPORT_CELL_BOOL,    /* number */
    REPORT_CELL_TIME,    /* number: a duration in ns */
    REPORT_CELL_MEAN,    /* real: a duration in ns */
    REPORT_CELL_CHANGE,  /* number, two's complement: ns more or less than before, with six decimals
                          */
    REPORT_CELL_PERCENT, /* real */
    REPORT_CELL_BYTES,   /* number: bytes */
    REPORT_CELL_REAL,    /* real */
    REPORT_CELL_THROUGHPUT /* real: bytes a second */
};

struct report_column {
    const char *title;
    const char *key;  /* in JSON; NULL leaves the column out there */
    const char *unit; /* in CSV's row of units; NULL: none, or the kind's own */
    enum report_kind kind;
    uint8_t width; /* characters in text, at least */
    bool left;     /* left-justified */
    bool cut;      /* TEXT: in text no wider than `width`, as nvprof's devices */
    bool decimals; /* TIME, MEAN: six decimals in text, as nvprof's dependency analysis */
    bool exact;    /* TIME: in CSV enough decimals for a ns also in seconds; else six */
    bool scaled;   /* BYTES, THROUGHPUT: in CSV one unit for the column, by the greatest measured
                      value, as for times; otherwise bytes and bytes a second */
};

struct report_cell {
    const char *text;
    uint32_t text_bytes;
    bool absent; /* "-" in text, empty in CSV, null in JSON */
    union {
        uint64_t number;
        double real;
    };
};

/* Cells by the kinds of their columns. */
struct report_cell report_text_cell(const char *text); /* NULL gives an absent cell */
struct report_cell report_number_cell(uint64_t number);
struct report_cell report_real_cell(double real);
struct report_cell report_absent_cell(void);

struct report_table {
    FILE *out; /* not owned */
    enum report_format format;
    enum report_units units;
    const struct report_column *columns;
    size_t count;
    struct json_writer *json; /* REPORT_JSON: where objects go */
    const char *group;        /* of the last row */
    bool unit_row;            /* in CSV also where no column has a unit; false at first */
    struct {
        uint32_t width;
        uint8_t unit; /* greatest measured: 0 ns, 1 us, 2 ms, 3 s; 0 B, 1 KB, 2 MB, 3 GB */
    } fit[REPORT_MOST_COLUMNS];
};

/* Sets up a table; prints nothing. `columns` must outlive the table. Units of columns need to be
 * measured: in CSV, and in text unless out->units is REPORT_UNITS_AUTO. */
void report_begin(struct report_table *table, const struct report_out *out,
                  const struct report_column *columns, size_t count);

/* The same for rows that are objects of a JSON document; at its top they are JSON lines. */
void report_begin_json(struct report_table *table, struct json_writer *json,
                       const struct report_column *columns, size_t count);

/* Widens columns to fit these cells, and uses the cells to choose the units of columns. */
void report_measure(struct report_table *table, const struct report_cell *cells);

/* Only chooses the units: nvprof's own tables keep their widths. */
void report_measure_units(struct report_table *table, const struct report_cell *cells);

/* Prints what stands above the rows; nothing in JSON. */
void report_header(struct report_table *table);

void report_row(struct report_table *table, const struct report_cell *cells);

/* Prints a program's text without control characters that move a terminal's cursor or change its
 * colours. Tables for people do this themselves. */
void report_put_visible(FILE *out, const char *text, size_t bytes);
void report_put_visible_text(FILE *out, const char *text);

#endif
