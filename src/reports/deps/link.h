/* The state of linking, shared by link.c (streams, events, calls) and nodes.c (graphs).
 */
#ifndef MP_REPORTS_DEPS_LINK_H
#define MP_REPORTS_DEPS_LINK_H

#include "reports/deps/build.h"

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

/* Graph edges of a graph launch: marks the nodes that are no roots, and sets *end to the reference
 * for waiting for the whole launch. */
enum mp_status deps_nodes_link(struct deps_nodes *nodes, struct deps *deps,
                               const struct deps_launch *launch, uint32_t *end);

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
