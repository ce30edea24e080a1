/* `miniprof iters`: where iterations begin and end, and what each one costs. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/iterations/iterations.h"
#include "common/command.h"
#include "common/iterations_by.h"
#include "common/report_options.h"
#include "common/trace_args.h"
#include "report/iterations/iterations.h"

#include "base/poison.h"

struct iters_values {
    struct report_values report;
    const char *by;
    bool each;
};

#define FIELD(name) offsetof(struct iters_values, name)
static const struct option_spec specs[] = {
    ITERATIONS_BY_OPTION(FIELD(by)),
    {.name = "each",
     .kind = OPTION_FLAG,
     .offset = FIELD(each),
     .help = "a row for each iteration; in JSON besides the statistics"},
    REPORT_RANGE_OPTION(FIELD(report), "only iterations that begin in capture range N"),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "iters",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints the iterations of a program: how long one takes from begin to end, its "
               "tail, and how the time is split between kernels, copies and idle time by cause.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage "
             "or no such iterations, 3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct reporting {
    struct report_out out;
    struct iterations_options options;
    enum names_style style;
    bool each;
};

/* What was found in a trace; zeroed, it holds nothing. */
struct work {
    struct mp_trace *trace;
    struct deps deps;
    struct iterations_study study;
};

static void work_free(struct work *work)
{
    iterations_study_free(&work->study);
    deps_free(&work->deps);
}

static enum mp_status analyse(struct work *work, const struct reporting *reporting,
                              struct mp_error *error)
{
    struct deps_options options = {.style = reporting->style};

    MP_TRY(deps_load(work->trace, &options, &work->deps, error));
    return iterations_study(&work->deps, work->trace, &reporting->options, &work->study, error);
}

static void print_work(const struct work *work, const struct reporting *reporting)
{
    struct iterations_report report = iterations_report_of(work->trace, &work->deps, &work->study);

    report.range = reporting->options.range;
    report.each = reporting->each;
    print_iterations(&reporting->out, &report);
}

static enum mp_status report_iters(void *context, struct mp_trace *trace, bool *whole,
                                   struct mp_error *error)
{
    struct work work = {.trace = trace};
    enum mp_status status = analyse(&work, context, error);

    if (status == MP_OK)
        print_work(&work, context);
    *whole = quality_is_whole(&work.deps.quality);
    work_free(&work);
    return status;
}

int cmd_iters(int argc, char **argv)
{
    struct iters_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.out = {.file = stdout}};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!iterations_by(set.command, values.by, &reporting.options))
        return EXIT_USAGE;
    reporting.options.range = values.report.range;
    reporting.style = report_style(&values.report);
    reporting.each = values.each;
    return each_trace(set.command, argc - first, argv + first, report_iters, &reporting);
}
