/* `miniprof api-trace`: each CUDA call in order of time; traces.c does the work. */
#include "cli/command.h"
#include "reports/trace/traces.h"
#include "table/table.h"

#include "base/poison.h"

static const struct option_spec specs[] = {TRACES_OPTIONS};

static const struct option_set set = {
    .command = "api-trace",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints every CUDA call and NVTX event in order of time, in nvprof's layout; "
               "launches with the kernel that they started.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first or last line says why), 2 wrong "
             "usage, 3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

int cmd_api_trace(int argc, char **argv)
{
    return traces_command(&set, false, true, argc, argv);
}
