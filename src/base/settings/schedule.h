/* MINIPROF_SCHEDULE: which steps of a program are kept, as torch.profiler.schedule decides it.
 *
 *     skip | wait warmup active | wait warmup active | ...      `repeat` cycles; 0: for ever
 *
 * The active steps of a cycle are one capture range.
 */
#ifndef MP_BASE_SETTINGS_SCHEDULE_H
#define MP_BASE_SETTINGS_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct mp_schedule {
    uint32_t skip;   /* steps before the first cycle */
    uint32_t wait;   /* steps of a cycle of which nothing is recorded, ... */
    uint32_t warmup; /* ... that are recorded and dropped, ... */
    uint32_t active; /* ... that are kept; 1 at least */
    uint32_t repeat; /* cycles; 0 for ever */
};

enum mp_step_phase {
    MP_STEP_IDLE,   /* skipped or waiting */
    MP_STEP_WARMUP, /* recorded and dropped */
    MP_STEP_ACTIVE, /* kept */
    MP_STEP_LAST,   /* kept, and the last of its cycle */
    MP_STEP_OVER    /* all cycles are over */
};

/* Reads "skip=1,wait=1,warmup=1,active=3,repeat=1", in any order. `active` is required; each other
 * part is 0 if it is missing. For any other text returns false, with *schedule undefined. */
bool mp_schedule_parse(const char *text, struct mp_schedule *schedule);

/* Whether mp_schedule_parse takes it. */
bool mp_schedule_check(const char *text);

/* The phase of a step, counted from 0. */
enum mp_step_phase mp_schedule_phase(const struct mp_schedule *schedule, uint64_t step);

#endif
