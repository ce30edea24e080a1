/* CUDA graphs as they are instantiated: which node awaits which.
 *
 * Records name the nodes of the executable graph, which is a clone; the driver tells the edges of
 * the graph that it is a clone of. So while cuGraphInstantiate runs, CUPTI's callbacks say which
 * node becomes which, and on its EXIT, when the driver holds no lock any more, the edges are read.
 *
 * Seen with CUPTI 13.0 on an H200: the callbacks for the nodes come before the one that says that
 * an executable graph is about to be made; a node of the clone has the same number in its graph as
 * the original (id = graph << 32 | number), which serves where the callbacks do not come. Nodes
 * inside of child graphs get new numbers when the clone is made flat: they have no edges here.
 *
 * Called on application threads, in callbacks.
 */
#ifndef MP_RECORD_GRAPHS_H
#define MP_RECORD_GRAPHS_H

#include "record/state.h"

/* Decides whether edges are wanted and can be had. In InitializeInjection. */
void graphs_open(struct recorder *recorder);

/* ENTER and EXIT of a driver function that instantiates a graph. */
void graphs_enter(struct recorder *recorder, const CUpti_CallbackData *data);
void graphs_leave(struct recorder *recorder, const CUpti_CallbackData *data);

/* A node was cloned. */
void graphs_cloned(struct recorder *recorder, const CUpti_GraphData *data);

/* An executable graph is about to be destroyed. */
void graphs_destroyed(struct recorder *recorder, const CUpti_GraphData *data);

#endif
