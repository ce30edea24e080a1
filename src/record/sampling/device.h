/* One sampled device: who measures which of its counters, and the samplers that do. */
#ifndef MP_RECORD_SAMPLING_DEVICE_H
#define MP_RECORD_SAMPLING_DEVICE_H

#include <stdbool.h>

struct recorder;
struct sampling_device;

/* Opens the samplers and says what they measure. NULL when memory is out. With `only_listed` the
 * sets are all that is made. */
struct sampling_device *sampling_device_open(struct recorder *recorder, unsigned device,
                                             bool only_listed);

void sampling_device_start(struct recorder *recorder, struct sampling_device *device);

/* Hands over what has been sampled. */
void sampling_device_drain(struct recorder *recorder, struct sampling_device *device);

void sampling_device_stop(struct recorder *recorder, struct sampling_device *device);

#endif
