/* `miniprof counters`: counters of the GPU over time, of devices and of the work that ran. */
#include <stdint.h>
#include <stdio.h>

#include "analyze/counters/counters.h"
#include "base/text/strings.h"
#include "common/command.h"
#include "common/report_options.h"
#include "common/trace_args.h"
#include "report/counters/counters.h"

#include "base/poison.h"

struct counters_values {
    struct report_values report;
    const char *by;
};

#define FIELD(name) offsetof(struct counters_values, name)
static const struct option_spec specs[] = {
    {.name = "by",
     .argument = "kernel|layer",
     .kind = OPTION_TEXT,
     .offset = FIELD(by),
     .help = "what the values are attributed to: kernels and copies (default), or the layers that "
             "launched them"},
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "work"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only capture range N"),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "counters",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints counters of the GPU that were sampled over time (MINIPROF_SAMPLE): their "
               "mean, P50, P95 and greatest value of each device, and what they were while each "
               "kernel, copy or layer ran, with what it is bound by.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage, "
             "3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct reporting {
    struct report_out out;
    struct counters_options options;
};

static enum mp_status report_counters(void *context, struct mp_trace *trace, bool *whole,
                                      struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct counters_result result;

    MP_TRY(counters_build(trace, &reporting->options, &result, error));
    print_counters(&reporting->out, trace, &result, &reporting->options);
    *whole = quality_is_whole(&result.quality);
    counters_result_free(&result);
    return MP_OK;
}

int cmd_counters(int argc, char **argv)
{
    struct counters_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.out = {.file = stdout}};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (values.by && !mp_text_equal(values.by, "kernel") && !mp_text_equal(values.by, "layer")) {
        complain(set.command, "--by takes kernel or layer, not '%s'", values.by);
        return EXIT_USAGE;
    }
    reporting.options = (struct counters_options){
        .range = values.report.range,
        .by =
            values.by && mp_text_equal(values.by, "layer") ? COUNTERS_BY_LAYER : COUNTERS_BY_KERNEL,
        .style = report_style(&values.report)};
    return each_trace(set.command, &reporting.out, argc - first, argv + first, report_counters,
                      &reporting);
}
