/* `miniprof memory`: how much was allocated at the same time and by whom, what was not freed, and
 * how long allocating took.
 */
#include <stdbool.h>
#include <stdint.h>

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

    struct memory_options options; /* these four from those above */
    struct iterations_options by;
    uint64_t one; /* 0: all */
    bool by_way;  /* iterations are found as iters finds them */
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
    .notes = REPORT_EXIT_CODES,
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

static enum mp_status print_one(const struct memory_values *values, const struct mp_trace *trace,
                                const struct memory *memory, struct mp_error *error)
{
    uint64_t range = values->report.range;

    if (!values->timeline && !values->points) {
        print_memory(&values->report.out, trace, memory, range);
        return MP_OK;
    }
    enum mp_status status =
        print_memory_timeline(&values->report.out, trace, memory, range, values->points);
    return mp_error_from(error, status, "cannot add up the allocations");
}

static enum mp_status build(const struct memory_values *values, struct mp_trace *trace,
                            struct memory *memory, struct mp_error *error)
{
    struct memory_options options = values->options;
    struct nvtx_ranges ranges = {.items = NULL};
    enum mp_status status = MP_OK;

    if (values->by_way) {
        status = iterations_as_ranges(trace, &values->by, values->one, &ranges, error);
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
    const struct memory_values *values = context;
    struct memory memory;

    MP_TRY(build(values, trace, &memory, error));
    enum mp_status status = print_one(values, trace, &memory, error);
    *whole = quality_is_whole(&memory.quality);
    memory_free(&memory);
    return status;
}

/* All of the ranges of a name need no event graph. */
static void choose_iterations(struct memory_values *values)
{
    const char *how = values->iterations.how;

    values->options.iteration = how ? how : values->one ? "auto" : NULL;
    values->by_way = iterations_by_parse(how, &values->by) || values->one;
    if (values->one)
        iterations_by(how, &values->by);
    values->by.range = values->report.range;
}

static bool memory_options_agree(void *context)
{
    struct memory_values *values = context;
    bool by_iteration = values->iterations.how || values->iterations.one;

    if (!options_agree(set.command, values->points > MAX_POINTS,
                       "--points takes at most 1000000") ||
        !options_agree(set.command, by_iteration && (values->timeline || values->points),
                       "--iterations goes with neither --timeline nor --points") ||
        !iterations_one(set.command, &values->iterations, true, &values->one))
        return false;
    choose_iterations(values);
    values->options.range = values->report.range;
    values->options.top = (size_t)values->top;
    if (values->report.view.sort) { /* the first ones of another order */
        view_top(&values->report.out, values->top);
        values->options.top = MAX_ROWS;
    }
    return true;
}

int cmd_memory(int argc, char **argv)
{
    struct memory_values values = {.report = REPORT_PRESET, .top = 10};

    return report_command(&set, argc, argv, &values, &values.report, memory_options_agree,
                          report_memory);
}
