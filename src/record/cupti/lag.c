/* See lag.h. */
#include "record/cupti/lag.h"

#include "base/poison.h"

void behind_open(struct behind *behind)
{
    *behind = (struct behind){.oldest = UINT64_MAX};
}

void behind_restart(struct behind *behind)
{
    behind->oldest = UINT64_MAX;
}

void behind_launch(struct behind *behind, bool graph, uint64_t begin, uint64_t correlation)
{
    if (begin <= behind->work_end || correlation <= behind->captured ||
        (graph && behind->silent_graphs))
        return;
    if (begin < behind->oldest)
        behind->oldest = begin;
    if (begin > behind->newest)
        behind->newest = begin;
}

void behind_come(struct behind *behind, uint64_t end)
{
    behind->work_end = end;
    if (behind->oldest > end)
        return;
    if (behind->judged > end)
        behind->oldest = end;
    else
        behind->oldest = behind->newest > end ? behind->newest : UINT64_MAX;
}

uint64_t behind_look(struct behind *behind)
{
    bool waits = behind->work_end && behind->judged > behind->oldest;
    uint64_t lag = waits ? behind->judged - behind->oldest : 0;
    bool is_behind = lag >= BEHIND_NS;
    bool says = is_behind && !behind->lasts &&
                (!behind->said || behind->judged - behind->over >= BEHIND_AGAIN_NS);

    if (is_behind && lag > behind->greatest)
        behind->greatest = lag;
    if (behind->lasts && !is_behind)
        behind->over = behind->newest;
    behind->lasts = is_behind;
    behind->said |= says;
    behind->judged = behind->newest;
    return says ? lag : 0;
}
