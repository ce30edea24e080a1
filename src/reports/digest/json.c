/* The document "miniprof-report/2". docs/report.md lists every field with its unit; a field may be
 * added under the same version, but none changes its meaning.
 */
#include "base/text/json.h"
#include "reports/advise/print.h"
#include "reports/common/headline.h"
#include "reports/digest/print.h"

#include "base/poison.h"

#define JSON_LINES 2 /* the document and its arrays have each item on its own line */
#define SCHEMA     "miniprof-report/2"

#define KNOWN(number) ((number) != UINT64_MAX)

/* ---- The traces ---- */

static void json_trace(struct json_writer *json, const struct digest *digest)
{
    const struct digest_recording *recording = &digest->recording;
    bool work = !digest->no_work;

    JSON_OBJECT(
        json, FACT("trace", digest->path), FACT("process", digest->process),
        FACT_IF("pid", KNOWN(recording->pid), recording->pid),
        FACT_IF("rank", KNOWN(recording->rank), recording->rank), FACT("host", recording->host),
        FACT("whole", digest->quality.whole),
        FACT("by", iterations_way_key(digest->iterations.way)),
        FACT("iterations", digest->iterations.count),
        FACT_IF("latency_p50_ns", work, digest->latency.p50),
        FACT_IF("latency_p99_ns", work, digest->latency.p99),
        FACT_IF("throughput_per_second", work && digest->iterations.throughput > 0,
                digest->iterations.throughput),
        FACT_IF("busy_percent", work && !digest->quality.gap, digest_share(digest, digest->busy)));
}

static void json_traces(struct json_writer *json, const struct digest_report *report)
{
    json_key_array(json, "traces");
    for (size_t i = 0; i < report->count; i++)
        json_trace(json, &report->digests[i]);
    json_close_array(json);
    JSON_FACTS(json, FACT("shown", report->shown));
}

/* ---- What was recorded ---- */

static void json_devices(struct json_writer *json, const struct digest_recording *recording)
{
    json_key_array(json, "gpus");
    for (size_t i = 0; i < recording->device_count; i++)
        JSON_OBJECT(json, FACT("device", recording->devices[i].ordinal),
                    FACT("name", recording->devices[i].name));
    json_close_array(json);
}

static void json_flight_of(struct json_writer *json, const struct digest_flight *flight)
{
    if (!flight->reason) {
        JSON_FACTS(json, json_fact_null("flight"));
        return;
    }
    JSON_KEY_OBJECT(json, "flight", FACT("reason", flight->reason), FACT("step", flight->step),
                    FACT_IF("from_ns", flight->from, flight->from),
                    FACT_IF("until_ns", flight->until, flight->until),
                    FACT_IF("trigger_ns", flight->trigger, flight->trigger),
                    FACT_IF("step_ns", flight->took, flight->took),
                    FACT_IF("step_limit_ns", flight->limit, flight->limit));
}

static void json_recording(struct json_writer *json, const struct digest *digest)
{
    const struct digest_recording *recording = &digest->recording;

    json_key_object(json, "recording");
    JSON_FACTS(json, FACT("command", recording->program), FACT("recorder", recording->recorder),
               FACT("capture", recording->capture),
               FACT_IF("start_ns", recording->start, recording->start),
               FACT_IF("driver_version", recording->driver, recording->driver),
               FACT_IF("cupti_version", recording->cupti, recording->cupti),
               FACT("framework", recording->framework),
               FACT_IF("framework_percent", recording->framework, recording->framework_percent),
               FACT("ranges", recording->ranges),
               FACT_IF("range", recording->range, recording->range),
               FACT("in_ranges_ns", recording->in_ranges), FACT("span_ns", recording->span),
               FACT("records", recording->records), FACT("bytes", recording->bytes));
    json_devices(json, recording);
    JSON_FACTS(json, FACT("gpus_left_out", recording->devices_left));
    json_flight_of(json, &recording->flight);
    json_close_object(json);
}

static void json_quality_of(struct json_writer *json, const struct digest_quality *quality)
{
    bool whole = quality->whole;

    JSON_KEY_OBJECT(json, "quality", FACT("whole", whole),
                    FACT_IF("warning", !whole, (const char *)quality->warning),
                    FACT_IF("gap", quality->gap, quality->gap->key),
                    FACT("damaged", quality->damaged), FACT("dropped", quality->dropped),
                    FACT("unanswered_launches", quality->unanswered),
                    FACT("profiled_kernels", quality->profiled));
}

static void json_answer(struct json_writer *json, const struct digest *digest)
{
    struct digest_line lines[DIGEST_ANSWERS];
    size_t count = digest_answers(digest, lines);

    json_key_array(json, "answer");
    for (size_t i = 0; i < count; i++)
        json_text(json, lines[i].text);
    json_close_array(json);
}

static void json_notes(struct json_writer *json, const struct digest *digest)
{
    struct digest_line lines[DIGEST_NOTES];
    size_t count = digest_notes(digest, lines);

    json_key_array(json, "notes");
    for (size_t i = 0; i < count; i++)
        JSON_OBJECT(json, FACT("note", lines[i].key), FACT("text", (const char *)lines[i].text));
    json_close_array(json);
}

/* ---- Latency ---- */

