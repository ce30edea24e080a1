/* Which NVTX ranges are open, thread by thread, as the writer meets their events. It may meet an
 * end before its start, when two threads share a range.
 */
#include "record/graphs/open_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MAX_EARLY_ENDS 4096u

struct early_end {
    uint64_t range;
    uint64_t time;
};

static struct open_thread *add_thread(struct open_ranges *ranges, uint32_t tid)
{
    if (ranges->thread_count == OPEN_MAX_THREADS ||
        (ranges->thread_count == ranges->thread_capacity &&
         !mp_double(&ranges->threads, &ranges->thread_capacity, sizeof(*ranges->threads))) ||
        mp_map_put(&ranges->thread_index, tid, ranges->thread_count) != MP_OK)
        return NULL;
    struct open_thread *thread = &ranges->threads[ranges->thread_count++];
    thread->unsure = ranges->missed;
    thread->tid = tid;
    return thread;
}

struct open_thread *open_ranges_thread(struct open_ranges *ranges, uint32_t tid)
{
    uint32_t index = mp_map_get(&ranges->thread_index, tid);
    struct open_thread *thread =
        index == MP_MAP_ABSENT ? add_thread(ranges, tid) : &ranges->threads[index];

    ranges->missed |= !thread;
    return thread;
}

static void close_at(struct open_ranges *ranges, struct open_thread *thread, uint32_t at)
{
    struct open_range closed = thread->open[at];

    if (closed.range && !closed.ended)
        mp_map_remove(&ranges->started, closed.range);
    thread->ended -= closed.ended != 0;
    thread->count--;
    memmove(&thread->open[at], &thread->open[at + 1],
            (thread->count - at) * sizeof(thread->open[0]));
    thread->open[thread->count] = (struct open_range){.name = closed.name, .room = closed.room};
}

static void close_all(struct open_ranges *ranges, struct open_thread *thread)
{
    while (thread->count)
        close_at(ranges, thread, thread->count - 1);
    thread->beyond = 0;
    thread->unsure = false;
}

/* Makes room for a name in the next place. */
static bool open_ranges_make_room(struct open_ranges *ranges, struct open_thread *thread,
                                  size_t bytes)
{
    if (thread->count == OPEN_MAX ||
        (thread->count == thread->capacity &&
         !mp_double(&thread->open, &thread->capacity, sizeof(thread->open[0]))))
        return false;
    struct open_range *next = &thread->open[thread->count];
    if (bytes <= next->room)
        return true;
    if (ranges->text_bytes + bytes > OPEN_MAX_TEXT)
        return false;
    char *name = realloc(next->name, bytes);
    if (!name)
        return false;
    ranges->text_bytes += bytes - next->room;
    next->name = name;
    next->room = (uint32_t)bytes;
    return true;
}

static bool open_range(struct open_ranges *ranges, struct open_thread *thread,
                       const struct mp_nvtx_event *event)
{
    size_t bytes = strlen(event->name);

    if (!open_ranges_make_room(ranges, thread, bytes))
        return false;
    struct open_range *next = &thread->open[thread->count++];
    next->domain = event->domain;
    next->bytes = (uint32_t)bytes;
    next->range = event->range;
    next->payload = event->payload;
    next->payload_type = event->payload_type;
    next->category = event->category;
    next->color = event->color;
    next->ended = 0;
    next->entry = 0;
    if (bytes)
        memcpy(next->name, event->name, bytes);
    return true;
}

static void open_ranges_push(struct open_ranges *ranges, struct open_thread *thread,
                             const struct mp_nvtx_event *event)
{
    if (thread->beyond || !open_range(ranges, thread, event))
        thread->beyond++;
}

/* Closes the last push of the domain. If there is none, it was pushed before anything was recorded.
 */
static void open_ranges_pop(struct open_ranges *ranges, struct open_thread *thread,
                            const char *domain)
{
    uint32_t at = thread->count;

    if (thread->beyond) {
        thread->beyond--;
        return;
    }
    while (at--)
        if (!thread->open[at].range && thread->open[at].domain == domain) {
            close_at(ranges, thread, at);
            return;
        }
}

/* When a range ended whose start comes only now; 0 if its end was not met. */
static uint64_t take_early(struct open_ranges *ranges, uint64_t range)
{
    uint32_t place = mp_map_get(&ranges->early_index, range);

    if (place == MP_MAP_ABSENT)
        return 0;
    mp_map_remove(&ranges->early_index, range);
    ranges->early[place].range = 0;
    return ranges->early[place].time;
}

