/* `miniprof iters`: where iterations begin and end, and what each one costs. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/common/iterations_by.h"
#include "reports/counters/counters.h"
#include "reports/iterations/print.h"
#include "reports/job/answer.h"
#include "reports/job/print.h"
#include "reports/recording_cost/recording_cost.h"

#include "base/poison.h"

struct iters_values {
    struct report_values report;
    struct iterations_values iterations;
    bool each;
    bool candidates;
    bool one_clock;

    struct trace_study_options options; /* from those above, as the next */
    uint64_t one;                       /* 0: all */
    struct matched matched;             /* of a folder of ranks */
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
    {.name = "cost-by-model",
     .kind = OPTION_FLAG,
     .offset = FIELD(options.model),
     .help = "what recording costs by the model, also where it was measured"},
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

static enum mp_status print_work(struct mp_trace *trace, const struct trace_study *work,
                                 const struct iters_values *values, const struct stacks_gaps *gaps,
                                 struct mp_error *error)
{
    struct iterations_report report = iterations_report_of(trace, &work->deps, &work->study);
    struct counters_clocks *clocks;

    MP_TRY(counters_clocks(trace, &work->study.iterations, &clocks, error));
    report.clocks = clocks;
    report.range = values->options.iterations.range;
    report.each = values->each || values->one;
    report.one = values->one;
    report.candidates = values->candidates;
    report.baseline = values->options.model ? NULL : &work->baseline;
    report.recording_cost = &work->recording_cost;
    report.gaps = gaps;
    print_iterations(&values->report.out, &report);
    free(clocks);
    return MP_OK;
}

static enum mp_status report_iters(void *context, struct mp_trace *trace, bool *whole,
                                   struct mp_error *error)
{
    const struct iters_values *values = context;
    struct trace_study_options options = values->options;
    struct trace_study work;
    struct stacks_gaps gaps = {.count = 0};

    options.graph.peers = matched_peers(&values->matched, values->report.out.path);
    enum mp_status status = trace_study_load(trace, &options, &work, error);

    if (status == MP_OK)
        status = iterations_have(values->one, work.study.iterations.count, error);
    if (status == MP_OK)
        status = stacks_gaps_build(trace, &work.deps, &work.study.iterations, &gaps, error);
    if (status == MP_OK)
        status = print_work(trace, &work, values, &gaps, error);
    stacks_gaps_free(&gaps);
    *whole = quality_is_whole(&work.deps.quality);
    trace_study_free(&work);
    return status;
}

/* ---- A job ---- */

struct job_work {
    struct job_study study;
    struct job_usage all;
    struct job_usage *each; /* by iteration; owned */
};

static void job_work_free(struct job_work *work)
{
    for (size_t i = 0; work->each && i < work->study.iterations.count; i++)
        job_usage_free(&work->each[i]);
    free(work->each);
    job_usage_free(&work->all);
    job_study_free(&work->study);
}

static enum mp_status use_each(struct job_work *work)
{
    const struct deps *deps = &work->study.job.deps;
    const struct deps_windows *iterations = &work->study.iterations;

    work->each = calloc(iterations->count + 1, sizeof *work->each);
    if (!work->each)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < iterations->count; i++) {
        const struct deps_windows one = {.items = &iterations->items[i], .count = 1};

        MP_TRY(job_use(deps, &one, &work->each[i]));
    }
    return job_use(deps, iterations, &work->all);
}

static enum mp_status print_job(const struct iters_values *values, const struct job_work *work)
{
    const struct ranks_report ranks = matched_report(&values->matched);
    const struct job_iterations_report report = {
        .job = {.answer = &work->study.answer, .ranks = &ranks, .usage = &work->all},
        .each = work->each,
        .windows = &work->study.iterations,
        .rank = work->study.job.deps.ranks[0],
        .one = values->one,
        .rows = values->each || values->one,
    };

    return print_job_iterations(&values->report.out, &report);
}

static enum mp_status study_job(struct iters_values *values, struct job_work *work,
                                struct mp_error *error)
{
    MP_TRY(job_study_load(&values->matched, &values->options.graph, &values->options.iterations,
                          &work->study, error));
    MP_TRY(iterations_have(values->one, work->study.iterations.count, error));
    enum mp_status status = use_each(work);
    if (status == MP_OK)
        status = print_job(values, work);
    return mp_error_from(error, status, "cannot analyse the job");
}

/* All ranks together, before each of them. */
static int report_job(void *context)
{
    struct iters_values *values = context;
    struct job_work work = {.each = NULL};
    struct mp_error error;
    enum mp_status status = study_job(values, &work, &error);

    job_work_free(&work);
    if (status == MP_OK)
        return values->matched.code;
    complain(set.command, "%s", error.text);
    return status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
}

static int report_arguments(struct iters_values *values, int count, char **arguments)
{
    bool job = !values->candidates &&
               matched_is_job(&values->matched, set.command, count, arguments, values->one_clock);
    int code = job_and_each_trace(set.command, &values->report.out, count, arguments,
                                  job ? report_job : NULL, report_iters, values);

    if (job)
        matched_free(&values->matched);
    else
        code = worse_code(code, values->matched.code);
    return code;
}

int cmd_iters(int argc, char **argv)
{
    struct iters_values values = {.report = REPORT_PRESET};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &values.report.out, &first, &code))
        return code;
    if (!iterations_one(set.command, &values.iterations, false, &values.one) ||
        !options_agree(set.command,
                       values.candidates && (values.iterations.how || values.each || values.one),
                       "--candidates goes with none of --iterations, --iteration and --each"))
        return EXIT_USAGE;
    iterations_by(values.iterations.how, &values.options.iterations);
    values.options.iterations.range = values.report.range;
    values.options.iterations.all = values.candidates;
    values.options.graph.style = report_style(&values.report);
    values.options.no_cost = values.candidates;
    return report_arguments(&values, argc - first, argv + first);
}
