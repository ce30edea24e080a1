/* Prints findings: title, evidence, what to do. Lines are wrapped here, because the texts are
 * sentences and not cells.
 */
#include "reports/advise/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/foreign.h"
#include "base/text/units.h"
#include "profile/ranges.h"
#include "reports/common/headline.h"
#include "reports/common/quality.h"

#include "base/poison.h"

#define LINE_COLUMNS 110 /* without a terminal */
#define NAME_COLUMNS 70  /* longer names end in "...", longer paths begin with it */

/* ---- Text ---- */

/* Prints our own words in lines that are each indented by `indent` columns. If `column` is not 0,
 * the first line continues at that column. */
static void put_wrapped_from(const struct report_out *to, size_t column, unsigned indent,
                             const char *text)
{
    unsigned columns = report_view_line(to->view, LINE_COLUMNS);
    FILE *out = to->file;

    while (*text) {
        size_t word = strcspn(text, " ");

        if (!column || column + 1 + word > columns) {
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

static void put_wrapped(const struct report_out *out, unsigned indent, const char *text)
{
    put_wrapped_from(out, 0, indent, text);
}

__attribute__((format(printf, 2, 3))) static void put_sentence(const struct report_out *out,
                                                               const char *format, ...)
{
    char line[2 * ADVISE_TEXT_BYTES + 64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    put_wrapped(out, 4, line);
}

static void put_name(const struct report_out *to, size_t taken, const char *name, bool is_path)
{
    size_t length = strlen(name);
    size_t kept = NAME_COLUMNS - 3;
    FILE *out = to->file;

    if (report_view_lays_out(to->view)) {
        report_put_name(out, to->view, taken, name);
        return;
    }
    if (length <= NAME_COLUMNS) {
        foreign_put(out, name, length);
        return;
    }
    if (is_path) {
        fputs("...", out);
        foreign_put(out, name + length - kept, kept);
    } else {
        foreign_put(out, name, kept);
        fputs("...", out);
    }
}

static void put_lines(const struct report_out *to, const struct advise_finding *finding)
{
    FILE *out = to->file;
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
            put_name(to, width + 7, line->name, line->is_path);
        }
        fputc('\n', out);
    }
}

static const char *const caller_texts[] = {
    [ADVISE_CALLED_FROM] = "called from",
    [ADVISE_HOST_CODE] = "host code in",
    [ADVISE_IN_PACKAGE] = "in",
};

/* "61.0 % called from  forward (model.py:214)" */
static void put_callers(const struct report_out *out, const struct advice *advice,
                        const struct advise_finding *finding)
{
    struct mp_buffer text = {.size = 0};

    for (size_t i = 0; i < finding->caller_count; i++) {
        mp_buffer_clear(&text);
        call_stacks_put_frame(&text, &advice->stacks, &finding->callers[i].frame, false);
        if (mp_buffer_append_byte(&text, '\0'))
            break;
        fprintf(out->file, "     %5.1f %% %-12s ", finding->callers[i].percent,
                caller_texts[finding->callers[i].kind]);
        put_name(out, 26, (const char *)text.data, false);
        fputc('\n', out->file);
    }
    mp_buffer_free(&text);
}

static void put_finding(const struct report_out *to, size_t number, const struct advice *advice)
{
    const struct advise_finding *finding = &advice->findings[number - 1];
    char gain[MP_FORMATTED_BYTES];
    char whole[MP_FORMATTED_BYTES];

    fprintf(to->file, "%2zu. %s: %s-%s of %s, %.1f %%\n", number, finding->title,
            finding->certainty == ADVISE_BOUND ? "at most " : "",
            mp_format_time(gain, sizeof gain, finding->gain),
            mp_format_time(whole, sizeof whole, advice->basis), finding->percent);
    put_wrapped(to, 4, finding->evidence);
    put_lines(to, finding);
    put_callers(to, advice, finding);
    put_sentence(to, "Gain: %s, %s; assumes: %s", advise_certainty_text(finding->certainty),
                 advise_method_text(finding->method), finding->assumes);
    put_sentence(to, "To do: %s", finding->to_do);
}

/* Which of iterations whose times are split count. */
static void print_judged(FILE *out, const struct advice *advice)
{
    char p50[MP_FORMATTED_BYTES];

    if (advice->kind->range)
        fprintf(out, "; judged are the %s of capture range %" PRIu64, mp_count(advice->judged).text,
                advice->kind->range);
    else
        fprintf(out, "; judged are the %s that take about %s", mp_count(advice->judged).text,
                mp_format_time(p50, sizeof p50, advice->kind->p50));
}

static void put_head(const struct report_out *out, const struct advise_report *report)
{
    const struct iterations_report *iterations = &report->iterations;
    const struct advice *advice = report->advice;
    size_t count = iterations->iterations->count;
    bool requests = iterations->iterations->way == ITERATIONS_REQUESTS;
    char p50[MP_FORMATTED_BYTES];
    char step[MP_FORMATTED_BYTES];

    print_head(out, iterations->trace, &iterations->deps->quality, iterations->range,
               ranges_count(&iterations->deps->profile->ranges));
    if (!report_has_titles(out)) {
        print_iterations_warning(out, iterations);
        return;
    }
    print_prefix(out, iterations->trace);
    print_iterations_way(out->file, iterations);
    fputc('\n', out->file);
    print_iterations_warning(out, iterations);
    print_prefix(out, iterations->trace);
    mp_format_time(p50, sizeof p50, iterations->summary->statistics[ITERATION_LATENCY].p50);
    mp_format_time(step, sizeof step, advice->step);
    fprintf(out->file, "%s %s%s", mp_count(count).text, requests ? "request" : "iteration",
            count == 1 ? "" : "s");
    if (advice->kind)
        print_judged(out->file, advice);
    else
        fprintf(out->file, ", latency P50 %s", p50);
    if (count > 1 && !requests)
        fprintf(out->file, ", %s from end to end (P50)", step);
    if (advice->judged < count && !advice->kind)
        fprintf(out->file, "; %s outlier%s left out of gains",
                mp_count(count - advice->judged).text, count - advice->judged == 1 ? "" : "s");
    fputc('\n', out->file);
    print_iterations_headline(out, iterations);
    print_recording_cost(out, iterations->trace, iterations->baseline, iterations->recording_cost);
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
            mp_buffer_append_format(text, " (%s)",
                                    advise_reason_text(advice, (enum advise_reason)reason));
    }
}

/* "Not tried: a, b (why); c (why)" */
static enum mp_status put_not_tried(const struct report_out *out,
                                    const struct advise_report *report)
{
    const char *pid = mp_trace_property(report->iterations.trace, "pid");
    struct mp_buffer text = {.size = 0};

    list_not_tried(&text, report->advice);
    if (text.size && !mp_buffer_append_byte(&text, '\0')) {
        print_prefix(out, report->iterations.trace);
        fputs("Not tried:", out->file);
        put_wrapped_from(out, strlen(pid ? pid : "====") + strlen("==== Not tried:"), 4,
                         (const char *)text.data);
    }
    enum mp_status status = text.status;
    mp_buffer_free(&text);
    return status;
}

static void put_framework(const struct report_out *out, const struct advise_report *report)
{
    const struct advice *advice = report->advice;

    if (!advice->framework)
        return;
    print_prefix(out, report->iterations.trace);
    fprintf(out->file, "Framework: %s (by the names of %.1f %% of the kernels%s)\n",
            advice->framework, advice->framework_percent,
            strcmp(advice->framework, "TensorRT") != 0 ? "" : ", or its NVTX ranges");
}

static void put_findings(const struct report_out *out, const struct mp_trace *trace,
                         const struct advice *advice)
{
    print_prefix(out, trace);
    if (advice->count)
        fprintf(out->file,
                "%s finding%s, estimates before bounds; each gain (%s) is of its change alone: "
                "they do not add up\n",
                mp_count(advice->count).text, advice->count == 1 ? "" : "s",
                deps_basis_text(advice->without_recording));
    else
        fputs("No findings.\n", out->file);
    for (size_t i = 0; i < advice->count; i++)
        put_finding(out, i + 1, advice);
}

static enum mp_status advise_print_text(const struct report_out *out,
                                        const struct advise_report *report)
{
    put_head(out, report);
    put_framework(out, report);
    put_findings(out, report->iterations.trace, report->advice);
    return put_not_tried(out, report);
}

/* ---- CSV ---- */

#define OF(member) MEMBER(struct advise_finding, member)

/* Keys of the finding's enumerations; the column's `index` says which. */
enum { RULE, METHOD, CERTAINTY };

static struct report_cell key_cell(const void *at, struct report_table *table)
{
    const struct advise_finding *finding = at;

    if (table->column->index == RULE)
        return report_text_cell(advise_rule_key(finding->rule));
    return report_text_cell(table->column->index == METHOD
                                ? advise_method_text(finding->method)
                                : advise_certainty_key(finding->certainty));
}

static struct report_cell step_cell(const void *at, struct report_table *table)
{
    (void)at;
    return report_number_cell(((const struct advice *)table->of)->basis);
}

static struct report_cell evidence_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(((const struct advise_finding *)at)->evidence);
}

