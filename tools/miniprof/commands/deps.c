/* `miniprof deps`: the critical path and waiting times, of the whole trace, of a range or of
 * iterations, with what-if and the table of activities.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/deps/deps.h"
#include "analyze/replay/replay.h"
#include "common/command.h"
#include "common/report_options.h"
#include "common/trace_args.h"
#include "report/deps/deps.h"

#include "base/poison.h"

struct deps_values {
    struct report_values report;
    uint64_t slowest; /* 0: not asked for; the same for the next */
    uint64_t top;
    const char *iterations;
    struct option_texts what_if;
    bool parts;
    bool trace;
};

#define FIELD(name) offsetof(struct deps_values, name)
static const struct option_spec specs[] = {
    {.name = "parts",
     .kind = OPTION_FLAG,
     .offset = FIELD(parts),
     .help = "<Other> in its parts: host code, launch latency, stream gap, "
             "dependency latency, "
             "return from wait"},
    {.name = "trace",
     .kind = OPTION_FLAG,
     .offset = FIELD(trace),
     .help = "each activity instead: times, slack, and what it had to wait for"},
    {.name = "iters",
     .argument = "NAME",
     .kind = OPTION_TEXT,
     .offset = FIELD(iterations),
     .help = "one path for each NVTX range of this name: mean, P50, P99 of "
             "each row"},
    {.name = "slowest",
     .argument = "K",
     .kind = OPTION_NUMBER,
     .offset = FIELD(slowest),
     .help = "with --iters: what the K slowest have on their path more than "
             "the median one"},
    {.name = "what-if",
     .argument = "CHANGE",
     .kind = OPTION_TEXTS,
     .offset = FIELD(what_if),
     .help = "how long it would take: 'NAME=0.5x', 'NAME=-10us', 'launch=0'; "
             "any number of "
             "changes, * and ? in names"},
    {.name = "top",
     .argument = "K",
     .kind = OPTION_NUMBER,
     .offset = FIELD(top),
     .help = "the K activities that would gain most if they were twice as fast"},
    REPORT_RANGE_OPTION(FIELD(report), "only capture range N; without it, all ranges together"),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "deps",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints the critical path and the waiting times, by name, in "
               "nvprof's layout: what "
               "makes the run as long as it is, who waits for whom, and what a "
               "change would bring.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says "
             "why), 2 wrong usage, 3 a "
             "trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

/* All results computed from one trace; zeroed, it holds nothing. */
struct work {
    const struct deps_values *values;
    const struct deps_changes *changes;
    struct mp_trace *trace;
    struct deps deps;
    struct deps_windows windows;
    struct deps_result result; /* without --iters */
    struct deps_iterations iterations;
    uint64_t *critical;
    uint64_t *slack;
    uint64_t *lengths;
    struct deps_gain *gains;
    struct deps_report report;
};

static void work_free(struct work *work)
{
    free(work->gains);
    free(work->lengths);
    free(work->slack);
    free(work->critical);
    deps_iterations_free(&work->iterations);
    deps_result_free(&work->result);
    deps_windows_free(&work->windows);
    deps_free(&work->deps);
}

static enum mp_status choose_windows(struct work *work, struct mp_error *error)
{
    const struct deps_values *values = work->values;

    if (values->iterations)
        return deps_windows_iterations(&work->deps, work->trace, values->iterations,
                                       values->report.range, &work->windows, error);
    return deps_windows_ranges(&work->deps, values->report.range, &work->windows, error);
}

/* The sums over all windows, and with --iters the statistics. */
static enum mp_status find_paths(struct work *work)
{
    struct deps_report *report = &work->report;

    if (work->values->iterations) {
        MP_TRY(deps_iterations_build(&work->deps, &work->windows, &work->iterations));
        report->iterations = &work->iterations;
        report->iterations_name = work->values->iterations;
        report->slowest = work->values->slowest;
        report->result = &work->iterations.total;
        return MP_OK;
    }
    MP_TRY(deps_result_init(&work->deps, &work->result));
    for (size_t i = 0; i < work->windows.count; i++)
        deps_path(&work->deps, &work->windows.items[i], &work->result, work->critical);
    report->result = &work->result;
    return MP_OK;
}

static enum mp_status find_slack(struct work *work)
{
    work->slack = calloc((size_t)work->deps.count + 1, sizeof *work->slack);
    if (!work->slack)
        return MP_ERR_MEMORY;
    MP_TRY(deps_slack(&work->deps, &work->windows, work->slack));
    work->report.critical = work->critical;
    work->report.slack = work->slack;
    return MP_OK;
}

static enum mp_status replay(struct work *work)
{
    const struct option_texts *texts = &work->values->what_if;

    work->lengths = calloc(work->windows.count + 1, sizeof *work->lengths);
    if (!work->lengths)
        return MP_ERR_MEMORY;
    MP_TRY(deps_replay(&work->deps, work->changes, &work->windows, work->lengths));
    work->report.lengths = work->lengths;
    work->report.changes = texts->items;
    work->report.change_count = texts->count;
    return MP_OK;
}

static enum mp_status find_gains(struct work *work)
{
    size_t names = work->deps.names.count;
    size_t most = work->values->top < names ? (size_t)work->values->top : names;

    work->gains = calloc(most + 1, sizeof *work->gains);
    if (!work->gains)
        return MP_ERR_MEMORY;
    MP_TRY(deps_top_gains(&work->deps, &work->windows, work->report.result, work->gains, most,
                          &work->report.gain_count));
    work->report.gains = work->gains;
    return MP_OK;
}

/* Computes everything that was asked for, except the report. MP_ERR_MEMORY. */
static enum mp_status analyse(struct work *work)
{
    const struct deps_values *values = work->values;

    if (values->trace) {
        work->critical = calloc((size_t)work->deps.count + 1, sizeof *work->critical);
        if (!work->critical)
            return MP_ERR_MEMORY;
    }
    MP_TRY(find_paths(work));
    if (values->trace)
        MP_TRY(find_slack(work));
    if (values->what_if.count)
        MP_TRY(replay(work));
    if (values->top)
        MP_TRY(find_gains(work));
    return MP_OK;
}

static enum mp_status load(struct work *work, struct mp_error *error)
{
    const struct deps_values *values = work->values;
    struct deps_options options = {
        .style = report_style(&values->report),
        .fronts = values->trace || values->what_if.count || values->top,
    };

    MP_TRY(deps_load(work->trace, &options, &work->deps, error));
    MP_TRY(choose_windows(work, error));
    work->report = (struct deps_report){.trace = work->trace,
                                        .deps = &work->deps,
                                        .windows = &work->windows,
                                        .range = values->report.range,
                                        .parts = values->parts};
    return MP_OK;
}

#define NAMES_SHOWN      3
#define NAME_BYTES_SHOWN 48

/* A change that matches nothing is a mistake: MP_ERR_ARGUMENT. */
static enum mp_status match_changes(const struct work *work, struct mp_error *error)
{
    const struct deps_change *wrong = deps_changes_unmatched(work->changes, &work->deps);
    char names[NAMES_SHOWN * (NAME_BYTES_SHOWN + 8) + 32] = "";
    size_t used = 0;

    if (!wrong)
        return MP_OK;
    for (uint32_t id = 1; id <= NAMES_SHOWN && id <= work->deps.names.count; id++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s'%.*s'",
                                 id > 1 ? ", " : "; there are for example ", NAME_BYTES_SHOWN,
                                 mp_intern_get(&work->deps.names, id, NULL));
    return mp_error_set(error, MP_ERR_ARGUMENT, "nothing is called '%s'%s", wrong->pattern, names);
}

static enum mp_status run(struct work *work, const struct report_out *out, struct mp_error *error)
{
    enum mp_status status;

    MP_TRY(load(work, error));
    MP_TRY(match_changes(work, error));
    status = analyse(work);
    if (status == MP_OK)
        status = print_deps(out, &work->report);
    return status ? mp_error_set(error, status, "cannot analyse it: %s", mp_status_name(status))
                  : MP_OK;
}

struct reporting {
    struct report_out out;
    const struct deps_values *values;
    struct deps_changes changes;
};

static enum mp_status report_deps(void *context, struct mp_trace *trace, bool *whole,
                                  struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct work work = {
        .trace = trace, .values = reporting->values, .changes = &reporting->changes};
    enum mp_status status = run(&work, &reporting->out, error);

    *whole = quality_is_whole(&work.deps.quality);
    work_free(&work);
    return status;
}

static bool deps_options_agree(const struct deps_values *values)
{
    return options_agree(set.command, values->slowest && !values->iterations,
                         "--slowest needs --iters=NAME") &&
           options_agree(set.command,
                         values->trace &&
                             (values->iterations || values->what_if.count || values->top),
                         "--trace goes with none of --iters, --what-if and --top");
}

static bool parse_changes(const struct option_texts *texts, struct deps_changes *changes)
{
    struct mp_error error;

    for (size_t i = 0; i < texts->count; i++) {
        if (deps_changes_add(changes, texts->items[i], &error) != MP_OK) {
            complain(set.command, "%s", error.text);
            return false;
        }
    }
    return true;
}

int cmd_deps(int argc, char **argv)
{
    struct deps_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.values = &values};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!deps_options_agree(&values))
        return EXIT_USAGE;
    code = EXIT_USAGE;
    if (parse_changes(&values.what_if, &reporting.changes))
        code = each_trace(set.command, argc - first, argv + first, report_deps, &reporting);
    deps_changes_free(&reporting.changes);
    return code;
}
