/* What several rounds say together. */
#ifndef MP_CALIBRATE_SPREAD_H
#define MP_CALIBRATE_SPREAD_H

#include <stddef.h>

#include "calibrate/calibrate.h"

/* Medians, least and greatest of 1 to CALIBRATE_MAX_ROUNDS rounds; a cost below 0 is 0. */
void calibration_sum_up(struct costs *rounds, size_t count, struct calibration *result);

#endif
