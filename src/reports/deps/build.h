/* How a struct deps is made; inside the family.
 *
 *     count.c   first pass over the file: lanes, how long each is, definitions
 *     read.c    second pass: rows -> activities in their lanes, `sync` rows, names
 *     lanes.c   sorts each lane; calls inside calls become pieces
 *     link.c    in API order: launches, streams, events, synchronisation; with fronts.c
 *     values.c  values in memory that streams write and wait for
 *     waits.c   waits outside of CUDA, who woke them, and how host code is divided
 *     nodes.c   the nodes of graph launches
 *     bind.c    shortest latencies, and what binds each activity
 */
#ifndef MP_REPORTS_DEPS_BUILD_H
#define MP_REPORTS_DEPS_BUILD_H

#include "base/data/storage.h"
#include "profile/dense.h"
#include "reports/deps/deps.h"

/* A row of `sync` or `stream_value`. */
struct deps_sync {
    uint64_t begin;
    uint64_t end;
    uint64_t correlation;
    uint64_t event;   /* CUDA's handle; DEPS_SYNC_VALUE: which one of the values */
    uint64_t context; /* CUPTI's id */
    uint32_t thread;  /* lane */
    uint32_t stream;  /* lane; DEPS_NONE: none, or not known */
    uint8_t kind;     /* of enum sync_kind, or DEPS_SYNC_VALUE */
    bool failed;
    bool has_call; /* a row of `call` has its correlation id */
};

#define DEPS_SYNC_VALUE UINT8_MAX

/* What a row of `stream_value` has besides. What follows `lane` is found while linking. */
struct deps_value {
    uint64_t address;
    uint64_t value;
    uint64_t correlation;
    uint8_t operation; /* of enum value_operation */
    bool wide;         /* 64 bits */
    uint32_t lane;     /* the stream; DEPS_NONE: not known, or it is a node of a graph */
    uint64_t moment;   /* ns: it happens then, or later */
    uint64_t next;     /* ns: begin of the launch after a wait; UINT64_MAX: there is none */
    uint64_t over;     /* ns: when a wait is over, if that launch tells it; else 0 */
    uint32_t stands;   /* reference to what is ahead of it in its stream */
    uint32_t write;    /* which one let a wait through; DEPS_NONE: none that is known */
    uint32_t ahead;    /* the wait ahead of a wait in its stream, with no launch between them */
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
    bool suffixes, check; /* as the options have them */
    size_t lane_capacity;
    uint32_t *room;                 /* by lane: rows that the first pass counted */
    struct mp_map thread_lanes;     /* the trace's thread id -> lane */
    struct mp_map stream_rows;      /* the trace's stream id -> lane */
    struct mp_map streams;          /* contexts_key of what rows name -> lane */
    struct dense memos[DEPS_MEMOS]; /* of struct deps_name_memo */
    uint32_t set_name;
    struct deps_sync *syncs;
    size_t sync_count, sync_capacity;
    struct deps_edge *edges;
    size_t edge_count, edge_capacity;
    struct deps_value *values;
    size_t value_count, value_capacity;
    bool values_changed; /* since the round of linking began (values.c) */
};

#define DEPS_NO_STREAM UINT32_MAX /* in the column `stream` of `sync` */

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

/* Which threads take part, and which only watch: these wake nobody from here on. */
void deps_find_watchers(struct deps *deps);

/* Sets the group of each thread (deps.h). */
void deps_group_threads(struct deps *deps);
void deps_lay_stretches(struct deps *deps);
enum mp_status deps_measure(struct deps *deps);
void deps_bind_calls(struct deps *deps);

/* More than any latency on an idle device: the launch of a graph of 800 nodes takes 35 us on an
 * H100 (docs/dependency-analysis.md, D11). */
#define DEPS_UNEXPLAINED_NS 50000u

/* Gives activities that nothing known explains what they seem to have waited for, *found of them.
 * They are to be bound again then. */
enum mp_status deps_order_by_time(struct deps *deps, uint32_t *found);
void deps_bind_work(struct deps *deps);

void deps_builder_free(struct deps_builder *builder);

/* ---- Fronts of streams and contexts, fronts.c ---- */

enum deps_role { DEPS_ROLE_BLOCKING, DEPS_ROLE_NON_BLOCKING, DEPS_ROLE_DEFAULT };

struct deps_stream {
    uint32_t own;    /* reference to what was launched in the stream, or waited for by the stream */
    uint32_t wait;   /* the part of `own` that was waited for since the last launch */
    uint32_t latest; /* of what was launched in it, the activity that ends last */
    uint32_t graph_last;        /* of its last graph launch, the node that ends last, */
    uint32_t graph_front;       /* and all nodes that no other node waits for */
    uint64_t graph_correlation; /* and that launch */
    uint64_t value_moment;      /* ns: what it does next with a value happens then, or later */
    uint32_t values;            /* the last wait for a value since the last launch; DEPS_NONE */
    uint32_t context;
    uint8_t role;
    bool in_changed; /* stands in its context's list */
};

