/* preload.c: the struct that the recorder finds by its name, and who calls what it sets there. */
#include "preload.h"

#include <stddef.h>

static _Thread_local struct mp_preload_host_function *given;

static struct mp_preload_host_function *launching(void)
{
    return given;
}

__attribute__((visibility("default"))) struct mp_preload miniprof_preload = {
    .version = MP_PRELOAD_VERSION, .launching = launching};

void preload_waited(const struct mp_preload_wait *wait)
{
    void (*tell)(const struct mp_preload_wait *) = miniprof_preload.waited;

    if (tell)
        tell(wait);
}

void preload_gives(struct mp_preload_host_function *function)
{
    given = function;
}

void preload_ran(const struct mp_preload_host_function *function, uint64_t begin, uint64_t end)
{
    void (*tell)(const struct mp_preload_host_function *) = miniprof_preload.host_function;
    struct mp_preload_host_function run = *function;

    run.begin = begin;
    run.end = end;
    if (tell)
        tell(&run);
}
