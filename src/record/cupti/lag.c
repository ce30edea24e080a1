/* How far records are behind launches. Launches without a record age until one arrives; graphs
 * that may have no work do not count.
 */
#include "record/cupti/lag.h"

#include "base/settings/time_limits.h"

#include "base/poison.h"

void lag_open(struct lag *lag)
{
    *lag = (struct lag){.oldest = UINT64_MAX};
}

void lag_restart(struct lag *lag)
{
    lag->oldest = UINT64_MAX;
}

void lag_launch(struct lag *lag, bool graph, uint64_t begin, uint64_t correlation)
{
    if (begin <= lag->work_end || correlation <= lag->captured || (graph && lag->silent_graphs))
        return;
    if (begin < lag->oldest)
        lag->oldest = begin;
    if (begin > lag->newest)
        lag->newest = begin;
}

void lag_come(struct lag *lag, uint64_t end)
{
    lag->work_end = end;
    if (lag->oldest > end)
        return;
    if (lag->judged > end)
        lag->oldest = end;
    else
        lag->oldest = lag->newest > end ? lag->newest : UINT64_MAX;
}

uint64_t lag_look(struct lag *lag)
{
    bool waits = lag->work_end && lag->judged > lag->oldest;
    uint64_t late = waits ? lag->judged - lag->oldest : 0;
    bool is_behind = late >= mp_time_limit_ns(MP_TIME_LAG);
    bool says = is_behind && !lag->lasts &&
                (!lag->said || lag->judged - lag->over >= mp_time_limit_ns(MP_TIME_LAG_AGAIN));

    if (is_behind && late > lag->max)
        lag->max = late;
    if (lag->lasts && !is_behind)
        lag->over = lag->newest;
    lag->lasts = is_behind;
    lag->said |= says;
    lag->judged = lag->newest;
    return says ? late : 0;
}