/* Remembers an end: its start was not recorded, or is still to come. */
static void note_early(struct open_ranges *ranges, const struct mp_nvtx_event *event)
{
    if (!ranges->early)
        ranges->early = calloc(MAX_EARLY_ENDS, sizeof(*ranges->early));
    if (!ranges->early)
        return; /* then the range may look open for too long */
    struct early_end *early = &ranges->early[ranges->early_count % MAX_EARLY_ENDS];
    if (early->range)
        mp_map_remove(&ranges->early_index, early->range);
    early->range = 0;
    if (mp_map_put(&ranges->early_index, event->range, (uint32_t)(early - ranges->early)) ==
        MP_OK) {
        *early = (struct early_end){event->range, event->time};
        ranges->early_count++;
    }
}

static void start(struct open_ranges *ranges, struct open_thread *thread,
                  const struct mp_nvtx_event *event)
{
    uint64_t ended = take_early(ranges, event->range);

    if (!open_range(ranges, thread, event)) {
        thread->unsure = true;
        return;
    }
    if (ended) {
        thread->open[thread->count - 1].ended = ended;
        thread->ended++;
    } else if (mp_map_put(&ranges->started, event->range, (uint32_t)(thread - ranges->threads)) !=
               MP_OK) {
        close_at(ranges, thread, thread->count - 1);
        thread->unsure = true;
    }
}

/* Closes a start/end range, whichever thread ends it. */
static void open_ranges_end(struct open_ranges *ranges, const struct mp_nvtx_event *event)
{
    uint32_t index = mp_map_get(&ranges->started, event->range);

    if (index == MP_MAP_ABSENT) {
        note_early(ranges, event);
        return;
    }
    uint32_t at = ranges->threads[index].count;
    while (at-- && ranges->threads[index].open[at].range != event->range)
        continue;
    close_at(ranges, &ranges->threads[index], at); /* not NULL: `started` has the range */
}

static void close_ended(struct open_ranges *ranges, struct open_thread *thread, uint64_t now)
{
    uint32_t at = thread->count;

    while (at--)
        if (thread->open[at].ended && thread->open[at].ended <= now)
            close_at(ranges, thread, at);
}

struct open_thread *open_ranges_owner(struct open_ranges *ranges, uint64_t range)
{
    uint32_t index = mp_map_get(&ranges->started, range);

    return index == MP_MAP_ABSENT ? NULL : &ranges->threads[index];
}

void open_ranges_end_thread(struct open_ranges *ranges, uint32_t tid)
{
    uint32_t index = mp_map_get(&ranges->thread_index, tid);
    struct open_thread *thread = index == MP_MAP_ABSENT ? NULL : &ranges->threads[index];

    for (uint32_t at = thread ? thread->count : 0; at--;)
        if (!thread->open[at].range)
            close_at(ranges, thread, at);
    if (thread)
        thread->beyond = 0;
}

struct open_thread *open_ranges_take(struct open_ranges *ranges, const struct mp_nvtx_event *event)
{
    struct open_thread *thread = open_ranges_thread(ranges, event->tid);

    if (!thread)
        return NULL;
    if (event->first)
        close_all(ranges, thread);
    if (thread->ended)
        close_ended(ranges, thread, event->time);
    if (event->kind == MP_nvtx_kind_push)
        open_ranges_push(ranges, thread, event);
    else if (event->kind == MP_nvtx_kind_pop)
        open_ranges_pop(ranges, thread, event->domain);
    else if (event->kind == MP_nvtx_kind_start)
        start(ranges, thread, event);
    else if (event->kind == MP_nvtx_kind_end)
        open_ranges_end(ranges, event);
    return thread;
}

void open_ranges_free(struct open_ranges *ranges)
{
    for (uint32_t i = 0; i < ranges->thread_count; i++) {
        for (uint32_t k = 0; k < ranges->threads[i].capacity; k++)
            free(ranges->threads[i].open[k].name);
        free(ranges->threads[i].open);
    }
    free(ranges->threads);
    mp_map_free(&ranges->thread_index);
    mp_map_free(&ranges->started);
    mp_map_free(&ranges->early_index);
    free(ranges->early);
    memset(ranges, 0, sizeof(*ranges));
}
