/* Loads the CUDA driver and finds its functions by name. */
#include "calibrate/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/poison.h"

static uint64_t monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The function of that name, or the second version of it: headers of CUDA 13 have no first one of
 * some. */
static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    char second[64];

    if (symbol)
        return symbol;
    snprintf(second, sizeof second, "%s_v2", name);
    return dlsym(library, second);
}

bool driver_load(struct driver *driver, const char **missing)
{
    const struct {
        const char *name;
        void *function; /* where the pointer goes */
    } symbols[] = {
#define X(field, symbol, parameters) {symbol, &driver->field},
        DRIVER_FUNCTIONS(X)
#undef X
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *clock;

    *missing = "CUDA driver (libcuda.so.1)";
    if (!library)
        return false;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = find(library, symbols[i].name);
        *missing = symbols[i].name;
        if (!symbol)
            return false;
        memcpy(symbols[i].function, &symbol, sizeof symbol);
    }
    driver->clock = monotonic;
    clock = dlsym(library, "simgpu_clock_ns");
    if (clock)
        memcpy(&driver->clock, &clock, sizeof clock);
    return true;
}
