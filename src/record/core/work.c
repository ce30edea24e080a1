/* The queue from the application's threads to the writer. Buffers and range marks share it,
 * because their order says which records belong to a range.
 */
#include "record/core/work.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/settings/config.h"
#include "record/core/clock.h"

#include "base/poison.h"

enum mp_status work_queue_open(struct work_queue *queue, size_t buffers)
{
    uint32_t capacity = WORK_MARKS;

    while (capacity < buffers + WORK_MARKS)
        capacity *= 2;
    queue->items = calloc(capacity, sizeof(*queue->items));
    if (!queue->items)
        return MP_ERR_MEMORY;
    queue->capacity = capacity;
    pthread_mutex_init(&queue->lock, NULL);
    return MP_OK;
}

void work_queue_close(struct work_queue *queue)
{
    if (!queue->items)
        return;
    free(queue->items);
    queue->items = NULL;
    pthread_mutex_destroy(&queue->lock);
}

static void tell(struct work_queue *queue, uint32_t what)
{
    int saved_errno = errno;
    uint32_t before = atomic_fetch_or(&queue->woken, what);

    if (!before || (what == WORK_HURRY && !(before & WORK_HURRY)))
        syscall(SYS_futex, &queue->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved_errno;
}

bool work_put(struct work_queue *queue, const struct work *item)
{
    pthread_mutex_lock(&queue->lock);
    /* Marks may not use the room that is kept for buffers, so a buffer always fits. */
    bool room =
        queue->head - queue->tail < (item->kind == WORK_BUFFER ? queue->capacity : WORK_MARKS);
    if (room) {
        queue->items[queue->head++ & (queue->capacity - 1)] = *item;
        atomic_fetch_add_explicit(&queue->put, 1, memory_order_release);
    }
    pthread_mutex_unlock(&queue->lock);
    if (!room)
        atomic_fetch_add_explicit(&queue->lost, 1, memory_order_relaxed);
    tell(queue, WORK_IS_WAITING);
    return room;
}

bool work_take(struct work_queue *queue, struct work *item)
{
    pthread_mutex_lock(&queue->lock);
    bool found = queue->head != queue->tail;
    if (found) {
        *item = queue->items[queue->tail++ & (queue->capacity - 1)];
        queue->taken++;
    }
    pthread_mutex_unlock(&queue->lock);
    return found;
}

void work_wake(struct work_queue *queue)
{
    tell(queue, WORK_HURRY);
}

void work_wait(struct work_queue *queue, int timeout_ms)
{
    const struct timespec limit = {.tv_sec = timeout_ms / 1000,
                                   .tv_nsec = (long)(timeout_ms % 1000) * 1000000};

    /* Returns at once if `woken` was set meanwhile. */
    if (!atomic_load(&queue->woken))
        syscall(SYS_futex, &queue->woken, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
    /* Cleared before the writer looks, so that a later put wakes it again. */
    atomic_store(&queue->woken, 0);
}

bool work_rest(struct work_queue *queue, uint64_t ns)
{
    const uint64_t end = mp_monotonic_ns() + ns;
    uint64_t now;
    uint32_t seen;

    while (!((seen = atomic_load(&queue->woken)) & WORK_HURRY) && (now = mp_monotonic_ns()) < end) {
        const struct timespec left = {.tv_sec = (time_t)((end - now) / 1000000000u),
                                      .tv_nsec = (long)((end - now) % 1000000000u)};

        syscall(SYS_futex, &queue->woken, FUTEX_WAIT_PRIVATE, seen, &left, NULL, 0);
    }
    return seen & WORK_HURRY;
}

/* ---- How much CPU time the writer takes ---- */

uint64_t throttle_cpu_now(void)
{
    return mp_system_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int64_t credit(void)
{
    return (int64_t)mp_time_limit_ns(MP_TIME_THROTTLE_CREDIT);
}

void throttle_begin(struct throttle *throttle, uint64_t wall, uint64_t cpu)
{
    *throttle = (struct throttle){.begin = wall, .wall = wall, .cpu = cpu, .debt = -credit()};
}

uint64_t throttle_rest(struct throttle *throttle, uint64_t wall, uint64_t cpu,
                       enum throttle_pressure pressure)
{
    const int64_t share = (int64_t)(wall - throttle->wall) / 2;
    const int64_t longest = (int64_t)mp_time_limit_ns(MP_TIME_THROTTLE_REST);

    throttle->debt += (int64_t)(cpu - throttle->cpu) - share;
    throttle->wall = wall;
    throttle->cpu = cpu;
    if (throttle->debt < -credit())
        throttle->debt = -credit();
    if (throttle->debt > 0 && pressure == THROTTLE_PRESSED)
        throttle->free_until = wall + mp_time_limit_ns(MP_TIME_THROTTLE_FREE);
    if (throttle->debt > 0 && wall < throttle->free_until)
        throttle->debt = 0; /* the debt is forgiven, not paid later */
    if (throttle->debt <= 0 || pressure != THROTTLE_CALM)
        return 0;
    return (uint64_t)(throttle->debt * 2 < longest ? throttle->debt * 2 : longest);
}

double throttle_percent(const struct throttle *throttle, uint64_t wall, uint64_t cpu)
{
    return wall > throttle->begin ? 100.0 * (double)cpu / (double)(wall - throttle->begin) : 0;
}
