/* nodes.h: nodes of graphs that the oracle's programs make by hand. */
#ifndef ORACLE_NODES_H
#define ORACLE_NODES_H

#include <cuda.h>
#include <stddef.h>

#define MAX_NODES 32

/* In place of microseconds: a child graph; a loop over one. */
enum { NODE_CHILD = -1, NODE_LOOP = -2 };

struct node_work {
    long us;           /* 0: an empty node */
    CUfunction kernel; /* its parameter is microseconds */
    CUgraph inner;
    long passes; /* of a loop */
};

struct node_deps {
    CUgraphNode items[MAX_NODES];
    size_t count;
};

/* Counts the calls that it makes. The program ends if one of them fails. */
CUgraphNode nodes_add(CUgraph graph, const struct node_deps *deps, const struct node_work *work,
                      unsigned long *calls);

#endif
