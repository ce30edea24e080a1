/* The plans of graphs: what nodes.c makes of their edges, for bodies.c too. */
#ifndef MP_REPORTS_DEPS_NODES_H
#define MP_REPORTS_DEPS_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "reports/deps/deps.h"

struct node {
    uint32_t plan;
    uint32_t first_pred; /* in deps_nodes.preds */
    uint32_t pred_count;
    uint32_t waits;    /* predecessors that are not in the order yet */
    uint32_t epoch;    /* of the launch that these are of: */
    uint32_t runs;     /* activities in it, so far */
    uint32_t before;   /* the last but one of these; DEPS_NONE */
    uint32_t activity; /* the last one; DEPS_NONE: it leaves none */
    uint32_t stands;   /* what later nodes wait for: a reference */
    uint32_t end;      /* the node that stands for the end of the graph inside of it; DEPS_NONE */
    uint32_t search;   /* the last one that met it */
    bool has_successor;
    bool repeats;  /* what is inside may run again */
    bool launched; /* an activity of it, */
    bool follows;  /* or of a node that it depends on, has a correlation id */
};

struct plan {
    uint32_t first; /* in deps_nodes.order */
    uint32_t count;
    uint32_t epoch;    /* the launch that walked it last, */
    struct plan *next; /* and that launch's next one */
    bool inner;        /* a node has a graph inside */
};

struct deps_nodes {
    struct node *nodes;
    size_t node_count, node_capacity;
    struct mp_map by_id; /* graph and node id -> node */
    struct plan *plans;
    size_t plan_count, plan_capacity;
    struct mp_map by_graph; /* -> plan */
    uint32_t *preds;
    uint32_t *order;
    uint32_t *stack; /* of a search */
    uint32_t epoch;
    uint32_t search;
};

/* The node of which this is an activity. NULL: no plan has it, because it has no edges or its edges
 * run in a circle. */
struct node *deps_node_of(const struct deps_nodes *nodes, const struct deps *deps, uint32_t index);

#endif
