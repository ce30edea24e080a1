/* `miniprof stacks`: which line of the program costs what. */
#include <stdbool.h>

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
    struct stacks_options options;
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
    .notes = REPORT_EXIT_CODES,
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

static enum mp_status report_stacks(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error)
{
    const struct stacks_values *values = context;
    struct stacks_result result;
    const struct stacks_report report = {
        .trace = trace,
        .result = &result,
        .options = &values->options,
        .tree = values->tree,
        .all = values->all,
    };

    MP_TRY(stacks_build(trace, &values->options, &result, error));
    enum mp_status status = print_stacks(&values->report.out, &report);
    *whole = quality_is_whole(&result.quality);
    stacks_free(&result);
    return status ? mp_error_set(error, status, "out of memory") : MP_OK;
}

static bool stacks_options_agree(void *context)
{
    struct stacks_values *values = context;
    enum called_by by;

    if (!options_agree(set.command, values->tree && values->report.view.sort,
                       "--sort does not go with --tree") ||
        !options_agree(set.command, !called_by_of(values->by, &by) || by == CALLED_BY_OPERATOR,
                       "--by: there are line, function and file"))
        return false;
    values->options = (struct stacks_options){
        .range = values->report.range,
        .by = by == CALLED_BY_FUNCTION ? STACKS_BY_FUNCTION
              : by == CALLED_BY_FILE   ? STACKS_BY_FILE
                                       : STACKS_BY_LINE,
    };
    return true;
}

int cmd_stacks(int argc, char **argv)
{
    struct stacks_values values = {.report = REPORT_PRESET};

    return report_command(&set, argc, argv, &values, &values.report, stacks_options_agree,
                          report_stacks);
}
