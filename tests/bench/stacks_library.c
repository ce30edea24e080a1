/* How long it takes to take a stack, from inside of Python: stacks.sh loads this and calls it at
 * known depths.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/core/clock.h"
#include "record/core/core.h"
#include "record/stacks/stacks.h"

double take_stacks(unsigned count);

/* Nanoseconds of `count` times, together. Answers 0 where there is no stack. */
__attribute__((visibility("default"))) double take_stacks(unsigned count)
{
    static _Thread_local struct call_log log;
    static struct stacks stacks;
    uint32_t last = 0;
    uint64_t begin;

    if (!stacks.pid) {
        stacks.pid = getpid();
        stacks.wants_python = true;
        if (getenv("NATIVE"))
            native_open(&stacks.native);
        store_open(&stacks.store);
    }
    stacks_take(&stacks, &log);
    begin = mp_monotonic_ns();
    for (unsigned i = 0; i < count; i++)
        last = stacks_take(&stacks, &log);
    return last ? (double)(mp_monotonic_ns() - begin) : 0;
}
