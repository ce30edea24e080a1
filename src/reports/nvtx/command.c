/* `miniprof nvtx`: what happened inside of each NVTX range, as nvprof's NVTX result. */
#include <stdbool.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/nvtx/nvtx.h"
#include "reports/summary/print.h"

#include "base/poison.h"

struct nvtx_values {
    struct report_values report;
    bool all_calls;
};

#define FIELD(name) offsetof(struct nvtx_values, name)
static const struct option_spec specs[] = {
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "captured"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only NVTX ranges and calls that begin in capture range N"),
    {.name = "all-calls",
     .kind = OPTION_FLAG,
     .offset = FIELD(all_calls),
     .help = "list every API call inside a range, not only those that launched work"},
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "nvtx",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints what was launched inside the NVTX ranges, by thread, domain and name, in "
               "nvprof's layout: how often and how long, then the work of the GPUs however late "
               "it ran, then the API calls that launched it.",
    .notes = REPORT_EXIT_CODES,
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

static enum mp_status report_nvtx(void *context, struct mp_trace *trace, bool *whole,
                                  struct mp_error *error)
{
    const struct nvtx_values *values = context;
    const struct nvtx_options options = {.range = values->report.range,
                                         .style = report_style(&values->report),
                                         .all_calls = values->all_calls};
    struct nvtx_result result;
    struct profile profile;

    MP_TRY(profile_load(&profile, trace, DEFINITIONS_USUAL, error));
    enum mp_status status = nvtx_result_build(&profile, &options, &result, error);
    if (!status) {
        print_nvtx(&values->report.out, trace, &result, options.range);
        *whole = quality_is_whole(&result.quality);
    }
    nvtx_result_free(&result);
    profile_free(&profile);
    return status;
}

int cmd_nvtx(int argc, char **argv)
{
    struct nvtx_values values = {.report = REPORT_PRESET};

    return report_command(&set, argc, argv, &values, &values.report, NULL, report_nvtx);
}
