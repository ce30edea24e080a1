/* Arrivals, what binds each activity, and the shortest latency of each kind of step, on which the
 * binding rests (docs/dependency-analysis.md, sections 3 and 4).
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

uint32_t deps_last_awaited(const struct deps *deps, const struct deps_activity *activity)
{
    uint32_t own = activity->own_lane;
    uint32_t other = activity->other_lane;

    if (activity->overlapped != DEPS_NONE)
        return activity->overlapped;
    if (own == DEPS_NONE || other == DEPS_NONE)
        return own == DEPS_NONE ? other : own;
    if (activity->flags & DEPS_NOT_ROOT) /* both are graph edges */
        return deps_ends_later(deps, other, own) ? other : own;
    return deps->activities[other].end > deps->activities[own].end ? other : own;
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
                   known(deps->launch_latencies[activity->launch_class].shortest));
}

uint64_t deps_arrival(const struct deps *deps, const struct deps_activity *activity, uint32_t on)
{
    return arrival(activity, deps->activities[on].end,
                   known(deps->latencies[deps_class(activity)].shortest));
}

static int64_t lag(int64_t distance, uint64_t shortest, bool binds)
{
    return binds || distance < 0 || shortest >= (uint64_t)distance ? distance : (int64_t)shortest;
}

int64_t deps_launch_lag(const struct deps *deps, const struct deps_activity *activity)
{
    return lag(deps_distance(activity, deps->activities[activity->launch].begin),
               known(deps->launch_latencies[activity->launch_class].shortest),
               activity->bound == DEPS_LAUNCH);
}

int64_t deps_lag(const struct deps *deps, const struct deps_activity *activity, uint32_t on)
{
    bool binds = activity->bound != DEPS_LAUNCH && activity->overlapped == DEPS_NONE;

    if (binds)
        on = deps_last_awaited(deps, activity);
    return lag(deps_distance(activity, deps->activities[on].end),
               known(deps->latencies[deps_class(activity)].shortest), binds);
}

static enum deps_reason reason_of_work(const struct deps *deps,
                                       const struct deps_activity *activity)
{
    uint32_t awaited = deps_last_awaited(deps, activity);
    bool launched = deps_has_launch(activity);

    if (awaited == DEPS_NONE)
        return launched ? DEPS_LAUNCH : DEPS_UNKNOWN;
    if (launched && activity->overlapped == DEPS_NONE &&
        deps_launch_arrival(deps, activity) >= deps_arrival(deps, activity, awaited))
        return DEPS_LAUNCH;
    if (awaited == activity->other_lane && activity->reason == DEPS_BY_TIME)
        return DEPS_BY_TIME;
    if (activity->flags & DEPS_NOT_ROOT)
        return DEPS_GRAPH_EDGE;
    return awaited == activity->own_lane || activity->overlapped != DEPS_NONE
               ? DEPS_STREAM_ORDER
               : (enum deps_reason)activity->reason;
}

/* Only the last piece of a wait is woken. */
static enum deps_reason reason_of_wait(const struct deps *deps, const struct deps_activity *wait)
{
    const struct deps_wait *how = deps_wait_of(deps, wait);

    return !(wait->flags & DEPS_CONTINUES) && how->waker != DEPS_NONE && how->woken > wait->begin
               ? DEPS_WOKEN
               : DEPS_PROGRAM_ORDER;
}

static enum deps_reason reason_of_call(const struct deps *deps, const struct deps_activity *call)
{
    if (call->kind == DEPS_WAIT)
        return reason_of_wait(deps, call);
    if (call->awaited != DEPS_NONE && deps->activities[call->awaited].end > call->begin)
        return (enum deps_reason)call->reason;
    return DEPS_PROGRAM_ORDER;
}

void deps_bind_calls(struct deps *deps)
{
    for (uint32_t i = 0; i < deps->host_count; i++)
        deps->activities[i].bound = (uint8_t)reason_of_call(deps, &deps->activities[i]);
}

/* Whether the launch or the stream may have held an activity up, and the trace has too few examples
 * of one of their latencies to tell: what is known leaves room for either to arrive last. */
static bool is_undecided(const struct deps *deps, const struct deps_activity *activity)
{
    uint32_t awaited = deps_last_awaited(deps, activity);

    if (!deps_has_launch(activity) || awaited == DEPS_NONE || activity->overlapped != DEPS_NONE)
        return false;
    if (deps_known_well(&deps->launch_latencies[activity->launch_class]) &&
        deps_known_well(&deps->latencies[deps_class(activity)]))
        return false;
    return deps->activities[activity->launch].begin <= deps_arrival(deps, activity, awaited) &&
           deps->activities[awaited].end <= deps_launch_arrival(deps, activity);
}

/* Looked for here, where all that it needs is at hand: first by the moments, then by when they
 * arrived. */
