/* Matches CUPTI's records with the launches that they are of: which launches have none yet, and how
 * far the records are behind the program.
 */
#include "record/cupti/launch_matching.h"

#include <stdlib.h>
#include <string.h>

#include "base/settings/time_limits.h"

#include "base/poison.h"

/* ---- Launches and their records ----
 *
 * Compares launches with the records of kernels, id by id, in a window that moves on.
 */

enum { LAUNCHED = 1, WORKED = 2 };

void answers_open(struct answers *answers, answers_say *say, void *context)
{
    *answers = (struct answers){.say = say, .context = context};
    answers->notes = calloc(ANSWERS_WINDOW, 1);
}

void answers_close(struct answers *answers)
{
    free(answers->notes);
    mp_map_free(&answers->missing);
    *answers = (struct answers){.notes = NULL};
}

void answers_restart(struct answers *answers)
{
    mp_map_free(&answers->missing);
    answers->missing = (struct mp_map){.slots = NULL};
    if (answers->notes && answers->until != answers->from)
        memset(answers->notes, 0, ANSWERS_WINDOW);
    answers->from = answers->until;
}

/* The oldest id leaves the window. */
static void leave(struct answers *answers)
{
    uint64_t id = answers->from++;
    uint8_t *note = &answers->notes[id % ANSWERS_WINDOW];

    if (*note == LAUNCHED) {
        answers->say(answers->context, id, 1);
        if (answers->missing.count < ANSWERS_KEPT_IDS)
            (void)mp_map_put(&answers->missing, id, 0); /* without memory it stays missing */
    }
    *note = 0;
}

/* Moves the window so that the id is in it; false when it has left. */
static bool reach(struct answers *answers, uint64_t id)
{
    if (!answers->notes || !id)
        return false;
    if (!answers->until)
        answers->from = answers->until = id > ANSWERS_WINDOW / 2 ? id - ANSWERS_WINDOW / 2 : 1;
    if (id >= answers->until + ANSWERS_WINDOW) {
        answers_end(answers);
        answers->from = answers->until = id;
    }
    while (id >= answers->from + ANSWERS_WINDOW)
        leave(answers);
    if (id >= answers->until)
        answers->until = id + 1;
    return id >= answers->from;
}

void answers_launch(struct answers *answers, uint64_t correlation)
{
    if (reach(answers, correlation))
        answers->notes[correlation % ANSWERS_WINDOW] |= LAUNCHED;
}

void answers_work(struct answers *answers, uint64_t correlation)
{
    if (reach(answers, correlation)) {
        answers->notes[correlation % ANSWERS_WINDOW] |= WORKED;
    } else if (mp_map_get(&answers->missing, correlation) != MP_MAP_ABSENT) {
        mp_map_remove(&answers->missing, correlation);
        answers->say(answers->context, correlation, -1);
    }
}

void answers_end(struct answers *answers)
{
    while (answers->notes && answers->from < answers->until)
        leave(answers);
}

/* ---- Lag ----
 *
 * How far records are behind launches. Launches without a record age until one arrives; graphs
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
