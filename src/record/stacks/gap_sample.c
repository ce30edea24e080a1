/* A sample, as the handler takes it: from here on only what is async-signal-safe. */
#include "record/core/clock.h"
#include "record/core/core.h"
#include "record/stacks/gap_thread.h"
#include "record/stacks/stacks.h"

#include "base/poison.h"

/* Fills places and what is known of the GIL. */
static void walk_now(struct stacks *stacks, struct gap_thread *thread, struct gap_sample *sample)
{
    const struct python *python = &stacks->python;
    struct walk *walk = &thread->walk;
    uintptr_t state;
    uint32_t count;

    if (atomic_load_explicit(&python->state, memory_order_acquire) != PYTHON_READY)
        return;
    state = python_thread_state_now(python);
    if (!state)
        return;
    if (python->holds_gil)
        sample->gil = python->holds_gil() ? GAP_GIL_HELD : GAP_GIL_FREE;
    count = walk_python(walk, python, NULL, state);
    if (walk->broken)
        return;
    for (uint32_t i = 0; i < count; i++)
        sample->places[i] = walk->places[i];
    sample->count = count;
}

void gaps_take(struct stacks *stacks, struct gap_thread *thread, uint64_t computing)
{
    uint32_t head = atomic_load_explicit(&thread->head, memory_order_relaxed);
    struct gap_sample *sample = &thread->samples[head % GAP_SAMPLES];

    if (head - atomic_load_explicit(&thread->tail, memory_order_acquire) == GAP_SAMPLES) {
        atomic_fetch_add_explicit(&stacks->gaps.lost, 1, memory_order_relaxed);
        return;
    }
    sample->time = mp_clock_now();
    sample->computing = computing;
    sample->tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    sample->gil = GAP_GIL_UNKNOWN;
    sample->count = 0;
    walk_now(stacks, thread, sample);
    atomic_store_explicit(&thread->head, head + 1, memory_order_release);
}
