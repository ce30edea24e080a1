/* `miniprof memory`: how much was allocated at the same time and by whom, what was not freed, and
 * how long allocating took.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/common/iterations_by.h"
#include "reports/memory/memory.h"
#include "reports/memory/print.h"

#include "base/poison.h"

#define MAX_POINTS 1000000 /* also in a complaint */
#define MAX_ROWS   1000000 /* that are sorted */

struct memory_values {
    struct report_values report;
    struct iterations_values iterations;
    uint64_t top;
    uint64_t points; /* 0: not asked for */
    bool timeline;
};

#define FIELD(name) offsetof(struct memory_values, name)
static const struct option_spec specs[] = {
    ITERATIONS_OPTION(FIELD(iterations)),
    ITERATION_OPTION(FIELD(iterations), "only what is allocated and freed inside iteration N"),
    {.name = "top",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(top),
     .help = "at most N rows in each list (default 10)"},
    {.name = "timeline",
     .kind = OPTION_FLAG,
     .offset = FIELD(timeline),
     .help = "instead how much is allocated after each allocation and each free"},
    {.name = "points",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(points),
     .help = "the same in N steps of equal length: minimum, maximum, and at the end"},
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "peaks, pools, not_freed, churn and iterations"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only what happens in capture range N"),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "memory",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints where memory goes: how much was allocated at a time on each device and in "
               "each pool, what was alive at the peak, what was not freed, and what was allocated "
               "only to be freed again, with the functions and NVTX ranges that did it.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage, "
             "3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct reporting {
    struct report_out out;
    struct memory_options options;
    struct iterations_options by;
    uint64_t one; /* 0: all */
    bool by_way;  /* iterations are found as iters finds them */
    bool timeline;
    uint64_t points;
};

static enum mp_status print_one(const struct reporting *reporting, const struct mp_trace *trace,
                                const struct memory *memory, struct mp_error *error)
{
    uint64_t range = reporting->options.range;

    if (!reporting->timeline) {
        print_memory(&reporting->out, trace, memory, range);
        return MP_OK;
    }
    enum mp_status status =
        print_memory_timeline(&reporting->out, trace, memory, range, reporting->points);
    return mp_error_from(error, status, "cannot add up the allocations");
}

static enum mp_status build(const struct reporting *reporting, struct mp_trace *trace,
                            struct memory *memory, struct mp_error *error)
{
    struct memory_options options = reporting->options;
    struct nvtx_ranges ranges = {.items = NULL};
    enum mp_status status = MP_OK;

    if (reporting->by_way) {
        status = iterations_as_ranges(trace, &reporting->by, reporting->one, &ranges, error);
        options.ranges = &ranges;
    }
    if (!status)
        status = memory_build(trace, &options, memory, error);
    nvtx_ranges_free(&ranges);
    return status;
}

static enum mp_status report_memory(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct memory memory;

    MP_TRY(build(reporting, trace, &memory, error));
    enum mp_status status = print_one(reporting, trace, &memory, error);
    *whole = quality_is_whole(&memory.quality);
    memory_free(&memory);
    return status;
}

static bool memory_options_agree(const struct memory_values *values)
{
    return options_agree(set.command, values->points > MAX_POINTS,
                         "--points takes at most 1000000") &&
           options_agree(set.command,
                         (values->iterations.how || values->iterations.one) &&
                             (values->timeline || values->points),
                         "--iterations goes with neither --timeline nor --points");
}

/* All of the ranges of a name need no event graph. */
static void choose_iterations(struct reporting *reporting, const struct iterations_values *values)
{
    reporting->options.iteration = values->how ? values->how : reporting->one ? "auto" : NULL;
    reporting->by_way = iterations_by_parse(values->how, &reporting->by) || reporting->one;
    if (reporting->one)
        iterations_by(values->how, &reporting->by);
}

int cmd_memory(int argc, char **argv)
{
    struct memory_values values = {.report = REPORT_PRESET, .top = 10};
    struct reporting reporting = {.out = {.file = stdout}};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!memory_options_agree(&values) ||
        !iterations_one(set.command, &values.iterations, true, &reporting.one))
        return EXIT_USAGE;
    choose_iterations(&reporting, &values.iterations);
    reporting.options.range = values.report.range;
    reporting.options.top = (size_t)values.top;
    if (values.report.view.sort) { /* the first ones of another order */
        view_top(&reporting.out, values.top);
        reporting.options.top = MAX_ROWS;
    }
    reporting.by.range = values.report.range;
    reporting.timeline = values.timeline || values.points;
    reporting.points = values.points;
    return each_trace(set.command, &reporting.out, argc - first, argv + first, report_memory,
                      &reporting);
}
