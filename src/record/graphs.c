/* See graphs.h. */
#include "record/graphs.h"

#include <stdlib.h>

#include "base/log.h"
#include "record/deps.h"

#include "base/poison.h"

#define EDGE_DATA_BYTES 8u /* CUgraphEdgeData, which CUDA 12.3 brought */

/* What the callbacks said while a graph is being instantiated. */
struct graph_making {
    CUgraph original;
    struct mp_map numbers; /* node of the original -> its clone's number in the executable graph */
    uint32_t clone;        /* CUPTI's id of the executable graph, 0 if no callback came */
};

/* A graph that is being read. */
struct graph_reading {
    const struct cupti_api *cupti;
    const struct graph_making *making;
    uint32_t graph; /* CUPTI's id of the executable graph */
    uint32_t told;  /* nodes of edges whose clone a callback told */
    uint32_t alike; /* those that are taken to have their original's number */
};

void graphs_open(struct recorder *recorder)
{
    const struct driver_api *driver = &recorder->driver;

    if (recorder->config.cuda_graph == MP_CUDA_GRAPH_GRAPH || recorder->config.gpu != MP_SWITCH_ON)
        return;
    recorder->edges_wanted =
        recorder->cupti.get_graph_node_id && (driver->get_edges_v2 || driver->get_edges);
    if (!recorder->edges_wanted)
        mp_log_debug("no edges of CUDA graphs: there is no %s",
                     recorder->cupti.get_graph_node_id ? "cuGraphGetEdges" : "cuptiGetGraphNodeId");
}

/* ---- What becomes what ---- */

static void forget(struct call_log *log)
{
    if (!log->making)
        return;
    mp_map_free(&log->making->numbers);
    free(log->making);
    log->making = NULL;
}

void graphs_enter(struct recorder *recorder, const CUpti_CallbackData *data)
{
    const cuGraphInstantiateWithFlags_params *call = data->functionParams;
    struct call_log *log = recorder->edges_wanted ? call_log_mine(&recorder->logs) : NULL;

    if (!log || log->busy || !call)
        return;
    forget(log);
    log->making = calloc(1, sizeof(*log->making));
    if (log->making)
        log->making->original = call->hGraph;
}

void graphs_cloned(struct recorder *recorder, const CUpti_GraphData *data)
{
    struct call_log *log = call_log_mine(&recorder->logs);
    struct graph_making *making = log ? log->making : NULL;
    uint64_t id;

    /* Other graphs are cloned too: child graphs, and in cuGraphClone. */
    if (!making || data->originalGraph != making->original ||
        recorder->cupti.get_graph_node_id(data->node, &id) != CUPTI_SUCCESS)
        return;
    making->clone = (uint32_t)(id >> 32);
    mp_map_put(&making->numbers, (uintptr_t)data->originalNode, (uint32_t)id);
}

/* ---- Reading ---- */

static CUresult get_edges(const struct driver_api *driver, CUgraph graph, CUgraphNode *nodes,
                          size_t room, size_t *count)
{
    CUgraphNode *to = nodes ? nodes + room : NULL;

    /* The edges' data are not used, but a graph that has such refuses to leave them out. */
    *count = room;
    if (driver->get_edges_v2)
        return driver->get_edges_v2(graph, nodes, to, nodes ? nodes + 2 * room : NULL, count);
    return driver->get_edges(graph, nodes, to, count);
}

_Static_assert(sizeof(CUgraphNode) == EDGE_DATA_BYTES, "get_edges: three arrays in one");

/* The id of a node's clone, 0 if it cannot be told. */
static uint64_t clone_id(struct graph_reading *reading, CUgraphNode node)
{
    uint32_t number = mp_map_get(&reading->making->numbers, (uintptr_t)node);
    uint64_t id;

    if (number != MP_MAP_ABSENT) {
        reading->told++;
    } else {
        if (reading->cupti->get_graph_node_id(node, &id) != CUPTI_SUCCESS)
            return 0;
        number = (uint32_t)id;
        reading->alike++;
    }
    return (uint64_t)reading->graph << 32 | number;
}

