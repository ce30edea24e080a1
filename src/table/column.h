/* Columns of tables: a row of data says what a column is called, where it is shown and what it
 * shows of a row. A member of the row's struct is enough for most columns; others have an accessor:
 *
 *     static struct report_cell share(const void *at, struct report_table *table)
 *     {
 *         const struct summary_row *row = at;
 *
 *         return report_real_cell(100.0 * row->total / *(const double *)table->of);
 *     }
 *
 *     static const struct report_column columns[] = {
 *         COLUMN("Share", "percent", PERCENT, 7, .cell = share),
 *         COLUMN("Name", "name", TEXT, 4, MEMBER(struct summary_row, name)),
 *     };
 */
#ifndef MP_TABLE_COLUMN_H
#define MP_TABLE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report_table;

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
struct report_cell report_number_if(bool known, uint64_t number); /* else absent */
struct report_cell report_real_if(bool known, double real);

/* The cell of table->column. `row` is what was given to report_put; a text is valid until the next
 * row (report_say). */
typedef struct report_cell report_accessor(const void *row, struct report_table *table);

/* ---- Members of rows ---- */

enum report_type {
    REPORT_NO_MEMBER,
    REPORT_IS_BOOL,
    REPORT_IS_U8,
    REPORT_IS_U16,
    REPORT_IS_U32,
    REPORT_IS_U64,
    REPORT_IS_S64,
    REPORT_IS_REAL, /* one that is not finite is absent */
    REPORT_IS_TEXT  /* NULL is absent */
};

struct report_member {
    uint8_t type;    /* enum report_type */
    bool through;    /* `offset` is that of a pointer to the struct that has the member */
    uint16_t offset; /* in the row */
    uint16_t inner;
};

/* Which value of a member says that it is not known; MAX is that of its type. */
enum report_unknown { REPORT_ALWAYS_KNOWN, REPORT_ZERO_UNKNOWN, REPORT_MAX_UNKNOWN };

#define REPORT_OF_TYPE(c_type, type) c_type * : (type), const c_type * : (type)
#define REPORT_TYPE_OF(place)                                                                      \
    _Generic(&(place),                                                                             \
        REPORT_OF_TYPE(bool, REPORT_IS_BOOL),                                                      \
        REPORT_OF_TYPE(uint8_t, REPORT_IS_U8),                                                     \
        REPORT_OF_TYPE(uint16_t, REPORT_IS_U16),                                                   \
        REPORT_OF_TYPE(uint32_t, REPORT_IS_U32),                                                   \
        REPORT_OF_TYPE(uint64_t, REPORT_IS_U64),                                                   \
        REPORT_OF_TYPE(int64_t, REPORT_IS_S64),                                                    \
        REPORT_OF_TYPE(double, REPORT_IS_REAL),                                                    \
        char **: REPORT_IS_TEXT,                                                                   \
        char *const *: REPORT_IS_TEXT,                                                             \
        const char **: REPORT_IS_TEXT,                                                             \
        const char *const *: REPORT_IS_TEXT)

/* The value or the condition of a column: a member of the row, or of what a pointer of the row
 * points to; NULL there makes the cell absent. */
#define REPORT_MEMBER(row, member)                                                                 \
    {                                                                                              \
        .type = REPORT_TYPE_OF(((row *)0)->member), .offset = offsetof(row, member)                \
    }
#define REPORT_THROUGH(row, pointer, member_)                                                      \
    {                                                                                              \
        .type = REPORT_TYPE_OF(((__typeof__(((row *)0)->pointer))0)->member_), .through = true,    \
        .offset = offsetof(row, pointer),                                                          \
        .inner = offsetof(__typeof__(*((row *)0)->pointer), member_)                               \
    }
#define MEMBER(row, member)           .value = REPORT_MEMBER(row, member)
#define THROUGH(row, pointer, member) .value = REPORT_THROUGH(row, pointer, member)
#define WHEN(row, member)             .when = REPORT_MEMBER(row, member)
#define UNLESS_ZERO                   .unknown = REPORT_ZERO_UNKNOWN
#define UNLESS_MAX                    .unknown = REPORT_MAX_UNKNOWN

/* For accessors that add a condition: the cell of the column's `value`. */
report_accessor report_value_cell;

/* ---- Columns ---- */

#define REPORT_IN_TEXT  1 /* bits of report_column.formats */
#define REPORT_IN_CSV   2 /* nvprof's form */
#define REPORT_IN_SHEET 4 /* our own CSV */
#define REPORT_IN_JSON  8
#define REPORT_IN_DATA  (REPORT_IN_CSV | REPORT_IN_SHEET | REPORT_IN_JSON)

struct report_column {
    const char *title; /* NULL: the key */
    const char *key;   /* in JSON; NULL leaves the column out there */
    const char *unit;  /* in CSV's row of units; NULL: none, or the kind's own */

    /* What it shows of a row: `cell`, or else `value` if `when` is known. */
    report_accessor *cell;
    struct report_member value;
    struct report_member when; /* a member that is not 0 and not NULL if the value is known */
    enum report_unknown unknown : 8;

    /* Where the column is shown. */
    uint8_t formats; /* REPORT_IN_*; 0: everywhere */
    uint8_t drop;    /* on a terminal, columns with the largest number are left out first */
    uint16_t needs;  /* one of these bits must be in the layout's `there`; 0: always */

    uint16_t index; /* for an accessor that several columns share */

    /* How. There are hundreds of columns: bits, so that the command stays small. */
    enum report_kind kind : 8;
    uint8_t width;     /* characters in text, at least */
    bool left : 1;     /* left-justified */
    bool cut : 1;      /* TEXT: in text no wider than `width`, as nvprof's devices */
    bool decimals : 1; /* TIME, MEAN: in nvprof's style six decimals, as its dependency analysis */
    bool moment : 1;   /* TIME: a point in time, of which our own style prints all digits */
    bool exact : 1;    /* TIME: in CSV enough decimals for a ns also in seconds; else six */
    bool scaled : 1;   /* BYTES, THROUGHPUT: in CSV one unit for the column, by the maximum, as for
                          times; otherwise bytes and bytes a second */
    bool ranked : 1; /* TEXT that is a number in words: the cell's `real` has it too, for --sort */
    bool name : 1;  /* TEXT: names, which give way on a terminal; else the last column of text is */
    bool rough : 1; /* PERCENT: an estimate, which our own style prints with one place */
    bool share : 1; /* PERCENT: of all; TIME, MEAN: counts with it; on a terminal rows that have
                       nothing of either are folded into one line */
    bool roomy : 1; /* BYTES: our own style takes a character more than `width` */
};

/* A column in one line: COLUMN("Calls", "calls", COUNT, 5, MEMBER(struct row, calls)). */
#define COLUMN(title_, key_, kind_, width_, ...)                                                   \
    {                                                                                              \
        .title = (title_), .key = (key_), .kind = REPORT_CELL_##kind_, .width = (width_),          \
        __VA_ARGS__                                                                                \
    }

#endif