static bool is_late(const struct deps *deps, const struct deps_activity *work)
{
    uint32_t awaited = deps_last_awaited(deps, work);
    bool launched = deps_has_launch(work);
    uint64_t launch = launched ? deps->activities[work->launch].begin : 0;
    uint64_t other = awaited == DEPS_NONE ? 0 : deps->activities[awaited].end;

    if ((!launched && awaited == DEPS_NONE) || work->kind == DEPS_HOST_FUNCTION ||
        work->overlapped != DEPS_NONE || mp_max(launch, other) + DEPS_UNEXPLAINED_NS > work->begin)
        return false;
    launch = launched ? deps_launch_arrival(deps, work) : 0;
    other = awaited == DEPS_NONE ? 0 : deps_arrival(deps, work, awaited);
    return mp_max(launch, other) + DEPS_UNEXPLAINED_NS <= work->begin;
}

void deps_bind_work(struct deps *deps)
{
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        struct deps_activity *activity = &deps->activities[i];

        activity->bound = (uint8_t)reason_of_work(deps, activity);
        activity->flags &= (uint16_t)~DEPS_LATE;
        if (is_late(deps, activity))
            activity->flags |= DEPS_LATE;
        deps->counts.undecided += is_undecided(deps, activity);
    }
}

static uint32_t piece_before(const struct deps *deps, uint32_t index)
{
    return index == deps->lanes[deps->activities[index].lane].first ? DEPS_NONE : index - 1;
}

/* What the waker did then: the host function that it ran, or its last call or wait before. */
static uint32_t woken_by(const struct deps *deps, const struct deps_activity *wait)
{
    const struct deps_wait *how = deps_wait_of(deps, wait);

    return how->host_function != DEPS_NONE ? how->host_function : how->piece;
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
        return deps_last_awaited(deps, activity);
    case DEPS_EVENT:
    case DEPS_DEFAULT_STREAM:
    case DEPS_SYNCHRONISATION:
    case DEPS_IN_EFFECT:
    case DEPS_PEER:
    case DEPS_BY_TIME:
        return index < deps->host_count ? activity->awaited : activity->other_lane;
    case DEPS_WOKEN:
        return woken_by(deps, activity);
    case DEPS_UNKNOWN:
    case DEPS_REASONS:
    default:
        return DEPS_NONE;
    }
}

/* What blocked a device activity, minus what would have delayed it anyway. */
static uint64_t waiting_of_work(const struct deps *deps, const struct deps_activity *activity)
{
    uint64_t anyway = 0;

    if (activity->bound != DEPS_EVENT && activity->bound != DEPS_DEFAULT_STREAM &&
        activity->bound != DEPS_GRAPH_EDGE && activity->bound != DEPS_PEER &&
        activity->bound != DEPS_BY_TIME)
        return 0;
    uint32_t awaited = deps_last_awaited(deps, activity);
    if (deps->activities[awaited].lane == activity->lane)
        return 0; /* a node that waits in its own lane */
    uint64_t blocked_until = deps_arrival(deps, activity, awaited);
    if (deps_has_launch(activity))
        anyway = deps_launch_arrival(deps, activity);
    if (activity->own_lane != DEPS_NONE &&
        deps_arrival(deps, activity, activity->own_lane) > anyway)
        anyway = deps_arrival(deps, activity, activity->own_lane);
    return anyway && blocked_until > anyway ? blocked_until - anyway : 0;
}

uint64_t deps_waiting(const struct deps *deps, const struct deps_activity *activity)
{
    if (!deps_is_call(activity))
        return waiting_of_work(deps, activity);
    uint64_t until = deps_awaited_moment(deps, activity);
    if (activity->kind == DEPS_WAIT && activity->bound != DEPS_WOKEN &&
        !(activity->flags & DEPS_SLEEPS))
        until = activity->end;
    if (until > activity->end)
        until = activity->end;
    return until > activity->begin ? until - activity->begin : 0;
}

/* ---- Shortest latencies (section 3) ---- */

/* Every begin of a device activity is an example of one of two latencies: that of its launch if the
 * device was idle, that of its stream if work was queued. A low percentile of them stands for the
 * shortest one, so that a single odd time moves nothing. The examples of a class stand in one
 * stretch of an array; a percentile is found digit by digit, in three passes over the stretch. */
#define LOW_PERCENT 10

struct examples {
    struct deps *deps;
    uint32_t *distances; /* ns, or UINT32_MAX for more */
    size_t *next;        /* by class: where the next example goes; classes of streams first */
};

/* Whether the work was already launched when the last of what it awaited ended: its launching call
 * had returned. A call that waits returns later in any case, so for such a call its begin is taken.
 */
static bool was_queued(const struct deps *deps, const struct deps_activity *activity,
                       uint64_t awaited)
{
    const struct deps_activity *call = &deps->activities[activity->launch];
    const struct deps_activity *last = &deps->activities[call->last_of_call];

    return deps_call_waits(last) ? call->begin < awaited : last->end <= awaited;
}

