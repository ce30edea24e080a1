/* From the job back to the graph of a rank alone. Both have the same activities in the same order,
 * but for kernels of NCCL, which are two in the job.
 */
#include "reports/job/job.h"

#include "base/poison.h"

struct own {
    const struct deps *deps;
    const uint64_t *values;
    uint64_t *sums;
    size_t count, next;
};

/* Where the arrival of the transfer `index` is in the own graph: further back by each activity that
 * overlaps the kernel. */
static size_t place_of_arrival(const struct own *own, uint32_t index)
{
    const struct deps_activity *activities = own->deps->activities;
    size_t at = own->next - 1;

    for (uint32_t i = activities[index].own_lane + 1; i < index; i++)
        at -= activities[i].kind != DEPS_TRANSFER;
    return at;
}

static void add_lane(struct own *own, const struct deps_lane *lane)
{
    for (uint32_t i = lane->first; i < lane->first + lane->count; i++) {
        bool transfer = own->deps->activities[i].kind == DEPS_TRANSFER;
        size_t at = transfer ? place_of_arrival(own, i) : own->next++;

        if (at < own->count)
            own->sums[at] += own->values[i];
    }
}

void job_add_to_own(const struct job *job, uint32_t process, const uint64_t *values, uint64_t *own,
                    size_t count)
{
    struct own walk = {.deps = &job->deps, .values = values, .sums = own, .count = count};

    for (uint32_t i = 0; i < job->deps.lane_count; i++) {
        if (job->deps.lanes[i].process == process)
            add_lane(&walk, &job->deps.lanes[i]);
    }
}
