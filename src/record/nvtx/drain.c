/* The writer's side of the buffers.
 *
 * A drain notes how many chunks each thread has begun and reads no further than what is committed
 * in the last of them. So a thread that writes faster than the sink takes cannot keep the writer
 * for ever. Nor does a drain read stamps later than the pair of clocks that it began with (time.h):
 * the next drain reads those.
 */
#include "record/nvtx/buffer.h"

#include <string.h>

#include "base/log.h"
#include "base/text/names.h"

#include "base/poison.h"

/* State that is passed from drain to drain; the writer's. */
static struct nvtx_time times;

static const char *message_read(const struct nvtx_record *record, const unsigned char *at)
{
    const struct nvtx_string *registered;

    switch ((enum nvtx_form)record->form) {
    case NVTX_NARROW:
    case NVTX_WIDE:
        return (const char *)at;
    case NVTX_REGISTERED:
        memcpy(&registered, at, sizeof(void *));
        return registered->text;
    case NVTX_NO_TEXT:
        break;
    }
    return "";
}

/* A time is never before the thread's last one. */
static uint64_t time_of(struct nvtx_thread *thread, const struct nvtx_record *record)
{
    const uint64_t time = nvtx_time_of(&times, record->time);

    if (time > thread->read_time)
        thread->read_time = time;
    return thread->read_time;
}

static void blob_read(const struct nvtx_record *record, const unsigned char *message,
                      struct mp_nvtx_event *event)
{
    uint32_t skip = 0;
    uint64_t bytes;

    if (!record->has_blob)
        return;
    if (record->form == NVTX_REGISTERED)
        skip = sizeof(void *);
    else if (record->form != NVTX_NO_TEXT)
        skip = ((uint32_t)strlen((const char *)message) + 1 + 7) & ~7u;
    memcpy(&bytes, message + skip, sizeof(bytes));
    event->blob = message + skip + sizeof(bytes);
    event->blob_bytes = (uint32_t)bytes;
}

static void record_deliver(const struct mp_nvtx_sink *sink, struct nvtx_thread *thread,
                           const struct nvtx_record *record)
{
    const unsigned char *more = (const unsigned char *)(record + 1);
    struct nvtx_detail detail = {.range = 0};

    if (record->has_detail) {
        memcpy(&detail, more, sizeof(detail));
        more += sizeof(detail);
    }
    const char *message = message_read(record, more);
    if (record->kind == NVTX_KIND_thread_name) {
        sink->thread_name(sink->context, record->category, message);
        return;
    }
    struct mp_nvtx_event event = (struct mp_nvtx_event){
        .time = time_of(thread, record),
        .tid = thread->tid,
        .kind = record->kind,
        .first = record->first,
        .domain = record->domain,
        .name = record->kind == NVTX_KIND_pop || record->kind == NVTX_KIND_end ? NULL : message,
        .category = record->category,
        .color = detail.color,
        .payload_type = (uint8_t)detail.payload_type,
        .payload = detail.payload,
        .range = detail.range,
    };
    blob_read(record, more, &event);
    /* PyTorch numbers each call in the name. The text is read once, so it may be cut. */
    if (sink->plain && event.name && !event.domain && record->form != NVTX_REGISTERED)
        ((char *)(uintptr_t)message)[mp_operator_plain(message)] = '\0';
    sink->event(sink->context, &event);
}

/* Delivers all that is committed in the present chunk; false if the next drain has to read a part
 * of it. */
static bool chunk_drain(const struct mp_nvtx_sink *sink, struct nvtx_thread *thread)
{
    const struct nvtx_chunk *chunk = thread->read_chunk;
    const uint32_t end = atomic_load_explicit(&chunk->committed, memory_order_acquire);

    while (thread->read_position < end) {
        const void *at = chunk->data + thread->read_position;
        const struct nvtx_record *record = at;
        if (nvtx_time_is_later(&times, record->time))
            return false;
        thread->read_position += record->bytes;
        record_deliver(sink, thread, record);
    }
    return true;
}

/* Goes on to the thread's next chunk, which exists. All of the old chunk is committed, since its
 * owner went on to the next. The caller has drained the old chunk after it saw that. */
