/* `miniprof advise`: builds the event graph and the iterations, judges the rules, prints the
 * findings.
 */
#include <stdbool.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/advise/advise.h"
#include "reports/advise/print.h"
#include "reports/common/iterations_by.h"
#include "reports/job/answer.h"
#include "reports/recording_cost/recording_cost.h"

#include "base/poison.h"

struct advise_values {
    struct report_values report;
    struct iterations_values iterations;
    bool one_clock;

    struct trace_study_options options; /* from those above */
    struct matched matched;             /* of a folder of ranks */
};

#define FIELD(name) offsetof(struct advise_values, name)
static const struct option_spec specs[] = {
    ITERATIONS_OPTION(FIELD(iterations)),
    ITERATIONS_ALIAS(FIELD(iterations), "by"),
    ONE_CLOCK_OPTION(FIELD(one_clock)),
    REPORT_AS_RECORDED_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only iterations that begin in capture range N"),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
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

static enum mp_status advise_and_print(struct mp_trace *trace, const struct trace_study *work,
                                       const struct advise_values *values, struct mp_error *error)
{
    const struct advise_input input = {&work->deps, &work->study};
    struct advice advice;
    struct advise_report report = {.advice = &advice};

    MP_TRY(advise_build(&input, &advice, error));
    report.iterations = iterations_report_of(trace, &work->deps, &work->study);
    report.iterations.range = values->options.iterations.range;
    report.iterations.baseline = &work->baseline;
    report.iterations.recording_cost = &work->recording_cost;
    enum mp_status status = print_advise(&values->report.out, &report);
    advise_free(&advice);
    return status ? mp_error_set(error, status, "no memory for the findings") : MP_OK;
}

static enum mp_status report_advise(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error)
{
    const struct advise_values *values = context;
    struct trace_study_options options = values->options;
    struct trace_study work;

    options.graph.peers = matched_peers(&values->matched, values->report.out.path);
    enum mp_status status = trace_study_load(trace, &options, &work, error);

    if (status == MP_OK)
        status = advise_and_print(trace, &work, values, error);
    *whole = quality_is_whole(&work.deps.quality);
    trace_study_free(&work);
    return status;
}

/* ---- A job ---- */

static enum mp_status advise_job(struct advise_values *values, struct job_study *study,
                                 struct mp_error *error)
{
    const struct ranks_report ranks = matched_report(&values->matched);
    const struct job_report head = {.answer = &study->answer, .ranks = &ranks};
    struct advise_job_report report = {.job = &head, .advice = &study->advice};

    MP_TRY(job_study_load(&values->matched, &values->options.graph, &values->options.iterations,
                          study, error));
    report.iterations = study->iterations.count;
    report.rank = study->job.deps.ranks[0];
    print_job_advise(&values->report.out, &report);
    return MP_OK;
}

/* The findings on all ranks together, before those on each. */
static int report_job(void *context)
{
    struct advise_values *values = context;
    struct job_study study = {.advice = {.count = 0}};
    struct mp_error error;
    enum mp_status status = advise_job(values, &study, &error);

    job_study_free(&study);
    if (status == MP_OK)
        return values->matched.code;
    complain(set.command, "%s", error.text);
    return status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
}

static int report_arguments(struct advise_values *values, int count, char **arguments)
{
    bool job = matched_is_job(&values->matched, set.command, count, arguments, values->one_clock);
    int code = job_and_each_trace(set.command, &values->report.out, count, arguments,
                                  job ? report_job : NULL, report_advise, values);

    if (job)
        matched_free(&values->matched);
    else
        code = worse_code(code, values->matched.code);
    return code;
}

int cmd_advise(int argc, char **argv)
{
    struct advise_values values = {.report = REPORT_PRESET};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &values.report.out, &first, &code))
        return code;
    iterations_by(values.iterations.how, &values.options.iterations);
    values.options.iterations.range = values.report.range;
    values.options.graph =
        (struct deps_options){.style = report_style(&values.report), .fronts = true};
    return report_arguments(&values, argc - first, argv + first);
}
