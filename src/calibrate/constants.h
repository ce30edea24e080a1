/* From what was measured to what recording costs. */
#ifndef MP_CALIBRATE_CONSTANTS_H
#define MP_CALIBRATE_CONSTANTS_H

#include "calibrate/measures.h"
#include "profile/costs/costs.h"

/* The costs of one round: a recorded probe against a bare one. They may be below 0. */
void constants_find(const struct measured *bare, const struct measured *recorded,
                    struct costs *costs);

#endif
