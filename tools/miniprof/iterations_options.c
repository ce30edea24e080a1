#include "iterations_options.h"

#include <string.h>

#include "base/poison.h"

bool parse_iterations_way(const char *by, struct iterations_options *options)
{
    static const struct {
        const char *text;
        enum iterations_way way;
    } ways[] = {
        {"auto", ITERATIONS_AUTO},   {"nvtx", ITERATIONS_NVTX},       {"range", ITERATIONS_RANGES},
        {"graph", ITERATIONS_GRAPH}, {"kernels", ITERATIONS_KERNELS},
    };
    static const char named[] = "nvtx:";

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
