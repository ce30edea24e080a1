/* The file around the chunks: the header before them, their numbers, the index after them.
 *
 * The caller passes a chunk as it stands in the file: its struct mp_chunk_header, then the zstd
 * frame. The chunk's number and checksum are filled in here. If a write fails, the part of the
 * chunk that was written is cut off again, so that the file ends with a complete chunk.
 *
 * One thread owns a file. The descriptor is the caller's to close.
 */
#ifndef MP_TRACE_WRITE_CHUNK_FILE_H
#define MP_TRACE_WRITE_CHUNK_FILE_H

#include <stdbool.h>

#include "base/data/storage.h"
#include "base/status.h"

struct mp_chunk_file {
    int fd;
    uint32_t sequence;      /* of the next chunk */
    uint64_t header_bytes;  /* where the first chunk begins */
    uint64_t position;      /* behind the last complete chunk */
    bool may_have_room;     /* after MP_ERR_IO: the disk was full, and nothing else is wrong */
    struct mp_buffer index; /* struct mp_index_entry for each chunk */
};

/* Writes the header to `fd`, positioned at 0; `text` holds "key=value\n" lines. */
enum mp_status mp_chunk_file_begin(struct mp_chunk_file *file, int fd, const char *text,
                                   struct mp_error *error);

/* Appends a chunk of so many bytes. */
enum mp_status mp_chunk_file_append(struct mp_chunk_file *file, uint8_t *chunk, size_t bytes,
                                    struct mp_error *error);

/* Cuts the file back to its header. */
enum mp_status mp_chunk_file_cut(struct mp_chunk_file *file, struct mp_error *error);

/* Writes the index; no chunk may follow. `dropped`: records lost in all. */
enum mp_status mp_chunk_file_end(struct mp_chunk_file *file, uint64_t dropped,
                                 struct mp_error *error);

/* Frees the memory. */
void mp_chunk_file_free(struct mp_chunk_file *file);

#endif
