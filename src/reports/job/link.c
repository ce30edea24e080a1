/* A transfer waits for the arrivals that its operation needs (rule peer, D10). The arrivals of an
 * instance that somebody waits for make one front, which all its waiting transfers share.
 */
#include "reports/job/inside.h"

#include "base/poison.h"

/* Joins what the sides of an instance that others wait for have to wait for. */
static enum mp_status join_arrivals(struct job *job, const struct ranks_instance *instance,
                                    uint32_t *front)
{
    const struct ranks_side *sides = &job->ranks->sides[instance->first_side];

    *front = DEPS_NONE;
    for (uint32_t i = 0; i < instance->side_count; i++) {
        uint32_t arrival = job->arrivals[instance->first_side + i];

        if (arrival != DEPS_NONE && ranks_is_awaited(instance, sides[i].rank))
            MP_TRY(deps_join(&job->deps, front, arrival));
    }
    return MP_OK;
}

static enum mp_status link_instance(struct job *job, const struct ranks_instance *instance)
{
    const struct ranks_side *sides = &job->ranks->sides[instance->first_side];
    uint32_t front;

    MP_TRY(join_arrivals(job, instance, &front));
    for (uint32_t i = 0; i < instance->side_count; i++) {
        uint32_t transfer = job->transfers[instance->first_side + i];

        if (transfer == DEPS_NONE || !ranks_waits(instance, sides[i].rank))
            continue;
        MP_TRY(deps_join(&job->deps, &job->deps.activities[transfer].front, front));
        job->deps.counts.dependencies++;
    }
    return MP_OK;
}

enum mp_status job_wait_for_peers(struct job *job)
{
    struct deps *deps = &job->deps;

    for (size_t i = 0; i < job->ranks->instance_count; i++)
        MP_TRY(link_instance(job, &job->ranks->instances[i]));
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        struct deps_activity *transfer = &deps->activities[i];

        if (transfer->kind != DEPS_TRANSFER)
            continue;
        transfer->other_lane = deps_best(deps, transfer->front);
        transfer->reason = DEPS_PEER;
    }
    return MP_OK;
}
