/* The buffers that threads write their events to: chunks of one thread each, and the list of
 * threads.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process.h"
#include "record/core/sanitizer.h"
#include "record/nvtx/buffer.h"

#include "base/poison.h"

/* ---- Chunks ----
 *
 * The pool of chunks. Free chunks form a stack (Treiber's), linked by number. The upper half of the
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

struct nvtx_chunk *nvtx_chunk_take(struct nvtx_state *state)
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

void nvtx_chunk_free(struct nvtx_state *state, struct nvtx_chunk *chunk)
{
    chunk_push(state, chunk);
}

void nvtx_chunks_prepare(struct nvtx_state *state)
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
    nvtx_chunks_prepare(state);
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

/* ---- Threads ----
 *
 * The threads' side of the buffers.
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

struct nvtx_thread *nvtx_thread_attach(void)
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
        thread = nvtx_thread_attach();
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
    struct nvtx_chunk *chunk = nvtx_chunk_take(nvtx_state());

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
