/* Sampled counters of the last interval: the mean of the samples that came in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/live/live.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

enum mp_status live_take_counters(struct live *live, const struct mp_batch *batch)
{
    const struct mp_counter_columns counters = mp_counter_columns(batch->columns);

    if (!live->counters)
        live->counters = calloc(LIVE_MAX_COUNTERS, sizeof *live->counters);
    if (!live->counters)
        return MP_ERR_MEMORY;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t id = counters.id[row], unit = counters.unit[row], step = counters.step[row];
        struct live_counter *counter = &live->counters[id % LIVE_MAX_COUNTERS];

        if (id >= LIVE_MAX_COUNTERS)
            continue;
        *counter = (struct live_counter){
            .device = counters.device[row],
            .name = counters.name[row],
            .unit = unit <= METRIC_UNIT_CELSIUS ? (enum metric_unit)unit : METRIC_UNIT_NONE,
            .mean = (double)NAN};
        memcpy(&counter->step, &step, sizeof step);
        if (counters.source[row])
            live_device_reach(live, counter->device);
    }
    return MP_OK;
}

void live_take_samples(struct live *live, const struct mp_batch *batch)
{
    const struct mp_sample_columns sample = mp_sample_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows && live->counters; row++) {
        uint64_t id = sample.counter[row];
        double length = (double)sample.length[row], value;

        if (id >= LIVE_MAX_COUNTERS || !live->counters[id].name)
            continue;
        value = sampled_unpack(sample.value[row], live->counters[id].step);
        if (!isfinite(value))
            continue;
        live->counters[id].sum += value * length;
        live->counters[id].time += length;
    }
}

void live_counters_tick(struct live *live)
{
    for (size_t i = 0; i < LIVE_MAX_COUNTERS && live->counters; i++) {
        struct live_counter *counter = &live->counters[i];

        if (counter->time > 0)
            counter->mean = counter->sum / counter->time;
        counter->sum = counter->time = 0;
    }
}

const struct live_counter *live_next_counter(const struct live *live, uint64_t device,
                                             size_t *position)
{
    while (live->counters && *position < LIVE_MAX_COUNTERS) {
        const struct live_counter *counter = &live->counters[(*position)++];

        if (counter->name && counter->device == device && isfinite(counter->mean))
            return counter;
    }
    return NULL;
}
