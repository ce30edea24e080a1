/* `miniprof stacks`: which line of the program costs what. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "profile/common/called_from.h"
#include "reports/stacks/print.h"
#include "reports/stacks/stacks.h"

#include "base/poison.h"

struct stacks_values {
    struct report_values report;
    const char *by;
    bool tree;
    bool all;
};

#define FIELD(name) offsetof(struct stacks_values, name)
static const struct option_spec specs[] = {
    {.name = "tree",
     .kind = OPTION_FLAG,
     .offset = FIELD(tree),
     .help = "who calls whom, from the outermost function inwards"},
    {.name = "by",
     .argument = "WHAT",
     .kind = OPTION_TEXT,
     .offset = FIELD(by),
     .help = "what a row is: line (default; file:line is the same), function or file"},
    {.name = "all",
     .kind = OPTION_FLAG,
     .offset = FIELD(all),
     .help = "in a tree also what has less than 1 % of the device time, of waiting and of the "
             "critical path"},
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only what was called in capture range N"),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "stacks",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints which line of the program costs what: device time, calls, waiting time and "
               "the critical path by the stacks of the calls. `miniprof run --stacks python`, "
               "native or both records them.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage, "
             "3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct reporting {
    struct report_out out;
    struct stacks_options options;
    const struct stacks_values *values;
};

static enum mp_status report_stacks(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct stacks_result result;
    const struct stacks_report report = {
        .trace = trace,
        .result = &result,
        .options = &reporting->options,
        .tree = reporting->values->tree,
        .all = reporting->values->all,
    };
    enum mp_status status;

    MP_TRY(stacks_build(trace, &reporting->options, &result, error));
    status = print_stacks(&reporting->out, &report);
    *whole = quality_is_whole(&result.quality);
    stacks_free(&result);
    return status ? mp_error_set(error, status, "out of memory") : MP_OK;
}

static bool parse_by(const char *text, enum stacks_by *by)
{
    enum called_by called;

    if (!options_agree(set.command, !called_by_of(text, &called) || called == CALLED_BY_OPERATOR,
                       "--by: there are line, function and file"))
        return false;
    *by = called == CALLED_BY_FUNCTION ? STACKS_BY_FUNCTION
          : called == CALLED_BY_FILE   ? STACKS_BY_FILE
                                       : STACKS_BY_LINE;
    return true;
}

int cmd_stacks(int argc, char **argv)
{
    struct stacks_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.out = {.file = stdout}, .values = &values};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!options_agree(set.command, values.tree && values.report.view.sort,
                       "--sort does not go with --tree") ||
        !parse_by(values.by, &reporting.options.by))
        return EXIT_USAGE;
    reporting.options.range = values.report.range;
    return each_trace(set.command, &reporting.out, argc - first, argv + first, report_stacks,
                      &reporting);
}
