/* Numbers in the environment, for all libraries of the software GPU. */
#ifndef SIMGPU_ENV_H
#define SIMGPU_ENV_H

#include <errno.h>
#include <stdlib.h>

/* The number in the variable, `fallback` if there is none. */
static inline long env_number(const char *name, long fallback)
{
    const char *text = getenv(name);
    char *end;
    long value;

    if (!text || !*text)
        return fallback;
    errno = 0;
    value = strtol(text, &end, 0);
    return errno || *end ? fallback : value;
}

#endif
