/* The one table printer: columns are data, rows are cells, the format is text in nvprof's layout,
 * CSV in nvprof's layout, or JSON objects.
 *
 *     text   right-justified columns, two spaces between them; times and sizes with their units,
 *            or, unless units are REPORT_UNITS_AUTO, numbers of 8 characters below a row of units
 *     CSV    a header row with units in its names, times in ns, sizes in bytes (sheet.c); or, in
 *            nvprof's reports, a quoted header row, a row of units if any column has one, numbers
 *            with six decimals, one unit for each column, by the greatest value that was measured
 *     JSON   an object for each row, keys from the columns, times in whole ns, sizes in bytes
 *
 * For nvprof's -u the form of times and percentages is known. For sizes and throughput in text the
 * form is our choice: 8 characters, in the unit of the column's greatest measured value.
 *
 *     report_begin(&table, &out, columns, count);
 *     for each row: report_measure(&table, cells);     (optional: fits widths and units)
 *     report_header(&table);
 *     for each row: report_row(&table, cells);
 *     report_end(&table);
 *
 * Without a view (view.h) nothing is allocated. With one the table keeps its rows: nothing else may
 * be printed between report_header and report_end but by report_below. Output errors are the
 * stream's (ferror).
 */
#ifndef MP_TABLE_TABLE_H
#define MP_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text/json_write.h"
#include "base/text/units.h"
#include "table/documents.h"
#include "table/view.h"

#define REPORT_MAX_COLUMNS 48
#define REPORT_WIDEST_TEXT 64 /* measured text columns grow no wider */

_Static_assert(REPORT_MAX_COLUMNS <= 64, "report_table.hidden has a bit for each column");

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

#define REPORT_MAX_TABLES 16

/* miniprof's own CSV: the rows of one table of a report, below one header row. Of several traces,
 * the first column says whose row it is. All that is not a row goes to report_out.file. */
struct report_sheet {
    FILE *file;          /* where rows go; not owned */
    const char *wanted;  /* the name of the table; NULL: the report's main table */
    const char *process; /* of the rows that follow; NULL: there is one trace */
    const char *tables[REPORT_MAX_TABLES]; /* the names that were met; NULL: the main one */
    size_t table_count;
    bool headed;  /* the header row is printed */
    bool rowless; /* a header row is all there is of the present trace */
};

/* Where a report goes and how. */
struct report_out {
    FILE *file;                       /* not owned */
    struct report_sheet *sheet;       /* REPORT_CSV: miniprof's own form; NULL: nvprof's */
    struct json_documents *documents; /* REPORT_JSON: `file` leads there; NULL: to its reader */
    enum report_format format;
    enum report_units units;
    bool imported;            /* lines begin with `======== ` instead of the process: nvprof -i */
    bool nvprof;              /* nvprof's own report, line for line */
    struct report_view *view; /* not owned; NULL: as wide as it is, every row */
};

/* How a report writes numbers. */
static inline enum mp_style report_number_style(const struct report_out *out)
{
    return out->nvprof ? MP_STYLE_NVPROF : MP_STYLE_OWN;
}

enum report_kind {
    REPORT_CELL_TEXT,
    REPORT_CELL_GROUP,     /* text; printed with a colon, and only in the first row that has it */
    REPORT_CELL_COUNT,     /* number */
    REPORT_CELL_ID,        /* number that names something: no commas */
    REPORT_CELL_SIGNED,    /* number, two's complement */
    REPORT_CELL_HEX,       /* number */
    REPORT_CELL_BOOL,      /* number */
    REPORT_CELL_TIME,      /* number: a duration in ns */
    REPORT_CELL_MEAN,      /* real: a duration in ns */
    REPORT_CELL_CHANGE,    /* number, two's complement: ns more or less than before */
    REPORT_CELL_PERCENT,   /* real */
    REPORT_CELL_BYTES,     /* number: bytes */
    REPORT_CELL_REAL,      /* real */
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
    bool decimals; /* TIME, MEAN: in nvprof's style six decimals, as its dependency analysis */
    bool moment;   /* TIME: a point in time, of which our own style prints all digits */
    bool exact;    /* TIME: in CSV enough decimals for a ns also in seconds; else six */
    bool scaled;   /* BYTES, THROUGHPUT: in CSV one unit for the column, by the greatest measured
                      value, as for times; otherwise bytes and bytes a second */
    bool ranked;   /* TEXT that is a number in words: the cell's `real` has it too, for --sort */
    bool name;     /* TEXT: names, which give way on a terminal; else the last column of text is */
    bool rough;    /* PERCENT: an estimate, which our own style prints with one place */
    bool share;    /* PERCENT: of all; TIME, MEAN: counts beside it; on a terminal rows that have
                      nothing of either are folded into one line */
    uint8_t drop;  /* on a terminal, columns with the greatest number are left out first */
};

