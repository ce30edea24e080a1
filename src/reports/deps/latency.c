/* The shortest latency of each kind of step: docs/dependency-analysis.md, section 3.
 *
 * Every begin of a device activity tells about one of two latencies: that of its launch if the
 * device was idle, that of its stream if work was queued. A low percentile of them stands for the
 * shortest one, so that a single odd time moves nothing. The examples of a class stand in one
 * stretch of an array; a percentile is found digit by digit, in three passes over the stretch.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/deps/build.h"

#include "base/poison.h"

#define LOW_PERCENT 10 /* section 3 */

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
    int64_t distance;

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
    distance = deps_distance(activity, from);
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
