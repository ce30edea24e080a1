/* How much of a sweep over many cases a test runs. `make quick`, `changed` and `check` set
 * CHECKS=short in the environment; all else runs all of it. */
#ifndef UNIT_SWEEP_H
#define UNIT_SWEEP_H

#include <stdlib.h>
#include <string.h>

/* One of two numbers: of a whole sweep, and of its short part. */
static inline unsigned sweep(unsigned whole, unsigned in_short)
{
    const char *checks = getenv("CHECKS");

    return checks && strcmp(checks, "short") == 0 ? in_short : whole;
}

#endif
