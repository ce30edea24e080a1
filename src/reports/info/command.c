/* `miniprof info`: who wrote a trace, what is in it, and how complete it is. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/ranks/load.h"
#include "reports/summary/print.h"
#include "reports/summary/summary.h"
#include "table/table.h"

#include "base/poison.h"

struct info_values {
    struct report_values report;
};

static const struct option_spec specs[] = {
    REPORT_CSV_OPTION(offsetof(struct info_values, report)),
    REPORT_JSON_OPTION(offsetof(struct info_values, report)),
    REPORT_LINES_OPTION(offsetof(struct info_values, report)),
    REPORT_TOP_OPTION(offsetof(struct info_values, report)),
    REPORT_VIEW_OPTIONS(offsetof(struct info_values, report)),
};

static const struct option_set set = {
    .command = "info",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints what is inside a trace: its header, rows and bytes of each table, capture "
               "ranges, and how far it can be trusted. Of several: a table of the processes, with "
               "their times on one clock where possible.",
    .notes = "Records are the rows of all event tables but capture and quality, which are the "
             "recorder's own notes. Bytes per record is the size of the whole file over them. Exit "
             "code: 0 fine, 1 the trace is not whole, 2 wrong usage, 3 it cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

static enum mp_status report_info(void *context, struct mp_trace *trace, bool *whole,
                                  struct mp_error *error)
{
    const struct report_out *out = context;
    struct profile profile;

    MP_TRY(profile_load_with(&profile, trace, DEFINITIONS_USUAL,
                             &(struct profile_options){.check = true}, error));
    enum mp_status status = print_info(out, &profile, error);
    *whole = quality_is_whole(&profile.quality);
    profile_free(&profile);
    return status;
}

/* Only NCCL's operations say how far clocks of several hosts are apart. */
static enum mp_status print_with_clocks(const struct trace_set *traces, struct report_out *out,
                                        int *code)
{
    struct ranks ranks;

    if (traces->clock_count < 2)
        return print_processes(out, traces, NULL);
    enum mp_status status = ranks_load(
        &(struct ranks_loading){.command = set.command, .set = traces, .quick = true, .code = code},
        &ranks);
    if (status == MP_OK)
        status = print_processes(out, traces, ranks.operations ? &ranks : NULL);
    ranks_free(&ranks);
    return status;
}

static int print_set(const struct trace_set *traces, struct report_out *out)
{
    int code = EXIT_FINE;

    if (print_with_clocks(traces, out, &code) != MP_OK) {
        complain(set.command, "out of memory");
        return EXIT_UNREADABLE;
    }
    for (size_t i = 0; i < traces->count; i++) {
        if (!trace_process_is_whole(&traces->processes[i]))
            code = worse_code(code, EXIT_FINDINGS);
    }
    return code;
}

/* A folder with one trace is that trace. */
static int print_several(int count, char **arguments, struct report_out *out)
{
    struct trace_set traces;
    int code;

    if (!open_trace_set(set.command, count, arguments, &traces, &code))
        return code;
    int found = traces.count == 1
                    ? report_trace(set.command, traces.processes[0].path, report_info, out)
                    : print_set(&traces, out);
    trace_set_free(&traces);
    return worse_code(code, found);
}

int cmd_info(int argc, char **argv)
{
    struct info_values values = {.report = REPORT_PRESET};
    struct report_out out;
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &out, &first, &code))
        return code;
    if (!report_streams_open(set.command, &out, false))
        return EXIT_UNREADABLE;
    if (argc - first == 1 && !trace_set_is_folder(argv[first]))
        code = report_trace(set.command, argv[first], report_info, &out);
    else
        code = print_several(argc - first, argv + first, &out);
    return report_streams_close(set.command, &out, code);
}
