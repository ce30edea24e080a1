/* What is known of NCCL's functions by their names, and of communicators by themselves. */
#include "reports/ranks/ranks_inside.h"

#include <string.h>

#include "base/poison.h"

const char *ranks_function(const struct ranks *ranks, uint32_t function)
{
    const char *name = mp_intern_get(&ranks->names, function, NULL);

    return name ? name : "";
}

bool ranks_is_pair(const char *function)
{
    return !strcmp(function, "Send") || !strcmp(function, "Recv");
}

bool ranks_is_synchronous(const char *function)
{
    static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll",
                                        "AllToAll",  "Barrier",   "AllGatherV"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(function, names[i]))
            return true;
    }
    return false;
}

uint32_t ranks_missing(const struct ranks_communicator *communicator)
{
    return communicator->ranks > communicator->member_count
               ? communicator->ranks - (uint32_t)communicator->member_count
               : 0;
}
