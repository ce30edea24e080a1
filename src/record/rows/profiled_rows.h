/* The rows of launches that were profiled (counters/profiled.h). The writer's. */
#ifndef MP_RECORD_DATA_PROFILED_ROWS_H
#define MP_RECORD_DATA_PROFILED_ROWS_H

#include "record/counters/profiled.h"

struct recording;

/* Appends the rows of a launch if it is kept, and frees it. */
void profiled_append(struct profiled_store *store, struct recording *recording,
                     struct profiled_launch *launch);

/* The metrics of a plan as rows, once for each file; answers the id of the first, 0 for none. */
uint32_t profiled_define(struct profiled_store *store, struct recording *recording,
                         const struct metric_plan *plan);

#endif
