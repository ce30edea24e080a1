/* `miniprof memory`: how much was allocated at the same time and by whom, what was not freed, and
 * how long allocating took.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/memory/memory.h"
#include "common/command.h"
#include "common/report_options.h"
#include "common/trace_args.h"
#include "report/memory/memory.h"

#include "base/poison.h"

#define MOST_POINTS 1000000 /* also in a complaint */

struct memory_values {
    struct report_values report;
    const char *iteration;
    uint64_t top;
    uint64_t points; /* 0: not asked for */
    bool timeline;
};

#define FIELD(name) offsetof(struct memory_values, name)
static const struct option_spec specs[] = {
    {.name = "iteration",
     .argument = "NAME",
     .kind = OPTION_TEXT,
     .offset = FIELD(iteration),
     .help = "what is allocated and freed inside each NVTX range of this name"},
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
     .help = "the same in N steps of equal length: least, most, and at the end"},
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only what happens in capture range N"),
    REPORT_UNITS_OPTION(FIELD(report)),
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
    bool timeline;
    uint64_t points;
};

static enum mp_status print_one(const struct reporting *reporting, const struct mp_trace *trace,
                                const struct memory *memory, struct mp_error *error)
{
    uint64_t range = reporting->options.range;
    enum mp_status status;

    if (!reporting->timeline) {
        print_memory(&reporting->out, trace, memory, range);
        return MP_OK;
    }
    status = print_memory_timeline(&reporting->out, trace, memory, range, reporting->points);
    return status ? mp_error_set(error, status, "cannot add up the allocations: %s",
                                 mp_status_name(status))
                  : MP_OK;
}

static enum mp_status report_memory(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct memory memory;
    enum mp_status status;

    MP_TRY(memory_build(trace, &reporting->options, &memory, error));
    status = print_one(reporting, trace, &memory, error);
    *whole = quality_is_whole(&memory.quality);
    memory_free(&memory);
    return status;
}

static bool memory_options_agree(const struct memory_values *values)
{
    return options_agree(set.command, values->points > MOST_POINTS,
                         "--points takes at most 1000000") &&
           options_agree(set.command, values->iteration && (values->timeline || values->points),
                         "--iteration goes with neither --timeline nor --points");
}

int cmd_memory(int argc, char **argv)
{
    struct memory_values values = {.report = REPORT_PRESET, .top = 10};
    struct reporting reporting = {.out = {.file = stdout}};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!memory_options_agree(&values))
        return EXIT_USAGE;
    reporting.options = (struct memory_options){
        .range = values.report.range, .iteration = values.iteration, .top = (size_t)values.top};
    reporting.timeline = values.timeline || values.points;
    reporting.points = values.points;
    return each_trace(set.command, argc - first, argv + first, report_memory, &reporting);
}
