/* What was played, as the program ranks prints it: one line for each operation, by the first rank
 * of its communicator, or by the one that sends. */
#include "ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The world's number of a communicator's rank: teams are neighbours. */
static int world_rank(const struct job *job, const struct simnccl_instance *instance, int rank)
{
    return job->rank - instance->rank + rank;
}

static bool is_for_us(const struct simnccl_instance *instance)
{
    if (strcmp(instance->function, "Recv") == 0)
        return false;
    return strcmp(instance->function, "Send") == 0 || instance->rank == 0;
}

struct lateness {
    int latest; /* who came last; the one with the greatest number if several did */
    bool alone;
    uint64_t late; /* than the next to last */
    uint64_t skew;
};

static struct lateness find_lateness(const struct simnccl_instance *instance)
{
    struct lateness found = {.latest = 0};
    uint64_t first = UINT64_MAX, before = 0, latest = 0;

    for (int i = 0; i < instance->nranks; i++) {
        uint64_t arrival = instance->arrival[i];

        if (!arrival) /* has no part in it */
            continue;
        if (arrival < first)
            first = arrival;
        if (arrival >= latest) {
            before = latest;
            latest = arrival;
            found.latest = i;
        } else if (arrival > before) {
            before = arrival;
        }
    }
    found.late = before ? latest - before : 0;
    found.alone = found.late > 0;
    found.skew = latest - first;
    return found;
}

/* A team that was kept up comes late to the operation of all ranks: one of them for a reason of its
 * own, the others since they waited for it. */
static const char *cause_in_team(const struct job *job, int rank, int iteration)
{
    const char *cause = "-";

    for (int i = 0; i < job->nranks * job->layers; i++) {
        int other = i / (int)job->layers;
        const char *planted = plant_cause(job, other, iteration, i % (int)job->layers);

        if (other / job->split != rank / job->split || strcmp(planted, "-") == 0)
            continue;
        if (other == rank)
            return planted;
        cause = "collective";
    }
    return cause;
}

static void tell(const struct job *job, const struct simnccl_instance *instance, int iteration,
                 int layer)
{
    struct lateness found = find_lateness(instance);
    int last = world_rank(job, instance, found.latest);
    const char *cause = plant_cause(job, last, iteration, layer), *separator = "";

    if (found.skew && layer == job->layers && job->split)
        cause = cause_in_team(job, last, iteration);
    printf("%016" PRIx64 ",%s,%" PRIu64 ",%d,%d,%" PRIu64 ",%d,%d,", instance->communicator,
           instance->function, instance->number, iteration, layer, instance->bytes,
           world_rank(job, instance, 0), instance->nranks);
    printf("%d,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,", instance->peer,
           found.alone ? last : -1, found.late, found.skew, instance->transfer, instance->end,
           cause);
    for (int i = 0; i < instance->nranks; i++) {
        printf("%s%" PRIu64, separator, instance->arrival[i]);
        separator = ";";
    }
    printf("\n");
}

void truth_tell(const struct job *job, int iteration, int layer, long per_layer)
{
    static size_t told;
    struct simnccl_instance instance;

    for (long i = 0; simnccl_instance(told, &instance); told++, i++)
        if (is_for_us(&instance))
            tell(job, &instance, iteration, per_layer ? layer + (int)(i / per_layer) : layer);
}
