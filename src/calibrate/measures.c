/* Names of the measures in the probe's answer. */
#include "calibrate/measures.h"

#include <string.h>

#include "base/poison.h"

static const char *const names[] = {
#define X(name, text) text,
    MEASURES(X)
#undef X
};

const char *measure_name(enum measure measure)
{
    return names[measure];
}

enum measure measure_by_name(const char *name)
{
    int i = 0;

    while (i < MEASURE_COUNT && strcmp(names[i], name) != 0)
        i++;
    return (enum measure)i;
}
