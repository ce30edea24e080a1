/* Keeps the rows of a table that somebody looks at, so that they can be sorted, cut to the first
 * ones and fitted to the terminal. Texts are kept once each, because names repeat.
 *
 * A table of millions of rows is not kept as a whole: unless it has to be sorted or its rows of
 * 0.00 % folded, it is fitted to its first rows and goes on row by row.
 */
#include "table/inside.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/data/map.h"
#include "base/text/units.h"
#include "table/view.h"

#include "base/poison.h"

#define ROWS_FITTED   2000 /* first rows by which a long table is fitted */
#define ROWS_OF_PRUNE 4096 /* with --sort and --top: rows kept until the others are dropped */
#define NO_COLUMN     SIZE_MAX

struct report_rows {
    struct report_kept **items; /* owned, as what they point to */
    size_t count, capacity;
    struct mp_intern texts;
    uint64_t came;      /* rows */
    uint64_t came_part; /* of the present part */
    uint32_t part;      /* number of the present part */
    const char *group;  /* its name, as the caller's text */
    bool header_is_due; /* asked for and not printed yet */
    bool fitted;        /* columns are chosen */
    bool failed;        /* memory is out: row by row from here on */
    bool last_left_out; /* the row that came last was */
};

/* ---- What is asked for ---- */

static bool folds(const struct report_table *table)
{
    if (!table->view->width || table->view->top || table->view->sort ||
        table->format != REPORT_TEXT)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        if (table->columns[i]->share)
            return true;
    }
    return false;
}

/* `wanted` is the title or the key, in any case, or the begin of the title. */
static bool is_called(const struct report_column *column, const char *wanted, bool begin)
{
    if (begin)
        return !strncasecmp(report_title(column), wanted, strlen(wanted));
    return !strcasecmp(report_title(column), wanted) ||
           (column->key && !strcasecmp(column->key, wanted));
}

static size_t sort_column(const struct report_table *table)
{
    const char *wanted = table->view->sort;

    if (!wanted)
        return NO_COLUMN;
    wanted += *wanted == '-';
    for (int begin = 0; begin < 2; begin++) {
        for (size_t i = 0; i < table->count && *wanted; i++) {
            if (is_called(table->columns[i], wanted, begin))
                return i;
        }
    }
    return NO_COLUMN;
}

/* ---- Sorting ---- */

struct order {
    const struct report_column *column;
    size_t index;
    bool turned; /* a '-' before the column's name */
};

static double number_of(enum report_kind kind, const struct report_cell *cell)
{
    switch (kind) {
    case REPORT_CELL_TEXT: /* ranked */
    case REPORT_CELL_MEAN:
    case REPORT_CELL_PERCENT:
    case REPORT_CELL_REAL:
    case REPORT_CELL_THROUGHPUT:
        return cell->real;
    case REPORT_CELL_SIGNED:
    case REPORT_CELL_CHANGE:
        return (double)(int64_t)cell->number;
    case REPORT_CELL_GROUP:
    case REPORT_CELL_COUNT:
    case REPORT_CELL_ID:
    case REPORT_CELL_HEX:
    case REPORT_CELL_BOOL:
    case REPORT_CELL_TIME:
    case REPORT_CELL_BYTES:
        break;
    }
    return (double)cell->number;
}

/* Numbers from the largest on, texts by their letters; cells without a value are last. */
static int compare_cells(const struct order *order, const struct report_cell *a,
                         const struct report_cell *b)
{
    enum report_kind kind = order->column->kind;
    int result;

    if (a->absent || b->absent)
        return a->absent - b->absent;
    if ((kind == REPORT_CELL_TEXT && !order->column->ranked) || kind == REPORT_CELL_GROUP) {
        size_t min = a->text_bytes < b->text_bytes ? a->text_bytes : b->text_bytes;
        result = memcmp(a->text, b->text, min);
        if (!result)
            result = (a->text_bytes > b->text_bytes) - (a->text_bytes < b->text_bytes);
    } else {
        double left = number_of(kind, a);
        double right = number_of(kind, b);
        result = (left < right) - (left > right);
    }
    return order->turned ? -result : result;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct report_kept *a = *(struct report_kept *const *)left;
    const struct report_kept *b = *(struct report_kept *const *)right;
    const struct order *order = context;

    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    int result = compare_cells(order, &a->cells[order->index], &b->cells[order->index]);
    return result ? result : (a->place > b->place) - (a->place < b->place);
}

