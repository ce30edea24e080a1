/* What a program allocated and freed, in order of time, each with its place in the program: the
 * rows of table `memory`, with the calls in which they were made and the NVTX ranges around these
 * calls.
 *
 * CUPTI does not say which thread allocated, but the call with the same correlation id does. So
 * rows of `memory`, `call` and `nvtx` are swept over in order of time. For each row the thread's
 * call is looked up, and the range that was the innermost one when the call began. If the call is
 * not in the trace, neither is known.
 *
 * Memory: 40 bytes a row (the array grows by half), and 80 bytes for each place in the program:
 * there is one for each function in each range.
 */
#ifndef MP_REPORTS_MEMORY_EVENTS_H
#define MP_REPORTS_MEMORY_EVENTS_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/definitions.h"
#include "profile/quality.h"
#include "profile/ranges.h"

#define MEMORY_HOST      UINT64_MAX /* instead of a device: pinned and pageable memory */
#define MEMORY_NO_POOL   UINT32_MAX
#define MEMORY_MAX       (UINT32_MAX - 1) /* rows */
#define MEMORY_SITE_BITS 23
#define MEMORY_CALL_BITS 40 /* of ns: 18 minutes; longer calls count as that */

/* An allocation or a release. */
struct memory_event {
    uint64_t time; /* ns of the recorder's clock */
    uint64_t address;
    uint64_t bytes;                      /* as the row has it: that of a release may be 0 */
    uint64_t correlation;                /* 0: unknown */
    uint64_t call_ns : MEMORY_CALL_BITS; /* ns of the call; 0 if an earlier event already has it */
    uint64_t site : MEMORY_SITE_BITS;    /* of sites */
    uint64_t release : 1;
};

/* Where memory lies. */
struct memory_place {
    uint64_t kind;   /* enum mp_memory_kind */
    uint64_t device; /* ordinal, MEMORY_HOST */
    uint32_t pool;   /* of pools; MEMORY_NO_POOL */
    uint32_t unused; /* 0: places are compared as bytes */
};

/* Where in the program something was allocated or freed. */
struct memory_site {
    uint64_t thread;   /* the trace's number; 0: unknown */
    uint64_t function; /* id of table `function`; 0: unknown */
    uint64_t domain;   /* string id of the innermost NVTX range; 0: the default one */
    uint64_t range;    /* string id of its name; 0: it has none, or none was open */
    uint32_t place;    /* of places */
    uint32_t in_range; /* 1: an NVTX range was open */
};

/* What the records say about a memory pool. Sizes are CUPTI's, in bytes; there are none for pools
 * that were imported from another process. */
struct memory_pool {
    uint64_t address;
    uint64_t device;
    uint64_t type;      /* 1 local, 2 imported */
    uint64_t created;   /* ns; 0: before the recording */
    uint64_t destroyed; /* ns; 0: not seen */
    uint64_t trims;
    uint64_t threshold;    /* release threshold, from the last record that states it */
    uint64_t reserved;     /* last size */
    uint64_t max_reserved; /* greatest one */
    uint64_t used;         /* last number of bytes in use */
    uint64_t max_used;
    bool has_sizes;
    bool has_threshold;
};

struct memory_events {
    struct memory_event *items; /* in order of time; owned, as all of these */
    size_t count, capacity;
    struct mp_intern place_pool; /* struct memory_place; place i is id i + 1 */
    struct mp_intern site_pool;
    struct memory_place *places;
    size_t place_count, place_capacity;
    struct memory_site *sites;
    size_t site_count, site_capacity;
    struct memory_pool *pools;
    size_t pool_count, pool_capacity;
    struct mp_map pool_index; /* address -> the last pool there */
    uint64_t
        first_time;   /* ns of the first row that was read (and lies in the range, if there is one);
                         0: no row. With `sites` the tables are nvtx, call, memory and pool */
    bool no_calls;    /* the trace has no API calls */
    bool reached_end; /* as far as the trace says, the recording went on until the process ended */
};

struct memory_events_options {
    const struct capture_range *range; /* only what happened in it; NULL: everything */
    bool sites; /* also reads pools and sites; otherwise only rows of `memory`, each with an unknown
                   site */
};

/* Reads the rows. Definitions and quality, which the caller has set up for the trace, are filled in
 * by a pass of their own. MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT (over MEMORY_MAX rows);
 * memory_events_free in any case. */
enum mp_status memory_events_load(struct memory_events *events, struct mp_trace *trace,
                                  const struct memory_events_options *options,
                                  struct definitions *definitions, struct quality *quality,
                                  struct mp_error *error);

void memory_events_free(struct memory_events *events);

static inline const struct memory_place *memory_place_of(const struct memory_events *events,
                                                         const struct memory_event *event)
{
    return &events->places[events->sites[event->site].place];
}

/* ---- Replaying the events in order: which release gives back which allocation ----
 *
 *     struct memory_replay replay;
 *     struct memory_change change;
 *     MP_TRY(memory_replay_begin(&replay, &events));
 *     while ((status = memory_replay_next(&replay, &change)) == MP_OK) ...
 *     memory_replay_end(&replay);
 *
 * An allocation lives until its address is released or allocated again. In the second case its
 * release is not in the trace. Memory: 16 to 43 bytes for each allocation that is alive, and a bit
 * for each row.
 */

#define MEMORY_NONE UINT32_MAX

/* One event, and the allocation that ends with it. */
struct memory_change {
    const struct memory_event *event;
    uint32_t index; /* of the event */
    const struct memory_event
        *ended; /* for a release, the allocation that it gives back; for an allocation, the one that
                   was at its address; NULL: none that is known */
    uint32_t ended_index; /* MEMORY_NONE */
};

struct memory_replay {
    const struct memory_events *events;
    struct mp_map known; /* address -> event that allocated it */
    uint8_t *alive;      /* a bit for each event */
    size_t next;
};

/* MP_ERR_MEMORY; memory_replay_end in any case. */
enum mp_status memory_replay_begin(struct memory_replay *replay,
                                   const struct memory_events *events);

/* The next event: MP_OK, MP_END, MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status memory_replay_next(struct memory_replay *replay, struct memory_change *change);

/* Whether an event is an allocation that lives after the last change. */
static inline bool memory_replay_is_alive(const struct memory_replay *replay, size_t event)
{
    return replay->alive[event / 8] >> event % 8 & 1;
}

void memory_replay_end(struct memory_replay *replay);

#endif
