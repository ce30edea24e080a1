/* The pool that CUPTI's records are written to. It is mapped and touched ahead, because CUPTI asks
 * for buffers inside of the application's launches.
 */
#include "record/cupti/buffers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/poison.h"

/* Faults pages in by a write to each, which works on every kernel (MADV_POPULATE_WRITE needs 5.14).
 * The write adds zero atomically, so it keeps what CUPTI may have written there by now. */
static void fault_in(uint8_t *memory, size_t bytes)
{
    const size_t page = 4096;

    for (size_t at = 0; at < bytes; at += page)
        __atomic_fetch_add(memory + at, 0, __ATOMIC_RELAXED);
}

/* Of the memory of all buffers. */
static size_t pool_bytes(size_t count, bool has_spare)
{
    return count * BUFFER_BYTES + OVERFLOWS * OVERFLOW_BYTES + (has_spare ? SPARE_BYTES : 0);
}

/* All buffers lie back to back in `memory`, and are free. */
static void lay_out(struct buffer_pool *pool, uint8_t *memory, size_t count, bool has_spare)
{
    pool->memory = memory;
    pool->overflow = memory + count * BUFFER_BYTES;
    pool->spare = has_spare ? pool->overflow + OVERFLOWS * OVERFLOW_BYTES : NULL;
    pool->count = count;
    for (size_t i = 0; i < count; i++)
        pool->stack[i] = (uint32_t)(count - 1 - i);
    pool->free_count = (uint32_t)count;
    for (size_t i = 0; i < OVERFLOWS; i++)
        pool->overflow_stack[i] = (uint32_t)(count + OVERFLOWS - 1 - i);
    pool->overflow_count = OVERFLOWS;
}

size_t buffer_pool_max(const struct buffer_pool *pool)
{
    return pool->count + OVERFLOWS;
}

static size_t bytes_of(const struct buffer_pool *pool, size_t number)
{
    return number < pool->count ? BUFFER_BYTES : OVERFLOW_BYTES;
}

static uint8_t *buffer_of(const struct buffer_pool *pool, size_t number)
{
    return number < pool->count ? pool->memory + number * BUFFER_BYTES
                                : pool->overflow + (number - pool->count) * OVERFLOW_BYTES;
}

/* The buffer's number; buffer_pool_max() when it is not one of the pool. */
static size_t number_of(const struct buffer_pool *pool, const uint8_t *buffer)
{
    size_t number = buffer_pool_max(pool);

    if (buffer >= pool->memory && buffer < pool->overflow)
        number = (size_t)(buffer - pool->memory) / BUFFER_BYTES;
    else if (buffer >= pool->overflow && buffer < pool->overflow + OVERFLOWS * OVERFLOW_BYTES)
        number = pool->count + (size_t)(buffer - pool->overflow) / OVERFLOW_BYTES;
    return number < buffer_pool_max(pool) && buffer_of(pool, number) == buffer
               ? number
               : buffer_pool_max(pool);
}

enum mp_status buffer_pool_open(struct buffer_pool *pool, size_t megabytes, bool null_allowed)
{
    size_t count = megabytes * ((1u << 20) / BUFFER_BYTES);
    size_t bytes = pool_bytes(count, !null_allowed);
    size_t first = count < BUFFERS_FAULTED_FIRST ? count : BUFFERS_FAULTED_FIRST;

    pool->stack = calloc(count, sizeof(*pool->stack));
    pool->out = calloc(count + OVERFLOWS, sizeof(*pool->out));
    void *memory = pool->stack && pool->out ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                            : MAP_FAILED;
    if (memory == MAP_FAILED) {
        free(pool->stack);
        free(pool->out);
        pool->stack = NULL;
        pool->out = NULL;
        return MP_ERR_MEMORY;
    }
    lay_out(pool, memory, count, !null_allowed);
    pthread_mutex_init(&pool->lock, NULL);
    fault_in(pool->memory, first * BUFFER_BYTES);
    pool->faulted = first;
    return MP_OK;
}

void buffer_pool_fault_ahead(struct buffer_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    size_t wanted = pool->count - pool->free_count + BUFFERS_AHEAD;
    pthread_mutex_unlock(&pool->lock);
    if (wanted > pool->count)
        wanted = pool->count;
    if (wanted <= pool->faulted)
        return;
    fault_in(pool->memory + pool->faulted * BUFFER_BYTES, (wanted - pool->faulted) * BUFFER_BYTES);
    pool->faulted = wanted;
}

void buffer_pool_close(struct buffer_pool *pool)
{
    if (!pool->memory)
        return;
    munmap(pool->memory, pool_bytes(pool->count, pool->spare != NULL));
    free(pool->stack);
    free(pool->out);
    pthread_mutex_destroy(&pool->lock);
    pool->memory = NULL;
    pool->stack = NULL;
    pool->out = NULL;
    pool->count = 0;
}

