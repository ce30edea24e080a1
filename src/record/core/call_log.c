/* Logs that carry entries from each thread's callbacks to the writer. One thread fills a log and
 * the writer empties it, so neither waits.
 */
#include "record/core/call_log.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process_id.h"

#include "base/poison.h"

static void thread_ended(void *log)
{
    atomic_store_explicit(&((struct call_log *)log)->ended, true, memory_order_release);
}

enum mp_status call_logs_open(struct call_logs *logs)
{
    if (pthread_key_create(&logs->key, thread_ended) != 0)
        return MP_ERR_LIMIT;
    pthread_mutex_init(&logs->lock, NULL);
    pthread_mutex_init(&logs->own.lock, NULL);
    logs->open = true;
    return MP_OK;
}

static struct call_log *add_log(struct call_logs *logs)
{
    struct call_log *log = calloc(1, sizeof(*log));
    bool room;

    if (!log)
        return NULL;
    log->tid = (uint32_t)mp_thread_id();
    pthread_mutex_lock(&logs->lock);
    room = logs->count < CALL_LOG_THREADS;
    if (room) {
        log->next = logs->first;
        logs->first = log;
        logs->count++;
    }
    pthread_mutex_unlock(&logs->lock);
    if (room && pthread_setspecific(logs->key, log) == 0)
        return log;
    if (room)
        thread_ended(log); /* the writer frees the log */
    else
        free(log);
    return NULL;
}

struct call_log *call_log_mine(struct call_logs *logs)
{
    struct call_log *log = pthread_getspecific(logs->key);

    if (!log)
        log = add_log(logs);
    if (!log)
        atomic_fetch_add_explicit(&logs->lost, 1, memory_order_relaxed);
    return log;
}

bool call_log_put(struct call_log *log, const struct call_entry *entry)
{
    uint32_t head = atomic_load_explicit(&log->head, memory_order_relaxed);
    uint32_t waiting = head - atomic_load_explicit(&log->tail, memory_order_acquire);

    if (waiting >= CALL_LOG_ENTRIES) {
        atomic_fetch_add_explicit(&log->lost, 1, memory_order_relaxed);
        return false;
    }
    log->entries[head % CALL_LOG_ENTRIES] = *entry;
    atomic_store_explicit(&log->head, head + 1, memory_order_release);
    return waiting + 1 == CALL_LOG_ENTRIES / 2;
}

static void drain(struct call_log *log, call_log_use *use, void *context)
{
    uint32_t head = atomic_load_explicit(&log->head, memory_order_acquire);
    uint32_t at = atomic_load_explicit(&log->tail, memory_order_relaxed);

    for (; at != head; at++) {
        struct call_entry entry = log->entries[at % CALL_LOG_ENTRIES];

        /* Freed one by one: `use` may take long, and the owner loses no entries meanwhile. */
        atomic_store_explicit(&log->tail, at + 1, memory_order_release);
        use(context, log->tid, &entry);
    }
}

/* Takes ended, empty logs out of the list. */
static void free_ended(struct call_logs *logs)
{
    struct call_log **link;

    pthread_mutex_lock(&logs->lock);
    for (link = &logs->first; *link;) {
        struct call_log *log = *link;

        if (!atomic_load_explicit(&log->ended, memory_order_acquire) ||
            atomic_load_explicit(&log->head, memory_order_acquire) !=
                atomic_load_explicit(&log->tail, memory_order_relaxed)) {
            link = &log->next;
            continue;
        }
        *link = log->next;
        logs->count--;
        atomic_fetch_add_explicit(&logs->lost, atomic_load(&log->lost), memory_order_relaxed);
        if (log->stacks)
            munmap(log->stacks, log->stacks_bytes);
        free(log);
    }
    pthread_mutex_unlock(&logs->lock);
}

void call_logs_drain(struct call_logs *logs, call_log_use *use, void *context)
{
    struct call_log *log;

    if (!logs->open)
        return;
    /* Threads add new logs in front of `first`, and only the writer, here, removes any. So what
     * follows `first` can be walked without the lock. */
    pthread_mutex_lock(&logs->lock);
    log = logs->first;
    pthread_mutex_unlock(&logs->lock);
    for (; log; log = log->next)
        drain(log, use, context);
    free_ended(logs);
}

uint64_t call_logs_lost(struct call_logs *logs)
{
    uint64_t lost = atomic_load(&logs->lost);
    struct call_log *log;

    if (!logs->open)
        return lost;
    pthread_mutex_lock(&logs->lock);
    for (log = logs->first; log; log = log->next)
        lost += atomic_load_explicit(&log->lost, memory_order_relaxed);
    pthread_mutex_unlock(&logs->lock);
    return lost;
}

/* ---- Calls of the recorder ---- */

void own_calls_note(struct own_calls *own, uint32_t correlation)
{
    pthread_mutex_lock(&own->lock);
    own->ids[own->count++ % OWN_CALLS] = correlation;
    pthread_mutex_unlock(&own->lock);
}

bool own_calls_has(struct own_calls *own, uint32_t correlation)
{
    bool found = false;
    uint32_t i;

    pthread_mutex_lock(&own->lock);
    for (i = 0; i < OWN_CALLS && i < own->count && !found; i++)
        found = own->ids[i] == correlation;
    pthread_mutex_unlock(&own->lock);
    return found;
}
