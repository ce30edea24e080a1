/* Matches CUPTI's records with the launches that they are of: which launches have none yet, and how
 * late the records come.
 */
#include "record/cupti/launch_matching.h"

#include <stdlib.h>
#include <string.h>

#include "base/settings/config.h"

#include "base/poison.h"

/* ---- Launches and their records, id by id, in a window that moves on ---- */

enum { LAUNCHED = 1, WORKED = 2 };

void matching_open(struct launch_matching *matching, matching_report *report, void *context)
{
    *matching = (struct launch_matching){.report = report, .context = context};
    matching->notes = calloc(MATCHING_WINDOW, 1);
}

void matching_close(struct launch_matching *matching)
{
    free(matching->notes);
    mp_map_free(&matching->missing);
    *matching = (struct launch_matching){.notes = NULL};
}

void matching_restart(struct launch_matching *matching)
{
    mp_map_free(&matching->missing);
    matching->missing = (struct mp_map){.slots = NULL};
    if (matching->notes && matching->until != matching->from)
        memset(matching->notes, 0, MATCHING_WINDOW);
    matching->from = matching->until;
}

/* The oldest id leaves the window. */
static void leave(struct launch_matching *matching)
{
    uint64_t id = matching->from++;
    uint8_t *note = &matching->notes[id % MATCHING_WINDOW];

    if (*note == LAUNCHED) {
        matching->report(matching->context, id, 1);
        if (matching->missing.count < MATCHING_KEPT_IDS)
            (void)mp_map_put(&matching->missing, id, 0); /* without memory it stays missing */
    }
    *note = 0;
}

/* Moves the window so that the id is in it; false when it has left. */
static bool reach(struct launch_matching *matching, uint64_t id)
{
    if (!matching->notes || !id)
        return false;
    if (!matching->until)
        matching->from = matching->until = id > MATCHING_WINDOW / 2 ? id - MATCHING_WINDOW / 2 : 1;
    if (id >= matching->until + MATCHING_WINDOW) {
        matching_end(matching);
        matching->from = matching->until = id;
    }
    while (id >= matching->from + MATCHING_WINDOW)
        leave(matching);
    if (id >= matching->until)
        matching->until = id + 1;
    return id >= matching->from;
}

void matching_launch(struct launch_matching *matching, uint64_t correlation)
{
    if (reach(matching, correlation))
        matching->notes[correlation % MATCHING_WINDOW] |= LAUNCHED;
}

void matching_record(struct launch_matching *matching, uint64_t correlation)
{
    if (reach(matching, correlation)) {
        matching->notes[correlation % MATCHING_WINDOW] |= WORKED;
    } else if (mp_map_get(&matching->missing, correlation) != MP_MAP_ABSENT) {
        mp_map_remove(&matching->missing, correlation);
        matching->report(matching->context, correlation, -1);
    }
}

void matching_end(struct launch_matching *matching)
{
    while (matching->notes && matching->from < matching->until)
        leave(matching);
}

/* ---- Lag ----
 *
 * How late records come. Launches without a record age until one arrives; graphs
 * that may have no work do not count.
 */

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
