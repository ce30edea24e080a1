/* What the program takes when nothing is recorded: measured, if the trace was made with
 * MINIPROF_BASELINE and has enough steps of both kinds, else estimated.
 */
#include "analyze/digest/build.h"

#include "base/poison.h"

static enum mp_status take_measured(const struct baseline *baseline, struct digest *digest)
{
    struct digest_undisturbed *undisturbed = &digest->undisturbed;

    undisturbed->how = UNDISTURBED_MEASURED;
    undisturbed->steps = baseline->unrecorded.count;
    undisturbed->p50 = baseline->unrecorded.times.p50;
    undisturbed->low = baseline->unrecorded.low;
    undisturbed->high = baseline->unrecorded.high;
    undisturbed->recorded = baseline->recorded.times.p50;
    return digest_copy(digest, baseline->name, &undisturbed->name);
}

enum mp_status digest_take_undisturbed(const struct digest_material *material,
                                       struct digest *digest)
{
    const struct baseline *baseline = &material->studied.baseline;
    const struct undisturbed *estimate = &material->studied.undisturbed;
    struct digest_undisturbed *undisturbed = &digest->undisturbed;

    undisturbed->asked = baseline->asked;
    if (baseline->asked && baseline_is_known(baseline))
        return take_measured(baseline, digest);
    undisturbed->how = estimate->source;
    undisturbed->p50 = estimate->undisturbed;
    undisturbed->recorded = estimate->recorded;
    return MP_OK;
}
