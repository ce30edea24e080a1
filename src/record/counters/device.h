/* One sampled device: who measures which of its counters, and the samplers that do. */
#ifndef MP_RECORD_SAMPLING_DEVICE_H
#define MP_RECORD_SAMPLING_DEVICE_H

#include <stdbool.h>

struct sampling;
struct sampling_device;

/* Opens the samplers and says what they measure. NULL when memory is out. With `only_listed` the
 * sets are all that is made. */
struct sampling_device *sampling_device_open(struct sampling *sampling, unsigned device,
                                             bool only_listed);

void sampling_device_start(struct sampling *sampling, struct sampling_device *device);

/* Hands over what has been sampled. */
void sampling_device_drain(struct sampling *sampling, struct sampling_device *device);

void sampling_device_stop(struct sampling *sampling, struct sampling_device *device);

#endif