struct deps_context {
    uint64_t id;
    uint32_t parent;       /* of a green context: its index; DEPS_NONE: it is none */
    uint32_t first_green;  /* of its green contexts; DEPS_NONE: none */
    uint32_t next_green;   /* of its parent; DEPS_NONE: it is the last */
    uint32_t default_lane; /* DEPS_NONE: not seen */
    uint32_t blocking;     /* front of all blocking streams, up to the changed ones */
    uint32_t all;          /* front of all its own streams, likewise */
    uint32_t
        *changed; /* lanes whose own front is not yet joined into `blocking` and `all`; owned */
    size_t changed_count, changed_capacity;
};

struct deps_streams {
    struct deps *deps;
    struct deps_stream *items; /* by lane; owned */
    struct deps_context *contexts;
    size_t context_count, context_capacity;
    struct mp_map context_index; /* CUPTI's id -> contexts[] */
};

/* Sets up all streams of builder->deps. MP_ERR_MEMORY. deps_streams_free gives them back either
 * way.
 */
enum mp_status deps_streams_init(struct deps_streams *streams, const struct deps_builder *builder);
void deps_streams_free(struct deps_streams *streams);

/* Tells the stream's context that the stream's own front has grown. MP_ERR_MEMORY. */
enum mp_status deps_streams_changed(struct deps_streams *streams, uint32_t lane);

/* What work in the stream has to wait for because of the default stream: a reference, or DEPS_NONE.
 */
enum mp_status deps_default_front(struct deps_streams *streams, uint32_t lane, uint32_t *front);

/* The front of a stream. */
enum mp_status deps_stream_front(struct deps_streams *streams, uint32_t lane, uint32_t *front);

/* The same for what is recorded in the stream now: in the default stream, what it has gathered of
 * others becomes its own. */
enum mp_status deps_gathered_front(struct deps_streams *streams, uint32_t lane, uint32_t *front);

/* The latest front of a context and of its green contexts, by its index; DEPS_NONE: of all
 * contexts. */
enum mp_status deps_context_front(struct deps_streams *streams, uint32_t context, uint32_t *front);

/* The context that a thread has current which launches in a context: of a green context the parent,
 * as in the rows of its calls. */
static inline uint32_t deps_current_context(const struct deps_streams *streams, uint32_t context)
{
    uint32_t parent = streams->contexts[context].parent;

    return parent == DEPS_NONE ? context : parent;
}

/* Index of CUPTI's context id; DEPS_NONE when it has no streams. */
uint32_t deps_context_index(const struct deps_streams *streams, uint64_t id);

/* ---- Linking, link.c and nodes.c ---- */

/* All device activities of one correlation id, in API order. */
struct deps_launch {
    const uint32_t *items; /* activities */
    size_t count;
    uint32_t call; /* first piece of the launching call, or DEPS_NONE */
    uint32_t lane; /* the stream it was launched on */
};

struct deps_nodes;

/* Reads the edges into plans. MP_ERR_MEMORY. deps_nodes_free gives *nodes back. */
enum mp_status deps_nodes_new(struct deps_builder *builder, struct deps_nodes **nodes);
void deps_nodes_free(struct deps_nodes *nodes);

/* Gives what bodies of conditional nodes ran the correlation id of their launch. MP_ERR_MEMORY. */
enum mp_status deps_nodes_adopt(struct deps_nodes *nodes, struct deps *deps);

/* Graph edges of a graph launch: marks the nodes that are no roots, and sets *end to the reference
 * for waiting for the whole launch. */
enum mp_status deps_nodes_link(struct deps_nodes *nodes, struct deps *deps,
                               const struct deps_launch *launch, uint32_t *end);

/* ---- Values in memory, values.c ---- */

/* A call that writes or awaits a value, in API order. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status deps_values_call(struct deps_builder *builder, struct deps_streams *streams,
                                const struct deps_sync *sync);

/* Something is launched in the stream: no wait that is called later counts for it. */
void deps_values_launch(struct deps_builder *builder, struct deps_stream *stream,
                        const struct deps_launch *launch);

/* Links all calls by `link`, as often as it takes to find out which write ended which wait. */
typedef enum mp_status deps_link_calls(struct deps_builder *builder);
enum mp_status deps_values_link(struct deps_builder *builder, deps_link_calls *link);

/* Whether an activity can have waited for one of another stream (section 2, tolerance); counts
 * clamped and contradicted dependencies. */
bool deps_accept(struct deps *deps, uint32_t activity, uint32_t awaited);

/* Of the activity ahead of another one in its stream or graph. */
enum deps_order_kind {
    DEPS_ORDER_ENDED,    /* it had ended */
    DEPS_ORDER_OVERLAPS, /* it had begun: noted in the activity's `overlapped` */
    DEPS_ORDER_REFUSED   /* it began later: counted as contradicted */
};
enum deps_order_kind deps_order_after(struct deps *deps, uint32_t activity, uint32_t awaited);

#endif
