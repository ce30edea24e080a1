/* The fronts of the streams and contexts of a process while link.c goes through the calls in API
 * order (docs/dependency-analysis.md, section 2), with the rules of the legacy default stream.
 */
#ifndef MP_REPORTS_DEPS_STREAMS_H
#define MP_REPORTS_DEPS_STREAMS_H

#include "reports/deps/build.h"

enum deps_role { DEPS_ROLE_BLOCKING, DEPS_ROLE_NON_BLOCKING, DEPS_ROLE_DEFAULT };

struct deps_stream {
    uint32_t own;    /* reference to what was launched in the stream, or waited for by the stream */
    uint32_t wait;   /* the part of `own` that was waited for since the last launch */
    uint32_t latest; /* of what was launched in it, the activity that ends last */
    uint32_t graph_last;        /* of its last graph launch, the node that ends last, */
    uint32_t graph_front;       /* and all nodes that no other node waits for */
    uint64_t graph_correlation; /* and that launch */
    uint32_t context;
    uint8_t role;
    bool in_changed; /* stands in its context's list */
};

struct deps_context {
    uint64_t id;
    uint32_t default_lane; /* DEPS_NONE: not seen */
    uint32_t blocking;     /* front of all blocking streams, up to the changed ones */
    uint32_t all;          /* front of all streams, likewise */
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

/* The latest front of a context, by its index; DEPS_NONE: of all contexts. */
enum mp_status deps_context_front(struct deps_streams *streams, uint32_t context, uint32_t *front);

/* Index of CUPTI's context id; DEPS_NONE when it has no streams. */
uint32_t deps_context_index(const struct deps_streams *streams, uint64_t id);

#endif
