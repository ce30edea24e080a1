/* The time of iterations outside of CUDA calls, by the line of the program that they were in. */
#include "report/common/quality.h"
#include "report/common/summary_table.h"
#include "report/iterations/iterations.h"

#include "base/poison.h"

#define LINES_SHOWN 10

static const struct report_column columns[] = {
    {.title = "Share", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7},
    {.title = "Mean", .key = "mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Host code", .key = "frame", .kind = REPORT_CELL_TEXT, .left = true},
    {.title = "Function", .key = "function", .kind = REPORT_CELL_TEXT, .left = true},
    {.title = "File", .key = "file", .kind = REPORT_CELL_TEXT, .left = true},
    {.title = "Line", .key = "line", .kind = REPORT_CELL_COUNT},
};

#define COLUMNS      (sizeof columns / sizeof *columns)
#define TEXT_COLUMNS 3

static void fill_cells(const struct iterations_report *report, const struct stacks_gap_row *row,
                       const char *text, struct report_cell cells[COLUMNS])
{
    const struct stacks_gaps *gaps = report->gaps;
    const struct stack_frame *frame =
        row->frame ? dense_at(&gaps->stacks.frames, row->frame) : NULL;
    const struct stack_code *code = frame ? call_stacks_code(&gaps->stacks, frame) : NULL;

    cells[0] = report_real_cell(100 * (double)row->ns / (double)gaps->all);
    cells[1] = report_real_cell((double)row->ns / (double)report->iterations->count);
    cells[2] = report_text_cell(text);
    cells[3] = report_text_cell(code ? code->name : NULL);
    cells[4] = report_text_cell(code ? code->file : NULL);
    cells[5] = frame && frame->line ? report_number_cell(frame->line) : report_absent_cell();
}

static void each_row(struct report_table *table, const struct iterations_report *report,
                     size_t count, void (*take)(struct report_table *, const struct report_cell *))
{
    const struct stacks_gaps *gaps = report->gaps;
    struct mp_buffer text = {.data = NULL};

    for (size_t i = 0; i < count; i++) {
        const struct stack_frame *frame =
            gaps->rows[i].frame ? dense_at(&gaps->stacks.frames, gaps->rows[i].frame) : NULL;
        struct report_cell cells[COLUMNS];

        mp_buffer_clear(&text);
        if (frame)
            call_stacks_put_frame(&text, &gaps->stacks, frame, false);
        else
            mp_buffer_append_text(&text, "<unknown>");
        if (mp_buffer_append_byte(&text, '\0'))
            break;
        fill_cells(report, &gaps->rows[i], (const char *)text.data, cells);
        take(table, cells);
    }
    mp_buffer_free(&text);
}

void print_iterations_host(const struct report_out *out, const struct iterations_report *report)
{
    bool cut = out->format == REPORT_TEXT && report->gaps && report->gaps->count > LINES_SHOWN;
    struct report_table table;
    size_t count;

    if (!report->gaps || !report->gaps->count)
        return;
    count = cut ? LINES_SHOWN : report->gaps->count;
    if (report_has_titles(out)) {
        print_prefix(out, report->trace);
        fprintf(out->file, "Host code of an iteration, by the line that its thread was in:\n");
    }
    report_begin(&table, out, columns, report_has_titles(out) ? TEXT_COLUMNS : COLUMNS);
    table.name = "host_code";
    if (summary_needs_measure(out))
        each_row(&table, report, count, report_measure);
    report_header(&table);
    each_row(&table, report, count, report_row);
    report_end(&table);
}

void json_iterations_host(struct json_writer *json, const struct iterations_report *report)
{
    struct report_table table;

    if (!report->gaps || !report->gaps->count)
        return;
    json_key_array(json, "host_code");
    report_begin_json(&table, json, columns, COLUMNS);
    each_row(&table, report, report->gaps->count, report_row);
    report_end(&table);
    json_close_array(json);
}
