/* CUDA graphs as they are instantiated: which node depends on which.
 *
 * Records name the nodes of the executable graph, which is a clone. The driver tells the edges only
 * of the graph that was cloned. So while cuGraphInstantiate runs, CUPTI's callbacks tell which node
 * becomes which. On its EXIT, when the driver holds no lock any more, the edges are read.
 *
 * Seen with CUPTI 13.0 on an H200: the callbacks for the nodes come before the one that says that
 * an executable graph is about to be made. A clone's node has the same number in its graph as the
 * original (id = graph << 32 | number); the recorder relies on this where the callbacks do not
 * come.
 *
 * A graph inside of a node (a child graph, or the body of a conditional node) is cloned before the
 * node itself, into a separate graph. Then its nodes become nodes of the executable graph, with
 * new numbers, and its clone is destroyed. At last the driver makes copies and sets anew, but their
 * records keep the number (CUPTI 13.0 on an H100):
 *
 *     in the program   k -> child(x -> y) -> m
 *     edges            k -> child, child -> x, x -> y, y -> child's end, child's end -> m,
 *                      and child -> child's end; of a body also body's end -> body
 *
 * The same callbacks report nodes as they are made, whether captured or added by hand. The NVTX
 * ranges that are open then belong to the node (origins.h, nvtx_ranges.h). Where NVTX is recorded
 * only in capture ranges, it is also recorded while a graph is being built: from the begin of a
 * capture to its end, and from cuGraphCreate until the graph is instantiated, cloned or destroyed.
 *
 * Called on application threads, in callbacks.
 */
#ifndef MP_RECORD_GRAPHS_GRAPHS_H
#define MP_RECORD_GRAPHS_GRAPHS_H

#include "record/cupti/gpu.h"
#include "record/graphs/edges.h"
#include "record/graphs/origins.h"

struct stacks;

struct graphs {
    struct edge_store edges;      /* lock: edges */
    struct origins origins;       /* lock: origins */
    struct host_nodes host_nodes; /* lock: host nodes */
};

/* graphs_open decides whether edges, and the ranges of nodes, are wanted and possible;
 * graphs_make_room gets the memory. In InitializeInjection. */
void graphs_open(struct gpu *gpu);
void graphs_make_room(struct graphs *graphs, struct gpu *gpu);

/* ENTER and EXIT of a driver function that instantiates a graph. */
void graphs_enter(struct graphs *graphs, struct gpu *gpu, const CUpti_CallbackData *data);
void graphs_leave(struct graphs *graphs, struct gpu *gpu, CUpti_CallbackId cbid,
                  const CUpti_CallbackData *data);

/* A graph was made; a graph is about to be destroyed; a node was made. */
void graphs_created(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data);
void graphs_forgotten(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data);
void graphs_node_created(struct graphs *graphs, struct gpu *gpu, struct stacks *stacks,
                         const CUpti_GraphData *data);

/* A stream capture has begun, in the call that the thread leaves; one has ended. */
void graphs_capture_began(struct gpu *gpu);
void graphs_capture_ended(struct gpu *gpu);

/* A node was cloned; a node is about to be destroyed. */
void graphs_cloned(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data);
void graphs_node_destroyed(struct gpu *gpu, const CUpti_GraphData *data);

/* An executable graph is about to be destroyed. */
void graphs_destroyed(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data);

#endif
