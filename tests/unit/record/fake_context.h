/* A driver with one context, which is idle after so many looks. It counts what is done to it. */
#ifndef TESTS_UNIT_RECORD_FAKE_CONTEXT_H
#define TESTS_UNIT_RECORD_FAKE_CONTEXT_H

#include "record/cupti/cupti_api.h"

#define FAKE_CONTEXT ((CUcontext)(uintptr_t)0x10)
#define FAKE_NEVER   UINT32_MAX

static struct {
    uint32_t idle_after; /* looks that find it busy, FAKE_NEVER: it is never idle */
    CUresult record;     /* the answer of cuCtxRecordEvent */
    CUresult ended;      /* that of cuEventQuery in the end */
    uint32_t pushed, popped, created, destroyed, looks;
} fake_context;

static CUresult fake_get_current(CUcontext *context)
{
    *context = FAKE_CONTEXT;
    return CUDA_SUCCESS;
}

static CUresult fake_push(CUcontext context)
{
    fake_context.pushed += context == FAKE_CONTEXT;
    return context == FAKE_CONTEXT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult fake_pop(CUcontext *context)
{
    *context = FAKE_CONTEXT;
    fake_context.popped++;
    return CUDA_SUCCESS;
}

static CUresult fake_create_event(CUevent *event, unsigned flags)
{
    fake_context.created += flags == CU_EVENT_DISABLE_TIMING;
    *event = (CUevent)(uintptr_t)0x20;
    return CUDA_SUCCESS;
}

static CUresult fake_destroy_event(CUevent event)
{
    (void)event;
    fake_context.destroyed++;
    return CUDA_SUCCESS;
}

static CUresult fake_query_event(CUevent event)
{
    (void)event;
    if (fake_context.looks++ < fake_context.idle_after)
        return CUDA_ERROR_NOT_READY;
    return fake_context.ended;
}

static CUresult fake_record_context(CUcontext context, CUevent event)
{
    (void)context;
    (void)event;
    return fake_context.record;
}

static void fake_context_use(struct driver_api *driver, uint32_t idle_after)
{
    memset(&fake_context, 0, sizeof(fake_context));
    fake_context.idle_after = idle_after;
    driver->get_current = fake_get_current;
    driver->push_context = fake_push;
    driver->pop_context = fake_pop;
    driver->create_event = fake_create_event;
    driver->destroy_event = fake_destroy_event;
    driver->query_event = fake_query_event;
    driver->record_context = fake_record_context;
}

#endif
