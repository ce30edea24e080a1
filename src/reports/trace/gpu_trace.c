/* `miniprof gpu-trace`: each activity of the device in order of time; traces.c does the
 * work.
 */
#include "cli/command.h"
#include "reports/trace/traces.h"
#include "table/table.h"

#include "base/poison.h"

static const struct option_spec specs[] = {
    {.name = "with-api",
     .kind = OPTION_FLAG,
     .offset = TRACES_FIELD(with_api),
     .help = "CUDA calls and NVTX events too, in the same table"},
    TRACES_OPTIONS,
};

static const struct option_set set = {
    .command = "gpu-trace",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints every kernel, copy, memory set, graph launch and event of unified memory in "
               "order of time, in nvprof's layout.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first or last line says why), 2 wrong "
             "usage, 3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

int cmd_gpu_trace(int argc, char **argv)
{
    return traces_command(&set, true, false, argc, argv);
}