static void chunk_advance(struct nvtx_state *state, struct nvtx_thread *thread)
{
    struct nvtx_chunk *done = thread->read_chunk;

    thread->read_chunk =
        atomic_load_explicit(done ? &done->next : &thread->first, memory_order_acquire);
    thread->read_position = 0;
    thread->read_chunks++;
    if (done)
        nvtx_chunk_free(state, done);
}

/* Frees the record of an ended thread, once it is drained, for another thread. */
static void thread_recycle(struct nvtx_state *state, struct nvtx_thread *thread)
{
    if (thread->read_chunk)
        nvtx_chunk_free(state, thread->read_chunk);
    thread->read_chunk = NULL;
    thread->read_position = 0;
    thread->read_chunks = 0;
    thread->read_time = 0;
    atomic_store_explicit(&thread->first, NULL, memory_order_relaxed);
    atomic_store_explicit(&thread->chunks, 0, memory_order_relaxed);
    atomic_store_explicit(&thread->life, NVTX_FREE, memory_order_release);
}

static void thread_drain(struct nvtx_state *state, const struct mp_nvtx_sink *sink,
                         struct nvtx_thread *thread)
{
    const uint32_t life = atomic_load_explicit(&thread->life, memory_order_acquire);

    if (life != NVTX_LIVE && life != NVTX_ENDED)
        return;
    uint32_t chunks = atomic_load_explicit(&thread->chunks, memory_order_acquire);
    for (;;) {
        if (thread->read_chunk && !chunk_drain(sink, thread))
            return;
        if (thread->read_chunks == chunks)
            break;
        chunk_advance(state, thread);
    }
    if (life != NVTX_ENDED)
        return;
    if (sink->thread_end)
        sink->thread_end(sink->context, thread->tid);
    thread_recycle(state, thread);
}

/* Decides what the threads read from now on. Once the counter is given up, nobody looks at it
 * again. */
static void times_advance(struct nvtx_state *state, const struct nvtx_pair *pair)
{
    const uint32_t counter = atomic_load_explicit(&state->counter, memory_order_acquire);

    if (counter == NVTX_COUNTER_UNUSED)
        return;
    enum nvtx_time_state now = nvtx_time_add(&times, pair);
    if (now == NVTX_TIME_GOOD && counter == NVTX_COUNTER_MEASURED)
        atomic_store_explicit(&state->counter, NVTX_COUNTER_USED, memory_order_release);
    if (now != NVTX_TIME_BROKEN)
        return;
    atomic_store_explicit(&state->counter, NVTX_COUNTER_UNUSED, memory_order_release);
    mp_log_warn("the processor's time stamp counter jumped (was this machine moved?): NVTX times "
                "of the last %llu ms may be off, later ones are right",
                (unsigned long long)(times.now.ns - times.last.ns) / 1000000);
}

void mp_nvtx_drain(const struct mp_nvtx_sink *sink)
{
    struct nvtx_pair pair = {.ticks = 0};

    if (atomic_load_explicit(&nvtx_state()->counter, memory_order_acquire) != NVTX_COUNTER_UNUSED)
        pair = nvtx_pair_take();
    nvtx_drain_at(sink, &pair);
}

void nvtx_drain_at(const struct mp_nvtx_sink *sink, const struct nvtx_pair *pair)
{
    struct nvtx_state *state = nvtx_state();
    const uint32_t count = atomic_load_explicit(&state->thread_count, memory_order_acquire);

    if (atomic_load_explicit(&state->inert, memory_order_relaxed))
        return;
    times_advance(state, pair);
    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        thread_drain(state, sink, &state->threads[i]);
    nvtx_chunks_prepare(state);
}

uint64_t mp_nvtx_inexact(void)
{
    return times.inexact;
}

uint64_t mp_nvtx_dropped(void)
{
    struct nvtx_state *state = nvtx_state();
    const uint32_t count = atomic_load_explicit(&state->thread_count, memory_order_acquire);
    uint64_t dropped = atomic_load_explicit(&state->grave.dropped, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++)
        dropped += atomic_load_explicit(&state->threads[i].dropped, memory_order_relaxed);
    return dropped;
}
