/* Rows of sampled counters in the scene of deps_fixture.h; times in us. */
#ifndef MP_TESTS_COUNTERS_FIXTURE_H
#define MP_TESTS_COUNTERS_FIXTURE_H

#include <string.h>

#include "base/metrics/sampled.h"
#include "unit/layers/iterations_fixture.h"

#define COUNTER_STEP 0.1

static inline void put_counter(uint64_t id, uint64_t device, const char *name, uint64_t source)
{
    struct mp_row_counter row = {.id = id,
                                 .device = device,
                                 .name = put_string(name),
                                 .source = source,
                                 .unit = MP_metric_unit_percent,
                                 .interval = (uint64_t)10 * US};
    double step = COUNTER_STEP;

    memcpy(&row.step, &step, sizeof step);
    mp_append_counter(scene.writer, &row);
}

/* The mean of the `length` us before `end`. */
static inline void put_sample(uint64_t counter, uint64_t end, uint64_t length, double value)
{
    mp_append_sample(scene.writer,
                     &(struct mp_row_sample){.counter = counter,
                                             .time = end * US,
                                             .length = length * US,
                                             .value = sampled_pack(value, COUNTER_STEP)});
}

#endif
