/* Nodes of graphs that call host functions: which node of an executable graph was made of which
 * call of the program.
 *
 * The preloaded library knows the call that gave a function to a graph. CUPTI's callbacks tell here
 * which node the call made, and which nodes are clones of it. The writer asks which nodes a
 * function may have been when it ran; the launches of their graphs then decide (rows/host_rows.h).
 *
 * Nodes are forgotten only when room is needed, the oldest first.
 */
#ifndef MP_RECORD_GRAPHS_HOST_NODES_H
#define MP_RECORD_GRAPHS_HOST_NODES_H

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"

#define HOST_NODES_MAX 8192u /* that are known: 256 KiB */

struct gpu;
struct graphs;

struct host_node {
    uintptr_t handle; /* 0: another node has it now */
    uint64_t root;    /* id of the node that the program's call made */
    uint64_t id;
    uint32_t maker;  /* the thread that is instantiating its graph; 0: none */
    bool executable; /* its graph is */
};

struct host_nodes {
    pthread_mutex_t lock;     /* of the rest */
    struct host_node *nodes;  /* a ring, made for the first one */
    uint32_t count;           /* ever put */
    struct mp_map places;     /* handle -> place in the ring */
    _Atomic uint32_t changes; /* nodes put, and ids that have changed */
    _Atomic bool any;
};

void host_nodes_open(struct host_nodes *nodes);

/* ---- Application threads, in callbacks ---- */

/* A node was made; a node was cloned; the calling thread has instantiated a graph. */
void host_nodes_created(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data);
void host_nodes_cloned(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data);
void host_nodes_instantiated(struct graphs *graphs, struct gpu *gpu);

/* ---- The writer ---- */

#define HOST_NODES_CLONES 15u /* executable graphs that one node is looked for in */

/* The nodes in executable graphs that were made of `root`, the newest first. */
struct host_clones {
    uint64_t root;
    uint32_t at; /* as host_nodes_changes, when they were looked up; 0: never */
    uint32_t count;
    uint64_t ids[HOST_NODES_CLONES];
};

/* Looks `clones->root` up, unless `clones` is of now. */
void host_nodes_find(struct host_nodes *nodes, struct host_clones *clones);

/* How many nodes the executable graph has. */
uint32_t host_nodes_of(struct host_nodes *nodes, uint32_t graph);

/* The next node of the executable graph, from place `*at` on, which starts at 0; 0: no more. */
uint64_t host_nodes_next(struct host_nodes *nodes, uint32_t graph, uint32_t *at);

/* Where this has not changed, the answers above have not. From 1. */
uint32_t host_nodes_changes(const struct host_nodes *nodes);

#endif
