/* Kernels of the median iterations by position: in text a line for each kernel, what a kernel
 * became below it; in CSV a row for each pair. */

#include "base/text/units.h"
#include "reports/common/summary_table.h"
#include "reports/diff/print.h"

#include "base/poison.h"

static const struct report_column text_columns[] = {
    {.title = "Position", .kind = REPORT_CELL_TEXT, .width = 9, .left = true},
    {.title = "In A", .kind = REPORT_CELL_ID, .width = 6},
    {.title = "In B", .kind = REPORT_CELL_ID, .width = 6},
    {.title = "Time A", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Time B", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Name", .kind = REPORT_CELL_TEXT, .left = true},
};

static const struct report_column csv_columns[] = {
    {.title = "Position", .key = "change", .kind = REPORT_CELL_TEXT},
    {.title = "In A", .key = "a", .kind = REPORT_CELL_ID},
    {.title = "In B", .key = "b", .kind = REPORT_CELL_ID},
    {.title = "Time A", .key = "a_ns", .kind = REPORT_CELL_TIME},
    {.title = "Time B", .key = "b_ns", .kind = REPORT_CELL_TIME},
    {.title = "Name A", .key = "a_name", .kind = REPORT_CELL_TEXT},
    {.title = "Name B", .key = "b_name", .kind = REPORT_CELL_TEXT},
};

#define TEXT_COLUMNS (sizeof text_columns / sizeof *text_columns)
#define CSV_COLUMNS  (sizeof csv_columns / sizeof *csv_columns)

typedef void take_row(struct report_table *, const struct report_cell *);

#define PAIRS_SHOWN 40 /* in text; after as many pairs a change is cut */

struct printing {
    const struct diff_positions *positions;
    size_t max;
    bool all;
    bool text;
};

static struct report_cell number_cell(uint32_t place)
{
    return place == ALIGN_NONE ? report_absent_cell() : report_number_cell((uint64_t)place + 1);
}

static struct report_cell time_cell(const struct diff_positions *positions, int side,
                                    uint32_t place)
{
    return place == ALIGN_NONE ? report_absent_cell()
                               : report_number_cell(positions->sides[side].places[place].ns);
}

static const char *positions_name_of(const struct diff_positions *positions, int side,
                                     uint32_t place)
{
    return place == ALIGN_NONE ? NULL : diff_positions_name(positions, side, place);
}

static const char *positions_kind_of(const struct diff_pair *pair, bool equal)
{
    if (pair->place[DIFF_B] == ALIGN_NONE)
        return "removed";
    if (pair->place[DIFF_A] == ALIGN_NONE)
        return "added";
    return equal ? "equal" : "replaced";
}

static void take_text(struct report_table *table, const struct diff_positions *positions,
                      const char *kind, uint32_t a, uint32_t b, take_row *take)
{
    const char *name = positions_name_of(positions, DIFF_A, a);
    const struct report_cell cells[TEXT_COLUMNS] = {
        report_text_cell(kind),
        number_cell(a),
        number_cell(b),
        time_cell(positions, DIFF_A, a),
        time_cell(positions, DIFF_B, b),
        report_text_cell(name ? name : positions_name_of(positions, DIFF_B, b)),
    };

    take(table, cells);
}

static void take_csv(struct report_table *table, const struct diff_positions *positions,
                     const char *kind, const struct diff_pair *pair, take_row *take)
{
    uint32_t a = pair->place[DIFF_A];
    uint32_t b = pair->place[DIFF_B];
    const struct report_cell cells[CSV_COLUMNS] = {
        report_text_cell(kind),
        number_cell(a),
        number_cell(b),
        time_cell(positions, DIFF_A, a),
        time_cell(positions, DIFF_B, b),
        report_text_cell(positions_name_of(positions, DIFF_A, a)),
        report_text_cell(positions_name_of(positions, DIFF_B, b)),
    };

    take(table, cells);
}

static void take_pair(struct report_table *table, const struct printing *printing,
                      const struct diff_pair *pair, bool equal, take_row *take)
{
    const struct diff_positions *positions = printing->positions;
    const char *kind = positions_kind_of(pair, equal);
    uint32_t a = pair->place[DIFF_A];
    uint32_t b = pair->place[DIFF_B];

    if (!printing->text) {
        take_csv(table, positions, kind, pair, take);
    } else if (equal || a == ALIGN_NONE || b == ALIGN_NONE) {
        take_text(table, positions, kind, a, b, take);
    } else {
        take_text(table, positions, kind, a, ALIGN_NONE, take);
        take_text(table, positions, "  by", ALIGN_NONE, b, take);
    }
}

static void each_pair(struct report_table *table, const struct printing *printing, take_row *take)
{
    const struct diff_positions *positions = printing->positions;
    size_t next = 0; /* of the changes */
    size_t shown = 0;

    for (size_t i = 0; i < positions->count && shown < printing->max; i++) {
        bool equal = next == positions->change_count || i < positions->changes[next].first;

        if (!equal || printing->all) {
            take_pair(table, printing, &positions->pairs[i], equal, take);
            shown++;
        }
        if (!equal && i + 1 == positions->changes[next].first + positions->changes[next].count)
            next++;
    }
}

static void print_sequence(FILE *out, const struct diff_positions *positions, int side)
{
    const struct diff_sequence *sequence = &positions->sides[side];

    fprintf(out, "iteration %zu of run %zu of %c, %s kernel%s", sequence->iteration, sequence->run,
            side == DIFF_A ? 'A' : 'B', mp_count(sequence->count).text,
            sequence->count == 1 ? "" : "s");
}

static void print_line(FILE *out, const struct printing *printing)
{
    const struct diff_positions *positions = printing->positions;
    size_t changed = positions->replaced + positions->added + positions->removed;

    fputs("======== Kernels by position, ", out);
    print_sequence(out, positions, DIFF_A);
    fputs(", and ", out);
    print_sequence(out, positions, DIFF_B);
    fprintf(out, ": %s equal", mp_count(positions->equal).text);
    if (positions->change_count)
        fprintf(out, "; %s replaced, %s added, %s removed at %s place%s",
                mp_count(positions->replaced).text, mp_count(positions->added).text,
                mp_count(positions->removed).text, mp_count(positions->change_count).text,
                positions->change_count == 1 ? "" : "s");
    if (changed > printing->max)
        fprintf(out, "; the first %s, all with --positions", mp_count(printing->max).text);
    fputs(".\n", out);
}

void print_diff_positions(const struct report_out *out, const struct diff_report *report)
{
    bool short_list = out->format == REPORT_TEXT && !report->positions;
    const struct printing printing = {.positions = &report->diff->positions,
                                      .all = report->positions,
                                      .max = short_list ? PAIRS_SHOWN : SIZE_MAX,
                                      .text = out->format == REPORT_TEXT};
    struct report_table table;

    if (report_has_titles(out))
        print_line(out->file, &printing);
    if (report_has_titles(out) &&
        !(printing.all ? printing.positions->count : printing.positions->change_count))
        return;
    report_begin(&table, out, printing.text ? text_columns : csv_columns,
                 printing.text ? TEXT_COLUMNS : CSV_COLUMNS);
    table.name = "positions";
    if (summary_needs_measure(out))
        each_pair(&table, &printing, report_measure);
    report_header(&table);
    each_pair(&table, &printing, report_row);
    report_end(&table);
}
