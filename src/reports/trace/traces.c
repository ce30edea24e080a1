/* `gpu-trace` and `api-trace`, which differ in their tables only. Several processes are merged by
 * time.
 */
#include "reports/trace/traces.h"

#include <stdio.h>

#include "cli/command.h"
#include "reports/trace/trace.h"

#include "base/poison.h"

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

int traces_command(const struct option_set *set, bool gpu, bool api, int argc, char **argv)
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
