#include "units_option.h"

#include "command.h"

#include "base/poison.h"

bool parse_units(const char *command, const char *word, enum report_units *units)
{
    if (report_units_parse(word ? word : "auto", units))
        return true;
    complain(command, "--normalized-time-unit takes s, ms, us, ns, col or auto, not '%s'", word);
    return false;
}
