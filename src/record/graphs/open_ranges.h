/* Which NVTX ranges are open, thread by thread, as the writer meets their events.
 *
 * Ranges of push and pop are their thread's; one of start and end is that of the thread that
 * started it, whichever ends it. Where another thread's events are met first the end comes before
 * the start: it is remembered, and by its time the range closes. A thread's first event after
 * nothing was recorded for a while closes all of its ranges: what happened to them is not known.
 *
 * Memory is bounded. Pushes that find no room are counted in `beyond` until they are popped; after
 * a start that finds none the thread is `unsure`. Names are copied; the memory of a range that was
 * closed serves the next one.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_GRAPHS_OPEN_RANGES_H
#define MP_RECORD_GRAPHS_OPEN_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "record/nvtx/nvtx.h"

#define OPEN_MOST         1024u  /* ranges, of a thread */
#define OPEN_MOST_THREADS 16384u /* that were ever met */
#define OPEN_MOST_TEXT    ((size_t)8 << 20)

struct open_range {
    const char *domain; /* NULL is the default one; permanent, and one for each name */
    char *name;         /* without a zero */
    uint32_t bytes, room;
    uint64_t range; /* start and end: its id, else 0 */
    uint64_t ended; /* when it had, if that was met before; else 0 */
    uint32_t entry; /* for paths.c: 0 when the range is opened */
};

struct open_thread {
    struct open_range *open; /* outermost first */
    uint32_t count, capacity;
    uint32_t beyond; /* pushes that found no room, all of them inside of the others */
    uint32_t ended;  /* of the open ones, those whose end was met before */
    bool unsure;     /* a start found no room: it may be open, up to the next gap */
};

struct early_end;

struct open_ranges {
    struct open_thread *threads;
    struct mp_map thread_index; /* tid -> thread */
    uint32_t thread_count, thread_capacity;
    struct mp_map started;     /* id of an open start and end range -> thread */
    struct mp_map early_index; /* id of one whose start comes later -> place in the ring */
    struct early_end *early;   /* the last ends without a start */
    uint32_t early_count;      /* that there ever were */
    size_t text_bytes;
    bool missed; /* events of a thread that found no room: a new one may have had some */
};

/* Twice as many items, the new ones zeroed; false when memory is out. */
bool open_ranges_grow(void *items, uint32_t *capacity, size_t bytes);

void open_ranges_free(struct open_ranges *ranges);

/* The thread of an event, brought up to date; NULL without room. */
struct open_thread *open_ranges_take(struct open_ranges *ranges, const struct mp_nvtx_event *event);

#endif
