/* Which node of a graph is a copy of which: every node gets a number when it is made, and its
 * clones keep it.
 *
 *     made          number n   ----------->  among the NVTX events of the thread that made it:
 *     cuGraphClone  clone: n                 the writer then knows the ranges around it (paths.h)
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

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
