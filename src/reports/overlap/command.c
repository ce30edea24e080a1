/* `miniprof overlap`: what ran at the same time on each device. */
#include <stdint.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/overlap/overlap.h"

#include "base/poison.h"

struct overlap_values {
    struct report_values report;
};

#define FIELD(name) offsetof(struct overlap_values, name)
static const struct option_spec specs[] = {
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "kernels and streams"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only work launched in capture range N"),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "overlap",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose =
        "Prints what ran at the same time on each device: kernels, copies by direction, sets "
        "and communication, pair by pair, and how many kernels at once; copies that no "
        "kernel hides; idle time; and how much of each stream overlaps with others.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage, "
             "3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct reporting {
    struct report_out out;
    struct overlap_options options;
};

static enum mp_status report_overlap(void *context, struct mp_trace *trace, bool *whole,
                                     struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct overlap overlap;

    MP_TRY(overlap_build(trace, &reporting->options, &overlap, error));
    print_overlap(&reporting->out, trace, &overlap, reporting->options.range);
    *whole = quality_is_whole(&overlap.quality);
    overlap_free(&overlap);
    return MP_OK;
}

int cmd_overlap(int argc, char **argv)
{
    struct overlap_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.out = {.file = stdout}};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    reporting.options.range = values.report.range;
    return each_trace(set.command, &reporting.out, argc - first, argv + first, report_overlap,
                      &reporting);
}
