/* Kernels of the median iterations by position: in text a line for each kernel, what a kernel
 * became below it; in CSV a row for each pair. */

#include "base/text/units.h"
#include "reports/diff/print.h"

#include "base/poison.h"

#define PAIRS_SHOWN 40 /* in text; after as many pairs a change is cut */

/* A pair of kernels, or in text one of the two. */
struct shown_pair {
    const char *change;
    uint32_t place[DIFF_SIDES]; /* ALIGN_NONE: no kernel on this side */
};

/* The columns' `index` is the side. */
static struct report_cell number_cell(const void *at, struct report_table *table)
{
    uint32_t place = ((const struct shown_pair *)at)->place[table->column->index];

    return report_number_if(place != ALIGN_NONE, (uint64_t)place + 1);
}

static struct report_cell time_cell(const void *at, struct report_table *table)
{
    const struct diff_report *report = table->of;
    unsigned side = table->column->index;
    uint32_t place = ((const struct shown_pair *)at)->place[side];

    if (place == ALIGN_NONE)
        return report_absent_cell();
    return report_number_cell(report->diff->positions.sides[side].places[place].ns);
}

static struct report_cell name_cell(const void *at, struct report_table *table)
{
    const struct diff_report *report = table->of;
    unsigned side = table->column->index;
    uint32_t place = ((const struct shown_pair *)at)->place[side];

    if (place == ALIGN_NONE)
        return report_absent_cell();
    return report_text_cell(diff_positions_name(&report->diff->positions, (int)side, place));
}

static struct report_cell either_name_cell(const void *at, struct report_table *table)
{
    const struct diff_report *report = table->of;
    const struct shown_pair *pair = at;
    int side = pair->place[DIFF_A] == ALIGN_NONE ? DIFF_B : DIFF_A;

    return report_text_cell(diff_positions_name(&report->diff->positions, side, pair->place[side]));
}

#define SIDE(title, key, kind, width, side, cell_, ...)                                            \
    COLUMN(title, key, kind, width, .cell = (cell_), .index = (side), __VA_ARGS__)
#define IN_TEXT_OR_CSV .formats = REPORT_IN_TEXT | REPORT_IN_CSV | REPORT_IN_SHEET
#define IN_SHEET       .formats = REPORT_IN_CSV | REPORT_IN_SHEET
#define IN_JSON        .formats = REPORT_IN_JSON

/* In JSON the members of a side stand together. */
static const struct report_column columns[] = {
    COLUMN("Position", "change", TEXT, 9, MEMBER(struct shown_pair, change), .left = true),
    SIDE("In A", "a", ID, 6, DIFF_A, number_cell),
    SIDE(NULL, "a_ns", TIME, 0, DIFF_A, time_cell, IN_JSON),
    SIDE(NULL, "a_name", TEXT, 0, DIFF_A, name_cell, IN_JSON),
    SIDE("In B", "b", ID, 6, DIFF_B, number_cell),
    SIDE("Time A", "a_ns", TIME, 8, DIFF_A, time_cell, IN_TEXT_OR_CSV),
    SIDE("Time B", "b_ns", TIME, 8, DIFF_B, time_cell),
    COLUMN("Name", NULL, TEXT, 0, .cell = either_name_cell, .left = true,
           .formats = REPORT_IN_TEXT),
    SIDE("Name A", "a_name", TEXT, 0, DIFF_A, name_cell, IN_SHEET),
    SIDE("Name B", "b_name", TEXT, 0, DIFF_B, name_cell, .formats = REPORT_IN_DATA),
};

static const char *change_of(const struct diff_pair *pair, bool equal)
{
    if (pair->place[DIFF_B] == ALIGN_NONE)
        return "removed";
    if (pair->place[DIFF_A] == ALIGN_NONE)
        return "added";
    return equal ? "equal" : "replaced";
}

static void take_pair(struct report_table *table, report_take *take, const struct diff_pair *pair,
                      bool equal)
{
    uint32_t a = pair->place[DIFF_A];
    uint32_t b = pair->place[DIFF_B];
    const char *change = change_of(pair, equal);

    if (table->format != REPORT_TEXT || equal || a == ALIGN_NONE || b == ALIGN_NONE) {
        take(table, &(struct shown_pair){change, {a, b}});
    } else {
        take(table, &(struct shown_pair){change, {a, ALIGN_NONE}});
        take(table, &(struct shown_pair){"  by", {ALIGN_NONE, b}});
    }
}

/* How many pairs are shown. */
static size_t max_pairs(const struct diff_report *report, enum report_format format)
{
    if (format == REPORT_TEXT && !report->positions)
        return PAIRS_SHOWN;
    return format == REPORT_JSON && report->max ? report->max : SIZE_MAX;
}

static void each_pair(struct report_table *table, report_take *take)
{
    const struct diff_report *report = table->of;
    const struct diff_positions *positions = &report->diff->positions;
    size_t max = max_pairs(report, table->format);
    size_t next = 0; /* of the changes */
    size_t shown = 0;

    for (size_t i = 0; i < positions->count && shown < max; i++) {
        bool equal = next == positions->change_count || i < positions->changes[next].first;

        if (!equal || report->positions) {
            take_pair(table, take, &positions->pairs[i], equal);
            shown++;
        }
        if (!equal && i + 1 == positions->changes[next].first + positions->changes[next].count)
            next++;
    }
}

void json_diff_pairs(struct json_writer *json, const struct diff_report *report)
{
    report_json_print(json, "kernels",
                      &(struct report_layout){REPORT_COLUMNS(columns), .of = report}, each_pair);
}

static void print_sequence(FILE *out, const struct diff_positions *positions, int side)
{
    const struct diff_sequence *sequence = &positions->sides[side];

    fprintf(out, "iteration %zu of run %zu of %c, %s kernel%s", sequence->iteration, sequence->run,
            side == DIFF_A ? 'A' : 'B', mp_count(sequence->count).text,
            sequence->count == 1 ? "" : "s");
}

static void print_line(FILE *out, const struct diff_positions *positions, size_t max)
{
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
    if (changed > max)
        fprintf(out, "; the first %s, all with --positions", mp_count(max).text);
    fputs(".\n", out);
}

void print_diff_positions(const struct report_out *out, const struct diff_report *report)
{
    const struct diff_positions *positions = &report->diff->positions;

    if (report_has_titles(out))
        print_line(out->file, positions, max_pairs(report, out->format));
    if (report_has_titles(out) && !(report->positions ? positions->count : positions->change_count))
        return;
    report_print(out,
                 &(struct report_layout){REPORT_COLUMNS(columns), .of = report, .name = "positions",
                                         .measuring = REPORT_FIT_UNITS},
                 each_pair);
}
