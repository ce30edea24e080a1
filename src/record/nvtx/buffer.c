/* The buffers that threads write their events to, chunks of one thread each, and how the writer
 * empties them.
 */
#include "record/nvtx/buffer.h"

#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/process.h"
#include "base/text/names.h"
#include "record/core/thread.h"

#include "base/poison.h"

/* ---- The pool of chunks ----
 *
 * Free chunks form a stack (Treiber's), linked by number. The upper half of the
 * head counts changes, so that a slow thread cannot put back an old head. Last in, first out: the
 * chunk reused is the one most likely still in a cache. Chunks never used before have no link; they
 * follow `fresh`.
 */

static void chunk_push(struct nvtx_state *state, struct nvtx_chunk *chunk)
{
    const uint64_t number = (uint64_t)(chunk - state->chunks) + 1;
    uint64_t head = atomic_load_explicit(&state->free, memory_order_relaxed);
    uint64_t changed;

    do {
        atomic_store_explicit(&chunk->below, (uint32_t)head, memory_order_relaxed);
        changed = ((head >> 32) + 1) << 32 | number;
    } while (!atomic_compare_exchange_weak_explicit(&state->free, &head, changed,
                                                    memory_order_release, memory_order_relaxed));
    atomic_fetch_add_explicit(&state->ready, 1, memory_order_relaxed);
}

static struct nvtx_chunk *chunk_pop(struct nvtx_state *state)
{
    uint64_t head = atomic_load_explicit(&state->free, memory_order_acquire);
    struct nvtx_chunk *chunk;
    uint64_t changed;

    do {
        if (!(uint32_t)head)
            return NULL;
        chunk = &state->chunks[(uint32_t)head - 1];
        changed =
            ((head >> 32) + 1) << 32 | atomic_load_explicit(&chunk->below, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&state->free, &head, changed,
                                                    memory_order_acquire, memory_order_acquire));
    atomic_fetch_sub_explicit(&state->ready, 1, memory_order_relaxed);
    return chunk;
}

static struct nvtx_chunk *chunk_fresh(struct nvtx_state *state)
{
    uint32_t number = atomic_load_explicit(&state->fresh, memory_order_relaxed);

    do {
        if (number >= NVTX_CHUNKS)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&state->fresh, &number, number + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return &state->chunks[number];
}

/* A free chunk, or NULL if all are in use. Any thread, lock-free. Never a system call; a page fault
 * only if the writer has not mapped enough chunks in ahead. */
static struct nvtx_chunk *chunk_take(struct nvtx_state *state)
{
    struct nvtx_chunk *chunk = chunk_pop(state);

