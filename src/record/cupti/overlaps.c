/* Notes the kernel launches that may overlap their predecessor, by the attributes of their calls.
 */
#include "record/cupti/overlaps.h"

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

void overlaps_launch(struct overlaps *overlaps, const CUpti_CallbackData *data)
{
    const cuLaunchKernelEx_params *call = data->functionParams;

    if (!call || !is_overlapping(call->config))
        return;
    atomic_store_explicit(&overlaps->any, true, memory_order_relaxed);
    atomic_store_explicit(&overlaps->ids[data->correlationId % OVERLAPS_SLOTS], data->correlationId,
                          memory_order_relaxed);
}

bool overlaps_leave(struct overlaps *overlaps)
{
    return !atomic_load_explicit(&overlaps->any, memory_order_relaxed) &&
           !atomic_load_explicit(&overlaps->kept, memory_order_relaxed) &&
           atomic_fetch_add_explicit(&overlaps->seen, 1, memory_order_relaxed) >= OVERLAPS_PATIENCE;
}

bool overlaps_stay(struct overlaps *overlaps)
{
    bool gone = overlaps_given_up(overlaps);

    return !atomic_exchange(&overlaps->kept, true) && gone;
}
