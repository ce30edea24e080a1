/* The threads' side of the buffers.
 *
 * The thread's record is found through one __thread pointer. Its access model is the build's choice
 * (TLS_CFLAGS in the Makefile); the code needs none in particular. Measured on push + pop in a
 * shared library (tests/bench/bench_record_nvtx.c): initial-exec and TLS descriptors 49 ns, the
 * compiler's default, a call of __tls_get_addr, 53 ns. initial-exec, the quickest,
 * takes room in the static TLS block, of which a library that is opened late gets what others have
 * left; with nothing left dlopen fails. The dynamic models allocate at a thread's first access
 * instead.
 *
 * A thread's end is seen by a thread-specific key's destructor. It frees nothing but marks the
 * record ENDED; the writer drains it and makes it FREE for the next thread. What runs after that
 * destructor in the same thread meets the grave: a record that is always busy, so that calls are
 * dropped and counted.
 */
#include "record/nvtx_buffer.h"

#include "record/clock.h"

#include <string.h>
#include <unistd.h>

#include "base/poison.h"

static __thread struct nvtx_thread *nvtx_self;

/* The only place that computes the variable's address. TLS descriptors count on a call that keeps
 * all registers, and glibc before 2.40 loses vector registers at a thread's first use (its bug
 * 31372); the caller of an ordinary function expects nothing else. */
static __attribute__((noinline)) struct nvtx_thread **self_slot(void)
{
    return &nvtx_self;
}

/* A record that an ended thread left, or a new one. */
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
    /* Others may claim it as FREE in this very moment: then they have it, and we try again. */
    uint32_t life = NVTX_FREE;
    if (atomic_compare_exchange_strong_explicit(&state->threads[count].life, &life, NVTX_TAKEN,
                                                memory_order_acquire, memory_order_relaxed))
        return &state->threads[count];
    return thread_claim(state);
}

struct nvtx_thread *nvtx_thread_attach(void)
{
    struct nvtx_state *state = nvtx_state();
    struct nvtx_thread *thread = thread_claim(state);

    if (!thread)
        return NULL;
    thread->tid = (uint32_t)gettid();
    thread->chunk = NULL;
    thread->epoch = 0;
    atomic_store_explicit(&thread->busy, false, memory_order_relaxed);
    if (pthread_setspecific(state->ending, thread) != 0) {
        atomic_store_explicit(&thread->life, NVTX_FREE, memory_order_release);
        return NULL;
    }
    atomic_store_explicit(&thread->life, NVTX_LIVE, memory_order_release);
    *self_slot() = thread;
    return thread;
}

void nvtx_thread_end(void *thread)
{
    struct nvtx_thread *self = thread;

    *self_slot() = &nvtx_state()->grave;
    atomic_store_explicit(&self->life, NVTX_ENDED, memory_order_release);
}

void nvtx_drop(struct nvtx_thread *thread)
{
    /* Not a plain store: the grave has many visitors, and a signal handler may come between. */
    atomic_fetch_add_explicit(&thread->dropped, 1, memory_order_relaxed);
}

static struct nvtx_thread *thread_enter(void)
{
    struct nvtx_thread *thread = *self_slot();

    if (__builtin_expect(!thread, 0)) {
        thread = nvtx_thread_attach();
        if (!thread)
            thread = &nvtx_state()->grave;
    }
    if (__builtin_expect(atomic_load_explicit(&thread->busy, memory_order_relaxed), 0)) {
        nvtx_drop(thread);
        return NULL;
    }
    atomic_store_explicit(&thread->busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return thread;
}

/* Recording was switched on since this thread's last call: levels count from 0 again. */
static void thread_restart(struct nvtx_thread *thread, uint32_t epoch)
{
    memset(thread->levels, 0, sizeof(thread->levels));
    thread->open = 0;
    thread->restarted = true;
    thread->epoch = epoch;
}

struct nvtx_thread *nvtx_enter(void)
{
    const uint32_t epoch = atomic_load_explicit(&nvtx_state()->recording, memory_order_relaxed);
    struct nvtx_thread *thread;