static const struct report_column columns[] = {
    COLUMN("Rule", NULL, TEXT, 0, .cell = key_cell, .index = RULE),
    COLUMN("Finding", NULL, TEXT, 0, OF(title)),
    COLUMN("Gain", NULL, TIME, 0, OF(gain)),
    COLUMN("Iteration", NULL, TIME, 0, .cell = step_cell),
    COLUMN("Gain(%)", NULL, PERCENT, 0, OF(percent), .unit = "%"),
    COLUMN("Method", NULL, TEXT, 0, .cell = key_cell, .index = METHOD),
    COLUMN("Certainty", NULL, TEXT, 0, .cell = key_cell, .index = CERTAINTY),
    COLUMN("Confidence", NULL, REAL, 0, OF(confidence)),
    COLUMN("Assumes", NULL, TEXT, 0, OF(assumes)),
    COLUMN("Evidence", NULL, TEXT, 0, .cell = evidence_cell),
    COLUMN("To do", NULL, TEXT, 0, OF(to_do)),
};

static void print_rows(const struct report_out *out, const struct advice *advice)
{
    report_array(out, &(struct report_layout){REPORT_COLUMNS(columns), .of = advice},
                 advice->findings, advice->count, sizeof *advice->findings);
}

static void print_csv(const struct report_out *out, const struct advise_report *report)
{
    put_head(out, report);
    print_rows(out, report->advice);
}

