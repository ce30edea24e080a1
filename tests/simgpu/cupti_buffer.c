/*
 * cupti_buffer.c: the client's buffers: asking for them, filling them, giving them back.
 *
 * One buffer is open at a time, for all threads. It goes back when the next record does not fit,
 * or on a flush. One thread at a time fills (`filling`); the client's two callbacks run on that
 * thread without any lock held, as in CUPTI on the thread that called the driver or that flushes.
 */
#include "cupti_internal.h"

#include <string.h>

static struct {
    /* Another client may register its own while the recorder asks for what there is. */
    _Atomic(CUpti_BuffersCallbackRequestFunc) request;
    _Atomic(CUpti_BuffersCallbackCompleteFunc) complete;
    _Atomic bool zeroed; /* the client's buffers come zeroed */
    bool filling;
    pthread_t filler;
    uint8_t *buffer;
    size_t size, used;
    size_t records, max_records; /* in this buffer; no limit when max is 0 */
    size_t dropped;
} state;

static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

bool ct_hasBuffers(void)
{
    return state.request != NULL;
}

void ct_setZeroed(bool zeroed)
{
    state.zeroed = zeroed;
}

static void complete_buffer(void)
{
    uint8_t *buffer = state.buffer;

    state.buffer = NULL;
    if (buffer)
        state.complete(NULL, 0, buffer, state.size, state.used);
    simgpu_buffers_out = 0;
}

static bool request_buffer(void)
{
    uint8_t *buffer = NULL;
    size_t size = 0, max_records = 0;

    state.request(&buffer, &size, &max_records);
    if (!buffer || !size) {
        ct_faultNoBuffer();
        return false;
    }
    if (!state.zeroed)
        memset(buffer, 0, size);
    state.buffer = buffer;
    simgpu_buffers_out = 1;
    state.size = size;
    state.used = state.records = 0;
    state.max_records = max_records;
    return true;
}

static bool has_room(size_t bytes)
{
    return state.buffer && state.used + bytes <= state.size &&
           (!state.max_records || state.records < state.max_records);
}

static void store(const struct simgpu_activity *activity)
{
    size_t bytes = ct_recordSize(activity->kind);
    uint8_t record[CT_MAX_RECORD];

    if (!has_room(bytes)) {
        complete_buffer();
        ct_faultSlow("SIMGPU_BUFFER_SLEEP_MS");
        if (!request_buffer() || !has_room(bytes)) {
            state.dropped++;
            return;
        }
    }
    ct_encode(record, activity);
    memcpy(state.buffer + state.used, record, bytes);
    state.used += bytes;
    state.records++;
}

/* False when this thread is the filler already: a callback of the client called us. */
static bool begin_filling(void)
{
    bool mine;

    pthread_mutex_lock(&ct_lock);
    while (state.filling && !pthread_equal(state.filler, pthread_self()))
        pthread_cond_wait(&filled, &ct_lock);
    mine = !state.filling;
    state.filling = true;
    state.filler = pthread_self();
    pthread_mutex_unlock(&ct_lock);
    return mine;
}

static void end_filling(void)
{
    pthread_mutex_lock(&ct_lock);
    state.filling = false;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&ct_lock);
}

static void drain(uint64_t until)
{
    struct simgpu_activity activity;

    while (ct_takeRecord(until, &activity)) {
        ct_faultUnread(&activity);
        if (!ct_faultLost(&activity))
            store(&activity);
    }
}

/* What has not ended yet is delivered without times, and never again: so does CUPTI 13.0 (seen on
 * an H200). */
static void drain_forced(uint64_t now)
{
    struct simgpu_activity activity;

    while (ct_takeRecord(UINT64_MAX, &activity)) {
        if (activity.end > now)
            activity.start = activity.end = 0;
        ct_faultUnread(&activity);
        store(&activity);
    }
}

void ct_deliver(void)
{
    if (!ct_hasBuffers() || !begin_filling())
        return;
    drain(simgpu_horizon_ns());
    end_filling();
}

static CUptiResult flush_all(uint32_t flag)
{
    uint64_t now = simgpu_horizon_ns();

    if (!ct_hasBuffers())
        return CUPTI_SUCCESS;
    ct_faultSlow("SIMGPU_FLUSH_SLEEP_MS");
    if (!begin_filling())
        return CUPTI_ERROR_INVALID_OPERATION;
    drain(now);
    if (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
        drain_forced(now);
    complete_buffer();
    end_filling();
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
    CUptiResult result;

    simgpu_flushes_begun++;
    result = flush_all(flag);
    simgpu_flushes_ended++;
    return result;
}

/* CUPTI's timer would only return full buffers, which are returned at once here. */
CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t time)
{
    (void)time;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                               CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
    if (!funcBufferRequested || !funcBufferCompleted)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (ct_versionTwo())
        return CUPTI_ERROR_NOT_COMPATIBLE;
    ct_attach();
    pthread_mutex_lock(&ct_lock);
    state.request = funcBufferRequested;
    state.complete = funcBufferCompleted;
    simgpu_buffer_client = (void *)(uintptr_t)funcBufferRequested;
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId,
                                                       size_t *dropped)
{
    (void)context;
    (void)streamId;
    if (!dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (ct_versionTwo())
        return CUPTI_ERROR_NOT_COMPATIBLE;
    pthread_mutex_lock(&ct_lock);
    *dropped = state.dropped;
    state.dropped = 0;
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
                                                CUpti_Activity **record)
{
    uint8_t *at = buffer;
    uint32_t kind;
    size_t bytes;

    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (*record) {
        at = (uint8_t *)*record;
        memcpy(&kind, at, sizeof(kind));
        bytes = ct_recordSize(kind);
        if (!bytes)
            return CUPTI_ERROR_INVALID_KIND;
        at += bytes;
    }
    if (at + sizeof(kind) > buffer + validBufferSizeBytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    memcpy(&kind, at, sizeof(kind));
    bytes = ct_recordSize(kind);
    if (!bytes)
        return CUPTI_ERROR_INVALID_KIND;
    if (at + bytes > buffer + validBufferSizeBytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)at;
    return CUPTI_SUCCESS;
}
