/* `gpu-trace` and `api-trace`, which differ in their tables only. Several processes are merged by
 * time.
 */
#include "common/traces.h"

#include <stdio.h>

#include "common/command.h"
#include "common/trace_args.h"
#include "report/trace/trace.h"

#include "base/poison.h"

struct reporting {
    const char *command;
    struct report_out out;
    struct traces_options options;
};

static int traces_print_file(void *context, struct mp_trace *trace, const char *path)
{
    const struct reporting *reporting = context;
    struct quality quality;
    struct mp_error error;
    int code;

    if (print_traces(&reporting->out, trace, &reporting->options, &quality, &error) != MP_OK)
        code = fail_on_trace(reporting->command, path, &error);
    else
        code = quality_is_whole(&quality) ? EXIT_FINE : EXIT_FINDINGS;
    quality_free(&quality);
    return code;
}

static int print_merged(const struct reporting *reporting, int count, char **arguments)
{
    struct trace_set set;
    struct mp_error error;
    bool whole;
    int found;
    int code;

    allow_many_files();
    if (!open_trace_set(reporting->command, count, arguments, &set, &code))
        return code;
    if (print_traces_merged(&reporting->out, &set, &reporting->options, &whole, &error) != MP_OK) {
        complain(reporting->command, "%s", error.text);
        found = error.status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
    } else {
        found = whole ? EXIT_FINE : EXIT_FINDINGS;
    }
    trace_set_free(&set);
    return found > code ? found : code;
}

int traces_command(const struct option_set *set, bool gpu, bool api, int argc, char **argv)
{
    struct traces_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.command = set->command, .out = {.file = stdout}};
    int first;
    enum options_result result = options_parse(set, argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (!report_names_trace(set->command, argc - first))
        return EXIT_USAGE;
    if (!report_out_open(set->command, &values.report, &reporting.out))
        return EXIT_USAGE;
    reporting.options = (struct traces_options){.gpu = gpu,
                                                .api = api || values.with_api,
                                                .head = true,
                                                .captured = reporting.out.format == REPORT_JSON,
                                                .style = report_style(&values.report),
                                                .range = values.report.range};
    if (values.merge)
        return print_merged(&reporting, argc - first, argv + first);
    return each_trace(set->command, argc - first, argv + first, traces_print_file, &reporting);
}
