/* `miniprof deps`: the critical path and waiting times, of the whole trace, of a range or of
 * iterations, with what-if and the table of activities.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "reports/common/iterations_by.h"
#include "reports/deps/deps.h"
#include "reports/deps/print.h"
#include "reports/ranks/load.h"
#include "reports/recording_cost/recording_cost.h"
#include "reports/replay/replay.h"
#include "reports/stacks/stacks.h"

#include "base/poison.h"

struct deps_values {
    struct report_values report;
    uint64_t slowest; /* 0: not asked for; the same for the next */
    uint64_t gains;
    uint64_t top;
    struct iterations_values iterations;
    uint64_t one; /* the iteration; 0: all of them */
    const char *thread;
    struct option_texts what_if;
    bool parts;
    bool trace;
    bool gains_too; /* besides the table of names */
    bool one_clock;

    struct deps_changes changes;  /* of `what_if` */
    struct iterations_options by; /* of `iterations` */
};

#define FIELD(name) offsetof(struct deps_values, name)
static const struct option_spec specs[] = {
    {.name = "parts",
     .kind = OPTION_FLAG,
     .offset = FIELD(parts),
     .help =
         "also host code by line, if the trace has stacks, and the latencies of each kind of step"},
    {.name = "trace",
     .kind = OPTION_FLAG,
     .offset = FIELD(trace),
     .help = "each activity instead: times, slack, and what it had to wait for"},
    ITERATIONS_OPTION(FIELD(iterations)),
    ITERATIONS_ALIAS(FIELD(iterations), "iters"),
    ITERATION_OPTION(FIELD(iterations), "only the path of iteration N"),
    {.name = "thread",
     .argument = "T",
     .kind = OPTION_TEXT,
     .offset = FIELD(thread),
     .help = "the path of this thread: its id, or its name"},
    {.name = "slowest",
     .argument = "K",
     .kind = OPTION_NUMBER,
     .offset = FIELD(slowest),
     .help =
         "with --iterations: what the paths of the K slowest have beyond that of the median one"},
    {.name = "what-if",
     .argument = "CHANGE",
     .kind = OPTION_TEXTS,
     .offset = FIELD(what_if),
     .help = "how long it would take: 'NAME=0.5x', 'NAME=-10us', 'launch=0'; any number of "
             "changes, * and ? in names"},
    {.name = "gains",
     .argument = "K",
     .kind = OPTION_NUMBER,
     .offset = FIELD(gains),
     .help = "the K activities that would gain most if they were twice as fast"},
    ONE_CLOCK_OPTION(FIELD(one_clock)),
    REPORT_AS_RECORDED_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only capture range N; without it, all ranges together"),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "host_code and latencies (--parts), slowest and gains"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    {.name = "top",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(top),
     .help = "the first N rows of each table"},
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "deps",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints the critical path and the waiting times, by name, in "
               "nvprof's layout: what determines the length of the run, who waits for whom, and "
               "what a change would gain.",
    .notes = REPORT_EXIT_CODES,
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

/* All results computed from one trace; zeroed, it holds nothing. */
struct work {
    const struct deps_values *values;
    struct mp_trace *trace;
    struct matched *matched; /* a job's ranks; NULL: one process */
    struct job job;
    struct job_usage usage;
    struct ranks_report ranks_report;
    struct job_report job_report;
    struct deps own;   /* of one process */
    struct deps *deps; /* that, or the job's */
    struct deps_windows windows;
    struct deps_result result; /* without --iterations */
    struct deps_iterations iterations;
    uint64_t *critical;
    uint64_t *slack;
    struct deps_what_if what_if;
    struct deps_gains gains;
    struct stacks_gaps gaps; /* of one process */
    struct deps_report report;
};

static void work_free(struct work *work)
{
    stacks_gaps_free(&work->gaps);
    free(work->gains.items);
    deps_what_if_free(&work->what_if);
    free(work->slack);
    free(work->critical);
    deps_iterations_free(&work->iterations);
    deps_result_free(&work->result);
    deps_windows_free(&work->windows);
    job_usage_free(&work->usage);
    job_free(&work->job);
    deps_free(&work->own);
}

/* As iters finds them. */
static enum mp_status find_iterations(struct work *work, struct mp_error *error)
{
    struct iterations found;

