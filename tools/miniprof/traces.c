#include "traces.h"

#include <stdio.h>

#include "command.h"
#include "report/print_traces.h"

#include "base/poison.h"

static int print_file(const char *command, const char *path, const struct report_out *out,
                      const struct traces_options *options)
{
    struct mp_trace *trace = open_trace(command, path);
    struct quality quality;
    struct mp_error error;
    int code;

    if (!trace)
        return EXIT_UNREADABLE;
    if (print_traces(out, trace, options, &quality, &error) != MP_OK)
        code = fail_on_trace(command, path, &error);
    else
        code = quality_is_whole(&quality) ? EXIT_FINE : EXIT_FINDINGS;
    quality_free(&quality);
    mp_trace_close(trace);
    return code;
}

int traces_command(const struct option_set *set, bool gpu, bool api, int argc, char **argv)
{
    struct traces_values values = {.format = REPORT_TEXT, .units = "auto", .demangling = true};
    struct report_out out = {.file = stdout};
    int worst = EXIT_FINE;
    int first;
    enum options_result result = options_parse(set, argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (first == argc) {
        complain(set->command, "which trace? 'miniprof %s TRACE.mpt'", set->command);
        return EXIT_USAGE;
    }
    if (!report_units_parse(values.units, &out.units)) {
        complain(set->command, "--normalized-time-unit takes s, ms, us, ns, col or auto, not '%s'",
                 values.units);
        return EXIT_USAGE;
    }
    out.format = (enum report_format)values.format;
    struct traces_options options = {.gpu = gpu,
                                     .api = api || values.with_api,
                                     .head = true,
                                     .style = values.demangling ? NAMES_READABLE : NAMES_MANGLED,
                                     .range = values.range};
    for (int i = first; i < argc; i++) {
        int code = print_file(set->command, argv[i], &out, &options);
        worst = code > worst ? code : worst;
    }
    return worst;
}
