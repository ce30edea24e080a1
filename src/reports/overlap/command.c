/* `miniprof overlap`: what ran at the same time on each device. */
#include "cli/command.h"
#include "cli/options.h"
#include "reports/overlap/overlap.h"
#include "reports/ranks/load.h"

#include "base/poison.h"

struct overlap_values {
    struct report_values report;
    bool one_clock;

    struct matched matched; /* of a folder of ranks */
};

#define FIELD(name) offsetof(struct overlap_values, name)
static const struct option_spec specs[] = {
    ONE_CLOCK_OPTION(FIELD(one_clock)),
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
    .notes = REPORT_EXIT_CODES,
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

static enum mp_status report_overlap(void *context, struct mp_trace *trace, bool *whole,
                                     struct mp_error *error)
{
    const struct overlap_values *values = context;
    const struct overlap_options options = {
        .range = values->report.range,
        .peers = matched_peers(&values->matched, values->report.out.path)};
    struct overlap overlap;
    struct profile profile;

    MP_TRY(profile_load(&profile, trace, DEFINITIONS_USUAL, error));
    enum mp_status status = overlap_build(&profile, &options, &overlap, error);
    if (!status) {
        print_overlap(&values->report.out, trace, &overlap, values->report.range);
        *whole = quality_is_whole(&overlap.quality);
    }
    overlap_free(&overlap);
    profile_free(&profile);
    return status;
}

int cmd_overlap(int argc, char **argv)
{
    struct overlap_values values = {.report = REPORT_PRESET};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &values.report.out, &first, &code))
        return code;
    bool job =
        matched_is_job(&values.matched, set.command, argc - first, argv + first, values.one_clock);
    code = each_trace(set.command, &values.report.out, argc - first, argv + first, report_overlap,
                      &values);
    code = worse_code(code, values.matched.code);
    if (job)
        matched_free(&values.matched);
    return code;
}
