/* What the callbacks of a thread leave for the writer: entries in a log that one thread fills and
 * the writer empties, so that neither waits, and how the kernel divided the thread's time between
 * its calls.
 */
#include "record/core/call_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "record/core/clock.h"

#include "base/poison.h"

/* ---- How the kernel divided the time between calls ---- */

#define STAT_BYTES 80 /* three numbers */

static uint64_t ask_running(void)
{
    return mp_system_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Not a cancellation point: a thread that is cancelled in here would leave the driver in the middle
 * of a call. The file is not kept open: programs close and count descriptors. */
static ssize_t read_stat(char *text, size_t bytes)
{
    int error = errno;
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, bytes);
    if (fd >= 0)
        close(fd);
    pthread_setcancelstate(before, NULL);
    errno = error;
    return length;
}

/* The second number of the file: ns in which the thread waited for a processor. */
static bool ask_ready(uint64_t *ready)
{
    char text[STAT_BYTES];
    ssize_t length = read_stat(text, sizeof(text) - 1);
    char *second = text;

    if (length <= 0)
        return false;
    text[length] = '\0';
    strtoull(text, &second, 10);
    *ready = strtoull(second, NULL, 10);
    return true;
}

static const struct host_kernel this_kernel = {ask_running, ask_ready};

static uint64_t at_most(uint64_t value, uint64_t max)
{
    return value < max ? value : max;
}

static uint64_t beyond(uint64_t value, uint64_t min)
{
    return value > min ? value - min : 0;
}

/* Since `ready` was asked, up to the last asking: the thread may have been ready as long. */
static uint64_t not_running(const struct host_time *time)
{
    return beyond(time->asked - time->ready_at, time->running - time->ready_running);
}

/* Starts the next stretch. */
static void ask(struct host_time *time, uint64_t now, bool with_ready)
{
    const struct host_kernel *kernel = time->kernel ? time->kernel : &this_kernel;

    time->asked = now;
    time->running = kernel->running();
    if (!with_ready && not_running(time) < HOST_TIME_LONG)
        return;
    time->ready_known = kernel->ready(&time->ready);
    time->ready_at = now;
    time->ready_running = time->running;
}

bool host_time_enter(struct host_time *time, uint64_t now, struct host_stretch *stretch)
{
    struct host_time before = *time;
    uint64_t length = now - before.asked;
    bool is_long = length >= HOST_TIME_LONG;

    if (!before.asked) {
        ask(time, now, true);
        return false;
    }
    if (now < before.left || now - before.left < HOST_TIME_GAP)
        return false;
    ask(time, now, is_long);
    if (2 * (now - before.left) < length)
        return false;
    stretch->begin = before.asked;
    stretch->end = now;
    stretch->computing = at_most(time->running - before.running, length);
    stretch->ready = is_long && before.ready_known && time->ready_known
                         ? at_most(beyond(time->ready - before.ready, not_running(&before)),
                                   length - stretch->computing)
                         : 0;
    return true;
}

void host_time_leave(struct host_time *time, uint64_t now)
{
    time->left = now;
    if (time->asked && now >= time->asked + HOST_TIME_FRESH)
        ask(time, now, now >= time->asked + HOST_TIME_LONG);
}

/* ---- Logs: one thread fills a log and the writer empties it, so neither waits ---- */

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

    if (!log)
        return NULL;
    log->tid = (uint32_t)mp_thread_id();
    pthread_mutex_lock(&logs->lock);
    bool room = logs->count < CALL_LOG_THREADS;
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
    pthread_mutex_lock(&logs->lock);
    for (struct call_log **link = &logs->first; *link;) {
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
    if (!logs->open)
        return;
    /* Threads add new logs in front of `first`, and only the writer, here, removes any. So what
     * follows `first` can be walked without the lock. */
    pthread_mutex_lock(&logs->lock);
    struct call_log *log = logs->first;
    pthread_mutex_unlock(&logs->lock);
    for (; log; log = log->next)
        drain(log, use, context);
    free_ended(logs);
}

uint64_t call_logs_lost(struct call_logs *logs)
{
    uint64_t lost = atomic_load(&logs->lost);

    if (!logs->open)
        return lost;
    pthread_mutex_lock(&logs->lock);
    for (struct call_log *log = logs->first; log; log = log->next)
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

    pthread_mutex_lock(&own->lock);
    for (uint32_t i = 0; i < OWN_CALLS && i < own->count && !found; i++)
        found = own->ids[i] == correlation;
    pthread_mutex_unlock(&own->lock);
    return found;
}