    MP_TRY(iterations_find(work->deps, work->trace, &work->values->by, &found, error));
    enum mp_status status = iterations_windows(work->deps, &found, &work->windows);
    iterations_free(&found);
    return mp_error_from(error, status, "cannot analyse it");
}

/* Of the iterations only that of --iteration. */
static enum mp_status keep_one(struct work *work, struct mp_error *error)
{
    struct deps_windows *windows = &work->windows;

    MP_TRY(iterations_have(work->values->one, windows->count, error));
    windows->items[0] = windows->items[work->values->one - 1];
    windows->count = 1;
    return MP_OK;
}

static enum mp_status choose_windows(struct work *work, struct mp_error *error)
{
    const struct deps_values *values = work->values;

    if (values->iterations.how)
        MP_TRY(find_iterations(work, error));
    else
        MP_TRY(deps_windows_ranges(work->deps, values->report.range, &work->windows, error));
    if (values->one)
        MP_TRY(keep_one(work, error));
    if (!values->thread)
        return MP_OK;
    return deps_windows_of_thread(work->deps, values->thread, &work->windows, error);
}

/* The sums over all windows, and with --iterations the statistics. */
static enum mp_status find_paths(struct work *work)
{
    struct deps_report *report = &work->report;

    if (work->values->iterations.how && !work->values->one) {
        MP_TRY(deps_iterations_build(work->deps, &work->windows, &work->iterations));
        report->iterations = &work->iterations;
        report->iterations_name = work->values->iterations.how;
        report->slowest = work->values->slowest;
        report->result = &work->iterations.total;
        return MP_OK;
    }
    MP_TRY(deps_result_init(work->deps, &work->result));
    for (size_t i = 0; i < work->windows.count; i++)
        deps_path(work->deps, &work->windows.items[i], &work->result, work->critical);
    report->result = &work->result;
    return MP_OK;
}

static enum mp_status find_slack(struct work *work)
{
    work->slack = calloc((size_t)work->deps->count + 1, sizeof *work->slack);
    if (!work->slack)
        return MP_ERR_MEMORY;
    MP_TRY(deps_slack(work->deps, &work->windows, work->slack));
    work->report.critical = work->critical;
    work->report.slack = work->slack;
    return MP_OK;
}

/* A job knows no cost of recording. */
static enum mp_status replay_job(struct work *work)
{
    MP_TRY(deps_what_if_new(&work->windows, &work->what_if));
    return job_replay(&work->job, &work->values->changes, &work->windows, work->what_if.after,
                      NULL);
}

static enum mp_status replay(struct work *work)
{
    const struct option_texts *texts = &work->values->what_if;

    MP_TRY(work->matched
               ? replay_job(work)
               : deps_what_if(work->deps, &work->values->changes, &work->windows, &work->what_if));
    work->report.what_if = &work->what_if;
    work->report.changes = texts->items;
    work->report.change_count = texts->count;
    return MP_OK;
}

static enum mp_status find_gains(struct work *work)
{
    size_t names = work->deps->names.count;
    size_t max = work->values->gains < names ? (size_t)work->values->gains : names;

    MP_TRY(deps_top_gains(work->deps, &work->windows, &work->gains, max));
    work->report.gains = &work->gains;
    return MP_OK;
}

/* Host code by line, of a trace with stacks. */
static enum mp_status find_lines(struct work *work, struct mp_error *error)
{
    if (work->matched || !(work->values->parts || work->values->report.format == REPORT_JSON))
        return MP_OK;
    work->report.gaps = &work->gaps;
    return stacks_gaps_of_paths(work->trace, work->deps, &work->windows, &work->gaps, error);
}

/* Computes everything that was asked for, except the report. MP_ERR_MEMORY. */
static enum mp_status analyse(struct work *work)
{
    const struct deps_values *values = work->values;

    if (values->trace) {
        work->critical = calloc((size_t)work->deps->count + 1, sizeof *work->critical);
        if (!work->critical)
            return MP_ERR_MEMORY;
    }
    MP_TRY(find_paths(work));
    if (values->trace)
        MP_TRY(find_slack(work));
    if (values->gains)
        MP_TRY(find_gains(work));
    return values->what_if.count ? replay(work) : MP_OK; /* the last: it may change the graph */
}

