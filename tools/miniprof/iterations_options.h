/* The option --by of the commands that work on iterations. */
#ifndef MINIPROF_ITERATIONS_OPTIONS_H
#define MINIPROF_ITERATIONS_OPTIONS_H

#include <stdbool.h>

#include "analyze/iterations.h"

/* The value of --by; false for what is none. options->name points into `by`. */
bool parse_iterations_way(const char *by, struct iterations_options *options);

#endif
