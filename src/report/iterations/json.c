/* The JSON document about iterations, and the columns of the iterations one by one that the page
 * uses.
 */
#include "model/trace/ranges.h"
#include "report/common/quality.h"
#include "report/iterations/iterations.h"

#include "base/poison.h"

#define JSON_LINES 2 /* the document and its arrays have each item on its own line */

static const char *way_key(enum iterations_way way)
{
    static const char *const keys[ITERATIONS_WAYS] = {
        [ITERATIONS_NVTX] = "nvtx",   [ITERATIONS_RANGES] = "range",
        [ITERATIONS_GRAPH] = "graph", [ITERATIONS_KERNELS] = "kernels",
        [ITERATIONS_WHOLE] = "whole", [ITERATIONS_AUTO] = "auto",
    };

    return keys[way];
}

static void json_way(struct json_writer *json, const struct iterations *found)
{
    json_key_text(json, "by", way_key(found->way));
    json_key_bool(json, "asked_for", !found->found);
    json_key_text(json, "name", found->name);
    json_key(json, "graph");
    if (found->way == ITERATIONS_GRAPH)
        json_number(json, found->graph);
    else
        json_null(json);
    json_key(json, "kernel_period");
    if (found->way == ITERATIONS_KERNELS)
        json_number(json, found->period);
    else
        json_null(json);
    json_key_text(json, "not_before", *found->not_before ? found->not_before : NULL);
}

static void json_known(struct json_writer *json, const char *key, double value)
{
    json_key(json, key);
    if (value > 0)
        json_real(json, value);
    else
        json_null(json);
}

static void json_counts(struct json_writer *json, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;
    const struct iterations_summary *summary = report->summary;

    json_key_number(json, "count", found->count);
    json_key_number(json, "unfinished", found->unfinished);
    json_key_number(json, "pipelined", found->pipelined);
    json_key_number(json, "outside", found->outside);
    json_key_number(json, "begin_ns", summary->begin);
    json_key_number(json, "end_ns", summary->end);
    json_known(json, "throughput_per_s", summary->throughput);
    json_known(json, "period_mean_ns", summary->period);
    json_key_number(json, "median", (uint64_t)summary->median + 1);
    json_key_number(json, "outlier_limit_ns", summary->limit);
}

static void json_statistics(struct json_writer *json, const struct iterations_summary *summary)
{
    json_key(json, "statistics");
    json_open_object(json);
    for (int i = 0; i < ITERATION_QUANTITIES; i++) {
        const struct statistics *statistics = &summary->statistics[i];

        json_key(json, iteration_quantity_key((enum iteration_quantity)i));
        json_open_object(json);
        json_key_real(json, "mean", statistics->mean);
        json_key_real(json, "std", statistics->deviation);
        json_key_number(json, "min", statistics->least);
        json_key_number(json, "p50", statistics->p50);
        json_key_number(json, "p90", statistics->p90);
        json_key_number(json, "p95", statistics->p95);
        json_key_number(json, "p99", statistics->p99);
        json_key_number(json, "max", statistics->greatest);
        json_close_object(json);
    }
    json_close_object(json);
}

static void json_outliers(struct json_writer *json, const struct iterations_report *report)
{
    const struct iterations_summary *summary = report->summary;

    json_key(json, "outliers");
    json_open_array(json);
    for (size_t i = 0; i < summary->outlier_count; i++) {
        const struct iteration_outlier *outlier = &summary->outliers[i];

        json_open_object(json);
        json_key_number(json, "iteration", (uint64_t)outlier->iteration + 1);
        json_key_number(json, "begin_ns", report->iterations->items[outlier->iteration].begin);
        json_key_number(json, "latency_ns",
                        report->measures[outlier->iteration].values[ITERATION_LATENCY]);
        json_key_text(json, "grew", outlier->by ? iteration_quantity_key(outlier->grew) : NULL);
        json_key_number(json, "by_ns", outlier->by);
        json_close_object(json);
    }
    json_close_array(json);
}

/* ---- One by one ---- */

enum own_key { ITERATION, THREAD, BEGIN, HOST_END, END, PIPELINED, OWN_KEYS };

static const char *each_key(int key)
{
    static const char *const own[OWN_KEYS] = {
        [ITERATION] = "iteration",  [THREAD] = "thread", [BEGIN] = "begin_ns",
        [HOST_END] = "host_end_ns", [END] = "end_ns",    [PIPELINED] = "pipelined",
    };

    return key < OWN_KEYS ? own[key]
                          : iteration_quantity_key((enum iteration_quantity)(key - OWN_KEYS));
}

#define EACH_KEYS (OWN_KEYS + (int)ITERATION_QUANTITIES)

static void json_each_value(struct json_writer *json, const struct iterations_report *report,
                            size_t index, int key)
{
    const struct iteration *iteration = &report->iterations->items[index];

    switch (key) {
    case ITERATION:
        json_number(json, index + 1);
        break;
    case THREAD:
        if (iteration->thread == DEPS_NONE)
            json_null(json);
        else
            json_number(json, report->deps->lanes[iteration->thread].id);
        break;
    case BEGIN:
        json_number(json, iteration->begin);
        break;
    case HOST_END:
        json_number(json, iteration->host_end);
        break;
    case END:
        json_number(json, iteration->end);
        break;
    case PIPELINED:
        json_bool(json, iteration->pipelined);
        break;
    default:
        json_number(json, report->measures[index].values[key - OWN_KEYS]);
    }
}

static void json_iteration(struct json_writer *json, const struct iterations_report *report,
                           size_t index)
{
    json_open_object(json);
    for (int key = 0; key < EACH_KEYS; key++) {
        json_key(json, each_key(key));
        json_each_value(json, report, index, key);
    }
    json_close_object(json);
}

void print_iterations_columns(FILE *out, const struct iterations_report *report, size_t most)
{
    size_t count = report->iterations->count < most ? report->iterations->count : most;
    struct json_writer json;

    json_begin(&json, out, JSON_LINES);
    json_open_object(&json);
    json_key(&json, "columns");
    json_open_array(&json);
    for (int key = 0; key < EACH_KEYS; key++)
        json_text(&json, each_key(key));
    json_close_array(&json);
    json_key(&json, "rows");
    json_open_array(&json);
    for (size_t i = 0; i < count; i++) {
        json_open_array(&json);
        for (int key = 0; key < EACH_KEYS; key++)
            json_each_value(&json, report, i, key);
        json_close_array(&json);
    }
    json_close_array(&json);
    json_close_object(&json);
    json_end(&json);
}

/* ---- The document ---- */

void print_iterations_json(FILE *out, const struct iterations_report *report)
{
    const struct deps *deps = report->deps;
    struct json_writer json;

    json_begin(&json, out, JSON_LINES);
    json_open_object(&json);
    json_head(&json, report->trace, &deps->quality, &deps->definitions, report->range,
              ranges_count(&deps->ranges));
    json_way(&json, report->iterations);
    json_counts(&json, report);
    json_key_bool(&json, "no_calls", deps->no_calls);
    json_key_number(&json, "unlaunched", deps->counts.unlaunched);
    json_statistics(&json, report->summary);
    json_outliers(&json, report);
    if (report->each) {
        json_key(&json, "iterations");
        json_open_array(&json);
        for (size_t i = 0; i < report->iterations->count; i++)
            json_iteration(&json, report, i);
        json_close_array(&json);
    }
    json_close_object(&json);
    json_end(&json);
}
