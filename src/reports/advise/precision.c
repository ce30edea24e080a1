/* low_precision: matrix kernels in FP32 or TF32, where 16 bits are usual.
 */
#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

/* 16 bits are half the bytes of 32, and tensor cores are twice as fast with them as with TF32
 * (NVIDIA's data sheets, A100 to H200). */
#define HALVED 0.5

static enum mp_status judge_precision(struct advise *advise, struct advise_finding *finding,
                                      struct advise_picked *picked)
{
    const struct deps *deps = advise->deps;
    uint64_t tf32 = 0;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        unsigned precision = advise->kinds[work->name].precision;

        if (!advise_is_kind(advise, i, KERNEL_MATRIX) ||
            (precision != KERNEL_TF32 && precision != KERNEL_FP32))
            continue;
        advise->edits[i] |= DEPS_EDIT_SCALED;
        advise_picked_add(advise, picked, i);
        if (precision == KERNEL_TF32 && advise_counts(advise, i))
            tf32 += work->end - work->begin;
    }
    if (!picked->count)
        return MP_OK;
    advise->factor = HALVED;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "the results stay good enough, and these kernels take half the time: half "
                       "the bytes, and tensor cores twice as fast as with TF32";
    advise_evidence(finding,
                    "%s matrix kernels an iteration in FP32 or TF32 take %s, %.1f %% of its "
                    "kernels' time; those in TF32: %s",
                    mp_figure(advise_mean(advise, picked->count)).text,
                    advise_time(advise_mean(advise, picked->time)).text,
                    advise_picked_percent(advise, picked),
                    advise_time(advise_mean(advise, tf32)).text);
    advise_number(finding, "tf32_ns", advise_mean(advise, tf32));
    advise_number(finding, "fp32_ns", advise_mean(advise, picked->time - tf32));
    advise_picked_tell(advise, picked, finding);
    return MP_OK;
}

enum mp_status advise_low_precision(struct advise *advise, struct advise_finding *finding)
{
    struct advise_picked picked;
    enum mp_status status = advise_picked_init(&picked, advise->deps);

    if (!status)
        status = judge_precision(advise, finding, &picked);
    advise_tally_free(&picked.tally);
    return status;
}