    if (!epoch)
        return NULL;
    thread = thread_enter();
    if (thread && __builtin_expect(thread->epoch != epoch, 0))
        thread_restart(thread, epoch);
    return thread;
}

struct nvtx_thread *nvtx_enter_always(void)
{
    if (atomic_load_explicit(&nvtx_state()->inert, memory_order_relaxed))
        return NULL;
    return thread_enter();
}

void nvtx_leave(struct nvtx_thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&thread->busy, false, memory_order_relaxed);
}

static bool thread_next_chunk(struct nvtx_thread *thread)
{
    struct nvtx_chunk *chunk = nvtx_chunk_take(nvtx_state());

    if (!chunk)
        return false;
    if (thread->chunk)
        atomic_store_explicit(&thread->chunk->next, chunk, memory_order_release);
    else
        atomic_store_explicit(&thread->first, chunk, memory_order_release);
    atomic_fetch_add_explicit(&thread->chunks, 1, memory_order_release);
    thread->chunk = chunk;
    thread->position = 0;
    return true;
}

/* Room for `bytes`, beside the pops still to come. */
static void *thread_reserve(struct nvtx_thread *thread, uint32_t bytes)
{
    const uint32_t pops = thread->open < NVTX_KEPT_POPS ? thread->open : NVTX_KEPT_POPS;
    const uint32_t room = (uint32_t)sizeof(thread->chunk->data) - pops * NVTX_POP_BYTES;

    if (__builtin_expect(!thread->chunk || thread->position + bytes > room, 0) &&
        !thread_next_chunk(thread))
        return NULL;
    return thread->chunk->data + thread->position;
}

static uint32_t message_bytes(const struct nvtx_text *text)
{
    switch (text->form) {
    case NVTX_NARROW:
    case NVTX_WIDE:
        return (text->bytes + 1 + 7) & ~7u;
    case NVTX_REGISTERED:
        return sizeof(void *);
    case NVTX_NO_TEXT:
        break;
    }
    return 0;
}

static void message_write(void *to, const struct nvtx_text *text)
{
    if (text->form == NVTX_REGISTERED)
        memcpy(to, &text->at.registered, sizeof(void *));
    else if (text->form != NVTX_NO_TEXT)
        nvtx_text_copy(to, text);
}

bool nvtx_write(struct nvtx_thread *thread, const struct nvtx_call *call)
{
    const bool has_detail = (call->range | call->payload_type | call->color) != 0;
    const uint32_t bytes = (uint32_t)sizeof(struct nvtx_record) +
                           (has_detail ? (uint32_t)sizeof(struct nvtx_detail) : 0) +
                           message_bytes(&call->text);
    struct nvtx_record *record = thread_reserve(thread, bytes);
    unsigned char *more;

    if (!record) {
        nvtx_drop(thread);
        return false;
    }
    more = (unsigned char *)(record + 1);
    record->domain = call->domain ? call->domain->name : NULL;
    record->category = call->category;
    record->bytes = (uint16_t)bytes;
    record->kind = (uint8_t)call->kind;
    record->form = call->text.form & 0xf;
    record->has_detail = has_detail;
    record->first = thread->restarted && call->kind != NVTX_KIND_thread_name;
    thread->restarted &= !record->first;
    if (has_detail) {
        const struct nvtx_detail detail = {.range = call->range,
                                           .payload = call->payload,
                                           .color = call->color,
                                           .payload_type = call->payload_type};
        memcpy(more, &detail, sizeof(detail));
        more += sizeof(detail);
    }
    message_write(more, &call->text);
    record->time = call->time ? call->time : mp_clock_now();
    thread->position += bytes;
    atomic_store_explicit(&thread->chunk->committed, thread->position, memory_order_release);
    return true;
}