static void json_iterations(struct json_writer *json, const struct digest *digest)
{
    const struct digest_iterations *iterations = &digest->iterations;
    enum iterations_way way = iterations->way;

    JSON_KEY_OBJECT(
        json, "iterations", FACT("by", iterations_way_key(way)),
        FACT("asked_for", iterations->asked_for), FACT("name", iterations->name),
        FACT_IF("graph", way == ITERATIONS_GRAPH, iterations->graph),
        FACT_IF("period", way == ITERATIONS_KERNELS || way == ITERATIONS_SYNCS, iterations->period),
        FACT("why_whole", iterations->why_whole), FACT("count", iterations->count),
        FACT("threads", iterations->threads), FACT("at_once", iterations->at_once),
        FACT_IF("coverage_percent", !digest->quality.gap, 100 * iterations->coverage),
        FACT("outliers", iterations->outliers));
}

static void json_latency(struct json_writer *json, const struct digest *digest)
{
    const struct statistics *latency = &digest->latency;
    double throughput = digest->iterations.throughput;
    bool work = !digest->no_work;

    json_key_object(json, "latency");
    JSON_FACTS(json, FACT_IF("mean_ns", work, latency->mean), FACT_IF("min_ns", work, latency->min),
               FACT_IF("p50_ns", work, latency->p50), FACT_IF("p90_ns", work, latency->p90),
               FACT_IF("p95_ns", work, latency->p95), FACT_IF("p99_ns", work, latency->p99),
               FACT_IF("max_ns", work, latency->max),
               FACT_IF("throughput_per_second", work && throughput > 0, throughput));
    json_close_object(json);
}

static void json_parts(struct json_writer *json, const struct digest *digest)
{
    bool known = !digest->no_work && !digest->quality.gap;

    json_key_object(json, "time");
    for (int i = 0; i < DIGEST_PARTS; i++)
        JSON_FACTS(json, FACT_IF(digest_part_key((enum digest_part)i),
                                 known && (i != DIGEST_RECORDING || digest->without_recording) &&
                                     (i != DIGEST_PEER || digest->knows_peers),
                                 digest->parts[i]));
    JSON_FACTS(json, FACT_IF("busy_ns", known, digest->busy));
    json_close_object(json);
}

/* ---- What to change ---- */

static void json_numbers(struct json_writer *json, const struct advise_finding *finding)
{
    json_key_object(json, "numbers");
    for (size_t i = 0; i < finding->number_count; i++)
        JSON_FACTS(json, FACT(finding->numbers[i].key, finding->numbers[i].value));
    json_close_object(json);
}

static void json_lines(struct json_writer *json, const struct advise_finding *finding)
{
    json_key_array(json, "lines");
    for (size_t i = 0; i < finding->line_count; i++) {
        const struct advise_line *line = &finding->lines[i];

        JSON_OBJECT(json, FACT("text", (const char *)line->text), FACT("name", line->name),
                    FACT_IF("iteration", line->iteration, line->iteration));
    }
    json_close_array(json);
}

static void json_finding_of(struct json_writer *json, const struct advise_finding *finding)
{
    json_open_object(json);
    JSON_FACTS(json, FACT("rule", advise_rule_key(finding->rule)), FACT("title", finding->title),
               FACT("gain_ns", finding->gain), FACT("gain_percent", finding->percent),
               FACT("certainty", advise_certainty_key(finding->certainty)),
               FACT("confidence", finding->confidence), FACT("assumes", finding->assumes),
               FACT("evidence", (const char *)finding->evidence), FACT("to_do", finding->to_do));
    json_numbers(json, finding);
    json_lines(json, finding);
    json_close_object(json);
}

static void json_findings(struct json_writer *json, const struct digest *digest)
{
    JSON_FACTS(json, FACT_IF("step_p50_ns", !digest->no_work, digest->step),
               FACT("basis", deps_basis_key(digest->without_recording)),
               FACT_IF("basis_p50_ns", !digest->no_work, digest->basis),
               FACT("findings_all", digest->findings_all));
    json_key_array(json, "findings");
    for (size_t i = 0; i < digest->finding_count; i++)
        json_finding_of(json, &digest->findings[i]);
    json_close_array(json);
}

/* ---- Names by time, commands ---- */

static void json_hot(struct json_writer *json, const struct digest *digest)
{
    JSON_FACTS(json, FACT("hot_all", digest->hot_all));
    json_key_array(json, "hot");
    for (size_t i = 0; i < digest->hot_count; i++) {
        const struct digest_hot *hot = &digest->hot[i];

        JSON_OBJECT(json, FACT("name", hot->name), FACT("calls", hot->calls),
                    FACT("total_ns", hot->total), FACT("mean_ns", hot->mean),
                    FACT("percent", hot->percent));
    }
    json_close_array(json);
}

static void json_commands(struct json_writer *json, const struct digest *digest)
{
    json_key_array(json, "commands");
    for (size_t i = 0; i < digest->command_count; i++)
        JSON_OBJECT(json, FACT("why", digest->commands[i].why),
                    FACT("line", digest->commands[i].line));
    json_close_array(json);
}

void print_digest_json(FILE *out, const struct digest_report *report)
{
    const struct digest *digest = &report->digests[report->shown];
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    JSON_FACTS(&json, FACT("schema", SCHEMA));
    json_job_answer(&json, report->job);
    json_traces(&json, report);
    json_answer(&json, digest);
    json_notes(&json, digest);
    json_recording(&json, digest);
    json_quality_of(&json, &digest->quality);
    json_iterations(&json, digest);
    json_latency(&json, digest);
    json_headline(&json, &digest->headline);
    json_recording_cost(&json, NULL, &digest->recording_cost);
    json_parts(&json, digest);
    json_findings(&json, digest);
    json_hot(&json, digest);
    json_commands(&json, digest);
    json_close_document(&json);
}
