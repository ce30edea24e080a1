/* Inside the family: costs by activity. */
#ifndef MP_REPORTS_RECORDING_COST_BUILD_H
#define MP_REPORTS_RECORDING_COST_BUILD_H

#include "reports/recording_cost/recording_cost.h"
#include "reports/replay/replay.h"

/* What each activity cost, into `less`, whose arrays have deps->count items. MP_ERR_MEMORY. */
enum mp_status recording_cost_by_activity(const struct deps *deps, const struct costs *costs,
                                          struct deps_less *less);

/* Built-in costs on a host of another speed: they are multiplied by what its launches take, divided
 * by what they take on the host that the costs are of. MP_ERR_MEMORY. */
enum mp_status recording_cost_scale_host(const struct deps *deps, struct costs *costs);

#endif
