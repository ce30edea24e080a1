/* `miniprof ranks`: who waits for whom across the processes of a job. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/ranks/load.h"
#include "reports/ranks/print.h"
#include "reports/ranks/ranks.h"

#include "base/poison.h"

struct ranks_values {
    struct report_values report;
    bool trace;
    bool one_clock;
};

#define FIELD(name) offsetof(struct ranks_values, name)
static const struct option_spec specs[] = {
    {.name = "trace",
     .kind = OPTION_FLAG,
     .offset = FIELD(trace),
     .help =
         "a row for each operation: who came last, by how much, and why; in JSON besides the sums"},
    ONE_CLOCK_OPTION(FIELD(one_clock)),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "ranks and causes"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "ranks",
    .synopsis = "[options] FOLDER|TRACE...",
    .purpose =
        "Prints who waits for whom in NCCL, from the traces of all ranks of a job: for each "
        "function and each rank the waiting and the transfer, who came last how often, and why.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole, or something could not be matched (a line "
             "says what), 2 wrong usage, 3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

static void print_all(struct matched *matched, struct lateness *lateness, bool each,
                      struct report_out *out)
{
    struct ranks_report report = matched_report(matched);

    if (matched_follow(matched, lateness) != MP_OK) {
        complain(set.command, "cannot match the traces: out of memory");
        matched->code = EXIT_UNREADABLE;
        return;
    }
    report.lateness = lateness;
    report.each = each;
    matched_judge(matched);
    if (!report_streams_open(set.command, out, false)) {
        matched->code = EXIT_UNREADABLE;
        return;
    }
    print_ranks(out, &report);
    matched->code = report_streams_close(set.command, out, matched->code);
}

int cmd_ranks(int argc, char **argv)
{
    struct ranks_values values = {.report = REPORT_PRESET};
    struct report_out out = {.file = stdout};
    struct lateness lateness = {.ranks = NULL};
    struct matched matched;
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &out, &first, &code))
        return code;
    if (matched_open(&matched, set.command, argc - first, argv + first, values.one_clock))
        print_all(&matched, &lateness, values.trace, &out);
    lateness_free(&lateness);
    matched_free(&matched);
    return matched.code;
}