static struct deps_options graph_options(const struct work *work)
{
    const struct deps_values *values = work->values;

    return (struct deps_options){
        .style = report_style(&values->report),
        .fronts = values->trace || values->what_if.count || values->gains,
    };
}

static enum mp_status load(struct work *work, struct mp_error *error)
{
    const struct deps_values *values = work->values;
    const struct deps_options options = graph_options(work);

    work->deps = &work->own;
    MP_TRY(deps_load(work->trace, &options, work->deps, error));
    work->deps->quality.only = work->values->report.range;
    MP_TRY(mp_error_from(error, recording_cost_lay(work->deps, work->trace), "cannot analyse it"));
    MP_TRY(choose_windows(work, error));
    work->report = (struct deps_report){.trace = work->trace,
                                        .deps = work->deps,
                                        .windows = &work->windows,
                                        .range = values->report.range,
                                        .thread = values->thread,
                                        .parts = values->parts,
                                        .gains_too = values->gains_too};
    return MP_OK;
}

/* ---- A job ---- */

/* Those of the first rank, found in its trace alone. */
static enum mp_status find_job_iterations(struct work *work, struct mp_error *error)
{
    const struct deps_options options = {.style = report_style(&work->values->report)};

    work->trace = matched_open_process(work->matched, &work->job, 0);
    if (!work->trace)
        return mp_error_set(error, MP_ERR_IO, "the first rank's trace cannot be read again");
    work->deps = &work->own;
    enum mp_status status = deps_load(work->trace, &options, work->deps, error);
    if (status == MP_OK)
        status = choose_windows(work, error);
    if (status == MP_OK && job_place_windows(&work->job, 0, &work->windows) != MP_OK)
        status = mp_error_set(error, MP_ERR_MEMORY, "cannot analyse the job: out of memory");
    mp_trace_close(work->trace);
    work->trace = NULL;
    work->deps = &work->job.deps;
    return status;
}

static enum mp_status choose_job_windows(struct work *work, struct mp_error *error)
{
    const struct deps_values *values = work->values;

    if (values->iterations.how)
        return find_job_iterations(work, error);
    MP_TRY(job_windows(&work->job, values->report.range, &work->windows, error));
    if (!values->thread)
        return MP_OK;
    return deps_windows_of_thread(work->deps, values->thread, &work->windows, error);
}

static enum mp_status load_job(struct work *work, struct mp_error *error)
{
    const struct deps_values *values = work->values;
    const struct deps_options options = graph_options(work);

    MP_TRY(matched_join(work->matched, &options, &work->job, error));
    work->deps = &work->job.deps;
    MP_TRY(choose_job_windows(work, error));
    work->ranks_report = matched_report(work->matched);
    work->job_report = (struct job_report){.ranks = &work->ranks_report, .usage = &work->usage};
    work->report = (struct deps_report){.job = &work->job_report,
                                        .deps = work->deps,
                                        .windows = &work->windows,
                                        .range = values->report.range,
                                        .thread = values->thread,
                                        .parts = values->parts,
                                        .gains_too = values->gains_too};
    return MP_OK;
}

static enum mp_status use_job(struct work *work)
{
    MP_TRY(job_use(work->deps, &work->windows, &work->usage));
    for (size_t i = 0; i < work->windows.count; i++)
        work->job_report.window += work->windows.items[i].end - work->windows.items[i].begin;
    return MP_OK;
}

#define NAME_BYTES_SHOWN 48

/* A change that matches nothing is a mistake: MP_ERR_ARGUMENT. */
static enum mp_status match_changes(const struct work *work, struct mp_error *error)
{
    const struct deps_change *wrong =
        work->matched ? job_changes_unmatched(&work->values->changes, &work->job)
                      : deps_changes_unmatched(&work->values->changes, work->deps);
    struct mp_nearest nearest = {.typed = wrong ? wrong->pattern : ""};
    char names[MP_NEAREST_MAX * (NAME_BYTES_SHOWN + 8)];

