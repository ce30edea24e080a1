/* The options that every report has: format, names, range. They are one table, included by the
 * commands' own tables.
 */
#include "common/report_options.h"

#include <stdio.h>

#include "common/command.h"

#include "base/poison.h"

bool report_out_open(const char *command, const struct report_values *values,
                     struct report_out *out)
{
    *out = (struct report_out){.file = stdout, .format = (enum report_format)values->format};
    if (report_units_parse(values->unit ? values->unit : "auto", &out->units))
        return true;
    complain(command, "--normalized-time-unit takes s, ms, us, ns, col or auto, not '%s'",
             values->unit);
    return false;
}

bool report_parse(const struct option_set *set, int argc, char **argv, void *values,
                  const struct report_values *report, struct report_out *out, int *first, int *code)
{
    enum options_result result = options_parse(set, argc, argv, values, first);

    *code = result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    return result == OPTIONS_OK && report_out_open(set->command, report, out) &&
           report_names_trace(set->command, argc - *first);
}

bool report_names_trace(const char *command, int arguments)
{
    if (!arguments)
        complain(command, "which trace? 'miniprof %s TRACE.mpt'", command);
    return arguments != 0;
}

enum names_style report_style(const struct report_values *values)
{
    return values->demangling ? NAMES_READABLE : NAMES_MANGLED;
}
