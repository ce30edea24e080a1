/* The option --by, which several commands have. It is read in one place, so that its words and its
 * complaint are the same everywhere.
 */
#include "common/iterations_by.h"

#include <string.h>

#include "common/command.h"

#include "base/poison.h"

/* The value of --by; false for what is none. */
static bool parse_way(const char *by, struct iterations_options *options)
{
    static const char named[] = "nvtx:";

    if (!by)
        return true;
    if (!strncmp(by, named, sizeof named - 1) && by[sizeof named - 1]) {
        options->way = ITERATIONS_NVTX;
        options->name = by + sizeof named - 1;
        return true;
    }
    for (int way = 0; way < ITERATIONS_WHOLE; way++) {
        if (!strcmp(by, iterations_way_key((enum iterations_way)way))) {
            options->way = (enum iterations_way)way;
            return true;
        }
    }
    return false;
}

bool iterations_by(const char *command, const char *by, struct iterations_options *options)
{
    if (parse_way(by, options))
        return true;
    complain(command, "--by is auto, nvtx, nvtx:NAME, range, graph or kernels, not '%s'", by);
    return false;
}
