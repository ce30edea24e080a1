/* The JSON document of findings, with the rules that could not be judged and why. */
#include "model/trace/ranges.h"
#include "report/advise/advise.h"
#include "report/common/quality.h"

#include "base/poison.h"

#define JSON_LINES 2 /* the document and its arrays have each item on its own line */

static void json_lines(struct json_writer *json, const struct advise_finding *finding)
{
    json_key(json, "lines");
    json_open_array(json);
    for (size_t i = 0; i < finding->line_count; i++) {
        json_open_object(json);
        json_key_text(json, "text", finding->lines[i].text);
        json_key_text(json, "name", finding->lines[i].name);
        json_key(json, "iteration");
        if (finding->lines[i].iteration)
            json_number(json, finding->lines[i].iteration);
        else
            json_null(json);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_finding(struct json_writer *json, const struct advise_finding *finding)
{
    json_open_object(json);
    json_key_text(json, "rule", advise_rule_key(finding->rule));
    json_key_text(json, "title", finding->title);
    json_key_number(json, "gain_ns", finding->gain);
    json_key_real(json, "gain_percent", finding->percent);
    json_key_text(json, "method", advise_method_key(finding->method));
    json_key_text(json, "assumes", finding->assumes);
    json_key_text(json, "evidence", finding->evidence);
    json_key(json, "numbers");
    json_open_object(json);
    for (size_t i = 0; i < finding->number_count; i++)
        json_key_real(json, finding->numbers[i].key, finding->numbers[i].value);
    json_close_object(json);
    json_lines(json, finding);
    json_key_text(json, "to_do", finding->to_do);
    json_close_object(json);
}

static void json_not_tried(struct json_writer *json, const struct advice *advice)
{
    json_key(json, "not_tried");
    json_open_array(json);
    for (int i = 0; i < ADVISE_RULES; i++) {
        enum advise_rule_id rule = (enum advise_rule_id)i;

        if (advice->reasons[rule] == ADVISE_TRIED)
            continue;
        json_open_object(json);
        json_key_text(json, "rule", advise_rule_key(rule));
        json_key_text(json, "reason", advise_reason_key(advice->reasons[rule]));
        json_close_object(json);
    }
    json_close_array(json);
}

void print_advise_json(FILE *out, const struct advise_report *report)
{
    const struct iterations_report *iterations = &report->iterations;
    const struct deps *deps = iterations->deps;
    const struct advice *advice = report->advice;
    struct json_writer json;

    json_begin(&json, out, JSON_LINES);
    json_open_object(&json);
    json_head(&json, iterations->trace, &deps->quality, &deps->definitions, iterations->range,
              ranges_count(&deps->ranges));
    json_key_number(&json, "iterations", iterations->iterations->count);
    json_key_number(&json, "judged", advice->judged);
    json_key_number(&json, "latency_p50_ns",
                    iterations->summary->statistics[ITERATION_LATENCY].p50);
    json_key_number(&json, "step_p50_ns", advice->step);
    json_key(&json, "findings");
    json_open_array(&json);
    for (size_t i = 0; i < advice->count; i++)
        json_finding(&json, &advice->findings[i]);
    json_close_array(&json);
    json_not_tried(&json, advice);
    json_close_object(&json);
    json_end(&json);
}
