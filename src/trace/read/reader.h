/* An open trace file: the struct that reader.c, cursor.c and decode.c share. */
#ifndef MP_TRACE_READ_READER_H
#define MP_TRACE_READ_READER_H

#include <miniprof/trace.h>

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

#endif
