/* What the flusher does in CUPTI for the writer: it flushes complete buffers, and at times
 * registers the clock again. This is apart from core/flusher.c, which knows the thread and nothing
 * of CUPTI.
 */
#include "record/cupti/flush.h"

#include "record/cupti/gpu.h"

#include "base/poison.h"

void flush_count_drops(struct gpu *gpu)
{
    struct flusher *flusher = &gpu->flusher;
    bool on = atomic_load(&gpu->core.enabled);
    size_t dropped = 0;

    if (gpu->cupti.dropped_records(NULL, 0, &dropped) == CUPTI_SUCCESS)
        atomic_fetch_add(on ? &flusher->dropped : &flusher->dropped_between, dropped);
}

static void flush(struct gpu *gpu)
{
    if (!flusher_may_flush(gpu))
        return;
    gpu->cupti.flush_all(0);
    if (atomic_load(&gpu->flusher.forced))
        gpu->cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    flush_count_drops(gpu);
}

/* Not while another client has CUPTI: this would take away its clock. And only while the kinds are
 * on: clock_then_off in quirks.def. */
bool flush_may_give_clock(struct gpu *gpu, uint64_t answers)
{
    return core_is_recording(&gpu->core) && !atomic_load(&gpu->flusher.forced) &&
           atomic_load(&gpu->core.enabled) && flusher_may_flush(gpu) && clients_hold(gpu, answers);
}

void flush_buffers(struct gpu *gpu, gpu_switch_alone *alone)
{
    uint64_t answers = clients_answers(gpu);

    flush(gpu);
    if (atomic_exchange(&gpu->flusher.gives_clock, false) && flush_may_give_clock(gpu, answers))
        alone(gpu, activity_give_clock);
}
