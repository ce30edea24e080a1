/* The options that every report has: format, names, range. They are one table, included by the
 * commands' own tables.
 */
#include "cli/report_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"

#include "base/poison.h"

static bool formats_agree(const char *command, const struct report_values *values)
{
    bool csv = values->format == REPORT_CSV;
    bool text = values->format == REPORT_TEXT && !values->lines;

    return options_agree(command, csv && values->lines,
                         "--csv and --jsonl are two formats; ask for one") &&
           options_agree(command, values->table && !csv, "--table needs --csv") &&
           options_agree(command, values->unit && !text && strcmp(values->unit, "ns") != 0,
                         "--unit is for text; --csv, --json and --jsonl are always in ns");
}

bool report_out_open(const char *command, struct report_values *values, struct report_out *out)
{
    if (values->lines && values->format == REPORT_TEXT)
        values->format = REPORT_JSON;
    *out = (struct report_out){.file = stdout, .format = (enum report_format)values->format};
    if (!report_units_parse(values->unit ? values->unit : "auto", &out->units)) {
        complain(command, "--unit takes s, ms, us, ns, col or auto, not '%s'", values->unit);
        return false;
    }
    if (!formats_agree(command, values) || !view_open(command, &values->view, out->format, out))
        return false;
    if (out->format == REPORT_CSV) {
        values->sheet = (struct report_sheet){.file = out->file, .wanted = values->table};
        out->sheet = &values->sheet;
        out->file = stderr;
    }
    if (out->format == REPORT_JSON) {
        values->documents.lines = values->lines;
        out->documents = &values->documents;
    }
    return true;
}

/* Whether there are arguments besides options; false after a complaint. */
static bool report_names_trace(const char *command, int arguments)
{
    if (!arguments)
        complain(command, "which trace? 'miniprof %s TRACE.mpt'", command);
    return arguments != 0;
}

bool report_parse(const struct option_set *set, int argc, char **argv, void *values,
                  struct report_values *report, struct report_out *out, int *first, int *code)
{
    enum options_result result = options_parse(set, argc, argv, values, first);

    *code = result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    return result == OPTIONS_OK && report_names_trace(set->command, argc - *first) &&
           report_out_open(set->command, report, out);
}

enum names_style report_style(const struct report_values *values)
{
    return values->demangling ? NAMES_READABLE : NAMES_MANGLED;
}
