/* The table of lines that host code was in. */
#include "reports/common/host_code.h"

#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

#define LINES_SHOWN 10

/* bits of the layout's `there` */
#define IF_SUMS  1u
#define IF_MEANS 2u

struct host_line {
    const struct stacks_gap_row *row;
    const struct stack_frame *frame; /* NULL: unknown; the same for the next */
    const struct stack_code *code;
    const char *text;
};

#define NOT_TEXT (REPORT_IN_SHEET | REPORT_IN_JSON)

static struct report_cell share_cell(const void *at, struct report_table *table)
{
    const struct host_code *host = table->of;

    return report_real_cell(100 * (double)((const struct host_line *)at)->row->ns /
                            (double)host->gaps->all);
}

static struct report_cell mean_cell(const void *at, struct report_table *table)
{
    const struct host_code *host = table->of;

    return report_real_cell((double)((const struct host_line *)at)->row->ns /
                            (double)host->iterations);
}

static const struct report_column columns[] = {
    COLUMN("Share", "percent", PERCENT, 7, .cell = share_cell),
    COLUMN("Critical path", "critical_ns", TIME, 13, THROUGH(struct host_line, row, ns),
           .needs = IF_SUMS),
    COLUMN("Mean", "mean_ns", MEAN, 8, .cell = mean_cell, .needs = IF_MEANS),
    COLUMN("Host code", "frame", TEXT, 0, MEMBER(struct host_line, text), .left = true),
    COLUMN("Function", "function", TEXT, 0, THROUGH(struct host_line, code, name), .left = true,
           .formats = NOT_TEXT),
    COLUMN("File", "file", TEXT, 0, THROUGH(struct host_line, code, file), .left = true,
           .formats = NOT_TEXT),
    COLUMN("Line", "line", ID, 0, THROUGH(struct host_line, frame, line), UNLESS_ZERO,
           .formats = NOT_TEXT),
};

static size_t count_shown(const struct host_code *host, enum report_format format)
{
    size_t all = host->gaps ? host->gaps->count : 0;

    return format == REPORT_TEXT && all > LINES_SHOWN ? LINES_SHOWN : all;
}

static void each_line(struct report_table *table, report_take *take)
{
    const struct host_code *host = table->of;
    const struct stacks_gaps *gaps = host->gaps;
    struct mp_buffer text = {.data = NULL};

    for (size_t i = 0; i < count_shown(host, table->format); i++) {
        struct host_line line = {.row = &gaps->rows[i]};

        if (line.row->frame)
            line.frame = dense_at(&gaps->stacks.frames, line.row->frame);
        mp_buffer_clear(&text);
        if (line.frame) {
            line.code = call_stacks_code(&gaps->stacks, line.frame);
            call_stacks_put_frame(&text, &gaps->stacks, line.frame, false);
        } else {
            mp_buffer_append_text(&text, "<unknown>");
        }
        if (mp_buffer_append_byte(&text, '\0'))
            break;
        line.text = (const char *)text.data;
        take(table, &line);
    }
    mp_buffer_free(&text);
}

static struct report_layout layout_of(const struct host_code *host)
{
    return (struct report_layout){REPORT_COLUMNS(columns), .of = host, .name = "host_code",
                                  .there = host->iterations ? IF_MEANS : IF_SUMS,
                                  .measuring = REPORT_FIT_UNITS};
}

void print_host_code(const struct report_out *out, const struct host_code *host)
{
    const struct report_layout layout = layout_of(host);
    size_t all = host->gaps ? host->gaps->count : 0;
    size_t count = count_shown(host, out->format);

    if (!all && report_has_titles(out))
        return;
    if (report_has_titles(out)) {
        print_prefix(out, host->trace);
        fprintf(out->file, "%s, by the line from which its thread went on", host->title);
        if (count < all)
            fprintf(out->file, ", the first %s of %s", mp_count(count).text, mp_count(all).text);
        fputs(":\n", out->file);
    }
    report_print(out, &layout, each_line);
}

void json_host_code(struct json_writer *json, const struct host_code *host)
{
    const struct report_layout layout = layout_of(host);

    if (host->gaps && host->gaps->count)
        report_json_print(json, "host_code", &layout, each_line);
}
