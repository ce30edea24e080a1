/* Chunks of a trace in memory: those of a time window, up to a number of bytes.
 *
 * Each chunk can be decoded alone. A chunk of an event table is dropped, oldest first, when all of
 * its rows are older than the window or when memory is short. Chunks of definition tables stay,
 * whatever their age, because rows of any later chunk may refer to them. Definitions count as
 * memory too and displace events. Nothing bounds the memory of definitions alone: the owner looks
 * at `kept_bytes` and starts again.
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
    size_t max; /* bytes of memory */
    struct mp_chunk_list kept;
    struct mp_chunk_list events;
    struct mp_chunk_list notes;
    uint64_t newest; /* greatest time of all events, ever */
    uint64_t gone;   /* greatest time of the events that were dropped: all later events are here */
};

/* Takes a copy of a chunk and drops older events if needed. Chunks of NOTE tables go to a list that
 * only mp_chunk_ring_drop_notes empties. `now` is the present time, or 0 if it is not known. No
 * event is later than `now`, so a greater time in a chunk is an error of some clock. On
 * MP_ERR_MEMORY nothing is taken. */
enum mp_status mp_chunk_ring_add(struct mp_chunk_ring *ring, const struct mp_table_info *table,
                                 const uint8_t *chunk, size_t bytes, uint64_t now);

/* Drops chunks of events that end before `time`. */
void mp_chunk_ring_age(struct mp_chunk_ring *ring, uint64_t time);

void mp_chunk_ring_drop_notes(struct mp_chunk_ring *ring);

/* Bytes held in all. */
size_t mp_chunk_ring_bytes(const struct mp_chunk_ring *ring);

/* Appends all chunks to a file: definitions, events, notes. Lost records are counted from
 * `dropped_before` on. */
enum mp_status mp_chunk_ring_write(const struct mp_chunk_ring *ring, struct mp_chunk_file *file,
                                   uint64_t dropped_before, struct mp_error *error);

/* Forgets everything, definitions included. The ring is complete again for times from `newest` on.
 */
void mp_chunk_ring_clear(struct mp_chunk_ring *ring);

#endif
