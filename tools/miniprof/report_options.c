#include "report_options.h"

#include <stdio.h>

#include "command.h"

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

enum names_style report_style(const struct report_values *values)
{
    return values->demangling ? NAMES_READABLE : NAMES_MANGLED;
}
