/* Time, divided among the work that runs at once. */
#ifndef MP_REPORTS_COUNTERS_CROWD_H
#define MP_REPORTS_COUNTERS_CROWD_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct work_piece;

/* How much time one piece would have had up to each moment, had it run since the first one. */
struct crowd {
    uint64_t *times; /* begins and ends of all pieces, in order */
    double *parts;   /* ns */
    size_t count;
};

/* Of pieces that stand by their begins. MP_OK or MP_ERR_MEMORY; crowd_free may follow in any case.
 */
enum mp_status crowd_build(struct crowd *crowd, const struct work_piece *pieces, size_t count);

/* The ns that a piece has of the time between two moments at which it runs: half where another one
 * runs beside it. The parts of all pieces add up to the time in which anything runs. */
double crowd_part(const struct crowd *crowd, uint64_t from, uint64_t to);

void crowd_free(struct crowd *crowd);

#endif
