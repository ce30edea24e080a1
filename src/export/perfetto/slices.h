/* Slices on tracks. Perfetto gets a begin and an end of each, sorts all by time (what has the same
 * time stays in the order of the file), and an end closes what began last on its track. So the
 * slices of a track must nest, and of several that begin at once the longest must come first. Rows
 * of a trace come in order of their ends, so each track holds its last slices back and sorts them:
 *
 *     rows           |-inner-|, |---outer---|        held: outer, inner
 *     lane 0         |---outer---|
 *                     |-inner-|
 *     lane 1                   |--does not nest--|   a further track of the same name
 *
 * An NVTX range with more than 512 inside comes when those are written, but still nests. Only if it
 * began in the very nanosecond of its first inner range, Perfetto takes one for the other.
 *
 * Memory: 40 KiB a track at most, and 8 bytes for each slice inside of which one is.
 */
#ifndef MP_EXPORT_PERFETTO_SLICES_H
#define MP_EXPORT_PERFETTO_SLICES_H

#include "export/perfetto/packets.h"

/* What is written with a slice besides its name; 0: nothing. */
struct slice {
    uint64_t start, duration; /* ns, of the recorder's clock */
    uint64_t name;            /* packets_name */
    uint64_t correlation;
    uint64_t callers;   /* callers_of */
    uint64_t value;     /* of the argument below */
    uint32_t activity;  /* DEPS_NONE: none */
    uint8_t category;   /* enum category */
    uint8_t argument;   /* enum argument */
    uint8_t value_type; /* as NVTX's payloads; 0: a number without sign */
    bool nests;         /* in every slice that ends later, so it may come late */
    bool open, cut;     /* an NVTX range */
    const struct iteration_measures *measures; /* NULL: none */
};

struct slice_lane;

struct track {
    uint64_t uuid, parent;
    const char *name;
    char *owned_name; /* NULL: not owned */
    struct slice *held;
    size_t held_count, held_capacity;
    struct slice_lane *lanes;
    size_t lane_count, lane_capacity;
};

/* Of the process whose slices are written. */
struct slices {
    struct packets *packets;
    uint64_t next_uuid;
    /* Writes what an activity has besides, inside of the event. */
    void (*correlate)(void *context, uint32_t activity);
    void *context;
};

/* Announces a track below `parent` (0: none) and answers its number. */
uint64_t track_announce(struct slices *slices, uint64_t parent, const char *name, unsigned rank);

/* The slice is written now or later. MP_ERR_MEMORY. */
enum mp_status track_add(struct slices *slices, struct track *track, const struct slice *slice);

/* Writes what is held back. */
enum mp_status track_flush(struct slices *slices, struct track *track);
void track_free(struct track *track);

/* A moment on the track. */
enum mp_status track_instant(struct slices *slices, struct track *track, uint64_t time,
                             uint64_t name, enum category category);

/* One slice at once, on a track whose slices nest and come in order. packet_end wants the answer:
 * what is annotated before it belongs to the slice. */
struct slice_parts {
    size_t packet, event;
};
struct slice_parts slice_begin(struct packets *packets, uint64_t uuid, uint64_t time, uint64_t name,
                               enum category category);
void slice_end(struct packets *packets, uint64_t uuid, uint64_t time,
               const struct slice_parts *parts);

#endif
