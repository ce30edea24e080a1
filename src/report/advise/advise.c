/* Prints findings: title, evidence, what to do. Lines are wrapped here, because the texts are
 * sentences and not cells.
 */
#include "report/advise/advise.h"

#include <string.h>

#include "base/data/buffer.h"
#include "base/text/units.h"
#include "model/trace/ranges.h"
#include "report/common/quality.h"
#include "report/common/summary_table.h"

#include "base/poison.h"

#define LINE_COLUMNS 110
#define NAME_COLUMNS 70 /* longer names end in "...", longer paths begin with it */

/* ---- Text ---- */

/* Prints our own words in lines of LINE_COLUMNS, each indented by `indent` columns. If `column` is
 * not 0, the first line continues at that column. */
static void put_wrapped_from(FILE *out, size_t column, unsigned indent, const char *text)
{
    while (*text) {
        size_t word = strcspn(text, " ");

        if (!column || column + 1 + word > LINE_COLUMNS) {
            fprintf(out, "%s%*s", column ? "\n" : "", (int)indent, "");
            column = indent;
        } else {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void put_wrapped(FILE *out, unsigned indent, const char *text)
{
    put_wrapped_from(out, 0, indent, text);
}

static void put_labelled(FILE *out, const char *what, const char *text, const char *more,
                         const char *end)
{
    char line[2 * ADVISE_TEXT_BYTES + 64];

    snprintf(line, sizeof line, "%s%s%s%s", what, text, more, end);
    put_wrapped(out, 4, line);
}

static void put_name(FILE *out, const char *name, bool is_path)
{
    size_t length = strlen(name);
    size_t kept = NAME_COLUMNS - 3;

    if (length <= NAME_COLUMNS) {
        report_put_visible(out, name, length);
        return;
    }
    if (is_path) {
        fputs("...", out);
        report_put_visible(out, name + length - kept, kept);
    } else {
        report_put_visible(out, name, kept);
        fputs("...", out);
    }
}

static void put_lines(FILE *out, const struct advise_finding *finding)
{
    size_t width = 0;

    for (size_t i = 0; i < finding->line_count; i++) {
        size_t length = strlen(finding->lines[i].text);

        if (finding->lines[i].name && length > width)
            width = length;
    }
    for (size_t i = 0; i < finding->line_count; i++) {
        const struct advise_line *line = &finding->lines[i];

        fprintf(out, "     %-*s", line->name ? (int)width : 0, line->text);
        if (line->name) {
            fputs("  ", out);
            put_name(out, line->name, line->is_path);
        }
        fputc('\n', out);
    }
}

static void put_finding(FILE *out, size_t number, const struct advise_finding *finding,
                        uint64_t step)
{
    char gain[MP_FORMATTED_BYTES];
    char whole[MP_FORMATTED_BYTES];

    fprintf(out, "%2zu. %s: -%s of %s, %.1f %%\n", number, finding->title,
            mp_format_time(gain, sizeof gain, finding->gain),
            mp_format_time(whole, sizeof whole, step), finding->percent);
    put_wrapped(out, 4, finding->evidence);
    put_lines(out, finding);
    put_labelled(out, "Gain: ", advise_method_text(finding->method),
                 "; assumes: ", finding->assumes);
    put_labelled(out, "To do: ", finding->to_do, "", "");
}

static void put_head(const struct report_out *out, const struct advise_report *report)
{
    const struct iterations_report *iterations = &report->iterations;
    const struct advice *advice = report->advice;
    size_t count = iterations->iterations->count;
    char p50[MP_FORMATTED_BYTES];
    char step[MP_FORMATTED_BYTES];

    print_head(out, iterations->trace, &iterations->deps->quality, iterations->range,
               ranges_count(&iterations->deps->ranges));
    print_prefix(out, iterations->trace);
    print_iterations_way(out->file, iterations);
    fputc('\n', out->file);
    print_prefix(out, iterations->trace);
    mp_format_time(p50, sizeof p50, iterations->summary->statistics[ITERATION_LATENCY].p50);
    mp_format_time(step, sizeof step, advice->step);
    fprintf(out->file, "%zu iteration%s, latency P50 %s", count, count == 1 ? "" : "s", p50);
    if (count > 1)
        fprintf(out->file, ", %s from end to end (P50)", step);
    if (advice->judged < count)
        fprintf(out->file, "; %zu outlier%s left out of gains", count - advice->judged,
                count - advice->judged == 1 ? "" : "s");
    fputc('\n', out->file);
}

/* Appends `, TEXT` to the list of rules that were not tried. */
static void list_not_tried(struct mp_buffer *text, const struct advice *advice)
{
    for (int reason = ADVISE_TRIED + 1; reason < ADVISE_REASONS; reason++) {
        bool first = true;

        for (int rule = 0; rule < ADVISE_RULES; rule++) {
            if (advice->reasons[rule] != (enum advise_reason)reason)
                continue;
            mp_buffer_append_text(text, !text->size ? "" : first ? "; " : ", ");
            mp_buffer_append_text(text, advise_rule_key((enum advise_rule_id)rule));
            first = false;
        }
        if (!first)
            mp_buffer_append_format(text, " (%s)", advise_reason_text((enum advise_reason)reason));
    }
}
/* "Not tried: a, b (why); c (why)". In CSV the line has a prefix, because a line without one would
 * be a row.
 */
static void put_not_tried(const struct report_out *out, const struct advise_report *report)
{
    const char *pid = mp_trace_property(report->iterations.trace, "pid");
    struct mp_buffer text = {.size = 0};

    list_not_tried(&text, report->advice);
    if (text.size && !mp_buffer_append_byte(&text, '\0')) {
        print_prefix(out, report->iterations.trace);
        fputs("Not tried:", out->file);
        if (out->format == REPORT_CSV)
            fprintf(out->file, " %s\n", (const char *)text.data);
        else
            put_wrapped_from(out->file, strlen(pid ? pid : "====") + strlen("==== Not tried:"), 4,
                             (const char *)text.data);
    }
    mp_buffer_free(&text);
}

static void advise_print_text(const struct report_out *out, const struct advise_report *report)
{
    const struct advice *advice = report->advice;

    put_head(out, report);
    print_prefix(out, report->iterations.trace);
    if (advice->count)
        fprintf(out->file, "%zu finding%s; each gain is of its change alone: they do not add up\n",
                advice->count, advice->count == 1 ? "" : "s");
    else
        fputs("No findings.\n", out->file);
    for (size_t i = 0; i < advice->count; i++)
        put_finding(out->file, i + 1, &advice->findings[i], advice->step);
    put_not_tried(out, report);
}

/* ---- CSV ---- */

static const struct report_column columns[] = {
    {.title = "Rule", .kind = REPORT_CELL_TEXT, .left = true},
    {.title = "Finding", .kind = REPORT_CELL_TEXT, .left = true},
    {.title = "Gain", .kind = REPORT_CELL_TIME},
    {.title = "Iteration", .kind = REPORT_CELL_TIME},
    {.title = "Gain(%)", .kind = REPORT_CELL_PERCENT, .unit = "%"},
    {.title = "Method", .kind = REPORT_CELL_TEXT, .left = true},
    {.title = "Assumes", .kind = REPORT_CELL_TEXT, .left = true},
    {.title = "Evidence", .kind = REPORT_CELL_TEXT, .left = true},
    {.title = "To do", .kind = REPORT_CELL_TEXT, .left = true},
};

#define COLUMNS (sizeof columns / sizeof *columns)

static void each_finding(struct report_table *table, const struct advice *advice,
                         void (*take)(struct report_table *, const struct report_cell *))
{
    for (size_t i = 0; i < advice->count; i++) {
        const struct advise_finding *finding = &advice->findings[i];
        const struct report_cell cells[COLUMNS] = {
            report_text_cell(advise_rule_key(finding->rule)),
            report_text_cell(finding->title),
            report_number_cell(finding->gain),
            report_number_cell(advice->step),
            report_real_cell(finding->percent),
            report_text_cell(advise_method_text(finding->method)),
            report_text_cell(finding->assumes),
            report_text_cell(finding->evidence),
            report_text_cell(finding->to_do),
        };
        take(table, cells);
    }
}

static void print_csv(const struct report_out *out, const struct advise_report *report)
{
    struct report_table table;

    put_head(out, report);
    report_begin(&table, out, columns, COLUMNS);
    each_finding(&table, report->advice, report_measure);
    report_header(&table);
    each_finding(&table, report->advice, report_row);
    put_not_tried(out, report);
}

void print_advise(const struct report_out *out, const struct advise_report *report)
{
    if (out->format == REPORT_JSON)
        print_advise_json(out->file, report);
    else if (out->format == REPORT_CSV)
        print_csv(out, report);
    else
        advise_print_text(out, report);
}