static void sort_rows(struct report_table *table)
{
    struct report_rows *rows = table->rows;
    struct order order = {.index = sort_column(table)};

    if (order.index == NO_COLUMN || !rows->count)
        return;
    order.column = table->columns[order.index];
    order.turned = *table->view->sort == '-';
    qsort_r(rows->items, rows->count, sizeof(struct report_kept *), compare_rows, &order);
}

/* ---- Keeping ---- */

static void free_kept(struct report_kept *row)
{
    free(row->below);
    free(row);
}

/* Leaves only the first rows of each part. */
static void cut_rows(struct report_table *table)
{
    struct report_rows *rows = table->rows;
    uint64_t of_part = 0;
    size_t kept = 0;

    if (!table->view->top)
        return;
    for (size_t i = 0; i < rows->count; i++) {
        struct report_kept *row = rows->items[i];

        of_part = kept && rows->items[kept - 1]->part == row->part ? of_part + 1 : 1;
        if (of_part > table->view->top)
            free_kept(row);
        else
            rows->items[kept++] = row;
    }
    rows->count = kept;
}

static void free_rows(struct report_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free_kept(rows->items[i]);
    rows->count = 0;
}

/* The part of a row: it begins where another group does. */
static void note_part(struct report_table *table, const struct report_cell *cells)
{
    struct report_rows *rows = table->rows;

    rows->came_part++;
    for (size_t i = 0; i < table->count; i++) {
        const char *group = cells[i].text;

        if (table->columns[i]->kind != REPORT_CELL_GROUP)
            continue;
        if (!rows->group || !group || strcmp(rows->group, group) != 0) {
            rows->part++;
            rows->came_part = 1;
        }
        rows->group = group;
    }
}

/* A copy of the row whose texts belong to the table; NULL when memory is out. */
static struct report_kept *copy_row(struct report_table *table, const struct report_cell *cells)
{
    struct report_rows *rows = table->rows;
    struct report_kept *row = malloc(sizeof *row + table->count * sizeof *cells);

    if (!row)
        return NULL;
    row->part = rows->part;
    row->place = rows->came;
    row->below = NULL;
    memcpy(row->cells, cells, table->count * sizeof *cells);
    for (size_t i = 0; i < table->count; i++) {
        enum report_kind kind = table->columns[i]->kind;

        if ((kind != REPORT_CELL_TEXT && kind != REPORT_CELL_GROUP) || !cells[i].text)
            continue;
        uint32_t id = mp_intern_add(&rows->texts, cells[i].text, cells[i].text_bytes);
        if (!id) {
            free(row);
            return NULL;
        }
        row->cells[i].text = mp_intern_get(&rows->texts, id, NULL);
    }
    return row;
}

static bool add_row(struct report_rows *rows, struct report_kept *row)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 64;
        struct report_kept **items =
            reallocarray(rows->items, capacity, sizeof(struct report_kept *));

        if (!items)
            return false;
        rows->items = items;
        rows->capacity = capacity;
    }
    rows->items[rows->count++] = row;
    return true;
}

/* ---- Printing ---- */

static void put_header(struct report_table *table)
{
    struct report_rows *rows = table->rows;

    if (!rows->header_is_due)
        return;
    rows->header_is_due = false;
    if (table->sheet)
        report_sheet_header(table);
    else if (table->format == REPORT_CSV)
        report_csv_header(table);
    else if (rows->fitted)
        report_fitted_header(table);
    else
        report_text_header(table);
}

static void put_row(struct report_table *table, const struct report_cell *cells, const char *below)
{
    if (table->sheet)
        report_sheet_row(table, cells);
    else if (table->format == REPORT_CSV)
        report_csv_row(table, cells);
    else if (table->rows->fitted)
        report_fitted_row(table, cells);
    else
        report_text_row(table, cells);
    if (below)
        fputs(below, table->out);
}

/* Rows of a part that are all of 0.00 %; one alone is as short as the line instead. */
static size_t count_nothing(const struct report_table *table, size_t from)
{
    const struct report_rows *rows = table->rows;
    size_t count = 0;

    for (size_t i = from; i < rows->count && rows->items[i]->part == rows->items[from]->part; i++)
        count += report_is_nothing(table, rows->items[i]->cells);
    return count > 1 ? count : 0;
}

