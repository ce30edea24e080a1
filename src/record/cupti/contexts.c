/* The contexts that exist: CUPTI's callbacks report them, or attach.c finds them. This file also
 * does what is due when CUDA starts, and when the first context is made.
 */
#include "record/cupti/contexts.h"

#include "record/core/state.h"

#include "base/poison.h"

static void hold_context(struct context_list *contexts, CUcontext context)
{
    uint32_t i = 0;

    pthread_mutex_lock(&contexts->lock);
    while (i < contexts->count && contexts->items[i] != context)
        i++;
    if (i == contexts->count && i < MOST_CONTEXTS_HELD)
        contexts->items[contexts->count++] = context;
    pthread_mutex_unlock(&contexts->lock);
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
    hold_context(&recorder->cuda.contexts, context);
    if (atomic_exchange(&recorder->cuda.context_made, true))
        return;
    recorder->jobs.at_exit_again(recorder);
    activity_configure_unified(recorder);
}
