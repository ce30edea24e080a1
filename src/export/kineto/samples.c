/* Sampled counters: one counter event a sample, below its GPU, as for metrics of kernels. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/common/samples.h"
#include "export/kineto/state.h"

#include "base/poison.h"

static enum mp_status write_sample(void *context, const struct export_sample *sample)
{
    struct events *events = context;
    const struct export_text name = {.text = sample->name, .bytes = strlen(sample->name)};
    char place[64];

    snprintf(place, sizeof place, ",\"pid\":\"GPU %" PRIu64 " Counters\",\"tid\":0",
             sample->device);
    event_begin(events, 'C', "hardware_counters");
    event_name(events, &name);
    event_literal(events, place);
    event_time(events, sample->start);
    event_args(events);
    event_real(events, "", sample->value);
    event_end(events);
    return events->text.status;
}

enum mp_status kineto_write_samples(struct kineto *kineto, struct mp_error *error)
{
    return export_samples(kineto->process, write_sample, &kineto->events, error);
}
