/* Samples of counters as rows (counters/samples.h). The writer's. */
#ifndef MP_RECORD_DATA_SAMPLE_ROWS_H
#define MP_RECORD_DATA_SAMPLE_ROWS_H

#include "record/counters/samples.h"

struct recording;

/* Appends the definitions of counters that this file has not. */
void sample_rows_define(struct sample_store *store, struct recording *recording);

/* Appends the samples of a batch that lie in capture ranges, and frees it. */
void sample_rows_append(struct sample_store *store, struct recording *recording,
                        struct sample_batch *batch);

#endif
