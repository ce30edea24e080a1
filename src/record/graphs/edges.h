/* What is known of CUDA graphs, above all their edges, on the way from the thread that instantiated
 * a graph to the file.
 *
 *     graphs.c      application threads read the edges of a graph, put them here, and report when
 *                   an executable graph is destroyed
 *     dictionary.c  the writer appends the edges of a graph before the first row of a node of it
 *                   that runs, so graphs that run in no range cost nothing in the file
 *
 * Memory is bounded. Graphs that were destroyed are forgotten only when room is needed, since
 * records of their last launch may still be on the way. If a graph finds no room, only the number
 * of its edges is kept; when it runs, they are counted as lost.
 *
 * CUPTI reuses the id of a destroyed graph. The file tells the two graphs apart: a graph's number
 * there is its id, plus 2^32 for each time that the id was reused.
 */
#ifndef MP_RECORD_GRAPHS_EDGES_H
#define MP_RECORD_GRAPHS_EDGES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "trace/writer.h"

#define EDGES_MAX        ((uint32_t)1 << 20) /* that are held: 24 MiB */
#define EDGES_MAX_GRAPHS ((uint32_t)1 << 16)

/* CUPTI's graph node ids. */
struct edge {
    uint64_t from;
    uint64_t to;
    bool programmatic; /* `to` may begin before `from` ends */
};

/* A node whose creation was seen (origins.h), and the NVTX ranges around that (nvtx_ranges.h). */
struct graph_node {
    uint32_t number; /* in its graph: the lower half of its id */
    uint32_t origin;
    uint32_t path; /* from GRAPH_SETTLED on; 0 is none */
    uint32_t tid;
};

enum graph_state {
    GRAPH_NEW,    /* the writer may not have taken the events of its nodes yet */
    GRAPH_RIPE,   /* after its next round it has taken them */
    GRAPH_SETTLED /* the paths of its nodes are known, or it has none */
};

/* What is known of one executable graph; or, in the queue, the news that it was destroyed. */
struct graph_edges {
    struct graph_edges *next;
    uint32_t graph;  /* CUPTI's id */
    uint32_t since;  /* correlation id of the call that made it; its launches are later */
    uint64_t number; /* in the file; the writer's, as all below but edges and nodes */
    uint64_t since_all;
    uint32_t count;      /* items in `edges` */
    uint32_t lost;       /* edges that found no memory */
    uint32_t node_count; /* items in `nodes` */
    uint32_t nodes_lost;
    bool gone;    /* the executable graph was destroyed */
    bool part;    /* part of an executable graph, with its own id: its end is not reported */
    bool written; /* the file has them */
    bool due;     /* it has run, so the file is to have its nodes */
    enum graph_state state;
    struct graph_node *nodes; /* owned */
    struct edge edges[];
};

struct edge_store {
    pthread_mutex_t lock;
    /* Under the lock. */
    struct graph_edges *first, *last; /* on their way to the writer, oldest first */
    uint32_t waiting;                 /* edges and nodes in them */
    _Atomic uint32_t put;             /* graphs and news ever put */
    _Atomic uint64_t lost;            /* edges of graphs that are not kept at all */
    _Atomic uint64_t nodes_lost;      /* nodes of graphs that are not kept at all */
    _Atomic bool loss_was_said;       /* in the log */
    /* The writer's. */
    struct graph_edges **graphs;
    struct mp_map index;  /* number in the file -> position in graphs */
    struct mp_map reused; /* CUPTI's id -> how often it has been used again */
    uint32_t count, capacity;
    uint32_t held;        /* edges and nodes in them */
    uint32_t unsettled;   /* nodes to be looked up, or written: graphs, counted once for each */
    const uint64_t *max;  /* correlation id up to now, in 64 bits; may be NULL */
    uint64_t lost_of_run; /* edges that graphs which ran have lost */
    uint32_t taken;       /* of `put` */
    uint64_t last_number; /* of the graph whose edges were appended last */
};

void edges_open(struct edge_store *store);

/* ---- Any thread ---- */

/* A graph with room for `count` edges. With less memory it has fewer, down to none, and `lost`
 * counts the rest. NULL when there is no memory at all, which is counted. */
struct graph_edges *edges_new(struct edge_store *store, uint32_t graph, uint64_t count);

/* There was no memory to read a graph's edges: counted as one, since nobody knows how many. */
void edges_unread(struct edge_store *store);

/* Hands edges to the writer, which owns them from here on. */
void edges_put(struct edge_store *store, struct graph_edges *edges);

/* The executable graph is being destroyed. */
void edges_put_gone(struct edge_store *store, uint32_t graph);

/* ---- The writer ---- */

/* Takes what was put. */
void edges_take(struct edge_store *store);

/* The number in the file of the graph `graph` that a launch ran. CUPTI reuses ids of destroyed
 * graphs while records of these are still on the way, so the launch's correlation id decides. A
 * correlation id of 0 stands for the newest graph with this id. */
uint64_t edges_number(struct edge_store *store, uint32_t graph, uint64_t correlation);

/* Appends the edges of the graph `number`, unless the file has them, and makes its nodes due. */
void edges_append(struct edge_store *store, struct mp_writer *writer, uint64_t number);

/* Called before the writer takes all NVTX events: the events of the nodes of all graphs that are
 * here are among them. */
void edges_ripen(struct edge_store *store);

/* The file was cut, so it has no edges. */
void edges_restart(struct edge_store *store);

/* Edges lost up to now. */
uint64_t edges_lost(const struct edge_store *store);

void edges_close(struct edge_store *store);

#endif
