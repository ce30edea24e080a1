/* CPU time of threads that made no call for long, by where they were. */
#include "reports/stacks/build.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

void stacks_weigh_samples(struct stacks_making *making)
{
    struct stacks_result *result = making->result;

    result->sample_count = making->samples.count;
    for (size_t i = 0; i < making->samples.count; i++) {
        const struct host_sample *sample = &making->samples.items[i];

        if (making->range && !range_has_call(making->range, sample->time))
            continue;
        stacks_weights_of(making, sample->stack)->sampled += sample->computing;
        if (sample->gil == MP_gil_held)
            result->gil_held += sample->computing;
    }
}
