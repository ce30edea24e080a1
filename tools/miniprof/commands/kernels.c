/* `miniprof kernels`: each launch shape with its times and its theoretical occupancy. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/kernels/kernels.h"
#include "common/command.h"
#include "common/report_options.h"
#include "common/trace_args.h"
#include "report/kernels/kernels.h"

#include "base/poison.h"

struct kernels_values {
    struct report_values report;
    bool by_name;
};

#define FIELD(name) offsetof(struct kernels_values, name)
static const struct option_spec specs[] = {
    {.name = "by-name",
     .kind = OPTION_FLAG,
     .offset = FIELD(by_name),
     .help = "one row for all launch shapes of a kernel"},
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only kernels launched in capture range N"),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "kernels",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints each kernel and launch shape: calls and times, grid, block, registers, "
               "shared and local memory, theoretical occupancy and waves with what limits them, "
               "and whether it is a tensor-core kernel.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage, "
             "3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct reporting {
    struct report_out out;
    struct kernels_options options;
};

static enum mp_status report_kernels(void *context, struct mp_trace *trace, bool *whole,
                                     struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct kernels kernels;

    MP_TRY(kernels_build(trace, &reporting->options, &kernels, error));
    print_kernels(&reporting->out, trace, &kernels, &reporting->options);
    *whole = quality_is_whole(&kernels.quality);
    kernels_free(&kernels);
    return MP_OK;
}

int cmd_kernels(int argc, char **argv)
{
    struct kernels_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.out = {.file = stdout}};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    reporting.options = (struct kernels_options){.range = values.report.range,
                                                 .style = report_style(&values.report),
                                                 .by_name = values.by_name};
    return each_trace(set.command, argc - first, argv + first, report_kernels, &reporting);
}
