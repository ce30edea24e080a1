/* Groups of neighbours, so that a picture of any zoom needs a few thousand boxes. */
#include "page/timeline/timeline.h"

#include "base/poison.h"

static uint64_t span_of(unsigned level)
{
    uint64_t span = 1;

    while (level--)
        span *= TIMELINE_FAN;
    return span;
}

uint32_t timeline_groups_at(uint32_t events, unsigned level)
{
    uint64_t span = span_of(level);

    return (uint32_t)((events + span - 1) / span);
}

unsigned timeline_levels_of(uint32_t events)
{
    unsigned levels = 0;

    while (timeline_groups_at(events, levels) > 1)
        levels++;
    return levels;
}

/* The name with the greatest sum among those of the events; clears the sums. */
static uint32_t take_largest(const struct timeline *timeline, const struct timeline_event *events,
                             uint64_t count, uint64_t *sums)
{
    uint32_t best = timeline->kinds[events[0].kind].name;

    for (uint64_t i = 0; i < count; i++) {
        uint32_t name = timeline->kinds[events[i].kind].name;

        if (sums[name] > sums[best])
            best = name;
    }
    for (uint64_t i = 0; i < count; i++)
        sums[timeline->kinds[events[i].kind].name] = 0;
    return best;
}

static struct timeline_group group_of(const struct timeline *timeline,
                                      const struct timeline_event *events, uint64_t count,
                                      uint64_t *sums)
{
    const struct timeline_event *last = &events[count - 1];
    struct timeline_group group = {.begin = events[0].begin, .end = last->begin + last->duration};

    for (uint64_t i = 0; i < count; i++) {
        group.busy += events[i].duration;
        sums[timeline->kinds[events[i].kind].name] += events[i].duration;
    }
    group.name = take_largest(timeline, events, count, sums);
    return group;
}

void timeline_level_fill(const struct timeline *timeline, const struct timeline_track *track,
                         unsigned level, uint64_t *sums, struct timeline_group *groups)
{
    const struct timeline_event *events = timeline->events + track->first;
    uint64_t span = span_of(level);

    for (uint64_t at = 0; at < track->count; at += span) {
        uint64_t count = track->count - at < span ? track->count - at : span;

        *groups++ = group_of(timeline, events + at, count, sums);
    }
}
