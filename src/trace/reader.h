/* An open trace file: the struct that reader.c, cursor.c and decode.c share. */
#ifndef MP_TRACE_READER_H
#define MP_TRACE_READER_H

#include <miniprof/format.h>
#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct mp_property {
    const char *key; /* both in mp_trace.text */
    const char *value;
};

struct mp_trace {
    int fd;
    char *path;            /* of a trace that is followed; else NULL */
    uint64_t bytes;        /* of the file when it was opened, or looked at again */
    uint64_t data_bytes;   /* the same without holes */
    uint64_t header_bytes; /* where the first chunk begins */
    char *text;            /* of the header, cut into strings */
    struct mp_property *properties;
    size_t property_count;
    bool header_lost; /* the header is damaged; the chunks are read all the same */
    bool growing;     /* it is followed, and has no index yet */
    struct mp_index index;
    uint64_t index_offset; /* where the index frame begins, if it is present */
};

/* Looks again at the size of a followed trace, and for its index. *removed: the path now leads to
 * another file, or to none. MP_ERR_IO. */
enum mp_status mp_reader_refresh(struct mp_trace *trace, bool *removed, struct mp_error *error);

/* ---- Finding chunks in damaged files, by their magic and checksum ---- */

/* Whether these bytes were written as a chunk header: the checksum says so. */
bool mp_chunk_header_intact(const struct mp_chunk_header *header);

/* Offset of the first intact chunk header that lies whole between `from` and `end`; `end` if there
 * is none. MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status mp_scan_chunk(int fd, uint64_t from, uint64_t end, uint64_t *found);

#endif
