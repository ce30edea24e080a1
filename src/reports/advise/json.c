/* The JSON document of findings, with the rules that could not be judged and why. */
#include "profile/ranges.h"
#include "reports/advise/print.h"
#include "reports/common/headline.h"
#include "reports/common/quality.h"
#include "reports/common/recording_cost.h"

#include "base/poison.h"

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
    json_head(&json, iterations->trace, &deps->quality, &deps->definitions, iterations->range,
              ranges_count(&deps->ranges));
    JSON_FACTS(&json, FACT("iterations", iterations->iterations->count),
               FACT("judged", advice->judged),
               FACT("latency_p50_ns", iterations->summary->statistics[ITERATION_LATENCY].p50),
               FACT("step_p50_ns", advice->step), FACT("framework", advice->framework),
               FACT_IF("framework_percent", advice->framework != NULL, advice->framework_percent));
    json_headline(&json, &iterations->summary->headline);
    json_recording_cost(&json, iterations->baseline, iterations->recording_cost);
    json_advise_findings(&json, advice);
    json_not_tried(&json, advice);
    json_close_document(&json);
}