    if (!wrong)
        return MP_OK;
    if (deps_change_is_of_recording(wrong))
        return mp_error_set(error, MP_ERR_ARGUMENT, "what recording costs is not known: %s",
                            work->matched ? "the trace is one of several ranks"
                                          : work->deps->why_not_recording);
    for (size_t i = 0; deps_changes_word(i); i++)
        mp_nearest_offer(&nearest, deps_changes_word(i));
    for (uint32_t id = 1; id <= work->deps->names.count; id++)
        mp_nearest_offer(&nearest, mp_intern_get(&work->deps->names, id, NULL));
    return mp_error_set(error, MP_ERR_ARGUMENT, "nothing is called '%s'; nearest are %s",
                        wrong->pattern,
                        mp_nearest_list(&nearest, NAME_BYTES_SHOWN, names, sizeof names));
}

static enum mp_status run(struct work *work, struct mp_error *error)
{
    MP_TRY(work->matched ? load_job(work, error) : load(work, error));
    MP_TRY(match_changes(work, error));
    MP_TRY(find_lines(work, error));
    enum mp_status status = work->matched ? use_job(work) : MP_OK;
    if (status == MP_OK)
        status = analyse(work);
    if (status == MP_OK)
        status = print_deps(&work->values->report.out, &work->report);
    return mp_error_from(error, status, "cannot analyse it");
}

static enum mp_status report_deps(void *context, struct mp_trace *trace, bool *whole,
                                  struct mp_error *error)
{
    struct work work = {.trace = trace, .values = context};
    enum mp_status status = run(&work, error);

    *whole = quality_is_whole(&work.own.quality);
    work_free(&work);
    return status;
}

/* A folder of ranks: the exit code. */
static int report_job(struct deps_values *values, struct matched *matched)
{
    struct work work = {.matched = matched, .values = values};
    struct mp_error error;
    int code = EXIT_UNREADABLE;

    if (report_streams_open(set.command, &values->report.out, false)) {
        enum mp_status status = run(&work, &error);

        code = matched->code;
        if (status != MP_OK) {
            complain(set.command, "%s", error.text);
            code = status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
        }
        code = report_streams_close(set.command, &values->report.out, code);
    }
    work_free(&work);
    return code;
}

/* A folder of ranks together; any other traces each on its own. */
static int report_arguments(struct deps_values *values, int count, char **arguments)
{
    struct matched matched;
    int code;

    if (!matched_is_job(&matched, set.command, count, arguments, values->one_clock)) {
        code = each_trace(set.command, &values->report.out, count, arguments, report_deps, values);
        return worse_code(code, matched.code);
    }
    matched_complain(&matched);
    code = report_job(values, &matched);
    matched_free(&matched);
    return code;
}

static bool deps_options_agree(const struct deps_values *values)
{
    bool all = values->iterations.how && !values->one;

    return options_agree(set.command, values->slowest && !all,
                         "--slowest needs --iterations=NAME, without --iteration") &&
           options_agree(set.command,
                         values->trace && (all || values->what_if.count || values->gains),
                         "--trace goes with none of --iterations, --what-if and --gains");
}

static bool parse_changes(struct deps_values *values)
{
    struct mp_error error;

    for (size_t i = 0; i < values->what_if.count; i++) {
        if (deps_changes_add(&values->changes, values->what_if.items[i], &error) != MP_OK) {
            complain(set.command, "%s", error.text);
            return false;
        }
    }
    return true;
}

/* Until version 0.2 --top was what --gains is, so by itself it still asks for that table too. */
static void limit_rows(struct deps_values *values)
{
    if (!values->top)
        return;
    if (!values->gains && !values->trace) {
        values->gains = values->top;
        values->gains_too = true;
    }
    if (values->report.format != REPORT_JSON)
        view_top(&values->report.out, values->top);
}

int cmd_deps(int argc, char **argv)
{
    struct deps_values values = {.report = REPORT_PRESET};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &values.report.out, &first, &code))
        return code;
    if (!iterations_one(set.command, &values.iterations, false, &values.one) ||
        !deps_options_agree(&values))
        return EXIT_USAGE;
    if (values.one && !values.iterations.how)
        values.iterations.how = "auto";
    limit_rows(&values);
    iterations_by(values.iterations.how, &values.by);
    values.by.range = values.report.range;
    code =
        parse_changes(&values) ? report_arguments(&values, argc - first, argv + first) : EXIT_USAGE;
    deps_changes_free(&values.changes);
    return code;
}
