/* `miniprof summary`: where the time goes by name, of one process or of several. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/report_options.h"
#include "reports/summary/merge_summaries.h"
#include "reports/summary/print.h"
#include "reports/summary/summarise.h"
#include "reports/summary/summary.h"

#include "base/poison.h"

struct summary_values {
    struct report_values report;
    bool gpu;
    bool api;
    bool per_gpu;
    bool merge;
    bool side_by_side;
    const char *by;
};

#define FIELD(name) offsetof(struct summary_values, name)
static const struct option_spec specs[] = {
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "devices (--per-gpu)"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(
        FIELD(report),
        "only what capture range N launched and called; without it, all ranges together"),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    {.name = "gpu",
     .kind = OPTION_FLAG,
     .offset = FIELD(gpu),
     .help = "only what ran on the GPUs: nvprof --print-gpu-summary"},
    {.name = "api",
     .kind = OPTION_FLAG,
     .offset = FIELD(api),
     .help = "only what the host called: nvprof --print-api-summary"},
    {.name = "per-gpu",
     .kind = OPTION_FLAG,
     .offset = FIELD(per_gpu),
     .help = "what ran on each GPU by itself: nvprof --print-summary-per-gpu"},
    {.name = "merge",
     .kind = OPTION_FLAG,
     .offset = FIELD(merge),
     .help = "one table over all processes"},
    {.name = "side-by-side",
     .kind = OPTION_FLAG,
     .offset = FIELD(side_by_side),
     .help = "a row for each name, two columns for each process, and the process that is farthest "
             "from the mean"},
    {.name = "by",
     .argument = "WHAT",
     .kind = OPTION_TEXT,
     .offset = FIELD(by),
     .help = "a row for each name and line that it was called from: line (file:line is the same), "
             "function or file, which need a trace with stacks; or operator, of a framework"},
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "summary",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose =
        "Prints where the time goes, by name, in nvprof's layout: kernels and copies, then API "
        "calls, each group by total time.",
    .notes =
        "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage, 3 a "
        "trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

enum mp_status summarise(void *context, struct mp_trace *trace, bool *whole, struct mp_error *error)
{
    const struct summarising *to = context;
    struct summary summary;

    MP_TRY(summary_build(trace, &to->options, &summary, error));
    print_summary(&to->out, trace, &summary, to->options.parts, to->options.range);
    *whole = quality_is_whole(&summary.quality);
    summary_free(&summary);
    return MP_OK;
}

/* Bits of enum summary_parts; 0: as ever. */
static unsigned parts_of(const struct summary_values *values)
{
    return (values->gpu ? (unsigned)SUMMARY_PART_GPU : 0) |
           (values->api ? (unsigned)SUMMARY_PART_API : 0) |
           (values->per_gpu ? (unsigned)SUMMARY_PART_PER_GPU : 0);
}

static bool summary_options_agree(const struct summary_values *values)
{
    return options_agree(set.command, values->merge && values->side_by_side,
                         "--merge does not go with --side-by-side") &&
           options_agree(set.command, values->per_gpu && values->by,
                         "--by does not go with --per-gpu") &&
           options_agree(set.command, values->per_gpu && (values->merge || values->side_by_side),
                         "--per-gpu goes with neither --merge nor --side-by-side");
}

int cmd_summary(int argc, char **argv)
{
    struct summary_values values = {.report = REPORT_PRESET};
    struct summarising reporting = {.out = {.file = stdout}};
    enum called_by by;
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!summary_options_agree(&values) ||
        !options_agree(set.command, !called_by_of(values.by, &by), CALLED_BY_WRONG))
        return EXIT_USAGE;
    reporting.options = (struct summary_options){.range = values.report.range,
                                                 .style = report_style(&values.report),
                                                 .parts = parts_of(&values),
                                                 .by = by};
    if (values.merge || values.side_by_side)
        return merge_summaries(set.command, argc - first, argv + first, &reporting.out,
                               &reporting.options, values.side_by_side);
    return each_trace(set.command, &reporting.out, argc - first, argv + first, summarise,
                      &reporting);
}
