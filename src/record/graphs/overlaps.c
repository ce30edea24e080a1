/* Notes the kernel launches that may overlap their predecessor, by the attributes of their calls.
 */
#include "record/graphs/overlaps.h"

#include "record/core/state.h"
#include "record/cupti/subscriber.h"

#include "base/poison.h"

static bool is_overlapping(const CUlaunchConfig *config)
{
    for (unsigned i = 0; config && config->attrs && i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];

        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            attribute->value.programmaticStreamSerializationAllowed)
            return true;
    }
    return false;
}

void overlaps_launch(struct recorder *recorder, const CUpti_CallbackData *data)
{
    const cuLaunchKernelEx_params *call = data->functionParams;
    struct overlaps *overlaps = &recorder->overlaps;

    if (!call || !is_overlapping(call->config))
        return;
    atomic_store_explicit(&overlaps->any, true, memory_order_relaxed);
    atomic_store_explicit(&overlaps->ids[data->correlationId % OVERLAPS_SLOTS], data->correlationId,
                          memory_order_relaxed);
}

/* Where callbacks make the rows of `call`, it stays. */
void overlaps_leave(struct recorder *recorder, CUpti_CallbackId cbid)
{
    struct overlaps *overlaps = &recorder->overlaps;

    if (atomic_load_explicit(&overlaps->any, memory_order_relaxed) ||
        atomic_load_explicit(&overlaps->kept, memory_order_relaxed) ||
        atomic_fetch_add_explicit(&overlaps->seen, 1, memory_order_relaxed) < OVERLAPS_PATIENCE ||
        atomic_load(&recorder->cupti_state.calls_by_callback))
        return;
    subscriber_give_up(recorder, cbid);
}

void overlaps_stay(struct recorder *recorder)
{
    bool gone = overlaps_given_up(&recorder->overlaps);

    if (!atomic_exchange(&recorder->overlaps.kept, true) && gone &&
        atomic_load(&recorder->cupti_state.enabled))
        subscriber_take_back(recorder);
}
