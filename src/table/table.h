/* The one table printer: columns are data, rows are cells, the format is text in nvprof's layout,
 * CSV in nvprof's layout, or JSON objects.
 *
 *     text   right-justified columns, two spaces between them; times and sizes with their units,
 *            or, unless units are REPORT_UNITS_AUTO, numbers of 8 characters below a row of units
 *     CSV    a header row with units in its names, times in ns, sizes in bytes; or, in
 *            nvprof's reports, a quoted header row, a row of units if any column has one, numbers
 *            with six decimals, one unit for each column, by the max that was measured
 *     JSON   an object for each row, keys from the columns, times in whole ns, sizes in bytes
 *
 * For nvprof's -u the form of times and percentages is known. For sizes and throughput in text the
 * form is our choice: 8 characters, in the unit of the column's measured max.
 *
 *     report_open(&table, &out, &layout);
 *     for each row: report_survey(&table, row);     (if report_needs_survey)
 *     report_header(&table);
 *     for each row: report_put(&table, row);
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

#include "base/text/json.h"
#include "base/text/units.h"
#include "table/column.h"
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
    const char *path;         /* of the trace that is reported on, if a command has several; NULL */
};

/* How a report writes numbers. */
static inline enum mp_style report_number_style(const struct report_out *out)
{
    return out->nvprof ? MP_STYLE_NVPROF : MP_STYLE_OWN;
}

/* What is measured before the header: widths and units always, or only where a column has one unit
 * (in CSV, and in text with `-u col`); or units alone, as in nvprof's own tables. */
enum report_measuring { REPORT_FIT, REPORT_FIT_UNITS, REPORT_UNITS_ONLY };

struct report_rows;

#define REPORT_SAID_BYTES 8192 /* as many texts as a row of `dump` has, each at its longest */

struct report_table {
    FILE *out; /* not owned */
    enum report_format format;
    enum report_units units;
    const struct report_column *columns[REPORT_MAX_COLUMNS]; /* those that this format shows */
    size_t count;
    const void *of;                     /* from the layout, for accessors */
    const struct report_column *column; /* the one whose cell an accessor is asked for */
    enum report_measuring measuring;
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
        uint8_t unit;      /* of the measured max: 0 ns, 1 us, 2 ms, 3 s; 0 B, 1 KB, 2 MB, 3 GB */
    } fit[REPORT_MAX_COLUMNS];
    char said[REPORT_SAID_BYTES]; /* texts that accessors have made for the present row */
    size_t said_bytes;
};

/* ---- A table as its report declares it ---- */

/* The columns may differ by format and by `there`; each says so itself (column.h). */
struct report_layout {
    const struct report_column *columns; /* these three must outlive the table */
    size_t count;
    const void *of;   /* what accessors need besides the row */
    const char *name; /* among the tables of a report; NULL: its main table */
    uint32_t there;   /* bits for the columns' `needs` */
    enum report_measuring measuring;
};

/* The first members of a layout. */
#define REPORT_COLUMNS(array) .columns = (array), .count = sizeof(array) / sizeof *(array)

/* Takes a row of a table: report_put prints it, report_survey measures it. */
typedef void report_take(struct report_table *table, const void *row);
report_take report_put, report_survey;

/* A whole table whose rows `each` makes: it is called with each `take`, and finds what it needs in
 * table->of. */
typedef void report_each(struct report_table *table, report_take *take);
void report_print(const struct report_out *out, const struct report_layout *layout,
                  report_each *each);

/* The same with an array of `count` rows of `size` bytes. */
void report_array(const struct report_out *out, const struct report_layout *layout,
                  const void *rows, size_t count, size_t size);

/* As a key of a JSON document: an array of objects. */
void report_json_print(struct json_writer *json, const char *key,
                       const struct report_layout *layout, report_each *each);
void report_json_array(struct json_writer *json, const char *key,
                       const struct report_layout *layout, const void *rows, size_t count,
                       size_t size);

/* Only the keys, of an object that the caller has opened and will close. */
void report_json_members(struct json_writer *json, const struct report_layout *layout,
                         const void *row);

/* Tables as arrays: the keys as an array with a key, and a row as an array of values. */
void report_json_keys(struct report_table *table, const char *key);
void report_json_values(struct report_table *table, const void *row);

/* The steps of report_print, for tables of which other things are known first. */
void report_open(struct report_table *table, const struct report_out *out,
                 const struct report_layout *layout);
void report_open_json(struct report_table *table, struct json_writer *json,
                      const struct report_layout *layout);
bool report_needs_survey(const struct report_table *table);

/* A text that is a number in words, with that number for --sort. */
struct report_cell report_ranked_cell(struct report_table *table, const char *text, double number);

/* A text for a cell of the present row, cut where all texts of the row have more than
 * REPORT_SAID_BYTES. */
__attribute__((format(printf, 2, 3))) const char *report_say(struct report_table *table,
                                                             const char *format, ...);

/* The same of a text as it is. */
const char *report_copy(struct report_table *table, const char *text);

/* Whether notes for people, titles and empty lines belong into this report. */
bool report_has_titles(const struct report_out *out);

/* Whether rows no longer reach their reader. */
bool report_failed(const struct report_out *out);

#define REPORT_FIELD_BYTES 64

/* Prints what stands above the rows; nothing in JSON. */
void report_header(struct report_table *table);

/* Prints lines below the row that came last, as a part of it. Text ends with a newline. */
void report_below(struct report_table *table, const char *text);

/* Prints the rows so far; others may follow under the same header. */
void report_flush(struct report_table *table);

/* Prints what has been kept. A table that was begun must be ended. */
void report_end(struct report_table *table);

/* ---- JSON documents of several traces ----
 *
 * They become one document: an array, or one document a line. Reports write their documents one
 * after the other, each laid out in lines. This stream stands between them and the reader. It finds
 * where a document begins and ends by its braces, so reports need not know of it:
 *
 *     {...} {...}   becomes   [
 *                             {"process": "rank 0", ...},
 *                             {"process": "rank 1", ...}
 *                             ]
 *
 * As lines, the documents lose their line breaks instead. Text in JSON has none.
 */

struct json_documents {
    FILE *to;            /* not owned */
    FILE *file;          /* where the reports write; owned */
    const char *process; /* a key of the documents that follow; NULL: none */
    bool lines;          /* one document a line; else an array */
    size_t count;        /* that have begun */
    unsigned depth;      /* of braces and brackets; 0: between documents */
    bool in_text, escaped;
    bool indented; /* a line break and the spaces after it are being left out */
    bool opened;   /* the last byte opened a document that gets the key `process` */
};

/* Returns false when there is no memory. */
bool json_documents_open(struct json_documents *documents, FILE *to, bool lines);

/* The key `process` of the documents that follow; NULL: they have none. `process` must outlive
 * them. */
void json_documents_name(struct json_documents *documents, const char *process);

/* Writes the end of the array; an empty one if there was no document. Errors are those of `to`. */
void json_documents_close(struct json_documents *documents);

#endif