static void put_nothing(const struct report_table *table, size_t count)
{
    report_tone_begin(table->out, table->view, REPORT_TONE_QUIET);
    fprintf(table->out, "and %s more rows of under 0.01 %%", mp_count(count).text);
    report_tone_end(table->out, table->view, REPORT_TONE_QUIET);
    fputc('\n', table->out);
}

static void put_rows(struct report_table *table)
{
    struct report_rows *rows = table->rows;
    bool fold = folds(table);
    size_t nothing = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct report_kept *row = rows->items[i];

        if (!i || rows->items[i - 1]->part != row->part)
            nothing = fold ? count_nothing(table, i) : 0;
        if (!nothing || !report_is_nothing(table, row->cells))
            put_row(table, row->cells, row->below);
        if (nothing && (i + 1 == rows->count || rows->items[i + 1]->part != row->part))
            put_nothing(table, nothing);
    }
}

/* Prints what is kept; what follows belongs to the same table. */
static void flush_rows(struct report_table *table)
{
    struct report_rows *rows = table->rows;

    sort_rows(table);
    cut_rows(table);
    if (!rows->fitted && table->format == REPORT_TEXT && report_view_lays_out(table->view)) {
        report_fit(table, rows->items, rows->count);
        rows->fitted = true;
    }
    put_header(table);
    put_rows(table);
    free_rows(rows);
}

/* ---- The table's side ---- */

static bool has_too_many(const struct report_table *table)
{
    size_t count = table->rows->count;

    return count >= ROWS_FITTED && sort_column(table) == NO_COLUMN && !folds(table);
}

/* Of rows that are sorted, those that cannot be among the first go early. */
static void prune(struct report_table *table)
{
    struct report_rows *rows = table->rows;

    if (!table->view->top || rows->count < ROWS_OF_PRUNE ||
        rows->count / 2 / (rows->part ? rows->part : 1) < table->view->top)
        return;
    sort_rows(table);
    cut_rows(table);
}

static void keep_row(struct report_table *table, const struct report_cell *cells)
{
    struct report_rows *rows = table->rows;
    struct report_kept *row = copy_row(table, cells);

    if (row && add_row(rows, row)) {
        prune(table);
        if (has_too_many(table))
            flush_rows(table);
        return;
    }
    free(row);
    rows->failed = true;
    flush_rows(table);
    put_row(table, cells, NULL);
}

void report_keep(struct report_table *table, const struct report_cell *cells)
{
    struct report_rows *rows = table->rows;

    note_part(table, cells);
    rows->came++;
    rows->last_left_out =
        table->view->top && rows->came_part > table->view->top && sort_column(table) == NO_COLUMN;
    if (rows->last_left_out)
        return;
    if (rows->failed)
        put_row(table, cells, NULL);
    else
        keep_row(table, cells);
}

void report_keep_below(struct report_table *table, const char *text)
{
    struct report_rows *rows = table->rows;
    struct report_kept *row = rows->count ? rows->items[rows->count - 1] : NULL;

    if (rows->last_left_out)
        return;
    if (row && !rows->failed) {
        free(row->below);
        row->below = strdup(text);
    } else {
        fputs(text, table->out);
    }
}

/* Whether rows have to be kept for the view. */
static bool has_to_keep(const struct report_table *table)
{
    const struct report_view *view = table->view;

    if (!view || table->format == REPORT_JSON)
        return false;
    return view->top || view->sort || (table->format == REPORT_TEXT && report_view_lays_out(view));
}

void report_rows_begin(struct report_table *table)
{
    if (!has_to_keep(table))
        return;
    table->rows = calloc(1, sizeof *table->rows);
    if (!table->rows || !table->view->sort)
        return;
    for (size_t i = 0; i < table->count; i++)
        report_titles_add(&table->view->titles, report_title(table->columns[i]));
    table->view->sorted |= sort_column(table) != NO_COLUMN;
}

void report_rows_header(struct report_table *table)
{
    table->rows->header_is_due = true;
}

void report_flush(struct report_table *table)
{
    if (table->rows)
        flush_rows(table);
}

void report_end(struct report_table *table)
{
    if (!table->rows)
        return;
    flush_rows(table);
    free(table->rows->items);
    mp_intern_free(&table->rows->texts);
    free(table->rows);
    table->rows = NULL;
}
