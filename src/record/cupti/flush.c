/* What the flusher does in CUPTI for the writer: it flushes complete buffers, and at times
 * registers the clock again. This is apart from core/flusher.c, which knows the thread and nothing
 * of CUPTI.
 */
#include "record/cupti/flush.h"

#include "record/core/state.h"

#include "base/poison.h"

void flush_count_drops(struct recorder *recorder)
{
    struct flusher *flusher = &recorder->flusher;
    bool on = atomic_load(&recorder->cupti_state.enabled);
    size_t dropped = 0;

    if (recorder->cupti.dropped_records(NULL, 0, &dropped) == CUPTI_SUCCESS)
        atomic_fetch_add(on ? &flusher->dropped : &flusher->dropped_between, dropped);
}

static void flush(struct recorder *recorder)
{
    if (!flusher_may_flush(recorder))
        return;
    recorder->cupti.flush_all(0);
    if (atomic_load(&recorder->flusher.forced))
        recorder->cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    flush_count_drops(recorder);
}

/* Not while another client has CUPTI: this would take away its clock. And only while the kinds are
 * on: clock_then_off in quirks.def. */
void flush_give_clock(struct recorder *recorder, uint64_t answers,
                      void (*how)(struct recorder *recorder))
{
    if (!recorder_is_recording(recorder) || atomic_load(&recorder->flusher.forced) ||
        !atomic_load(&recorder->cupti_state.enabled) || !flusher_may_flush(recorder))
        return;
    if (clients_hold(recorder, answers))
        recorder->jobs.switch_alone(recorder, how);
}

void flush_buffers(struct recorder *recorder)
{
    uint64_t answers = clients_answers(recorder);

    flush(recorder);
    if (atomic_exchange(&recorder->flusher.gives_clock, false))
        flush_give_clock(recorder, answers, activity_give_clock);
}