/* Which class an activity is an example of, and its latency. False: of none. */
static bool example_of(const struct deps *deps, const struct deps_activity *activity, size_t *class,
                       uint32_t *latency)
{
    uint32_t on = deps_last_awaited(deps, activity);
    bool launched = deps_has_launch(activity);
    uint64_t from;

    if ((on == DEPS_NONE && !launched) || activity->overlapped != DEPS_NONE ||
        activity->kind == DEPS_TRANSFER)
        return false;
    if (on != DEPS_NONE && (!launched || was_queued(deps, activity, deps->activities[on].end))) {
        *class = deps_class(activity);
        from = deps->activities[on].end;
    } else {
        *class = DEPS_CLASSES + (size_t)activity->launch_class;
        from = deps->activities[activity->launch].begin;
    }
    int64_t distance = deps_distance(activity, from);
    *latency = distance < UINT32_MAX ? (uint32_t)distance : UINT32_MAX;
    return distance >= 0;
}

static struct deps_latency *latency_of(struct deps *deps, size_t class)
{
    return class < DEPS_CLASSES ? &deps->latencies[class]
                                : &deps->launch_latencies[class - DEPS_CLASSES];
}

/* ---- Percentiles ---- */

#define DIGITS     3
#define DIGIT_BITS 11
#define DIGIT      (1u << DIGIT_BITS)

/* The value with this rank from below, from 0. */
static uint32_t value_of_rank(const uint32_t *values, size_t count, size_t rank)
{
    uint32_t found = 0; /* its digits so far, */
    uint32_t known = 0; /* and which bits they are */

    for (unsigned digit = DIGITS; digit-- > 0;) {
        size_t counts[DIGIT] = {0};
        unsigned shift = digit * DIGIT_BITS;
        uint32_t at = 0;

        for (size_t i = 0; i < count; i++) {
            if ((values[i] & known) == found)
                counts[values[i] >> shift & (DIGIT - 1)]++;
        }
        while (rank >= counts[at])
            rank -= counts[at++];
        found |= at << shift;
        known |= (DIGIT - 1) << shift;
    }
    return found;
}

/* Nearest rank: the smallest value that `percent` of the values do not exceed. */
static uint32_t percentile(const uint32_t *values, size_t count, unsigned percent)
{
    return value_of_rank(values, count, (count * percent + 99) / 100 - 1);
}

static void sum_up(struct deps_latency *latency, const uint32_t *values)
{
    size_t count = latency->examples;

    latency->shortest = UINT64_MAX;
    if (!count)
        return;
    latency->shortest = count < DEPS_ENOUGH_EXAMPLES ? value_of_rank(values, count, 0)
                                                     : percentile(values, count, LOW_PERCENT);
    latency->p50 = percentile(values, count, 50);
    latency->p90 = percentile(values, count, 90);
}

/* ---- All classes ---- */

static void count_examples(struct deps *deps)
{
    for (size_t class = 0; class < deps->launch_classes.count; class ++)
        deps->launch_latencies[class].examples = 0;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        size_t class;
        uint32_t latency;

        if (example_of(deps, &deps->activities[i], &class, &latency))
            latency_of(deps, class)->examples++;
    }
}

static void take_examples(struct examples *examples)
{
    struct deps *deps = examples->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        size_t class;
        uint32_t latency;

        if (example_of(deps, &deps->activities[i], &class, &latency))
            examples->distances[examples->next[class]++] = latency;
    }
}

static size_t lay_out(struct examples *examples, size_t classes)
{
    size_t total = 0;

    for (size_t class = 0; class < classes; class ++) {
        examples->next[class] = total;
        total += latency_of(examples->deps, class)->examples;
    }
    return total;
}

enum mp_status deps_measure(struct deps *deps)
{
    size_t classes = DEPS_CLASSES + (size_t)deps->launch_classes.count;
    struct examples examples = {.deps = deps, .next = calloc(classes, sizeof *examples.next)};
    enum mp_status status = MP_ERR_MEMORY;

    for (unsigned class = 0; class < DEPS_CLASSES; class ++)
        deps->latencies[class] = (struct deps_latency){.kind = (uint8_t)(class % DEPS_KINDS),
                                                       .place = (uint8_t)(class / DEPS_KINDS)};
    count_examples(deps);
    if (examples.next)
        examples.distances = calloc(lay_out(&examples, classes) + 1, sizeof *examples.distances);
    if (examples.distances) {
        take_examples(&examples);
        for (size_t class = 0; class < classes; class ++) {
            struct deps_latency *latency = latency_of(deps, class);

            sum_up(latency, examples.distances + examples.next[class] - latency->examples);
        }
        status = MP_OK;
    }
    free(examples.distances);
    free(examples.next);
    return status;
}