struct report_cell {
    const char *text;
    uint32_t text_bytes;
    bool absent; /* "-" in text, empty in CSV, null in JSON */
    union {
        uint64_t number;
        double real; /* also of a TEXT that is `ranked` */
    };
};

/* Cells by the kinds of their columns. */
struct report_cell report_text_cell(const char *text); /* NULL gives an absent cell */
struct report_cell report_number_cell(uint64_t number);
struct report_cell report_real_cell(double real);
struct report_cell report_absent_cell(void);

struct report_rows;

struct report_table {
    FILE *out; /* not owned */
    enum report_format format;
    enum report_units units;
    const struct report_column *columns;
    size_t count;
    struct json_writer *json; /* REPORT_JSON: where objects go */
    struct report_sheet *sheet;
    enum mp_style style; /* of numbers in text */
    const char
        *name; /* among the tables of a report; NULL: its main table. Set before the header */
    const char *group;        /* of the last row */
    bool unit_row;            /* in CSV also where no column has a unit; false at first */
    struct report_view *view; /* not owned; NULL: none */
    struct report_rows *rows; /* kept for the view; NULL: each is printed as it comes */
    uint64_t hidden;          /* a bit for each column that does not fit */
    size_t flexible;          /* column that takes the room that is left; `count`: none */
    struct {
        uint32_t width;
        uint32_t measured; /* by report_measure: columns of the widest cell */
        uint8_t unit;      /* greatest measured: 0 ns, 1 us, 2 ms, 3 s; 0 B, 1 KB, 2 MB, 3 GB */
    } fit[REPORT_MAX_COLUMNS];
};

/* Sets up a table; prints nothing. `columns` must outlive the table. Units of columns need to be
 * measured: in CSV, and in text unless out->units is REPORT_UNITS_AUTO. */
void report_begin(struct report_table *table, const struct report_out *out,
                  const struct report_column *columns, size_t count);

/* The same for rows that are objects of a JSON document; at its top they are JSON lines. */
void report_begin_json(struct report_table *table, struct json_writer *json,
                       const struct report_column *columns, size_t count);

/* Whether the table is printed: in a sheet only one is. */
bool report_is_wanted(const struct report_table *table);

/* Whether notes for people, titles and empty lines belong into this report. */
bool report_has_titles(const struct report_out *out);

/* Whether rows no longer reach their reader. */
bool report_failed(const struct report_out *out);

#define REPORT_FIELD_BYTES 64

/* What a column is called in a sheet: its key or title, and its unit. Returns `name`. */
const char *report_field(const struct report_column *column, char name[REPORT_FIELD_BYTES]);

/* Widens columns to fit these cells, and uses the cells to choose the units of columns. */
void report_measure(struct report_table *table, const struct report_cell *cells);

/* Only chooses the units: nvprof's own tables keep their widths. */
void report_measure_units(struct report_table *table, const struct report_cell *cells);

/* Prints what stands above the rows; nothing in JSON. */
void report_header(struct report_table *table);

void report_row(struct report_table *table, const struct report_cell *cells);

/* Prints lines below the row that came last, as a part of it. Text ends with a newline. */
void report_below(struct report_table *table, const char *text);

/* Prints the rows so far; others may follow under the same header. */
void report_flush(struct report_table *table);

/* Prints what has been kept. A table that was begun must be ended. */
void report_end(struct report_table *table);

#endif
