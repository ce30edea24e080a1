/* `miniprof advise`: builds the event graph and the iterations, judges the rules, prints the
 * findings.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/advise/advise.h"
#include "analyze/iterations/iterations.h"
#include "common/command.h"
#include "common/iterations_by.h"
#include "common/report_options.h"
#include "common/trace_args.h"
#include "report/advise/advise.h"

#include "base/poison.h"

struct advise_values {
    struct report_values report;
    const char *by;
};

#define FIELD(name) offsetof(struct advise_values, name)
static const struct option_spec specs[] = {
    ITERATIONS_BY_OPTION(FIELD(by)),
    REPORT_RANGE_OPTION(FIELD(report), "only iterations that begin in capture range N"),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "advise",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints what to change next: findings on the iterations of a program, each with its "
               "evidence, what it would gain by replay, and what to do.",
    .notes = "Exit code: 0 fine, with or without findings, 1 a trace is not whole (its first "
             "line says why), 2 wrong usage or no such iterations, 3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct reporting {
    struct report_out out;
    struct iterations_options options;
    enum names_style style;
};

/* What was found in a trace; zeroed, it holds nothing. */
struct work {
    struct mp_trace *trace;
    struct deps deps;
    struct iterations_study study;
    struct advice advice;
};

static void work_free(struct work *work)
{
    advise_free(&work->advice);
    iterations_study_free(&work->study);
    deps_free(&work->deps);
}

static enum mp_status analyse(struct work *work, const struct reporting *reporting,
                              struct mp_error *error)
{
    struct deps_options options = {.style = reporting->style, .fronts = true};
    const struct advise_input input = {&work->deps, work->trace, &work->study};

    MP_TRY(deps_load(work->trace, &options, &work->deps, error));
    MP_TRY(iterations_study(&work->deps, work->trace, &reporting->options, &work->study, error));
    return advise_build(&input, &work->advice, error);
}

static void print_work(const struct work *work, const struct reporting *reporting)
{
    struct advise_report report = {.advice = &work->advice};

    report.iterations = iterations_report_of(work->trace, &work->deps, &work->study);
    report.iterations.range = reporting->options.range;
    print_advise(&reporting->out, &report);
}

static enum mp_status report_advise(void *context, struct mp_trace *trace, bool *whole,
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

int cmd_advise(int argc, char **argv)
{
    struct advise_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.out = {.file = stdout}};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!iterations_by(set.command, values.by, &reporting.options))
        return EXIT_USAGE;
    reporting.options.range = values.report.range;
    reporting.style = report_style(&values.report);
    return each_trace(set.command, argc - first, argv + first, report_advise, &reporting);
}
