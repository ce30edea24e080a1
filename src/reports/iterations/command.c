/* `miniprof iters`: where iterations begin and end, and what each one costs. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/common/iterations_by.h"
#include "reports/counters/counters.h"
#include "reports/iterations/print.h"
#include "reports/job/print.h"
#include "reports/ranks/load.h"
#include "reports/recording_cost/recording_cost.h"

#include "base/poison.h"

struct iters_values {
    struct report_values report;
    struct iterations_values iterations;
    bool each;
    bool candidates;
    bool one_clock;
};

#define FIELD(name) offsetof(struct iters_values, name)
static const struct option_spec specs[] = {
    ITERATIONS_OPTION(FIELD(iterations)),
    ITERATIONS_ALIAS(FIELD(iterations), "by"),
    ITERATION_OPTION(FIELD(iterations), "only the row of iteration N"),
    {.name = "each",
     .kind = OPTION_FLAG,
     .offset = FIELD(each),
     .help = "a row for each iteration; in JSON besides the statistics"},
    {.name = "candidates",
     .kind = OPTION_FLAG,
     .offset = FIELD(candidates),
     .help =
         "what repeats and could be the iterations, the best first; --iterations takes its names"},
    ONE_CLOCK_OPTION(FIELD(one_clock)),
    REPORT_AS_RECORDED_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only iterations that begin in capture range N"),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "counts, outliers, threads and peers (of a job)"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
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
    struct trace_study_options options;
    uint64_t one; /* 0: all */
    bool each;
    bool candidates;
    struct matched matched; /* of a folder of ranks */
};

static enum mp_status print_work(struct mp_trace *trace, const struct trace_study *work,
                                 const struct reporting *reporting, const struct stacks_gaps *gaps,
                                 struct mp_error *error)
{
    struct iterations_report report = iterations_report_of(trace, &work->deps, &work->study);
    struct counters_clocks *clocks;

    MP_TRY(counters_clocks(trace, &work->study.iterations, &clocks, error));
    report.clocks = clocks;
    report.range = reporting->options.iterations.range;
    report.each = reporting->each || reporting->one;
    report.one = reporting->one;
    report.candidates = reporting->candidates;
    report.baseline = &work->baseline;
    report.recording_cost = &work->recording_cost;
    report.gaps = gaps;
    print_iterations(&reporting->out, &report);
    free(clocks);
    return MP_OK;
}

static enum mp_status report_iters(void *context, struct mp_trace *trace, bool *whole,
                                   struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct trace_study work;
    struct stacks_gaps gaps = {.count = 0};
    enum mp_status status = trace_study_load(trace, &reporting->options, &work, error);

    if (status == MP_OK)
        status = iterations_have(reporting->one, work.study.iterations.count, error);
    if (status == MP_OK)
        status = stacks_gaps_build(trace, &work.deps, &work.study.iterations, &gaps, error);
    if (status == MP_OK)
        status = print_work(trace, &work, reporting, &gaps, error);
    stacks_gaps_free(&gaps);
    *whole = quality_is_whole(&work.deps.quality);
    trace_study_free(&work);
    return status;
}

/* ---- A job ---- */

struct job_work {
    struct job job;
    struct deps_windows iterations;
    struct job_usage all;
    struct job_usage *each; /* by iteration; owned */
};

static void job_work_free(struct job_work *work)
{
    for (size_t i = 0; work->each && i < work->iterations.count; i++)
        job_usage_free(&work->each[i]);
    free(work->each);
    job_usage_free(&work->all);
    deps_windows_free(&work->iterations);
    job_free(&work->job);
}

static enum mp_status use_each(struct job_work *work)
{
    work->each = calloc(work->iterations.count + 1, sizeof *work->each);
    if (!work->each)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < work->iterations.count; i++) {
        const struct deps_windows one = {.items = &work->iterations.items[i], .count = 1};

        MP_TRY(job_use(&work->job.deps, &one, &work->each[i]));
    }
    return job_use(&work->job.deps, &work->iterations, &work->all);
}

static enum mp_status print_job(const struct reporting *reporting, const struct job_work *work)
{
    const struct ranks_report ranks = matched_report(&reporting->matched);
    const struct job_iterations_report report = {
        .job = {.ranks = &ranks, .usage = &work->all},
        .each = work->each,
        .windows = &work->iterations,
        .rank = work->job.deps.ranks[0],
        .one = reporting->one,
        .rows = reporting->each || reporting->one,
    };

    return print_job_iterations(&reporting->out, &report);
}

static enum mp_status study_job(struct reporting *reporting, struct job_work *work,
                                struct mp_error *error)
{
    MP_TRY(matched_join(&reporting->matched, &reporting->options.graph, &work->job, error));
    MP_TRY(matched_iterations(&reporting->matched, &work->job, &reporting->options.iterations,
                              &work->iterations, error));
    MP_TRY(iterations_have(reporting->one, work->iterations.count, error));
    enum mp_status status = use_each(work);
    if (status == MP_OK)
        status = print_job(reporting, work);
    return mp_error_from(error, status, "cannot analyse the job");
}

/* All ranks together, before each of them. */
static int report_job(void *context)
{
    struct reporting *reporting = context;
    struct job_work work = {.each = NULL};
    struct mp_error error;
    enum mp_status status = study_job(reporting, &work, &error);

    job_work_free(&work);
    if (status == MP_OK)
        return reporting->matched.code;
    complain(set.command, "%s", error.text);
    return status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
}

static int report_arguments(struct reporting *reporting, int count, char **arguments,
                            bool one_clock)
{
    bool job = !reporting->candidates &&
               matched_is_job(&reporting->matched, set.command, count, arguments, one_clock);
    int code = job_and_each_trace(set.command, &reporting->out, count, arguments,
                                  job ? report_job : NULL, report_iters, reporting);

    if (job)
        matched_free(&reporting->matched);
    else
        code = worse_code(code, reporting->matched.code);
    return code;
}

int cmd_iters(int argc, char **argv)
{
    struct iters_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.out = {.file = stdout}};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!iterations_one(set.command, &values.iterations, false, &reporting.one) ||
        !options_agree(set.command,
                       values.candidates && (values.iterations.how || values.each || reporting.one),
                       "--candidates goes with none of --iterations, --iteration and --each"))
        return EXIT_USAGE;
    iterations_by(values.iterations.how, &reporting.options.iterations);
    reporting.options.iterations.range = values.report.range;
    reporting.options.iterations.all = values.candidates;
    reporting.options.graph.style = report_style(&values.report);
    reporting.options.no_cost = values.candidates;
    reporting.candidates = values.candidates;
    reporting.each = values.each;
    return report_arguments(&reporting, argc - first, argv + first, values.one_clock);
}
