/* Which of the wished counters CUPTI can count in one pass on a device. */
#ifndef MP_RECORD_SAMPLING_PM_CHOOSE_H
#define MP_RECORD_SAMPLING_PM_CHOOSE_H

#include "record/counters/profiler_host.h"
#include "record/counters/wishes.h"

/* What is chosen: names for CUPTI, and the image that they make. */
struct pm_choice {
    const char *names[SAMPLES_MAX_COUNTERS]; /* point into the set, or static */
    size_t count;
    void *host; /* CUPTI's, with all of the names */
    uint8_t *config;
    size_t config_bytes;
};

/* Adds to `set`, which is empty, what fits. MP_ERR_UNSUPPORTED, MP_ERR_MEMORY. The choice is empty
 * when nothing does. */
enum mp_status pm_choose(struct pm_choice *choice, const struct profiler_chip_info *chip,
                         struct sample_plan *plan, struct sample_set *set, struct mp_error *error);

void pm_choice_close(struct pm_choice *choice, const struct profiler_api *api);

#endif
