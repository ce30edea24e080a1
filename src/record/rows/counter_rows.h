/* The rows of launches that were profiled (counters/profiled.h). The writer's. */
#ifndef MP_RECORD_ROWS_COUNTER_ROWS_H
#define MP_RECORD_ROWS_COUNTER_ROWS_H

#include "record/counters/profiled.h"
#include "record/counters/samples.h"

struct recording;

/* Appends the rows of a launch if it is kept, and frees it. */
void profiled_append(struct profiled_store *store, struct recording *recording,
                     struct profiled_launch *launch);

/* The metrics of a plan as rows, once for each file; answers the id of the first, 0 for none. */
uint32_t profiled_define(struct profiled_store *store, struct recording *recording,
                         const struct metric_plan *plan);

/* ---- Samples of counters (counters/samples.h): the writer's ---- */

struct recording;

/* Appends the definitions of counters that this file has not. */
void sample_rows_define(struct sample_store *store, struct recording *recording);

/* Appends the samples of a batch that are in capture ranges, and frees it. */
void sample_rows_append(struct sample_store *store, struct recording *recording,
                        struct sample_batch *batch);

#endif
