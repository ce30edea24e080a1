/* `miniprof overlap`: what ran at the same time on each device. */
#include "cli/command.h"
#include "cli/options.h"
#include "reports/overlap/overlap.h"

#include "base/poison.h"

static const struct option_spec specs[] = {
    REPORT_CSV_OPTION(0),
    REPORT_TABLE_OPTION(0, "kernels and streams"),
    REPORT_JSON_OPTION(0),
    REPORT_LINES_OPTION(0),
    REPORT_RANGE_OPTION(0, "only work launched in capture range N"),
    REPORT_UNITS_OPTION(0),
    REPORT_TOP_OPTION(0),
    REPORT_VIEW_OPTIONS(0),
};

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
    const struct report_values *values = context;
    const struct overlap_options options = {.range = values->range};
    struct overlap overlap;
    struct profile profile;

    MP_TRY(profile_load(&profile, trace, DEFINITIONS_USUAL, error));
    enum mp_status status = overlap_build(&profile, &options, &overlap, error);
    if (!status) {
        print_overlap(&values->out, trace, &overlap, values->range);
        *whole = quality_is_whole(&overlap.quality);
    }
    overlap_free(&overlap);
    profile_free(&profile);
    return status;
}

int cmd_overlap(int argc, char **argv)
{
    struct report_values values = REPORT_PRESET;

    return report_command(&set, argc, argv, &values, &values, NULL, report_overlap);
}