void print_advise_findings(const struct report_out *out, const struct advice *advice)
{
    if (out->format == REPORT_CSV)
        print_rows(out, advice);
    else
        put_findings(out, NULL, advice);
}

enum mp_status print_advise(const struct report_out *out, const struct advise_report *report)
{
    if (out->format == REPORT_JSON)
        print_advise_json(out->file, report);
    else if (out->format == REPORT_CSV)
        print_csv(out, report);
    else
        return advise_print_text(out, report);
    return MP_OK;
}

/* How a gain was computed and what it is, in words and as keys of JSON. */

static const struct {
    const char *text;
    const char *key;
} methods[] = {
    [ADVISE_BY_REPLAY] = {"by replay", "replay"},
    [ADVISE_BY_REPLAY_BOUNDED] = {"by replay, bounded", "replay_bounded"},
    [ADVISE_BY_TIMES] = {"by recorded times", "times"},
};

const char *advise_method_text(enum advise_method method)
{
    return methods[method].text;
}

const char *advise_method_key(enum advise_method method)
{
    return methods[method].key;
}

const char *advise_certainty_key(enum advise_certainty certainty)
{
    return certainty == ADVISE_BOUND ? "bound" : "estimate";
}

const char *advise_certainty_text(enum advise_certainty certainty)
{
    return certainty == ADVISE_BOUND ? "a bound" : "an estimate";
}

/* The JSON document of findings, with the rules that could not be judged and why. */

#define JSON_LINES 2 /* the document and its arrays have each item on its own line */

static void json_lines(struct json_writer *json, const struct advise_finding *finding)
{
    json_key_array(json, "lines");
    for (size_t i = 0; i < finding->line_count; i++)
        JSON_OBJECT(json, FACT("text", finding->lines[i].text),
                    FACT("name", finding->lines[i].name),
                    FACT_IF("iteration", finding->lines[i].iteration, finding->lines[i].iteration));
    json_close_array(json);
}

