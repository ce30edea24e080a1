/* Compares launches with the records of kernels, id by id, in a window that moves on. */
#include "record/cupti/answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

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
