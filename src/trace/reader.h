/* An open trace file, as reader.c, cursor.c and decode.c share it. */
#ifndef MP_TRACE_READER_H
#define MP_TRACE_READER_H

#include <miniprof/trace.h>

struct mp_property {
    const char *key; /* both in mp_trace.text */
    const char *value;
};

struct mp_trace {
    int fd;
    uint64_t bytes;        /* of the file when it was opened */
    uint64_t header_bytes; /* where the first chunk begins */
    char *text;            /* of the header, cut into strings */
    struct mp_property *properties;
    size_t property_count;
    bool header_lost; /* it is damaged; the chunks are read all the same */
    struct mp_index index;
    uint64_t index_offset; /* where the index frame begins, if it is present */
};

#endif
