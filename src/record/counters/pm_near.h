/* What a mistaken name of one of CUPTI's metrics was probably meant to be. */
#ifndef MP_RECORD_SAMPLING_PM_NEAR_H
#define MP_RECORD_SAMPLING_PM_NEAR_H

#include "base/metrics/table.h"
#include "record/counters/profiler_host.h"

/* Whether the chip has the metric, whatever it goes with. */
bool pm_is_known(const struct profiler_chip_info *chip, const char *name);

/* Writes the name of a metric that the chip has; false, and an empty name, when none is near. */
bool pm_near(const struct profiler_chip_info *chip, const char *name, char near[METRIC_NAME_BYTES]);

#endif
