/* The contexts that exist: CUPTI's callbacks report them, or attach.c finds them. This file also
 * does what is due when CUDA starts, and when the first context is made.
 */
#include "record/cupti/contexts.h"

#include "record/core/state.h"

#include "base/poison.h"

/* Returns how many there are then. */
static uint32_t hold_context(struct context_list *contexts, CUcontext context)
{
    uint32_t i = 0, count;

    pthread_mutex_lock(&contexts->lock);
    while (i < contexts->count && contexts->items[i] != context)
        i++;
    if (i == contexts->count && i < MOST_CONTEXTS_HELD)
        contexts->items[contexts->count++] = context;
    count = contexts->count;
    pthread_mutex_unlock(&contexts->lock);
    return count;
}

void contexts_forget(struct context_list *contexts, CUcontext context)
{
    uint32_t i;

    pthread_mutex_lock(&contexts->lock);
    for (i = 0; i < contexts->count; i++)
        if (contexts->items[i] == context)
            contexts->items[i--] = contexts->items[--contexts->count];
    pthread_mutex_unlock(&contexts->lock);
}

void contexts_cuda_is_ready(struct recorder *recorder)
{
    atomic_store(&recorder->cuda.ready, true);
    recorder->jobs.at_exit_again(recorder);
    activity_configure_unified(recorder);
}

void contexts_hold(struct recorder *recorder, CUcontext context)
{
    if (hold_context(&recorder->cuda.contexts, context) > 1 &&
        !atomic_exchange(&recorder->cuda.several_contexts, true))
        activity_expect_peer_copies(recorder);
    if (atomic_exchange(&recorder->cuda.context_made, true))
        return;
    recorder->jobs.at_exit_again(recorder);
    activity_configure_unified(recorder);
}

uint32_t contexts_count(struct context_list *contexts)
{
    uint32_t count;

    pthread_mutex_lock(&contexts->lock);
    count = contexts->count;
    pthread_mutex_unlock(&contexts->lock);
    return count;
}
