/* `miniprof counters`: counters of the GPU over time, of devices and of the work that ran. */
#include "cli/command.h"
#include "base/text/strings.h"
#include "cli/options.h"
#include "reports/common/iterations_by.h"
#include "reports/counters/counters.h"
#include "reports/counters/print.h"
#include "reports/recording_cost/recording_cost.h"

#include "base/poison.h"

struct counters_values {
    struct report_values report;
    struct iterations_values iterations;
    const char *by;
    struct counters_options options;
    struct trace_study_options study; /* of iterations */
};

#define FIELD(name) offsetof(struct counters_values, name)
static const struct option_spec specs[] = {
    {.name = "by",
     .argument = "kernel|layer|iteration|idle",
     .kind = OPTION_TEXT,
     .offset = FIELD(by),
     .help = "what the values are attributed to: kernels and copies (default), the layers that "
             "launched them, iterations, or why nothing ran in iterations"},
    ITERATIONS_OPTION(FIELD(iterations)),
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
               "mean, P50, P95 and maximum of each device, and what they were while each "
               "kernel, copy or layer ran, with what it is bound by, or in each iteration.",
    .notes = REPORT_EXIT_CODES,
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

static enum mp_status print_with(const struct counters_values *values, struct mp_trace *trace,
                                 const struct counters_options *options, bool *whole,
                                 struct mp_error *error)
{
    struct counters_result result;

    MP_TRY(counters_build(trace, options, &result, error));
    print_counters(&values->report.out, trace, &result, options);
    *whole = quality_is_whole(&result.quality);
    counters_result_free(&result);
    return MP_OK;
}

static enum mp_status report_counters(void *context, struct mp_trace *trace, bool *whole,
                                      struct mp_error *error)
{
    const struct counters_values *values = context;
    struct counters_options options = values->options;
    struct trace_study work;

    if (options.by != COUNTERS_BY_ITERATION && options.by != COUNTERS_BY_IDLE)
        return print_with(values, trace, &options, whole, error);
    enum mp_status status = trace_study_load(trace, &values->study, &work, error);
    options.deps = &work.deps;
    options.iterations = &work.study.iterations;
    if (!status)
        status = print_with(values, trace, &options, whole, error);
    trace_study_free(&work);
    return status;
}

/* What the text of --by stands for; false after a complaint. */
static bool parse_by(const char *text, enum counters_by *by)
{
    for (*by = COUNTERS_BY_KERNEL; text && *by <= COUNTERS_BY_IDLE; ++*by)
        if (mp_text_equal(text, counters_by_name(*by)))
            return true;
    *by = COUNTERS_BY_KERNEL;
    if (text)
        complain(set.command, "--by takes kernel, layer, iteration or idle, not '%s'", text);
    return !text;
}

static bool counters_options_agree(void *context)
{
    struct counters_values *values = context;
    enum counters_by by;

    if (!parse_by(values->by, &by) ||
        !options_agree(set.command,
                       values->iterations.how && by != COUNTERS_BY_ITERATION &&
                           by != COUNTERS_BY_IDLE,
                       "--iterations goes with --by iteration and --by idle"))
        return false;
    values->options = (struct counters_options){
        .range = values->report.range, .style = report_style(&values->report), .by = by};
    iterations_by(values->iterations.how, &values->study.iterations);
    values->study.iterations.range = values->report.range;
    values->study.graph.style = values->options.style;
    values->study.no_cost = true;
    return true;
}

int cmd_counters(int argc, char **argv)
{
    struct counters_values values = {.report = REPORT_PRESET};

    return report_command(&set, argc, argv, &values, &values.report, counters_options_agree,
                          report_counters);
}
