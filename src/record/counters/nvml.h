/* Readings of NVML, and GPM's metrics where the GPU has them, of one device, every 100 ms.
 *
 * Any user may read them. They are what is left where PM sampling cannot be had, and the only
 * source of power, temperatures and the reasons of low clocks. The sampling thread's.
 */
#ifndef MP_RECORD_SAMPLING_NVML_H
#define MP_RECORD_SAMPLING_NVML_H

#include "record/counters/nvml_api.h"
#include "record/counters/wishes.h"

struct nvml_sampler;

/* Takes what nobody measures yet, and enters it into `plan`; `reason` (static, or of a set) is why
 * nobody better measures what GPM does. NULL when NVML has none of it, or no memory is left.
 * `bus_id` is the device's. *error says in any case why NVML has no more. Whether GPM works shows
 * with its first sample only. */
struct nvml_sampler *nvml_open(const struct nvml_api *api, unsigned device, const char *bus_id,
                               struct sample_plan *plan, const char *reason,
                               struct mp_error *error);

/* Its sets, NULL for none; the caller publishes them. */
struct sample_set *nvml_readings(struct nvml_sampler *sampler);
struct sample_set *nvml_gpm(struct nvml_sampler *sampler);

/* From here on time is covered. */
void nvml_start(struct nvml_sampler *sampler);

/* Reads if 100 ms have passed; `last`: the time ends here, so readings cover it to now. */
void nvml_tick(struct nvml_sampler *sampler, struct sample_store *store, bool last);

#endif
