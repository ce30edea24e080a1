/* `miniprof kernels`: each launch shape with its times and its theoretical occupancy. */
#include <stdbool.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/counters/counters.h"
#include "reports/kernels/kernels.h"

#include "base/poison.h"

struct kernels_values {
    struct report_values report;
    bool by_name;
    const char *by;
    enum called_by called_by; /* what it means */
};

#define FIELD(name) offsetof(struct kernels_values, name)
static const struct option_spec specs[] = {
    {.name = "by-name",
     .kind = OPTION_FLAG,
     .offset = FIELD(by_name),
     .help = "one row for all launch shapes of a kernel"},
    {.name = "by",
     .argument = "WHAT",
     .kind = OPTION_TEXT,
     .offset = FIELD(by),
     .help = "a row for each line that launched it, too: line (file:line is the same), function or "
             "file, which need a trace with stacks; or operator, of a framework"},
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only kernels launched in capture range N"),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "kernels",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints each kernel and launch shape: calls and times, grid, block, registers, "
               "shared and local memory, theoretical occupancy and waves with what limits them, "
               "and whether it is a tensor-core kernel.",
    .notes = REPORT_EXIT_CODES,
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

static enum mp_status report_kernels(void *context, struct mp_trace *trace, bool *whole,
                                     struct mp_error *error)
{
    const struct kernels_values *values = context;
    const struct kernels_options options = {.range = values->report.range,
                                            .style = report_style(&values->report),
                                            .by_name = values->by_name,
                                            .by = values->called_by};
    const struct counters_options sampled = {
        .range = options.range, .by = COUNTERS_BY_KERNEL, .style = options.style};
    struct counters_result counters;
    struct kernels kernels;
    struct profile profile;

    MP_TRY(profile_load(&profile, trace, DEFINITIONS_ALL, error));
    enum mp_status status = kernels_build(&profile, &options, &kernels, error);
    const bool any = profile_has_rows(&profile, MP_TABLE_sample);
    if (!status && any)
        status = counters_build(trace, &sampled, &counters, error);
    if (status == MP_OK) {
        kernels.counters = any ? &counters : NULL;
        print_kernels(&values->report.out, trace, &kernels, &options);
        *whole = quality_is_whole(&kernels.quality);
        if (any)
            counters_result_free(&counters);
    }
    kernels_free(&kernels);
    profile_free(&profile);
    return status;
}

static bool kernels_options_agree(void *context)
{
    struct kernels_values *values = context;

    return options_agree(set.command, !called_by_of(values->by, &values->called_by),
                         CALLED_BY_WRONG);
}

int cmd_kernels(int argc, char **argv)
{
    struct kernels_values values = {.report = REPORT_PRESET};

    return report_command(&set, argc, argv, &values, &values.report, kernels_options_agree,
                          report_kernels);
}
