/* Which node of a graph is a copy of which: every node gets a number when it is made, and its
 * clones keep it.
 *
 *     made          number n   ----------->  among the NVTX events of the thread that made it:
 *     cuGraphClone  clone: n                 the writer then knows the ranges around it
 *     instantiate   node id, n ----------->  with the edges of the executable graph (edges.h)
 *
 * Numbers are never reused; handles of graphs and nodes, and CUPTI's ids, are.
 *
 * Launches into a capture make nodes, and nothing may be allocated there. So the memory is mapped
 * at the start and touched as it is used. Graphs that are destroyed make room. That may not be
 * enough, since CUPTI may not report the end of graphs inside others. Then early nodes make room,
 * and are counted.
 *
 * Any thread, except origins_open.
 */
#ifndef MP_RECORD_GRAPHS_ORIGINS_H
#define MP_RECORD_GRAPHS_ORIGINS_H

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"

#define ORIGINS_MAX          ((uint32_t)1 << 18) /* nodes, without those of executable graphs */
#define ORIGINS_MAX_BUILDING 64u                 /* graphs that are being built by hand */

struct origin_item;

struct origins {
    pthread_mutex_t lock;
    /* Under the lock. */
    struct origin_item *items; /* ORIGINS_MAX of them; NULL: nothing is kept */
    uint32_t *by_node;         /* heads of chains, by the node's handle; item + 1 */
    uint32_t *by_graph;        /* by the graph's */
    uint32_t fresh;            /* items from here on were never used */
    uint32_t free;             /* item + 1 */
    uint32_t held;             /* items in use */
    uint32_t hand;             /* item + 1 that was last dropped to make room */
    uint32_t last;             /* number given */
    uintptr_t building[ORIGINS_MAX_BUILDING];
    uint32_t building_count;
    _Atomic uint64_t lost; /* nodes that were dropped to make room */
};

/* Maps the memory. False without it: then nothing is ever kept. */
bool origins_open(struct origins *origins);

/* A node was made. Answers its number; 0 if there is none left. */
uint32_t origins_create(struct origins *origins, uintptr_t graph, uintptr_t node);

/* A node was cloned into another graph that is not executable. */
void origins_clone(struct origins *origins, uintptr_t graph, uintptr_t node, uintptr_t original);

/* The number of a node; 0 if it has none. */
uint32_t origins_find(struct origins *origins, uintptr_t node);

/* A node was made that gets no number: forgets the node that had its handle before. */
void origins_skip(struct origins *origins, uintptr_t node);

/* A graph is being destroyed. */
void origins_forget(struct origins *origins, uintptr_t graph);

/* origins_building: a graph was made that may be built by hand; true if it is new. origins_built:
 * the graph is complete; true if it was being built. */
bool origins_building(struct origins *origins, uintptr_t graph);
bool origins_built(struct origins *origins, uintptr_t graph);

/* ---- Nodes of host functions: of which call of the program they were made ----
 *
 * The preloaded library knows the call that gave a function to a graph. CUPTI's callbacks tell here
 * which node the call made, and which nodes are clones of it. The writer asks which nodes a
 * function may have been when it ran; the launches of their graphs then decide (rows/host_rows.h).
 *
 * Nodes are forgotten only when room is needed, the oldest first.
 */

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
