/* See work.h. */
#include "record/work.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/poison.h"

enum mp_status work_queue_open(struct work_queue *queue, size_t buffers)
{
    uint32_t capacity = WORK_MARKS;

    while (capacity < buffers + WORK_MARKS)
        capacity *= 2;
    queue->items = calloc(capacity, sizeof(*queue->items));
    if (!queue->items)
        return MP_ERR_MEMORY;
    queue->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->wake_fd < 0) {
        free(queue->items);
        queue->items = NULL;
        return MP_ERR_IO;
    }
    queue->capacity = capacity;
    pthread_mutex_init(&queue->lock, NULL);
    return MP_OK;
}

void work_queue_close(struct work_queue *queue)
{
    if (!queue->items)
        return;
    close(queue->wake_fd);
    free(queue->items);
    queue->items = NULL;
    pthread_mutex_destroy(&queue->lock);
}

bool work_put(struct work_queue *queue, const struct work *item)
{
    bool room;

    pthread_mutex_lock(&queue->lock);
    /* Buffers always fit: marks stop short of their room. */
    room = queue->head - queue->tail < (item->kind == WORK_BUFFER ? queue->capacity : WORK_MARKS);
    if (room) {
        queue->items[queue->head++ & (queue->capacity - 1)] = *item;
        atomic_fetch_add_explicit(&queue->put, 1, memory_order_release);
    }
    pthread_mutex_unlock(&queue->lock);
    if (!room)
        atomic_fetch_add_explicit(&queue->lost, 1, memory_order_relaxed);
    work_wake(queue);
    return room;
}

bool work_take(struct work_queue *queue, struct work *item)
{
    bool found;

    pthread_mutex_lock(&queue->lock);
    found = queue->head != queue->tail;
    if (found) {
        *item = queue->items[queue->tail++ & (queue->capacity - 1)];
        queue->taken++;
    }
    pthread_mutex_unlock(&queue->lock);
    return found;
}

void work_wake(struct work_queue *queue)
{
    const uint64_t one = 1;
    int saved_errno = errno;

    if (!atomic_exchange(&queue->woken, true)) {
        /* Can only fail when the counter is full, and then the writer is awake anyway. */
        ssize_t ignored = write(queue->wake_fd, &one, sizeof(one));
        (void)ignored;
    }
    errno = saved_errno;
}

bool work_wait(struct work_queue *queue, int other, int timeout_ms)
{
    struct pollfd files[2] = {{.fd = queue->wake_fd, .events = POLLIN},
                              {.fd = other, .events = POLLIN}};
    uint64_t count;

    if (poll(files, 2, timeout_ms) > 0 && files[0].revents) {
        ssize_t ignored = read(queue->wake_fd, &count, sizeof(count));
        (void)ignored;
    }
    /* After the read, before the writer looks: a later put writes again. */
    atomic_store(&queue->woken, false);
    return files[1].revents != 0;
}
