/* How a struct deps is made; inside the family.
 *
 *     count.c   first pass over the file: lanes, how long each is, definitions
 *     read.c    second pass: rows -> activities in their lanes, `sync` rows, names
 *     lanes.c   sorts each lane; calls inside calls become pieces
 *     link.c    in API order: launches, streams, events, synchronisation; with streams.c, fronts.c
 *     waits.c   waits outside of CUDA, who woke them, and how host code is divided
 *     nodes.c   the nodes of graph launches
 *     latency.c shortest latencies
 *     bind.c    what binds each activity
 */
#ifndef MP_REPORTS_DEPS_BUILD_H
#define MP_REPORTS_DEPS_BUILD_H

#include "base/data/reserve.h"
#include "profile/dense.h"
#include "reports/deps/deps.h"
#include "reports/deps/fronts.h"

/* A row of `sync`. */
struct deps_sync {
    uint64_t begin;
    uint64_t end;
    uint64_t correlation;
    uint64_t event;   /* CUDA's handle */
    uint64_t context; /* CUPTI's id */
    uint32_t thread;  /* lane */
    uint32_t stream;  /* lane; DEPS_NONE: none, or not known */
    uint8_t kind;     /* of enum sync_kind */
    bool failed;
    bool has_call; /* a row of `call` has its correlation id */
};

/* A row of `edge`. */
struct deps_edge {
    uint64_t graph;
    uint64_t from;
    uint64_t to;
};

/* Name and flags by the id of a definition row. */
struct deps_name_memo {
    uint32_t name;  /* 0: not asked for yet */
    uint16_t flags; /* enum deps_flag */
};

enum deps_memo_index {
    DEPS_MEMO_SHAPE,
    DEPS_MEMO_COPY,
    DEPS_MEMO_GRAPH,
    DEPS_MEMO_CALL,
    DEPS_MEMO_HOST_FUNCTION,
    DEPS_MEMO_WAIT,
    DEPS_MEMOS
};

struct deps_builder {
    struct deps *deps;
    enum names_style style;
    bool suffixes;
    size_t lane_capacity;
    uint32_t *room;                 /* by lane: rows that the first pass counted */
    struct mp_map thread_lanes;     /* the trace's thread id -> lane */
    struct mp_map stream_rows;      /* the trace's stream id -> lane */
    struct mp_map streams;          /* context and CUPTI's stream id -> lane */
    struct mp_map stream_flags;     /* the same key -> enum stream_flag */
    struct mp_map null_streams;     /* context -> CUPTI's id of its default stream */
    struct dense memos[DEPS_MEMOS]; /* of struct deps_name_memo */
    uint32_t set_name;
    struct deps_sync *syncs;
    size_t sync_count, sync_capacity;
    struct deps_edge *edges;
    size_t edge_count, edge_capacity;
};

#define DEPS_NO_STREAM UINT32_MAX /* in the column `stream` of `sync` */

/* Key of a stream among all contexts. */
static inline uint64_t deps_stream_key(uint64_t context, uint64_t stream)
{
    return context << 32 | (stream & UINT32_MAX);
}

/* Appends an activity to its lane. */
void deps_put(struct deps_builder *builder, const struct deps_activity *activity);

/* Whether the trace has defined this thread. */
bool deps_knows_thread(const struct deps *deps, uint64_t thread);

/* The number of a name in deps->names. MP_ERR_MEMORY. */
enum mp_status deps_intern(struct deps *deps, const char *name, size_t bytes, uint32_t *id);

/* The steps; each returns MP_OK, MP_ERR_MEMORY or MP_ERR_LIMIT, deps_count and deps_read also
 * MP_ERR_IO. */
enum mp_status deps_count(struct deps_builder *builder, struct mp_trace *trace,
                          struct mp_error *error);
enum mp_status deps_read(struct deps_builder *builder, struct mp_trace *trace,
                         struct mp_error *error);
void deps_close_gaps(struct deps_builder *builder);
enum mp_status deps_add_unrecorded(struct deps_builder *builder);
enum mp_status deps_sort_lanes(struct deps_builder *builder);
void deps_drop_inner_waits(struct deps_builder *builder);
enum mp_status deps_link(struct deps_builder *builder);
enum mp_status deps_find_wakers(struct deps *deps);
void deps_lay_stretches(struct deps *deps);
enum mp_status deps_measure(struct deps *deps);
void deps_bind_calls(struct deps *deps);
void deps_bind_work(struct deps *deps);

/* Shortest latencies, and what binds each activity, by the times that they have now. MP_ERR_MEMORY.
 */
enum mp_status deps_bind(struct deps *deps);

void deps_builder_free(struct deps_builder *builder);

#endif
