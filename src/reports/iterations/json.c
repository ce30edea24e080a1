/* Writes the JSON document about the iterations of a trace. */
#include "profile/ranges.h"
#include "reports/common/headline.h"
#include "reports/common/quality.h"
#include "reports/common/recording_cost.h"
#include "reports/common/statistics.h"
#include "reports/iterations/print.h"

#include "base/poison.h"

#define JSON_LINES 2 /* the document and its arrays have each item on its own line */

static void json_way(struct json_writer *json, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;

    JSON_FACTS(
        json, FACT("by", iterations_way_key(found->way)), FLAG("asked_for", !found->found),
        FACT("name", found->name), FACT("domain", found->domain),
        FACT_IF("coverage_percent", !quality_gap(&report->deps->quality), 100 * found->coverage),
        FACT_IF("graph", found->way == ITERATIONS_GRAPH, found->graph),
        FACT_IF("kernel_period", found->way == ITERATIONS_KERNELS, found->period),
        FACT_IF("wait_period", found->way == ITERATIONS_SYNCS, found->period),
        FACT_IF("why_whole", *found->why_whole, found->why_whole));
}

static void json_counts(struct json_writer *json, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;
    const struct iterations_summary *summary = report->summary;

    JSON_FACTS(json, FACT("count", found->count), FACT("threads", found->threads),
               FACT("at_once", summary->at_once), FACT("max_at_once", summary->max_at_once),
               FACT("unfinished", found->unfinished), FACT("pipelined", found->pipelined),
               FACT("outside", found->outside), FACT("begin_ns", summary->begin),
               FACT("end_ns", summary->end),
               FACT_IF("throughput_per_second", summary->throughput > 0, summary->throughput),
               FACT_IF("period_mean_ns", summary->period > 0, summary->period),
               FACT("median", (uint64_t)summary->median + 1),
               FACT("outlier_limit_ns", summary->limit));
}

static void json_statistics(struct json_writer *json, const struct iterations_report *report)
{
    json_key_object(json, "statistics");
    for (int i = 0; i < ITERATION_QUANTITIES; i++) {
        enum iteration_quantity quantity = (enum iteration_quantity)i;
        const char *key = iteration_quantity_key(quantity);

        if (iterations_is_known(report, quantity))
            JSON_KEY_OBJECT(json, key, STATISTICS_FACTS(&report->summary->statistics[i], ""));
        else
            JSON_FACTS(json, json_fact_null(key));
    }
    json_close_object(json);
}

/* ---- The document ---- */

void print_iterations_json(FILE *out, const struct iterations_report *report)
{
    const struct deps *deps = report->deps;
    const struct host_code host = iterations_host(report);
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_head(&json, report->trace, &deps->quality, &deps->definitions, report->range,
              ranges_count(&deps->ranges));
    if (report->candidates) {
        json_iterations_candidates(&json, report);
        json_close_document(&json);
        return;
    }
    json_way(&json, report);
    json_counts(&json, report);
    JSON_FACTS(&json, FACT("no_calls", deps->no_calls),
               FACT("unlaunched", deps->counts.unlaunched));
    json_headline(&json, &report->summary->headline);
    json_recording_cost(&json, report->baseline, report->recording_cost);
    json_statistics(&json, report);
    json_iterations_outliers(&json, report);
    json_iterations_threads(&json, report);
    json_host_code(&json, &host);
    if (report->each)
        json_iterations_each(&json, report);
    json_close_document(&json);
}