    if (!chunk)
        chunk = chunk_fresh(state);
    if (!chunk)
        return NULL;
    atomic_store_explicit(&chunk->committed, 0, memory_order_relaxed);
    atomic_store_explicit(&chunk->next, NULL, memory_order_relaxed);
    return chunk;
}

/* Maps fresh chunks in until NVTX_READY_CHUNKS are free. Writer thread. */
static void chunks_prepare(struct nvtx_state *state)
{
    while (atomic_load_explicit(&state->ready, memory_order_relaxed) < NVTX_READY_CHUNKS) {
        struct nvtx_chunk *chunk = chunk_fresh(state);
        if (!chunk)
            return;
        for (size_t at = 0; at < sizeof(chunk->data); at += 4096 - 64)
            ((volatile unsigned char *)chunk->data)[at] = 0;
        chunk_push(state, chunk);
    }
}

bool mp_nvtx_is_low(void)
{
    struct nvtx_state *state = nvtx_state();
    const int32_t begun = (int32_t)atomic_load_explicit(&state->fresh, memory_order_relaxed);

    return begun - atomic_load_explicit(&state->ready, memory_order_relaxed) > NVTX_CHUNKS / 4;
}

/* Bytes of the mapping: the chunks, then the records of threads. */
static const size_t chunk_bytes = (size_t)NVTX_CHUNKS * NVTX_CHUNK_BYTES;
static const size_t mapped_bytes =
    (size_t)NVTX_CHUNKS * NVTX_CHUNK_BYTES + NVTX_THREADS * sizeof(struct nvtx_thread);

bool nvtx_chunks_create(struct nvtx_state *state)
{
    unsigned char *memory = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    /* No huge pages: the kernel would zero 2 MiB at once, inside some unlucky push. */
    (void)madvise(memory, mapped_bytes, MADV_NOHUGEPAGE);
    state->chunks = (struct nvtx_chunk *)(void *)memory;
    state->threads = (struct nvtx_thread *)(void *)(memory + chunk_bytes);
    chunks_prepare(state);
    return true;
}

/* Zero pages again. */
bool nvtx_chunks_forget(struct nvtx_state *state)
{
    if (state->chunks && madvise(state->chunks, mapped_bytes, MADV_DONTNEED) != 0)
        return false;
    atomic_store(&state->free, 0);
    atomic_store(&state->fresh, 0);
    atomic_store(&state->ready, 0);
    atomic_store(&state->thread_count, 0);
    atomic_store(&state->grave.dropped, 0);
    return true;
}

/* ---- The threads' side ----
 *
 * The thread's record is found through one __thread pointer. Its access model is the build's choice
 * (TLS_CFLAGS in the Makefile); the code needs none in particular. Measured on push + pop in a
 * shared library (tests/bench/bench_record_nvtx.c): 32 ns with initial-exec and with TLS
 * descriptors, 34 ns with the compiler's default, a call of __tls_get_addr. initial-exec takes room
 * in the static TLS block. A library that is opened late gets only the rest of that block, and
 * dlopen fails if nothing is left. The dynamic models allocate at a thread's first access instead.
 *
 * buffer.h has, inline, what every call does. This file has what happens from time to time before
 * it.
 *
 * The destructor of a thread-specific key notices a thread's end. It frees nothing: it marks the
 * record ENDED. The writer drains the record and makes it FREE for the next thread. NVTX calls that
 * the same thread makes after that destructor meet the grave: a record that is always busy, so the
 * calls are dropped and counted.
 */

static __thread struct nvtx_thread *nvtx_self;

/* The only place that computes the variable's address, and an ordinary function. TLS descriptors
 * assume a call that keeps all registers, but glibc before 2.40 loses vector registers at a
 * thread's first use (its bug 31372). The caller of an ordinary function does not expect them to be
 * kept. */
__attribute__((noinline)) struct nvtx_thread **nvtx_self_slot(void)
{
    return &nvtx_self;
}

/* Claims a record that an ended thread left, or a new one. */
static struct nvtx_thread *thread_claim(struct nvtx_state *state)
{
    uint32_t count = atomic_load_explicit(&state->thread_count, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t life = NVTX_FREE;
        if (atomic_load_explicit(&state->threads[i].life, memory_order_relaxed) == NVTX_FREE &&
            atomic_compare_exchange_strong_explicit(&state->threads[i].life, &life, NVTX_TAKEN,
                                                    memory_order_acquire, memory_order_relaxed))
            return &state->threads[i];
    }
    do {
        if (count >= NVTX_THREADS)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&state->thread_count, &count, count + 1,
                                                    memory_order_acq_rel, memory_order_acquire));
    /* Another thread may claim it as FREE at this moment: then we try again. */
    uint32_t life = NVTX_FREE;
    if (atomic_compare_exchange_strong_explicit(&state->threads[count].life, &life, NVTX_TAKEN,
                                                memory_order_acquire, memory_order_relaxed))
        return &state->threads[count];
    return thread_claim(state);
}

/* Made busy here: an initial value would put all of the state into the library's file. */
static struct nvtx_thread *grave(void)
{
    struct nvtx_thread *grave = &nvtx_state()->grave;

    atomic_store_explicit(&grave->busy, true, memory_order_relaxed);
    return grave;
}

/* Finds or makes the record of the calling thread; NULL if there are too many threads. */
static struct nvtx_thread *thread_attach(void)
{
    struct nvtx_state *state = nvtx_state();
    struct nvtx_thread *thread = thread_claim(state);

