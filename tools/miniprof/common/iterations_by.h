/* The option --by, which says what an iteration is. */
#ifndef MP_TOOL_COMMON_ITERATIONS_BY_H
#define MP_TOOL_COMMON_ITERATIONS_BY_H

#include <stdbool.h>

#include "analyze/iterations/iterations.h"
#include "common/options.h"

/* A row of an option table; `at` is the offset of a const char *. */
#define ITERATIONS_BY_OPTION(at)                                                                   \
    {                                                                                              \
        .name = "by", .argument = "WAY", .kind = OPTION_TEXT, .offset = (at),                      \
        .help = "what an iteration is: nvtx:NAME, an NVTX range of that name; range, a capture "   \
                "range; graph, a launch of a CUDA graph; kernels, a sequence of kernels that "     \
                "repeats; auto (default), the first of these that there is"                        \
    }

/* Puts the value of --by (NULL: not given) into the options; returns false after a complaint. */
bool iterations_by(const char *command, const char *by, struct iterations_options *options);

#endif
