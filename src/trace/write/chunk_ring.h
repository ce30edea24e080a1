/* Chunks of a trace in memory: those of a window of time, and no more than so many bytes.
 *
 * A chunk can be decoded without any other one, so chunks of event tables are dropped, oldest
 * first, when all of their rows are older than the window or memory is short. Chunks of definition
 * tables stay, whatever their age: rows of any later chunk may refer to them. They count as memory
 * all the same and displace events. Nothing bounds what definitions alone take: the owner looks at
 * `kept_bytes` and begins anew.
 *
 * One thread owns a ring. A zeroed struct with `most` set is an empty one.
 */
#ifndef MP_TRACE_WRITE_CHUNK_RING_H
#define MP_TRACE_WRITE_CHUNK_RING_H

#include <stddef.h>
#include <stdint.h>

#include <miniprof/trace.h>

#include "base/status.h"
#include "trace/write/chunk_file.h"

struct mp_ring_chunk {
    struct mp_ring_chunk *next; /* that came after it */
    size_t bytes;
    uint32_t rows;
    uint64_t last; /* greatest time in it, ends included */
    uint8_t data[];
};

struct mp_chunk_list {
    struct mp_ring_chunk *first, *last;
    size_t bytes; /* of memory, with what the allocator adds */
    uint64_t rows;
};

struct mp_chunk_ring {
    size_t most; /* bytes of memory */
    struct mp_chunk_list kept;
    struct mp_chunk_list events;
    struct mp_chunk_list notes;
    uint64_t newest; /* greatest time of all events, ever */
    uint64_t gone;   /* greatest time of the events that were dropped: from there on all are here */
};

/* Takes a copy of a chunk; chunks of NOTE tables go to a list that only mp_chunk_ring_drop_notes
 * empties. `now` is the present time, or 0 if that is not known: no event is later, so a greater
 * time in a chunk is an error of some clock. Older events give way. MP_ERR_MEMORY, with nothing
 * taken. */
enum mp_status mp_chunk_ring_add(struct mp_chunk_ring *ring, const struct mp_table_info *table,
                                 const uint8_t *chunk, size_t bytes, uint64_t now);

/* Drops chunks of events that end before `time`. */
void mp_chunk_ring_age(struct mp_chunk_ring *ring, uint64_t time);

void mp_chunk_ring_drop_notes(struct mp_chunk_ring *ring);

/* Bytes held in all. */
size_t mp_chunk_ring_bytes(const struct mp_chunk_ring *ring);

/* Appends all chunks to a file: definitions, events, notes. Records lost are counted from
 * `dropped_before` on. */
enum mp_status mp_chunk_ring_write(const struct mp_chunk_ring *ring, struct mp_chunk_file *file,
                                   uint64_t dropped_before, struct mp_error *error);

/* Forgets everything, definitions included; from `newest` on all will be there again. */
void mp_chunk_ring_clear(struct mp_chunk_ring *ring);

#endif
