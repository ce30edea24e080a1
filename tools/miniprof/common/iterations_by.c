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
    static const struct {
        const char *text;
        enum iterations_way way;
    } ways[] = {
        {"auto", ITERATIONS_AUTO},   {"nvtx", ITERATIONS_NVTX},       {"range", ITERATIONS_RANGES},
        {"graph", ITERATIONS_GRAPH}, {"kernels", ITERATIONS_KERNELS},
    };
    static const char named[] = "nvtx:";

    if (!by)
        return true;
    if (!strncmp(by, named, sizeof named - 1) && by[sizeof named - 1]) {
        options->way = ITERATIONS_NVTX;
        options->name = by + sizeof named - 1;
        return true;
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!strcmp(by, ways[i].text)) {
            options->way = ways[i].way;
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
