/* `miniprof metrics`: values of counters by kernel, or which metrics the GPUs have. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/common/quality.h"
#include "reports/metrics/metrics.h"
#include "reports/metrics/print.h"
#include "run/query.h"

#include "base/poison.h"

struct metrics_values {
    struct report_values report;
    const char *kernels;
    const char *devices;
    const char *library;
    bool each;
    bool query;
    bool events;
    bool raw;
    bool sampling;
};

#define FIELD(name) offsetof(struct metrics_values, name)
static const struct option_spec specs[] = {
    {.name = "each",
     .kind = OPTION_FLAG,
     .offset = FIELD(each),
     .help = "each execution by itself, in order of time, with a column for each metric"},
    {.name = "kernels",
     .argument = "FILTER",
     .kind = OPTION_TEXT,
     .offset = FIELD(kernels),
     .help = "only these kernels: a regular expression for the name, or "
             "context:stream:name:invocation, each of which may be empty"},
    REPORT_RANGE_OPTION(FIELD(report),
                        "only what capture range N launched; without it, all ranges together"),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
    {.name = "query",
     .kind = OPTION_FLAG,
     .offset = FIELD(query),
     .help = "no trace: list the metrics that the GPUs of this machine have"},
    {.name = "events",
     .kind = OPTION_FLAG,
     .offset = FIELD(events),
     .help = "with --query: nvprof's events instead"},
    {.name = "raw",
     .kind = OPTION_FLAG,
     .offset = FIELD(raw),
     .help = "with --query: CUPTI's own metrics instead, without the suffixes that make values "
             "of them"},
    {.name = "sampling",
     .kind = OPTION_FLAG,
     .offset = FIELD(sampling),
     .help = "with --query: the counters that MINIPROF_SAMPLE takes, and those that fit into one "
             "pass"},
    {.name = "devices",
     .argument = "all|ID,...",
     .kind = OPTION_TEXT,
     .offset = FIELD(devices),
     .help = "with --query: only these devices"},
    {.name = "library",
     .argument = "FILE",
     .kind = OPTION_TEXT,
     .offset = FIELD(library),
     .help = "with --query: the libminiprof.so to use; default: beside this command or in ../lib"},
};
#undef FIELD

static const struct option_set set = {
    .command = "metrics",
    .synopsis = "[options] TRACE|FOLDER... | --query [--events|--raw|--sampling] [--devices LIST]",
    .purpose = "Prints the metrics of kernels that MINIPROF_METRICS measured: minimum, maximum and "
               "mean by device, kernel and metric, in nvprof's layout.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage, "
             "3 a trace cannot be read, or there is no GPU to ask.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

/* ---- Traces ---- */

static enum mp_status print_result(const struct report_out *out, const struct mp_trace *trace,
                                   const struct metrics_result *result)
{
    if (out->format != REPORT_JSON)
        print_head(out, trace, &result->quality, result->range, result->range_count);
    if (out->format != REPORT_JSON && !result->asked)
        print_note(out, trace, "No metrics were asked for.");
    if (result->each)
        return print_metrics_each(out, trace, result);
    print_metrics(out, trace, result);
    return MP_OK;
}

struct reporting {
    struct report_out out;
    struct metrics_options options;
};

static enum mp_status print_trace(void *context, struct mp_trace *trace, bool *whole,
                                  struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct metrics_result result;

    MP_TRY(metrics_build(trace, &reporting->options, &result, error));
    enum mp_status status = print_result(&reporting->out, trace, &result);
    *whole = quality_is_whole(&result.quality);
    metrics_free(&result);
    return mp_error_from(error, status, "cannot print the metrics");
}

static int report_metrics(struct metrics_values *values, int count, char **paths)
{
    struct kernel_filter filter;
    struct reporting reporting = {
        .options = {.range = values->report.range,
                    .filter = values->kernels ? &filter : NULL,
                    .style = report_style(&values->report),
                    .each = values->each},
    };
    struct mp_error error;

    if (!report_out_open(set.command, &values->report, &reporting.out))
        return EXIT_USAGE;
    if (kernel_filter_parse(&filter, values->kernels, &error) != MP_OK) {
        complain(set.command, "%s", error.text);
        return EXIT_USAGE;
    }
    int code = each_trace(set.command, &reporting.out, count, paths, print_trace, &reporting);
    kernel_filter_free(&filter);
    return code;
}

/* ---- Queries ---- */

static int query(struct metrics_values *values)
{
    struct report_out out;
    struct query query = {
        .list = values->sampling ? METRIC_LIST_SAMPLING
                : values->raw    ? METRIC_LIST_RAW
                : values->events ? METRIC_LIST_EVENTS
                                 : METRIC_LIST_METRICS,
        .devices = values->devices,
        .library = values->library,
    };
    struct mp_error error;
    int code = EXIT_FINE;

    if (!report_out_open(set.command, &values->report, &out))
        return EXIT_USAGE;
    if (!report_streams_open(set.command, &out, false))
        return EXIT_UNREADABLE;
    enum mp_status status = query_print(&out, &query, &error);
    if (status != MP_OK) {
        complain(set.command, "%s", error.text);
        code = status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
    }
    return report_streams_close(set.command, &out, code);
}

/* ---- The command ---- */

/* Complains of options that do not go together; true if there is nothing to complain of. */
static bool metrics_options_agree(const struct metrics_values *values, int traces)
{
    const char *wrong = NULL;

    if (values->query && traces)
        wrong = "--query takes no trace";
    else if (values->query && (values->each || values->kernels || values->report.range))
        wrong = "--query goes with none of --each, --kernels and --range";
    else if (!values->query && (values->raw || values->events || values->sampling ||
                                values->devices || values->library))
        wrong = "--events, --raw, --sampling, --devices and --library need --query";
    else if (values->report.format == REPORT_CSV &&
             (values->report.view.top || values->report.view.sort))
        wrong = "--top and --sort are for text: with --csv there are all rows";
    else if (values->raw + values->events + values->sampling > 1)
        wrong = "--events, --raw and --sampling are several lists; ask for one";
    else if (!values->query && !traces)
        wrong = "which trace? 'miniprof metrics TRACE.mpt', or --query for what the GPUs have";
    if (wrong)
        complain(set.command, "%s", wrong);
    return !wrong;
}

int cmd_metrics(int argc, char **argv)
{
    struct metrics_values values = {.report = REPORT_PRESET};
    int first;
    enum options_result result = options_parse(&set, argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (!metrics_options_agree(&values, argc - first))
        return EXIT_USAGE;
    return values.query ? query(&values) : report_metrics(&values, argc - first, argv + first);
}