    if (!thread)
        return NULL;
    sanitizer_take(thread);
    thread->tid = (uint32_t)mp_thread_id();
    thread->chunk = NULL;
    thread->position = 0;
    thread->end = 0;
    thread->epoch = 0;
    atomic_store_explicit(&thread->busy, false, memory_order_relaxed);
    if (pthread_setspecific(state->ending, thread) != 0) {
        atomic_store_explicit(&thread->life, NVTX_FREE, memory_order_release);
        return NULL;
    }
    atomic_store_explicit(&thread->life, NVTX_LIVE, memory_order_release);
    *nvtx_self_slot() = thread;
    return thread;
}

void nvtx_thread_end(void *thread)
{
    struct nvtx_thread *self = thread;

    *nvtx_self_slot() = grave();
    sanitizer_give(self);
    if (self->chunk)
        sanitizer_give(self->chunk);
    atomic_store_explicit(&self->life, NVTX_ENDED, memory_order_release);
}

/* A thread that is ending keeps the grave. */
bool nvtx_thread_forget(void)
{
    struct nvtx_thread **slot = nvtx_self_slot();

    if (!*slot || *slot == &nvtx_state()->grave)
        return true;
    if (atomic_load_explicit(&(*slot)->busy, memory_order_relaxed) ||
        pthread_setspecific(nvtx_state()->ending, NULL) != 0)
        return false;
    *slot = NULL;
    return true;
}

void nvtx_drop(struct nvtx_thread *thread)
{
    /* Not a plain store: many threads share the grave, and a signal handler may interrupt. */
    atomic_fetch_add_explicit(&thread->dropped, 1, memory_order_relaxed);
}

/* Recording was switched on since this thread's last call, so levels count from 0 again. */
static void thread_restart(struct nvtx_thread *thread, uint32_t epoch)
{
    memset(thread->levels, 0, sizeof(thread->levels));
    thread->open = 0;
    thread->restarted = true;
    thread->epoch = epoch;
}

static struct nvtx_thread *thread_enter(void)
{
    struct nvtx_thread *thread = *nvtx_self_slot();

    if (!thread) {
        thread = thread_attach();
        if (!thread)
            thread = grave();
    }
    if (atomic_load_explicit(&thread->busy, memory_order_relaxed)) {
        nvtx_drop(thread);
        return NULL;
    }
    atomic_store_explicit(&thread->busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return thread;
}

struct nvtx_thread *nvtx_enter_first(uint32_t epoch)
{
    struct nvtx_thread *thread = thread_enter();

    if (thread && thread->epoch != epoch)
        thread_restart(thread, epoch);
    return thread;
}

struct nvtx_thread *nvtx_enter_always(void)
{
    if (atomic_load_explicit(&nvtx_state()->inert, memory_order_relaxed))
        return NULL;
    return thread_enter();
}

bool nvtx_thread_next_chunk(struct nvtx_thread *thread)
{
    struct nvtx_chunk *chunk = chunk_take(nvtx_state());

    if (!chunk) {
        nvtx_drop(thread);
        return false;
    }
    sanitizer_take(chunk);
    if (thread->chunk)
        sanitizer_give(thread->chunk);
    if (thread->chunk)
        atomic_store_explicit(&thread->chunk->next, chunk, memory_order_release);
    else
        atomic_store_explicit(&thread->first, chunk, memory_order_release);
    atomic_fetch_add_explicit(&thread->chunks, 1, memory_order_release);
    thread->chunk = chunk;
    thread->position = 0;
    thread->end = sizeof(chunk->data);
    return true;
}

/* ---- The writer's side ----
 *
 * A drain notes how many chunks each thread has begun and reads no further than what is committed
 * in the last of them. So a thread that writes faster than the sink takes cannot keep the writer
 * for ever. Nor does a drain read stamps later than the pair of clocks that it began with (time.h):
 * the next drain reads those.
 */

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
    struct mp_nvtx_event event = {
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
        chunk_push(state, done);
}

/* Frees the record of an ended thread, once it is drained, for another thread. */
static void thread_recycle(struct nvtx_state *state, struct nvtx_thread *thread)
{
    if (thread->read_chunk)
        chunk_push(state, thread->read_chunk);
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
    chunks_prepare(state);
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
