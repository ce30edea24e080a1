/* Where the writer's chunks go: a file, or memory that keeps those of a time window. */
#ifndef MP_TRACE_CHUNKS_H
#define MP_TRACE_CHUNKS_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/storage.h"
#include "base/status.h"

/* ---- In a file ----
 *
 * The file around the chunks: the header before them, their numbers, the index after them.
 *
 * The caller passes a chunk as it is in the file: its struct mp_chunk_header, then the zstd
 * frame. The chunk's number and checksum are filled in here. If a write fails, the part of the
 * chunk that was written is cut off again, so that the file ends with a complete chunk.
 *
 * One thread owns a file. The descriptor is the caller's to close.
 */

struct mp_chunk_file {
    int fd;
    uint32_t sequence;      /* of the next chunk */
    uint64_t header_bytes;  /* where the first chunk begins */
    uint64_t position;      /* after the last complete chunk */
    bool may_have_room;     /* after MP_ERR_IO: the disk was full, and nothing else is wrong */
    struct mp_buffer index; /* struct mp_index_entry for each chunk */
};

/* Writes the header to `fd`, positioned at 0; `text` holds "key=value\n" lines. */
enum mp_status mp_chunk_file_begin(struct mp_chunk_file *file, int fd, const char *text,
                                   struct mp_error *error);

/* Cuts the index of a complete trace off, so that more chunks can follow. `fd` is the same file,
 * for reading and writing. MP_ERR_DAMAGED: the trace has no index. MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status mp_chunk_file_resume(struct mp_chunk_file *file, int fd,
                                    const struct mp_trace *trace, struct mp_error *error);

/* Appends a chunk of `bytes` bytes. */
enum mp_status mp_chunk_file_append(struct mp_chunk_file *file, uint8_t *chunk, size_t bytes,
                                    struct mp_error *error);

/* Cuts the file back to its header. */
enum mp_status mp_chunk_file_cut(struct mp_chunk_file *file, struct mp_error *error);

/* Writes the index; no chunk may follow. `dropped`: records lost in all. */
enum mp_status mp_chunk_file_end(struct mp_chunk_file *file, uint64_t dropped,
                                 struct mp_error *error);

/* Frees the memory. */
void mp_chunk_file_free(struct mp_chunk_file *file);

/* ---- In memory ----
 *
 * Chunks of a trace in memory: those of a time window, up to a number of bytes.
 *
 * Each chunk can be decoded alone. A chunk of an event table is dropped, oldest first, when all of
 * its rows are older than the window or when memory is short. Chunks of definition tables stay,
 * whatever their age, because rows of any later chunk may refer to them. Definitions count as
 * memory too and displace events. Nothing bounds the memory of definitions alone: the owner looks
 * at `kept_bytes` and starts again.
 *
 * One thread owns a ring. A zeroed struct with `most` set is an empty one.
 */

struct mp_ring_chunk {
    struct mp_ring_chunk *next; /* that came after it */
    size_t bytes;
    uint32_t rows;
    uint64_t last; /* latest time in it, ends included */
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
    uint64_t newest; /* latest time of all events, ever */
    uint64_t gone;   /* latest time of the events that were dropped: all later events are here */
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
