/* Which row of `nvtx` ends which range: the one place that pairs pushes with pops and starts with
 * ends.
 *
 * A pop ends the last open push of its thread and domain. An end ends the start with its range id,
 * in whatever threads the two are. The caller gives each range that begins a number of its own, its
 * item, and gets the item back with the row that ends the range:
 *
 *     if (nvtx_match_end(&match, &event, &item))
 *         ...                                   // `event` ends the range of `item`
 *     else if (nvtx_begins(&event))
 *         nvtx_match_begin(&match, &event, item);
 *
 * Rows must come in order of time, at least within each thread. Memory: 16 bytes for each open
 * range (the room is used again), and up to 43 bytes in a map for each start, and for each thread
 * and domain with an open push. An end that comes before its start takes 56 bytes and as much in a
 * map. A zeroed struct is empty.
 */
#ifndef MP_PROFILE_NVTX_MATCH_H
#define MP_PROFILE_NVTX_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"

/* A row of `nvtx`. */
struct nvtx_event {
    uint64_t kind; /* enum mp_nvtx_kind */
    uint64_t thread;
    uint64_t domain; /* string id; 0: the default one */
    uint64_t name;   /* string id; 0: none */
    uint64_t range;  /* of starts and ends */
    uint64_t time;   /* ns */
    bool cut;        /* the range goes on outside of the capture range, which begins or ends here */
};

struct nvtx_match_place;

struct nvtx_match {
    struct nvtx_match_place *places; /* of open ranges, and free ones; owned */
    size_t count, capacity;
    uint32_t free_place;      /* + 1; 0: none */
    struct mp_map tops;       /* thread and domain -> place of the last push, while one is open */
    struct mp_map started;    /* range id -> place */
    struct nvtx_event *early; /* ends whose starts come later in the file; owned */
    size_t early_count, early_capacity;
    struct mp_map early_ids; /* range id -> early */
};

/* The columns that nvtx_event_at reads. */
#define NVTX_EVENT_COLUMNS MP_MASK(nvtx, thread, kind, domain, name, range, cut)

/* A row of a batch or of a merge, which knows the time. */
struct nvtx_event nvtx_event_at(const uint64_t *const *columns, uint32_t row, uint64_t time);

/* Whether the row is a push or a start. */
bool nvtx_begins(const struct nvtx_event *event);

/* Takes a push or a start; other rows are passed over. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status nvtx_match_begin(struct nvtx_match *match, const struct nvtx_event *event,
                                uint64_t item);

/* Takes a pop or an end: returns true, with the item of the range in *item. For other rows, and for
 * a range that began before the recording, returns false and leaves *item unchanged. */
bool nvtx_match_end(struct nvtx_match *match, const struct nvtx_event *event, uint64_t *item);

/* Rows of threads lie in the file one block of a thread behind the other, so the end of a range may
 * come before its start if another thread ends it. Keeps such an end, which nvtx_match_end did not
 * know. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status nvtx_match_keep_end(struct nvtx_match *match, const struct nvtx_event *event);

/* Whether the end of this start has come already, which is in *end then. Such a start is not to be
 * given to nvtx_match_begin. */
bool nvtx_match_take_end(struct nvtx_match *match, const struct nvtx_event *event,
                         struct nvtx_event *end);

/* The item of the last open push of a thread in a domain; false when there is none. */
bool nvtx_match_top(const struct nvtx_match *match, uint64_t thread, uint64_t domain,
                    uint64_t *item);

void nvtx_match_free(struct nvtx_match *match);

#endif
