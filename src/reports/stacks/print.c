/* Prints stacks as a list of lines or as a tree. Text shows sums over all that a row called; CSV
 * and JSON have its own share too.
 */
#include "reports/stacks/print.h"

#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* ---- Host code by line ---- */

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

#define FOR_SCRIPTS (REPORT_IN_SHEET | REPORT_IN_JSON)

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

static const struct report_column host_columns[] = {
    COLUMN("Share", "percent", PERCENT, 7, .cell = share_cell),
    COLUMN("Critical path", "critical_ns", TIME, 13, THROUGH(struct host_line, row, ns),
           .needs = IF_SUMS),
    COLUMN("Mean", "mean_ns", MEAN, 8, .cell = mean_cell, .needs = IF_MEANS),
    COLUMN("Host code", "frame", TEXT, 0, MEMBER(struct host_line, text), .left = true),
    COLUMN("Function", "function", TEXT, 0, THROUGH(struct host_line, code, name), .left = true,
           .formats = FOR_SCRIPTS),
    COLUMN("File", "file", TEXT, 0, THROUGH(struct host_line, code, file), .left = true,
           .formats = FOR_SCRIPTS),
    COLUMN("Line", "line", ID, 0, THROUGH(struct host_line, frame, line), UNLESS_ZERO,
           .formats = FOR_SCRIPTS),
};

static size_t count_shown(const struct host_code *host, enum report_format format)
{
    size_t all = host->gaps ? host->gaps->count : 0;

    return format == REPORT_TEXT && all > LINES_SHOWN ? LINES_SHOWN : all;
}

static void each_host_line(struct report_table *table, report_take *take)
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

static struct report_layout host_layout(const struct host_code *host)
{
    return (struct report_layout){REPORT_COLUMNS(host_columns), .of = host, .name = "host_code",
                                  .there = host->iterations ? IF_MEANS : IF_SUMS,
                                  .measuring = REPORT_FIT_UNITS};
}

void print_host_code(const struct report_out *out, const struct host_code *host)
{
    const struct report_layout layout = host_layout(host);
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
    report_print(out, &layout, each_host_line);
}

void json_host_code(struct json_writer *json, const struct host_code *host)
{
    const struct report_layout layout = host_layout(host);

    if (host->gaps && host->gaps->count)
        report_json_print(json, "host_code", &layout, each_host_line);
}

/* ---- The report ---- */

#define NO_STACK "<no stack>"

/* One row, whatever it is of. */
struct line {
    const struct stacks_row *row; /* NULL: of what has no stack */
    const struct stacks_weights *self, *total;
    uint32_t depth; /* 0: not in a tree */
    const char *text;
    const char *function, *file; /* NULL: unknown, or rows are of something else */
    uint32_t number;             /* of the line; 0 likewise */
};

#define OF(member)    MEMBER(struct line, member)
#define TOTAL(member) THROUGH(struct line, total, member)
#define SELF(member)  THROUGH(struct line, self, member)
#define IN_TEXT       .formats = REPORT_IN_TEXT
#define NOT_TEXT      .formats = REPORT_IN_DATA
#define IF_SAMPLES    1u /* a bit of `there` */

static struct report_cell time_cell(const void *row, struct report_table *table)
{
    const struct stacks_report *report = table->of;

    return report->result->has_times ? report_value_cell(row, table) : report_absent_cell();
}

static struct report_cell percent_cell(const void *row, struct report_table *table)
{
    const struct stacks_report *report = table->of;

    return report_real_cell(
        stacks_percent(report->result, ((const struct line *)row)->total->device));
}

