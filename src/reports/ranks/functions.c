/* What is known of NCCL's functions and kernels by their names, and of communicators by themselves.
 */
#include "reports/ranks/inside.h"

#include <string.h>

#include "base/poison.h"

const char *ranks_function(const struct ranks *ranks, uint32_t function)
{
    const char *name = mp_intern_get(&ranks->names, function, NULL);

    return name ? name : "";
}

bool ranks_is_nccl(const char *kernel)
{
    const char *nccl = strstr(kernel, "nccl");

    return nccl && strstr(nccl, "Kernel");
}

const char *ranks_function_in(const char *kernel, size_t *bytes)
{
    const char *prefix = strstr(kernel, "Kernel_");
    const char *function = prefix ? prefix + strlen("Kernel_") : kernel;

    *bytes = strcspn(function, "_(<");
    return function;
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
