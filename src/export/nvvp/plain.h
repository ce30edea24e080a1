/* Inside nvvp_read, for files without MINIPROF_ tables: plain.c says where rows come from,
 * plain_rows.c turns them into rows of a trace. */
#ifndef MP_EXPORT_NVVP_PLAIN_H
#define MP_EXPORT_NVVP_PLAIN_H

#include "base/data/map.h"
#include "export/nvvp/merge.h"
#include "export/nvvp/plain_markers.h"

struct nvvp_plain {
    struct nvvp_reader *reader;
    struct mp_map strings; /* _id_ in StringTable -> string of the trace */
    uint32_t string_count; /* of the trace */
    struct mp_intern
        streams; /* what is known of each stream by its id in the trace; the next ones likewise */
    struct mp_intern shapes;
    struct mp_intern functions;
    struct mp_intern threads;
    struct mp_map thread_names; /* tid -> string of the trace */
    struct nvvp_marker_kinds markers;
    struct mp_map domains;  /* id of an open range -> its domain, as a string of the trace */
    uint64_t names_missing; /* names that StringTable does not have */
};

/* The row that a statement stands on. */
struct nvvp_plain_source {
    struct nvvp_source source; /* first: nvvp_merge */
    const struct nvvp_plain_kind *kind;
    union {
        struct nvvp_CONCURRENT_KERNEL kernel;
        struct nvvp_MEMCPY copy;
        struct nvvp_MEMCPY2 peer_copy;
        struct nvvp_MEMSET set;
        struct nvvp_RUNTIME call; /* and of DRIVER */
        struct nvvp_SYNCHRONIZATION wait;
        struct nvvp_CUDA_EVENT event;
        struct nvvp_STREAM stream;
        struct nvvp_MARKER marker;
        struct nvvp_NAME name;
        struct nvvp_OVERHEAD overhead;
        struct nvvp_DEVICE device;
        struct nvvp_CONTEXT context;
        struct nvvp_UNIFIED_MEMORY_COUNTER unified;
        struct nvvp_MEMORY memory;
    } row;
    uint64_t extra[6]; /* what other tables say about the row */
};

typedef enum mp_status nvvp_take(struct nvvp_plain *plain, const struct nvvp_plain_source *source);

nvvp_take nvvp_take_device, nvvp_take_context, nvvp_take_stream, nvvp_take_name, nvvp_take_kernel,
    nvvp_take_copy, nvvp_take_peer_copy, nvvp_take_set, nvvp_take_runtime, nvvp_take_driver,
    nvvp_take_wait, nvvp_take_event, nvvp_take_marker, nvvp_take_overhead, nvvp_take_unified,
    nvvp_take_allocation, nvvp_take_release;

/* Tells plain->markers of a row of MARKER. */
nvvp_take nvvp_look_at_marker;

/* Defines a string of the trace; 0 when memory is out. */
uint32_t nvvp_define_string(struct nvvp_plain *plain, const char *text, size_t bytes);

/* Begins the trace. Its header says that times are since 1970 and from `earliest` on. *unknown
 * receives the number of tables whose rows are not read. */
enum mp_status nvvp_plain_start(struct nvvp_plain *plain, uint64_t earliest, uint64_t *unknown);

/* The first number that a statement gives; 0 if it gives none or cannot be run. */
uint64_t nvvp_first_number(const struct nvvp_reader *reader, const char *sql);

#endif
