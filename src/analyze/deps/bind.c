/* Shortest latencies, arrivals, and what binds each activity: docs/dependency-analysis.md, sections
 * 3 and 4. */
#include "analyze/deps/build.h"

#include "base/poison.h"

/* Of the device activities that an activity depends on, the one that can bind. */
static uint32_t last_awaited(const struct deps *deps, const struct deps_activity *activity)
{
    uint32_t own = activity->stream_pred;
    uint32_t cross = activity->cross;

    if (own == DEPS_NONE || cross == DEPS_NONE)
        return own == DEPS_NONE ? cross : own;
    if (activity->flags & DEPS_NOT_ROOT) /* both are D7 */
        return deps_ends_later(deps, cross, own) ? cross : own;
    return deps->activities[cross].end > deps->activities[own].end ? cross : own;
}

static bool call_waits(const struct deps_activity *call)
{
    return call->bound == DEPS_SYNCHRONISATION || call->bound == DEPS_IN_EFFECT;
}

/* Whether the work was already launched when the last of what it awaited ended: its launching call
 * had returned. A call that waits returns later in any case, so for such a call its begin is taken.
 */
static bool was_queued(const struct deps *deps, const struct deps_activity *activity,
                       uint64_t awaited)
{
    const struct deps_activity *call = &deps->activities[activity->launch];
    const struct deps_activity *last = &deps->activities[call->stream_pred];

    return call_waits(last) ? call->begin < awaited : last->end <= awaited;
}

static void note(uint64_t *shortest, int64_t distance)
{
    if (distance >= 0 && (uint64_t)distance < *shortest)
        *shortest = (uint64_t)distance;
}

/* Every begin tells about one of the two latencies: the launch's if the device was idle, the
 * stream's if work was queued. */
static void note_shortest(struct deps *deps, const struct deps_activity *activity)
{
    uint32_t on = last_awaited(deps, activity);
    uint64_t awaited = on == DEPS_NONE ? 0 : deps->activities[on].end;
    bool launched = deps_has_launch(activity);

    if (on != DEPS_NONE && (!launched || was_queued(deps, activity, awaited)))
        note(&deps->shortest[deps_class(activity)], deps_distance(activity, awaited));
    else if (launched)
        note(&deps->shortest_launches[activity->launch_class],
             deps_distance(activity, deps->activities[activity->launch].begin));
}

/* A latency that was never seen is not known. */
static uint64_t known(uint64_t shortest)
{
    return shortest == UINT64_MAX ? 0 : shortest;
}

/* The awaited moment plus the shortest latency, but not later than the begin. */
static uint64_t arrival(const struct deps_activity *activity, uint64_t awaited, uint64_t shortest)
{
    int64_t distance = deps_distance(activity, awaited);

    if (distance < 0 || shortest >= (uint64_t)distance)
        return activity->begin;
    return awaited + shortest;
}

uint64_t deps_launch_arrival(const struct deps *deps, const struct deps_activity *activity)
{
    return arrival(activity, deps->activities[activity->launch].begin,
                   known(deps->shortest_launches[activity->launch_class]));
}

uint64_t deps_arrival(const struct deps *deps, const struct deps_activity *activity, uint32_t on)
{
    return arrival(activity, deps->activities[on].end, known(deps->shortest[deps_class(activity)]));
}

static int64_t lag(int64_t distance, uint64_t shortest, bool binds)
{
    return binds || distance < 0 || shortest >= (uint64_t)distance ? distance : (int64_t)shortest;
}

int64_t deps_launch_lag(const struct deps *deps, const struct deps_activity *activity)
{
    return lag(deps_distance(activity, deps->activities[activity->launch].begin),
               known(deps->shortest_launches[activity->launch_class]),
               activity->bound == DEPS_LAUNCH);
}

int64_t deps_lag(const struct deps *deps, const struct deps_activity *activity, uint32_t on)
{
    if (activity->bound != DEPS_LAUNCH)
        on = last_awaited(deps, activity);
    return lag(deps_distance(activity, deps->activities[on].end),
               known(deps->shortest[deps_class(activity)]), activity->bound != DEPS_LAUNCH);
}