/* Lines of the program, or of packages that these call. */
static void json_callers(struct json_writer *json, const char *key, const struct advice *advice,
                         const struct advise_finding *finding, bool packages)
{
    if (!call_stacks_has_any(&advice->stacks))
        return;
    json_key_array(json, key);
    for (size_t i = 0; i < finding->caller_count; i++) {
        const struct advise_caller *caller = &finding->callers[i];
        const struct stack_code *code = call_stacks_code(&advice->stacks, &caller->frame);

        if (packages != (caller->kind == ADVISE_IN_PACKAGE))
            continue;
        json_open_object(json);
        JSON_FACTS(json, FACT("function", code->name), FACT("file", code->file),
                   FACT("line", caller->frame.line), FACT("percent", caller->percent));
        if (!packages)
            JSON_FACTS(json, FACT("part", caller->kind == ADVISE_HOST_CODE ? "host_code" : "call"));
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_finding(struct json_writer *json, const struct advice *advice,
                         const struct advise_finding *finding)
{
    json_open_object(json);
    JSON_FACTS(json, FACT("rule", advise_rule_key(finding->rule)), FACT("title", finding->title),
               FACT("gain_ns", finding->gain), FACT("gain_percent", finding->percent),
               FACT("method", advise_method_key(finding->method)),
               FACT("certainty", advise_certainty_key(finding->certainty)),
               FACT("confidence", finding->confidence), FACT("assumes", finding->assumes),
               FACT("evidence", finding->evidence));
    json_key_object(json, "numbers");
    for (size_t i = 0; i < finding->number_count; i++)
        JSON_FACTS(json, FACT(finding->numbers[i].key, finding->numbers[i].value));
    json_close_object(json);
    json_lines(json, finding);
    json_callers(json, "callers", advice, finding, false);
    json_callers(json, "packages", advice, finding, true);
    JSON_FACTS(json, FACT("to_do", finding->to_do));
    json_close_object(json);
}

void json_advise_findings(struct json_writer *json, const struct advice *advice)
{
    json_key_array(json, "findings");
    for (size_t i = 0; i < advice->count; i++)
        json_finding(json, advice, &advice->findings[i]);
    json_close_array(json);
}

static void json_not_tried(struct json_writer *json, const struct advice *advice)
{
    json_key_array(json, "not_tried");
    for (int i = 0; i < ADVISE_RULES; i++) {
        enum advise_rule_id rule = (enum advise_rule_id)i;

        if (advice->reasons[rule] == ADVISE_TRIED)
            continue;
        JSON_OBJECT(json, FACT("rule", advise_rule_key(rule)),
                    FACT("reason", advise_reason_key(advice, advice->reasons[rule])));
    }
    json_close_array(json);
}

void print_advise_json(FILE *out, const struct advise_report *report)
{
    const struct iterations_report *iterations = &report->iterations;
    const struct deps *deps = iterations->deps;
    const struct advice *advice = report->advice;
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_head(&json, iterations->trace, &deps->quality, &deps->profile->definitions,
              iterations->range, ranges_count(&deps->profile->ranges));
    JSON_FACTS(
        &json, FACT("iterations", iterations->iterations->count), FACT("judged", advice->judged),
        FACT("latency_p50_ns", iterations->summary->statistics[ITERATION_LATENCY].p50),
        FACT("step_p50_ns", advice->step), FACT("basis", deps_basis_key(advice->without_recording)),
        FACT("basis_p50_ns", advice->basis), FACT("framework", advice->framework),
        FACT_IF("framework_percent", advice->framework != NULL, advice->framework_percent));
    json_headline(&json, &iterations->summary->headline);
    json_recording_cost(&json, iterations->baseline, iterations->recording_cost);
    json_advise_findings(&json, advice);
    json_not_tried(&json, advice);
    json_close_document(&json);
}

/* Findings on a job: its head, then findings as those of a trace.
 */

#define JSON_LINES 2

static void put_job_head(const struct report_out *out, const struct advise_job_report *report)
{
    char step[MP_FORMATTED_BYTES];

    print_job_answer(out, report->job->answer);
    print_ranks_head(out, report->job->ranks);
    if (report_has_titles(out))
        fprintf(out->file, "======== %s iteration%s of rank %" PRIu32 ", mean %s\n",
                mp_count(report->iterations).text, report->iterations == 1 ? "" : "s", report->rank,
                mp_format_time(step, sizeof step, report->advice->step));
}

static void print_job_document(FILE *out, const struct advise_job_report *report)
{
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_job_answer(&json, report->job->answer);
    json_ranks_head(&json, report->job->ranks);
    JSON_FACTS(&json, FACT("iterations", (uint64_t)report->iterations),
               FACT("step_mean_ns", report->advice->step));
    json_advise_findings(&json, report->advice);
    json_close_document(&json);
}

void print_job_advise(const struct report_out *out, const struct advise_job_report *report)
{
    if (out->format == REPORT_JSON) {
        print_job_document(out->file, report);
        return;
    }
    put_job_head(out, report);
    print_advise_findings(out, report->advice);
}
