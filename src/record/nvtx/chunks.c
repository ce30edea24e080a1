/* The pool of chunks. Free chunks form a stack (Treiber's), linked by number. The upper half of the
 * head counts changes, so that a slow thread cannot put back an old head. Last in, first out: the
 * chunk reused is the one most likely still in a cache. Chunks never used before have no link; they
 * follow `fresh`.
 */
#include "record/nvtx/buffer.h"

#include <sys/mman.h>

#include "base/poison.h"

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