/* Turns handles into ids and answers how many edges have both. */
static uint32_t name_nodes(struct graph_reading *reading, struct graph_edges *edges,
                           const CUgraphNode *nodes, size_t room, size_t count)
{
    uint32_t named = 0;
    size_t i;

    for (i = 0; i < count && i < room; i++) {
        struct edge edge = {clone_id(reading, nodes[i]), clone_id(reading, nodes[room + i])};

        if (edge.from && edge.to)
            edges->edges[named++] = edge;
    }
    return named;
}

/* Fills in the edges that there is room for; those that cannot be had are counted. */
static void fill(struct recorder *recorder, struct graph_reading *reading, CUgraph original,
                 struct graph_edges *edges)
{
    size_t room = edges->count;
    CUgraphNode *nodes = room ? calloc(3 * room, sizeof(CUgraphNode)) : NULL;
    uint32_t named = 0;
    size_t count;

    if (nodes && get_edges(&recorder->driver, original, nodes, room, &count) == CUDA_SUCCESS)
        named = name_nodes(reading, edges, nodes, room, count);
    edges->lost += edges->count - named;
    edges->count = named;
    free(nodes);
}

/* Hands over the edges of the graph that a clone was made of. */
static void read_edges(struct recorder *recorder, struct graph_reading *reading, CUgraph original)
{
    struct graph_edges *edges;
    size_t count;
    CUresult result = get_edges(&recorder->driver, original, NULL, 0, &count);

    if (result != CUDA_SUCCESS) {
        mp_log_debug("graph %u: no edges (%d)", reading->graph, (int)result);
        return;
    }
    /* A graph without edges has one row of zeros: readers can tell it from one not read. */
    edges = edges_new(&recorder->edges, reading->graph, count ? count : 1);
    if (!edges)
        return;
    if (count)
        fill(recorder, reading, original, edges);
    else
        edges->edges[0] = (struct edge){0, 0};
    mp_log_debug("graph %u: %u edges, %u without a place; ids of nodes: %u told by CUPTI, %u alike",
                 reading->graph, edges->count, edges->lost, reading->told, reading->alike);
    edges_put(&recorder->edges, edges);
}

static void read_graph(struct recorder *recorder, const struct graph_making *making,
                       const cuGraphInstantiateWithFlags_params *call)
{
    struct graph_reading reading = {
        .cupti = &recorder->cupti,
        .making = making,
        .graph = making->clone,
    };
    uint32_t id;

    if (recorder->cupti.get_graph_exec_id &&
        recorder->cupti.get_graph_exec_id(*call->phGraphExec, &id) == CUPTI_SUCCESS)
        reading.graph = id;
    if (reading.graph)
        read_edges(recorder, &reading, call->hGraph);
    else
        mp_log_debug("no edges of a graph: CUPTI does not tell its id");
}

void graphs_leave(struct recorder *recorder, const CUpti_CallbackData *data)
{
    const cuGraphInstantiateWithFlags_params *call = data->functionParams;
    struct call_log *log = recorder->edges_wanted ? call_log_mine(&recorder->logs) : NULL;

    if (!log || log->busy)
        return;
    if (log->making && call && call->phGraphExec && deps_result(data) == CUDA_SUCCESS) {
        /* Calls made in a callback are called back and recorded like any other (CUPTI 13.0). */
        edges_note_read(&recorder->edges, data->correlationId);
        log->busy = true;
        read_graph(recorder, log->making, call);
        log->busy = false;
    }
    forget(log);
}

void graphs_destroyed(struct recorder *recorder, const CUpti_GraphData *data)
{
    uint32_t id;

    if (recorder->cupti.get_graph_exec_id &&
        recorder->cupti.get_graph_exec_id(data->graphExec, &id) == CUPTI_SUCCESS)
        edges_put_gone(&recorder->edges, id);
}

/* All functions that instantiate have these two first. */
_Static_assert(offsetof(cuGraphInstantiateWithFlags_params, hGraph) ==
                   offsetof(cuGraphInstantiate_v2_params, hGraph),
               "graphs_enter");