static enum deps_reason reason_of_work(const struct deps *deps,
                                       const struct deps_activity *activity)
{
    uint32_t awaited = last_awaited(deps, activity);
    bool launched = deps_has_launch(activity);

    if (awaited == DEPS_NONE)
        return launched ? DEPS_LAUNCH : DEPS_UNKNOWN;
    if (launched && deps_launch_arrival(deps, activity) >= deps_arrival(deps, activity, awaited))
        return DEPS_LAUNCH;
    if (activity->flags & DEPS_NOT_ROOT)
        return DEPS_GRAPH_EDGE;
    return awaited == activity->stream_pred ? DEPS_STREAM_ORDER
                                            : (enum deps_reason)activity->cross_reason;
}

static enum deps_reason reason_of_call(const struct deps *deps, const struct deps_activity *call)
{
    if (call->cross != DEPS_NONE && deps->activities[call->cross].end > call->begin)
        return (enum deps_reason)call->cross_reason;
    return DEPS_PROGRAM_ORDER;
}

void deps_bind(struct deps *deps)
{
    for (unsigned i = 0; i < DEPS_CLASSES; i++)
        deps->shortest[i] = UINT64_MAX;
    for (uint32_t i = 0; i < deps->host_count; i++)
        deps->activities[i].bound = (uint8_t)reason_of_call(deps, &deps->activities[i]);
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        note_shortest(deps, &deps->activities[i]);
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        deps->activities[i].bound = (uint8_t)reason_of_work(deps, &deps->activities[i]);
}

static uint32_t piece_before(const struct deps *deps, uint32_t index)
{
    return index == deps->lanes[deps->activities[index].lane].first ? DEPS_NONE : index - 1;
}

uint32_t deps_bound_to(const struct deps *deps, uint32_t index)
{
    const struct deps_activity *activity = &deps->activities[index];

    switch ((enum deps_reason)activity->bound) {
    case DEPS_PROGRAM_ORDER:
        return piece_before(deps, index);
    case DEPS_LAUNCH:
        return activity->launch;
    case DEPS_STREAM_ORDER:
    case DEPS_GRAPH_EDGE:
        return last_awaited(deps, activity);
    case DEPS_EVENT:
    case DEPS_DEFAULT_STREAM:
    case DEPS_SYNCHRONISATION:
    case DEPS_IN_EFFECT:
        return activity->cross;
    case DEPS_UNKNOWN:
    case DEPS_REASONS:
    default:
        return DEPS_NONE;
    }
}

/* What blocked a device activity, minus what would have delayed it anyway. */
static uint64_t waiting_of_work(const struct deps *deps, const struct deps_activity *activity)
{
    uint64_t blocked_until;
    uint64_t anyway = 0;

    if (activity->bound != DEPS_EVENT && activity->bound != DEPS_DEFAULT_STREAM &&
        activity->bound != DEPS_GRAPH_EDGE)
        return 0;
    if (last_awaited(deps, activity) != activity->cross)
        return 0; /* a node that waits in its own lane */
    blocked_until = deps_arrival(deps, activity, activity->cross);
    if (deps_has_launch(activity))
        anyway = deps_launch_arrival(deps, activity);
    if (activity->stream_pred != DEPS_NONE &&
        deps_arrival(deps, activity, activity->stream_pred) > anyway)
        anyway = deps_arrival(deps, activity, activity->stream_pred);
    return anyway && blocked_until > anyway ? blocked_until - anyway : 0;
}

uint64_t deps_waiting(const struct deps *deps, const struct deps_activity *activity)
{
    uint64_t until;

    if (!deps_is_call(activity))
        return waiting_of_work(deps, activity);
    if (activity->cross == DEPS_NONE)
        return 0;
    until = deps->activities[activity->cross].end;
    if (until > activity->end)
        until = activity->end;
    return until > activity->begin ? until - activity->begin : 0;
}