static const struct report_column columns[] = {
    COLUMN("Time(%)", "percent", PERCENT, 7, .cell = percent_cell, .share = true),
    COLUMN("GPU time", "device_ns", TIME, 8, TOTAL(device)),
    COLUMN("Self", "self_device_ns", TIME, 8, SELF(device), .drop = 2),
    COLUMN("Calls", "calls", COUNT, 5, TOTAL(calls)),
    COLUMN("Launches", "launches", COUNT, 8, TOTAL(launches), .drop = 3),
    COLUMN("Waiting", "waiting_ns", TIME, 8, TOTAL(waiting), .cell = time_cell),
    COLUMN("Critical", "critical_ns", TIME, 8, TOTAL(critical), .cell = time_cell, .drop = 1),
    COLUMN("Host code", "host_ns", TIME, 9, TOTAL(host), .cell = time_cell),
    COLUMN("Sampled", "sampled_ns", TIME, 8, TOTAL(sampled), IN_TEXT, .needs = IF_SAMPLES),
    COLUMN("Function", "frame", TEXT, 8, OF(text), .left = true),
    COLUMN("Depth", "depth", COUNT, 0, OF(depth), UNLESS_ZERO, NOT_TEXT),
    COLUMN("Self calls", "self_calls", COUNT, 0, SELF(calls), NOT_TEXT),
    COLUMN("Self launches", "self_launches", COUNT, 0, SELF(launches), NOT_TEXT),
    COLUMN("Self waiting", "self_waiting_ns", TIME, 0, SELF(waiting), .cell = time_cell, NOT_TEXT),
    COLUMN("Self critical", "self_critical_ns", TIME, 0, SELF(critical), .cell = time_cell,
           NOT_TEXT),
    COLUMN("Self host", "self_host_ns", TIME, 0, SELF(host), .cell = time_cell, NOT_TEXT),
    COLUMN("Name", "function", TEXT, 0, OF(function), NOT_TEXT),
    COLUMN("File", "file", TEXT, 0, OF(file), NOT_TEXT),
    COLUMN("Line", "line", ID, 0, OF(number), UNLESS_ZERO, NOT_TEXT),
    COLUMN("Sampled", "sampled_ns", TIME, 0, TOTAL(sampled), NOT_TEXT),
    COLUMN("Self sampled", "self_sampled_ns", TIME, 0, SELF(sampled), NOT_TEXT),
};

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

static void fill_origin(const struct stacks_report *report, struct line *line)
{
    static const struct stack_frame nothing;
    const struct stack_frame *frame = line->row ? &line->row->frame : &nothing;
    const struct stack_code *code = call_stacks_code(&report->result->stacks, frame);
    enum stacks_by by = report->options->by;

    line->function = by == STACKS_BY_FILE ? NULL : code->name;
    line->file = code->file;
    line->number = by == STACKS_BY_LINE ? (uint32_t)frame->line : 0;
}

/* Text has a column of samples only if there are any. */
static struct report_layout layout_of(const struct stacks_report *report)
{
    return (struct report_layout){REPORT_COLUMNS(columns), .of = report,
                                  .there = report->result->sample_count ? IF_SAMPLES : 0};
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
        *line = (struct line){.self = without, .total = without};
        return without->device || without->calls || without->host || without->sampled;
    }
    if (tree) {
        const struct stacks_node *node = &result->nodes[result->in_order[i]];

        *line = (struct line){.row = &result->rows[node->row],
                              .self = &node->self,
                              .total = &node->total,
                              .depth = node->depth};
        return is_shown(report, line->total);
    }
    const struct stacks_row *row = &result->rows[result->by_total[i]];

    *line = (struct line){.row = row, .self = &row->self, .total = &row->total};
    return true;
}

static enum mp_status each_line(struct report_table *table, report_take *take, bool tree)
{
    const struct stacks_report *report = table->of;
    bool people = table->format == REPORT_TEXT;
    struct mp_buffer text = {.data = NULL};
    enum mp_status status = MP_OK;

    for (size_t i = 0; !status && i < line_count(report, tree); i++) {
        struct line line;

        if (!line_at(report, tree, i, &line))
            continue;
        put_text(&text, report, &line, people);
        status = text.status;
        if (status)
            break;
        line.text = (const char *)text.data;
        fill_origin(report, &line);
        take(table, &line);
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
    const struct report_layout layout = layout_of(report);
    struct report_table table;

    if (report_has_titles(out))
        print_note(out, report->trace, "Who called, %s %s, with all that was called from there:",
                   report->tree ? "as a tree, by" : "by", by[report->options->by]);
    report_open(&table, out, &layout);
    enum mp_status status = each_line(&table, report_survey, report->tree);
    report_header(&table);
    if (!status)
        status = each_line(&table, report_put, report->tree);
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
    const struct report_layout layout = layout_of(report);
    struct report_table table;

    json_key_array(json, key);
    report_open_json(&table, json, &layout);
    enum mp_status status = each_line(&table, report_put, tree);
    json_close_array(json);
    return status;
}

static enum mp_status stacks_print_json(const struct report_out *out,
                                        const struct stacks_report *report)
{
    const struct stacks_result *result = report->result;
    struct stacks_report whole = *report;
    struct json_writer json;

    whole.all = true;
    json_open_document(&json, out->file, 2);
    json_head(&json, report->trace, &result->quality, &result->definitions, report->options->range,
              result->capture_ranges);
    JSON_FACTS(&json, FLAG("stacks", result->has_stacks), FACT("every", result->every),
               FACT("over_us", result->over), FACT("samples", result->sample_count),
               FACT("gil_held_ns", result->gil_held));
    json_weights(&json, "all", &result->all, result->has_times);
    json_weights(&json, "without", &result->without, result->has_times);
    enum mp_status status = json_rows(&json, &whole, "rows", false);
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
