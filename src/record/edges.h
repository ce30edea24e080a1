/* The edges of CUDA graphs, from the thread that instantiated a graph to the file.
 *
 *     graphs.c      application threads read the edges of a graph and put them here, and say when
 *                   an executable graph is destroyed
 *     dictionary.c  the writer appends the edges of a graph ahead of the first node of it that
 * runs, so that graphs which do not run in a range cost nothing in the file
 *
 * Memory is bounded: graphs that were destroyed are forgotten when room is needed, not before, as
 * records of their last launch may still be on the way. Of a graph that finds no room only the
 * number of edges is kept; they are counted as lost when it runs.
 */
#ifndef MP_RECORD_EDGES_H
#define MP_RECORD_EDGES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "trace/writer.h"

#define EDGES_MOST        ((uint32_t)1 << 20) /* that are held: 16 MiB */
#define EDGES_MOST_GRAPHS ((uint32_t)1 << 16)
#define EDGES_READS       1024u /* correlation ids of calls in which we called the driver last */

/* CUPTI's graph node ids. */
struct edge {
    uint64_t from;
    uint64_t to;
};

/* The edges of one executable graph, or the news that it is gone. */
struct graph_edges {
    struct graph_edges *next;
    uint32_t graph; /* CUPTI's id */
    uint32_t count; /* items in `edges` */
    uint32_t lost;  /* edges that are not in it, for want of memory */
    bool gone;      /* the executable graph was destroyed */
    bool written;   /* the file has them */
    struct edge edges[];
};

struct edge_store {
    pthread_mutex_t lock;
    /* Under the lock. */
    struct graph_edges *first, *last; /* on their way to the writer, oldest first */
    uint32_t waiting;                 /* edges in them */
    uint32_t reads[EDGES_READS];      /* a ring of correlation ids */
    uint32_t read_count;
    _Atomic uint32_t put;       /* graphs and news ever put */
    _Atomic uint64_t lost;      /* edges of which not even the number is kept */
    _Atomic bool loss_was_said; /* in the log */
    /* The writer's. */
    struct graph_edges **graphs;
    struct mp_map index; /* graph -> position in graphs */
    uint32_t count, capacity;
    uint32_t held;        /* edges in them */
    uint64_t lost_of_run; /* edges that graphs which ran have lost */
    uint32_t taken;       /* of `put` */
    uint32_t last_graph;  /* whose edges were appended last */
};

void edges_open(struct edge_store *store);

/* ---- Any thread ---- */

/* Room for `count` edges of a graph; with fewer, down to none, the rest is in `lost`. NULL when
 * there is no memory at all, counted. */
struct graph_edges *edges_new(struct edge_store *store, uint32_t graph, uint64_t count);

/* Hands edges to the writer, which owns them from here on. */
void edges_put(struct edge_store *store, struct graph_edges *edges);

/* The executable graph is being destroyed. */
void edges_put_gone(struct edge_store *store, uint32_t graph);

/* The recorder itself is about to call the driver inside the call with this correlation id. */
void edges_note_read(struct edge_store *store, uint32_t correlation);

/* Whether it did. */
bool edges_is_read(struct edge_store *store, uint32_t correlation);

/* ---- The writer ---- */

/* Takes what was put. */
void edges_take(struct edge_store *store);

/* Appends the edges of a graph that the file does not have yet. */
void edges_append(struct edge_store *store, struct mp_writer *writer, uint32_t graph);

/* The file was cut: it has none. */
void edges_restart(struct edge_store *store);

/* Edges lost up to now. */
uint64_t edges_lost(const struct edge_store *store);

void edges_close(struct edge_store *store);

#endif
