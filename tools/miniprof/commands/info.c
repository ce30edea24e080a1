/* `miniprof info`: who wrote a trace, what is in it, and how complete it is. */
#include <stdio.h>

#include "analyze/summary/summary.h"
#include "common/command.h"
#include "common/report_options.h"
#include "common/trace_args.h"
#include "report/summary/summary.h"
#include "report/table/table.h"

#include "base/poison.h"

struct info_values {
    int format; /* enum report_format */
};

static const struct option_spec specs[] = {
    {.name = "csv",
     .kind = OPTION_VALUE,
     .value = REPORT_CSV,
     .offset = offsetof(struct info_values, format),
     .help = "the tables as comma-separated values"},
    {.name = "json",
     .kind = OPTION_VALUE,
     .value = REPORT_JSON,
     .offset = offsetof(struct info_values, format),
     .help = "everything as a JSON document"},
};

static const struct option_set set = {
    .command = "info",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints what is inside a trace: its header, rows and bytes of each table, capture "
               "ranges, and how far it can be trusted. Of several: a table of the processes, with "
               "their times on one clock as far as that can be had.",
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
    struct contents contents;

    MP_TRY(contents_build(trace, &contents, error));
    print_info(out, trace, &contents);
    *whole = quality_is_whole(&contents.quality);
    contents_free(&contents);
    return MP_OK;
}

static int print_set(const struct trace_set *traces, const struct report_out *out)
{
    int code = EXIT_FINE;

    if (print_processes(out, traces) != MP_OK) {
        complain(set.command, "out of memory");
        return EXIT_UNREADABLE;
    }
    for (size_t i = 0; i < traces->count; i++) {
        if (!trace_process_is_whole(&traces->processes[i]))
            code = EXIT_FINDINGS;
    }
    return code;
}

/* A folder with one trace is that trace. */
static int print_several(int count, char **arguments, struct report_out *out)
{
    struct trace_set traces;
    int found;
    int code;

    if (!open_trace_set(set.command, count, arguments, &traces, &code))
        return code;
    found = traces.count == 1
                ? report_trace(set.command, traces.processes[0].path, report_info, out)
                : print_set(&traces, out);
    trace_set_free(&traces);
    return found > code ? found : code;
}

int cmd_info(int argc, char **argv)
{
    struct info_values values = {.format = REPORT_TEXT};
    struct report_out out = {.file = stdout};
    int first;
    enum options_result result = options_parse(&set, argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (!report_names_trace(set.command, argc - first))
        return EXIT_USAGE;
    out.format = (enum report_format)values.format;
    if (argc - first == 1 && !trace_set_is_folder(argv[first]))
        return report_trace(set.command, argv[first], report_info, &out);
    return print_several(argc - first, argv + first, &out);
}
