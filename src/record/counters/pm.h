/* PM sampling of one device: the counters that fit into one pass, set up, started, emptied.
 *
 * The sampling thread's. Times of samples come from CUPTI, whose clock need not be ours although
 * ours is registered: pm_drain finds out which clock it is, and moves the times to the trace's.
 */
#ifndef MP_RECORD_SAMPLING_PM_H
#define MP_RECORD_SAMPLING_PM_H

#include "record/counters/pm_api.h"
#include "record/counters/wishes.h"

struct pm_sampler;

/* Chooses what CUPTI can count together of the wishes that nobody measures yet, in their order, and
 * enters it into `plan`. MP_ERR_UNSUPPORTED with the reason; *made is then NULL. It is also NULL
 * when CUPTI has none of them. With `only_listed` nothing is set up: the set tells what there is.
 * Takes up to hundreds of ms. */
enum mp_status pm_open(struct pm_sampler **made, const struct pm_api *api, unsigned device,
                       uint64_t interval, struct sample_plan *plan, bool only_listed,
                       struct mp_error *error);

/* Of the sampler; the caller publishes it. */
struct sample_set *pm_set(struct pm_sampler *sampler);

enum mp_status pm_start(struct pm_sampler *sampler, struct mp_error *error);

/* Hands over the samples that there are. */
void pm_drain(struct pm_sampler *sampler, struct sample_store *store);

/* Stops, and hands over the last samples. */
void pm_stop(struct pm_sampler *sampler, struct sample_store *store);

bool pm_is_running(const struct pm_sampler *sampler);

#endif
