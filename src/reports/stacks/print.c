/* Prints stacks as a list of lines or as a tree. Text shows sums over all that a row called; CSV
 * and JSON have its own share too.
 */
#include "reports/stacks/print.h"

#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* Text has those of text_columns. */
static const struct report_column columns[] = {
    {.title = "Time(%)", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7, .share = true},
    {.title = "GPU time", .key = "device_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Self", .key = "self_device_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 2},
    {.title = "Calls", .key = "calls", .kind = REPORT_CELL_COUNT, .width = 5},
    {.title = "Launches", .key = "launches", .kind = REPORT_CELL_COUNT, .width = 8, .drop = 3},
    {.title = "Waiting", .key = "waiting_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Critical", .key = "critical_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
    {.title = "Host code", .key = "host_ns", .kind = REPORT_CELL_TIME, .width = 9},
    {.title = "Function", .key = "frame", .kind = REPORT_CELL_TEXT, .width = 8, .left = true},
    {.title = "Depth", .key = "depth", .kind = REPORT_CELL_COUNT},
    {.title = "Self calls", .key = "self_calls", .kind = REPORT_CELL_COUNT},
    {.title = "Self launches", .key = "self_launches", .kind = REPORT_CELL_COUNT},
    {.title = "Self waiting", .key = "self_waiting_ns", .kind = REPORT_CELL_TIME},
    {.title = "Self critical", .key = "self_critical_ns", .kind = REPORT_CELL_TIME},
    {.title = "Self host", .key = "self_host_ns", .kind = REPORT_CELL_TIME},
    {.title = "Name", .key = "function", .kind = REPORT_CELL_TEXT},
    {.title = "File", .key = "file", .kind = REPORT_CELL_TEXT},
    {.title = "Line", .key = "line", .kind = REPORT_CELL_ID},
    {.title = "Sampled", .key = "sampled_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Self sampled", .key = "self_sampled_ns", .kind = REPORT_CELL_TIME},
};

#define ALL_COLUMNS (sizeof columns / sizeof *columns)

enum { COLUMN_FRAME = 8, COLUMN_SAMPLED = 18 };

static const uint8_t text_columns[] = {0, 1, 2, 3, 4, 5, 6, 7, COLUMN_SAMPLED, COLUMN_FRAME};

/* Which columns there are. */
struct shown {
    uint8_t of[ALL_COLUMNS];
    size_t count;
    bool people;
};

#define NO_STACK "<no stack>"

/* One row, whatever it is of. */
struct line {
    const struct stacks_row *row; /* NULL: of what has no stack */
    const struct stacks_weights *self, *total;
    uint32_t depth; /* 0: not in a tree */
};

static struct report_cell number_or_none(uint64_t number)
{
    return number ? report_number_cell(number) : report_absent_cell();
}

static struct report_cell time_if_known(const struct stacks_report *report, uint64_t time)
{
    return report->result->has_times ? report_number_cell(time) : report_absent_cell();
}

static void put_text(struct mp_buffer *text, const struct stacks_report *report,
                     const struct line *line, bool indent)
{
    mp_buffer_clear(text);
    for (uint32_t i = 1; indent && i < line->depth; i++)
        mp_buffer_append_text(text, "  ");
    if (line->row)
        stacks_put_row(text, report->result, report->options, line->row, !indent);
    else
        mp_buffer_append_text(text, NO_STACK);
    mp_buffer_append_byte(text, '\0');
}

static void fill_origin(const struct stacks_report *report, const struct line *line,
                        struct report_cell *cells)
{
    static const struct stack_frame nothing;
    const struct stack_frame *frame = line->row ? &line->row->frame : &nothing;
    const struct stack_code *code = call_stacks_code(&report->result->stacks, frame);
    enum stacks_by by = report->options->by;

    *cells++ = report_text_cell(by == STACKS_BY_FILE ? NULL : code->name);
    *cells++ = report_text_cell(code->file);
    *cells++ = number_or_none(by == STACKS_BY_LINE ? frame->line : 0);
}

static void stacks_fill_cells(const struct stacks_report *report, const struct line *line,
                              const struct mp_buffer *text, struct report_cell *cells)
{
    *cells++ = report_real_cell(stacks_percent(report->result, line->total->device));
    *cells++ = report_number_cell(line->total->device);
    *cells++ = report_number_cell(line->self->device);
    *cells++ = report_number_cell(line->total->calls);
    *cells++ = report_number_cell(line->total->launches);
    *cells++ = time_if_known(report, line->total->waiting);
    *cells++ = time_if_known(report, line->total->critical);
    *cells++ = time_if_known(report, line->total->host);
    *cells++ = report_text_cell((const char *)text->data);
    *cells++ = number_or_none(line->depth);
    *cells++ = report_number_cell(line->self->calls);
    *cells++ = report_number_cell(line->self->launches);
    *cells++ = time_if_known(report, line->self->waiting);
    *cells++ = time_if_known(report, line->self->critical);
    *cells++ = time_if_known(report, line->self->host);
    fill_origin(report, line, cells);
    cells += 3;
    *cells++ = report_number_cell(line->total->sampled);
    *cells++ = report_number_cell(line->self->sampled);
}

/* Text has a column of samples only if there are any. */
static struct shown shown_columns(const struct stacks_report *report, bool people)
{
    struct shown shown = {.people = people};
    size_t max = people ? sizeof text_columns : ALL_COLUMNS;

    for (size_t i = 0; i < max; i++) {
        size_t column = people ? text_columns[i] : i;

        if (!people || column != COLUMN_SAMPLED || report->result->sample_count)
            shown.of[shown.count++] = (uint8_t)column;
    }
    return shown;
}

/* ---- Lines ---- */

static bool is_share(uint64_t part, uint64_t of)
{
    return part && part >= of / 100;
}

static bool is_shown(const struct stacks_report *report, const struct stacks_weights *total)
{
    const struct stacks_weights *all = &report->result->all;

    return report->all || is_share(total->device, all->device) ||
           is_share(total->waiting, all->waiting) || is_share(total->critical, all->critical) ||
           is_share(total->host, all->host) || is_share(total->sampled, all->sampled);
}

static size_t line_count(const struct stacks_report *report, bool tree)
{
    const struct stacks_result *result = report->result;

    return (tree ? result->node_count : result->row_count) + 1;
}

/* Line i of the list or tree; the last is of what has no stack. False: it is left out. */
static bool line_at(const struct stacks_report *report, bool tree, size_t i, struct line *line)
{
    const struct stacks_result *result = report->result;
    const struct stacks_weights *without = &result->without;

    if (i + 1 == line_count(report, tree)) {
        *line = (struct line){NULL, without, without, 0};
        return without->device || without->calls || without->host || without->sampled;
    }
    if (tree) {
        const struct stacks_node *node = &result->nodes[result->in_order[i]];

        *line = (struct line){&result->rows[node->row], &node->self, &node->total, node->depth};
        return is_shown(report, line->total);
    }
    line->row = &result->rows[result->by_total[i]];
    *line = (struct line){line->row, &line->row->self, &line->row->total, 0};
    return true;
}

static enum mp_status stacks_each_row(
    struct report_table *table, const struct stacks_report *report, bool tree,
    const struct shown *shown, void (*take)(struct report_table *, const struct report_cell *))
{
    struct mp_buffer text = {.data = NULL};
    enum mp_status status = MP_OK;

    for (size_t i = 0; !status && i < line_count(report, tree); i++) {
        struct report_cell cells[ALL_COLUMNS], chosen[ALL_COLUMNS];
        struct line line;

        if (!line_at(report, tree, i, &line))
            continue;
        put_text(&text, report, &line, shown->people);
        status = text.status;
        if (status)
            break;
        stacks_fill_cells(report, &line, &text, cells);
        for (size_t at = 0; at < shown->count; at++)
            chosen[at] = cells[shown->of[at]];
        take(table, chosen);
    }
    mp_buffer_free(&text);
    return status;
}

/* ---- The report ---- */

/* Of a trace with stacks, or one that should have them: of which calls. */
static void print_limits(const struct report_out *out, const struct stacks_report *report)
{
    const struct stacks_result *result = report->result;

    if (result->every > 1)
        print_note(out, report->trace,
                   "Note: one call in %s"
                   " of each thread has a stack (MINIPROF_STACKS_EVERY).",
                   mp_count(result->every).text);
    if (result->over)
        print_note(out, report->trace,
                   "Note: only calls of %s"
                   " us or more have a stack (MINIPROF_STACKS_OVER).",
                   mp_count(result->over).text);
}

static void print_no_stacks(const struct report_out *out, const struct stacks_report *report)
{
    if (report->result->asked)
        print_note(
            out, report->trace,
            "No stacks in the trace: MINIPROF_STACKS=%s asked for them, but no recorded call has "
            "one.",
            report->result->asked);
    else
        print_note(
            out, report->trace,
            "No stacks in the trace: `miniprof run --stacks python`, or MINIPROF_STACKS=python, "
            "records them.");
}

static void stacks_print_notes(const struct report_out *out, const struct stacks_report *report)
{
    const struct stacks_result *result = report->result;

    if (!result->has_stacks)
        print_no_stacks(out, report);
    if (result->stacks.has_natives && !result->stacks.has_symbols)
        print_note(out, report->trace,
                   "Note: native functions have no names: libdw is not installed here.");
    else if (result->stacks.unnamed_count)
        print_note(out, report->trace,
                   "Note: modules without names: %s"
                   ", first %s. Their files are not here, or have "
                   "another build id.",
                   mp_count(result->stacks.unnamed_count).text, result->stacks.unnamed);
    if (result->has_stacks || result->asked)
        print_limits(out, report);
    if (result->sample_count)
        print_note(
            out, report->trace,
            "Samples: %s; with Python's interpreter lock %.1f %% of the CPU time that they stand "
            "for.",
            mp_count(result->sample_count).text,
            result->all.sampled ? 100.0 * (double)result->gil_held / (double)result->all.sampled
                                : 0.0);
    if (!result->has_times)
        print_note(out, report->trace, "Note: waiting times and the critical path are not known.");
}

static enum mp_status print_table(const struct report_out *out, const struct stacks_report *report)
{
    static const char *const by[] = {"line", "function", "file"};
    bool people = report_has_titles(out);
    struct shown shown = shown_columns(report, people);
    struct report_column chosen[ALL_COLUMNS];
    struct report_table table;
    enum mp_status status;

    for (size_t at = 0; at < shown.count; at++)
        chosen[at] = columns[shown.of[at]];
    if (people)
        print_note(out, report->trace, "Who called, %s %s, with all that was called from there:",
                   report->tree ? "as a tree, by" : "by", by[report->options->by]);
    report_begin(&table, out, chosen, shown.count);
    status = stacks_each_row(&table, report, report->tree, &shown, report_measure);
    report_header(&table);
    if (!status)
        status = stacks_each_row(&table, report, report->tree, &shown, report_row);
    report_end(&table);
    return status;
}

static void json_weights(struct json_writer *json, const char *key,
                         const struct stacks_weights *weights, bool times)
{
    json_key_object(json, key);
    JSON_FACTS(json, FACT("device_ns", weights->device), FACT("calls", weights->calls),
               FACT("launches", weights->launches), FACT_IF("waiting_ns", times, weights->waiting),
               FACT_IF("critical_ns", times, weights->critical),
               FACT_IF("host_ns", times, weights->host), FACT("sampled_ns", weights->sampled));
    json_close_object(json);
}

static enum mp_status json_rows(struct json_writer *json, const struct stacks_report *report,
                                const char *key, bool tree)
{
    const struct shown shown = shown_columns(report, false);
    struct report_table table;
    enum mp_status status;

    json_key_array(json, key);
    report_begin_json(&table, json, columns, ALL_COLUMNS);
    status = stacks_each_row(&table, report, tree, &shown, report_row);
    report_end(&table);
    json_close_array(json);
    return status;
}

static enum mp_status stacks_print_json(const struct report_out *out,
                                        const struct stacks_report *report)
{
    const struct stacks_result *result = report->result;
    struct stacks_report whole = *report;
    struct json_writer json;
    enum mp_status status;

    whole.all = true;
    json_open_document(&json, out->file, 2);
    json_head(&json, report->trace, &result->quality, &result->definitions, report->options->range,
              result->capture_ranges);
    JSON_FACTS(&json, FLAG("stacks", result->has_stacks), FACT("every", result->every),
               FACT("over_us", result->over), FACT("samples", result->sample_count),
               FACT("gil_held_ns", result->gil_held));
    json_weights(&json, "all", &result->all, result->has_times);
    json_weights(&json, "without", &result->without, result->has_times);
    status = json_rows(&json, &whole, "rows", false);
    if (!status)
        status = json_rows(&json, &whole, "tree", true);
    json_close_document(&json);
    return status;
}

enum mp_status print_stacks(const struct report_out *out, const struct stacks_report *report)
{
    enum mp_status status;

    if (out->format == REPORT_JSON)
        return stacks_print_json(out, report);
    print_head(out, report->trace, &report->result->quality, report->options->range,
               report->result->capture_ranges);
    status =
        report->result->has_stacks || !report_has_titles(out) ? print_table(out, report) : MP_OK;
    stacks_print_notes(out, report);
    return status;
}
