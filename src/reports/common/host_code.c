/* The table of lines that host code was in. */
#include "reports/common/host_code.h"

#include <string.h>

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/summary_table.h"

#include "base/poison.h"

#define LINES_SHOWN 10

#define COLUMNS      6
#define TEXT_COLUMNS 3

static void choose_columns(const struct host_code *host, struct report_column columns[COLUMNS])
{
    static const struct report_column sums[COLUMNS] = {
        {.title = "Share", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7},
        {.title = "Critical path", .key = "critical_ns", .kind = REPORT_CELL_TIME, .width = 13},
        {.title = "Host code", .key = "frame", .kind = REPORT_CELL_TEXT, .left = true},
        {.title = "Function", .key = "function", .kind = REPORT_CELL_TEXT, .left = true},
        {.title = "File", .key = "file", .kind = REPORT_CELL_TEXT, .left = true},
        {.title = "Line", .key = "line", .kind = REPORT_CELL_ID},
    };
    static const struct report_column mean = {
        .title = "Mean", .key = "mean_ns", .kind = REPORT_CELL_MEAN, .width = 8};

    memcpy(columns, sums, sizeof sums);
    if (host->iterations)
        columns[1] = mean;
}

static void fill_cells(const struct host_code *host, const struct stacks_gap_row *row,
                       const char *text, struct report_cell cells[COLUMNS])
{
    const struct stacks_gaps *gaps = host->gaps;
    const struct stack_frame *frame =
        row->frame ? dense_at(&gaps->stacks.frames, row->frame) : NULL;
    const struct stack_code *code = frame ? call_stacks_code(&gaps->stacks, frame) : NULL;

    cells[0] = report_real_cell(100 * (double)row->ns / (double)gaps->all);
    cells[1] = host->iterations ? report_real_cell((double)row->ns / (double)host->iterations)
                                : report_number_cell(row->ns);
    cells[2] = report_text_cell(text);
    cells[3] = report_text_cell(code ? code->name : NULL);
    cells[4] = report_text_cell(code ? code->file : NULL);
    cells[5] = frame && frame->line ? report_number_cell(frame->line) : report_absent_cell();
}

static void each_row(struct report_table *table, const struct host_code *host, size_t count,
                     void (*take)(struct report_table *, const struct report_cell *))
{
    const struct stacks_gaps *gaps = host->gaps;
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
        fill_cells(host, &gaps->rows[i], (const char *)text.data, cells);
        take(table, cells);
    }
    mp_buffer_free(&text);
}

void print_host_code(const struct report_out *out, const struct host_code *host)
{
    struct report_column columns[COLUMNS];
    struct report_table table;
    size_t all = host->gaps ? host->gaps->count : 0;
    size_t count = out->format == REPORT_TEXT && all > LINES_SHOWN ? LINES_SHOWN : all;

    if (!all && report_has_titles(out))
        return;
    choose_columns(host, columns);
    if (report_has_titles(out)) {
        print_prefix(out, host->trace);
        fprintf(out->file, "%s, by the line from which its thread went on", host->title);
        if (count < all)
            fprintf(out->file, ", the first %s of %s", mp_count(count).text, mp_count(all).text);
        fputs(":\n", out->file);
    }
    report_begin(&table, out, columns, report_has_titles(out) ? TEXT_COLUMNS : COLUMNS);
    table.name = "host_code";
    if (summary_needs_measure(out))
        each_row(&table, host, count, report_measure);
    report_header(&table);
    each_row(&table, host, count, report_row);
    report_end(&table);
}

void json_host_code(struct json_writer *json, const struct host_code *host)
{
    struct report_column columns[COLUMNS];
    struct report_table table;

    if (!host->gaps || !host->gaps->count)
        return;
    choose_columns(host, columns);
    json_key_array(json, "host_code");
    report_begin_json(&table, json, columns, COLUMNS);
    each_row(&table, host, host->gaps->count, report_row);
    report_end(&table);
    json_close_array(json);
}
