/* Whether CUDA has started, and the contexts that exist now: they are synchronised before the last
 * flush. Each function may run on any thread.
 */
#ifndef MP_RECORD_CUPTI_CONTEXTS_H
#define MP_RECORD_CUPTI_CONTEXTS_H

#include <cuda.h>
#include <pthread.h>
#include <stdint.h>

#define MOST_CONTEXTS_HELD 64u

struct recorder;

struct context_list {
    pthread_mutex_t lock; /* of all below */
    CUcontext items[MOST_CONTEXTS_HELD];
    uint32_t count;
};

/* CUDA is initialised: CUPTI has reported it, or attach.c has found it out. */
void contexts_cuda_is_ready(struct recorder *recorder);

/* A context exists. */
void contexts_hold(struct recorder *recorder, CUcontext context);

/* How many there are. */
uint32_t contexts_count(struct context_list *contexts);

/* It is about to be destroyed. */
void contexts_forget(struct context_list *contexts, CUcontext context);

#endif
