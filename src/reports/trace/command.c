/* `miniprof gpu-trace` and `api-trace`: each activity of the device, or each CUDA call, in order of
 * time. Several processes are merged by time.
 */
#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/trace/trace.h"
#include "table/table.h"

#include "base/poison.h"

struct traces_values {
    struct report_values report;
    bool merge;
    bool with_api; /* gpu-trace only */
};

#define FIELD(name) offsetof(struct traces_values, name)
static const struct option_spec specs[] = {
    {.name = "with-api",
     .kind = OPTION_FLAG,
     .offset = FIELD(with_api),
     .help = "CUDA calls and NVTX events too, in the same table"},
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only capture range N; without it, all ranges together"),
    {.name = "merge",
     .kind = OPTION_FLAG,
     .offset = FIELD(merge),
     .help = "the records of all traces in one table, in order of time on one clock"},
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

#define COUNT (sizeof specs / sizeof *specs)
#define NOTES                                                                                      \
    "Exit code: 0 fine, 1 a trace is not whole (its first or last line says why), 2 wrong usage, " \
    "3 a trace cannot be read."

static const struct option_set gpu_set = {
    .command = "gpu-trace",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints every kernel, copy, memory set, graph launch and event of unified memory in "
               "order of time, in nvprof's layout.",
    .notes = NOTES,
    .specs = specs,
    .count = COUNT,
};

/* All options but the first. */
static const struct option_set api_set = {
    .command = "api-trace",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints every CUDA call and NVTX event in order of time, in nvprof's layout; "
               "launches with the kernel that they started.",
    .notes = NOTES,
    .specs = specs + 1,
    .count = COUNT - 1,
};

struct reporting {
    struct report_out out;
    struct traces_options options;
};

static enum mp_status report_records(void *context, struct mp_trace *trace, bool *whole,
                                     struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct quality quality;
    enum mp_status status =
        print_traces(&reporting->out, trace, &reporting->options, &quality, error);

    *whole = quality_is_whole(&quality);
    quality_free(&quality);
    return status;
}

static int print_merged(const char *command, struct reporting *reporting, int count,
                        char **arguments)
{
    struct trace_set set;
    struct mp_error error;
    bool whole;
    int found;
    int code;

    allow_many_files();
    if (!open_trace_set(command, count, arguments, &set, &code))
        return code;
    if (!report_streams_open(command, &reporting->out, false))
        found = EXIT_UNREADABLE;
    else if (print_traces_merged(&reporting->out, &set, &reporting->options, &whole, &error) !=
             MP_OK) {
        complain(command, "%s", error.text);
        found = error.status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
    } else {
        found = whole ? EXIT_FINE : EXIT_FINDINGS;
    }
    trace_set_free(&set);
    return report_streams_close(command, &reporting->out, worse_code(found, code));
}

static int traces_command(const struct option_set *set, bool gpu, bool api, int argc, char **argv)
{
    struct traces_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.out = {.file = stdout}};
    int first, code;

    if (!report_parse(set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    reporting.options = (struct traces_options){.gpu = gpu,
                                                .api = api || values.with_api,
                                                .head = true,
                                                .captured = reporting.out.format != REPORT_TEXT,
                                                .style = report_style(&values.report),
                                                .numbers = MP_STYLE_OWN,
                                                .range = values.report.range};
    if (values.merge)
        return print_merged(set->command, &reporting, argc - first, argv + first);
    return each_trace(set->command, &reporting.out, argc - first, argv + first, report_records,
                      &reporting);
}

int cmd_gpu_trace(int argc, char **argv)
{
    return traces_command(&gpu_set, true, false, argc, argv);
}

int cmd_api_trace(int argc, char **argv)
{
    return traces_command(&api_set, false, true, argc, argv);
}