/* Under the lock. */
static uint8_t *buffers_take(struct buffer_pool *pool, size_t *bytes)
{
    if (!pool->free_count)
        atomic_fetch_add_explicit(&pool->exhausted, 1, memory_order_relaxed);
    if (!pool->free_count && !pool->overflow_count)
        return NULL;
    uint32_t number = pool->free_count ? pool->stack[--pool->free_count]
                                       : pool->overflow_stack[--pool->overflow_count];
    pool->out[number] = true;
    *bytes = bytes_of(pool, number);
    return buffer_of(pool, number);
}

uint8_t *buffer_request(struct buffer_pool *pool, size_t *bytes)
{
    atomic_fetch_add_explicit(&pool->requested, 1, memory_order_relaxed);
    pthread_mutex_lock(&pool->lock);
    uint8_t *buffer = buffers_take(pool, bytes);
    pthread_mutex_unlock(&pool->lock);
    if (buffer)
        return buffer;
    *bytes = pool->spare ? SPARE_BYTES : 0;
    return pool->spare;
}

bool buffer_pool_is_low(struct buffer_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool low = (size_t)pool->free_count * 2 < pool->count;
    pthread_mutex_unlock(&pool->lock);
    return low;
}

bool buffer_is_spare(struct buffer_pool *pool, const uint8_t *buffer, size_t valid_bytes)
{
    if (!pool->spare || buffer != pool->spare)
        return false;
    atomic_fetch_add_explicit(&pool->spilled, valid_bytes, memory_order_relaxed);
    return true;
}

/* Under the lock: CUPTI has given the buffer back, and the writer has not got it yet. */
static void leave_cupti(struct buffer_pool *pool, size_t number)
{
    pool->out[number] = false;
    pool->overflow_waits += number >= pool->count;
}

bool buffer_returns(struct buffer_pool *pool, const uint8_t *buffer)
{
    size_t number = number_of(pool, buffer);

    if (number == buffer_pool_max(pool))
        return false;
    atomic_fetch_add_explicit(&pool->completed, 1, memory_order_relaxed);
    pthread_mutex_lock(&pool->lock);
    bool was_out = pool->out[number];
    if (was_out)
        leave_cupti(pool, number);
    pthread_mutex_unlock(&pool->lock);
    return was_out;
}

bool buffer_is_too_much(struct buffer_pool *pool, const uint8_t *buffer)
{
    if (number_of(pool, buffer) < pool->count)
        return false;
    pthread_mutex_lock(&pool->lock);
    bool too_much =
        pool->overflow_count < OVERFLOWS_FREE && pool->overflow_waits > OVERFLOWS_WAITING;
    pthread_mutex_unlock(&pool->lock);
    return too_much;
}

/* Under the lock: the next number that is out; buffer_pool_max() when there is none. */
static size_t find_out(const struct buffer_pool *pool)
{
    size_t number = 0;

    while (number < buffer_pool_max(pool) && !pool->out[number])
        number++;
    return number;
}

bool buffer_pool_is_out(struct buffer_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool out = find_out(pool) < buffer_pool_max(pool);
    pthread_mutex_unlock(&pool->lock);
    return out;
}

uint8_t *buffer_pool_recover(struct buffer_pool *pool, size_t *bytes)
{
    pthread_mutex_lock(&pool->lock);
    size_t number = find_out(pool);
    if (number < buffer_pool_max(pool))
        leave_cupti(pool, number);
    pthread_mutex_unlock(&pool->lock);
    if (number == buffer_pool_max(pool))
        return NULL;
    *bytes = bytes_of(pool, number);
    return buffer_of(pool, number);
}

/* Under the lock. */
static void put_back(struct buffer_pool *pool, size_t number)
{
    if (number < pool->count && pool->free_count < pool->count)
        pool->stack[pool->free_count++] = (uint32_t)number;
    else if (number >= pool->count && pool->overflow_count < OVERFLOWS)
        pool->overflow_stack[pool->overflow_count++] = (uint32_t)number;
    pool->overflow_waits -= number >= pool->count && pool->overflow_waits;
}

void buffer_release(struct buffer_pool *pool, uint8_t *buffer)
{
    size_t number = number_of(pool, buffer);

    if (number == buffer_pool_max(pool))
        return;
    /* Zeroes all of it: CUPTI may have written beyond the valid bytes, and
     * ZEROED_OUT_ACTIVITY_BUFFER promises zeroes. About 30 us for the largest. */
    memset(buffer, 0, bytes_of(pool, number));
    pthread_mutex_lock(&pool->lock);
    put_back(pool, number);
    pthread_mutex_unlock(&pool->lock);
}

void buffer_discard(struct buffer_pool *pool, uint8_t *buffer, uint64_t records)
{
    atomic_fetch_add_explicit(&pool->discarded, records, memory_order_relaxed);
    buffer_release(pool, buffer);
}
