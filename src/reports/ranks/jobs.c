/* Which processes belong together: those that share a communicator, and what shares one with these.
 * Traces of several jobs in one folder fall apart into several groups.
 */
#include "reports/ranks/ranks_inside.h"

#include <stdlib.h>

#include "base/poison.h"

/* A process of the same group that stands for it. */
static uint32_t leader(uint32_t *next, uint32_t process)
{
    while (next[process] != process) {
        next[process] = next[next[process]];
        process = next[process];
    }
    return process;
}

static void join_members(const struct ranks *ranks, uint32_t *next)
{
    for (size_t i = 1; i < ranks->member_count; i++) {
        const struct ranks_member *member = &ranks->members[i];

        if (member->communicator == member[-1].communicator)
            next[leader(next, member->process)] = leader(next, member[-1].process);
    }
}

enum mp_status ranks_count_jobs(struct ranks *ranks, size_t process_count)
{
    uint32_t *next = calloc(process_count + 1, sizeof *next);
    bool *is_group = calloc(process_count + 1, sizeof *is_group);

    if (next && is_group) {
        for (uint32_t i = 0; i < process_count; i++)
            next[i] = i;
        join_members(ranks, next);
        for (uint32_t i = 0; i < process_count; i++) {
            if (leader(next, i) != i && !is_group[leader(next, i)]) {
                is_group[leader(next, i)] = true;
                ranks->jobs++;
            }
        }
    }
    free(is_group);
    free(next);
    return next && is_group ? MP_OK : MP_ERR_MEMORY;
}
