/* Which NVTX ranges are open, thread by thread, as the writer meets their events.
 *
 * A push/pop range belongs to its thread. A start/end range belongs to the thread that started it,
 * whichever thread ends it. The writer may meet the end before the start, if it reads the ending
 * thread first. Then it remembers the end, and the range closes at the end's time.
 *
 * If a thread's first event follows a gap in the recording, all ranges of that thread close: what
 * happened to them is unknown.
 *
 * Memory is bounded. `beyond` counts pushes that found no room, until they are popped. After a
 * start that found no room the thread is `unsure`. Names are copied; the memory of a closed range
 * serves the next one.
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

#define OPEN_MAX         1024u  /* ranges of one thread */
#define OPEN_MAX_THREADS 16384u /* threads, ever */
#define OPEN_MAX_TEXT    ((size_t)8 << 20)

struct open_range {
    const char *domain; /* NULL is the default one; permanent, and one for each name */
    char *name;         /* without a zero */
    uint32_t bytes, room;
    uint64_t range; /* start and end: its id, else 0 */
    uint64_t payload;
    uint32_t category, color;
    uint8_t payload_type;
    uint64_t ended; /* when it ended, if the end was met before the start; else 0 */
    uint32_t entry; /* for nvtx_ranges.c: 0 when the range is opened */
};

/* Which begins and ends of capture ranges the thread's rows have taken in. */
struct carried_thread {
    uint64_t edges; /* their number */
    uint64_t time;  /* of the last one */
    bool inside;    /* it begins a capture range */
};

struct open_thread {
    struct open_range *open; /* outermost first */
    uint32_t count, capacity;
    uint32_t beyond; /* pushes that found no room, all of them inside of the others */
    uint32_t ended;  /* open ranges whose end was met before the start */
    bool unsure;     /* a start found no room: it may be open, up to the next gap */
    uint32_t tid;
    struct carried_thread carried; /* rows/nvtx_ranges.c's */
};

struct early_end;

struct open_ranges {
    struct open_thread *threads;
    struct mp_map thread_index; /* tid -> thread */
    uint32_t thread_count, thread_capacity;
    struct mp_map started;     /* id of an open start and end range -> thread */
    struct mp_map early_index; /* id of a range whose start comes later -> place in `early` */
    struct early_end *early;   /* ring of the last ends without a start */
    uint32_t early_count;      /* such ends, ever */
    size_t text_bytes;
    bool missed; /* events of a thread without room were dropped: a new thread may be that one */
};

void open_ranges_free(struct open_ranges *ranges);

/* The thread has ended, and with it what it has pushed. */
void open_ranges_end_thread(struct open_ranges *ranges, uint32_t tid);

/* The thread with this id; NULL without room. */
struct open_thread *open_ranges_thread(struct open_ranges *ranges, uint32_t tid);

/* The thread that has started this start/end range; NULL: it is not open, or not known. */
struct open_thread *open_ranges_owner(struct open_ranges *ranges, uint64_t range);

/* Applies an event and answers its thread; NULL without room. */
struct open_thread *open_ranges_take(struct open_ranges *ranges, const struct mp_nvtx_event *event);

#endif
