/* Replays allocations and releases in order: which release gives back which allocation, and what is
 * alive at any moment.
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
#ifndef MP_REPORTS_MEMORY_REPLAY_H
#define MP_REPORTS_MEMORY_REPLAY_H

#include "reports/memory/events.h"

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

/* MP_ERR_MEMORY; memory_replay_end is due in any case. */
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
