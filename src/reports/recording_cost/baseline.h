/* What a step takes when it is recorded and when it is not (MINIPROF_BASELINE): from the table
 * `step`, by the name that took most of the time.
 */
#ifndef MP_REPORTS_RECORDING_COST_BASELINE_H
#define MP_REPORTS_RECORDING_COST_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/common/statistics.h"
#include "profile/profile.h"

#define BASELINE_MIN 8 /* fewer steps of a kind tell nothing */

struct baseline_side {
    size_t count;
    struct statistics times; /* ns */
    uint64_t low, high;      /* the middle half of them lies between */
};

struct baseline {
    bool asked;   /* the trace was made with MINIPROF_BASELINE */
    size_t steps; /* of any name */
    char *name;   /* of those below; NULL without steps; owned */
    struct baseline_side recorded, unrecorded;
};

/* MP_ERR_MEMORY or MP_ERR_IO, with a text in *error. *baseline is to be freed whatever comes. */
enum mp_status baseline_build(const struct profile *profile, struct baseline *baseline,
                              struct mp_error *error);

void baseline_free(struct baseline *baseline);

/* Whether there are enough steps of both kinds. */
bool baseline_is_known(const struct baseline *baseline);

#endif
