/* Reads the edges of a graph while it is instantiated. CUPTI tells which node is the clone of
 * which, and the driver tells the edges of the original.
 */
#include "record/graphs/graphs.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/log.h"
#include "record/nvtx/nvtx.h"
#include "record/stacks/stacks.h"

#include "base/poison.h"

#define EDGE_DATA_BYTES   8u /* CUgraphEdgeData, since CUDA 12.3 */
#define EDGE_DATA_TYPE    2u /* the place of its member `type` in it */
#define EDGE_PROGRAMMATIC 1u /* CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC */
#define NODE_CONDITIONAL  13 /* CU_GRAPH_NODE_TYPE_CONDITIONAL, since CUDA 12.3 */
#define FOR_DEVICE        4u /* CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, since CUDA 12.0 */

/* A clone whose original has a number (origins.h). */
struct cloned_node {
    CUgraphNode node;
    uint64_t id;
    uint32_t origin;
};

/* What the callbacks tell while a graph is being instantiated. */
struct graph_making {
    CUgraph original;
    struct mp_map numbers; /* node of the original -> its clone's number in the executable graph */
    uint32_t clone;        /* CUPTI's id of the executable graph, 0 if no callback came */
    bool conditional;      /* it has conditional nodes */
    struct cloned_node *nodes; /* of child graphs too */
    size_t node_count, node_capacity;
    uint32_t nodes_lost;
};

/* A graph that is being read. */
struct graph_reading {
    const struct cupti_api *cupti;
    struct graph_making *making;
    uint32_t since;    /* correlation id of the call */
    uint32_t graph;    /* CUPTI's id of the executable graph */
    uint32_t reported; /* edge ends whose clone a callback reported */
    uint32_t alike;    /* edge ends assumed to have their original's number */
};

void graphs_open(struct gpu *gpu)
{
    const struct driver_api *driver = &gpu->driver;

    if (gpu->core.config.cuda_graph == MP_CUDA_GRAPH_GRAPH || gpu->core.config.gpu != MP_SWITCH_ON)
        return;
    gpu->core.wanted.edges =
        gpu->cupti.get_graph_node_id && (driver->get_edges_v2 || driver->get_edges);
    gpu->core.wanted.paths = gpu->core.wanted.edges && gpu->core.config.nvtx == MP_SWITCH_ON;
    if (!gpu->core.wanted.edges)
        mp_log_debug("no edges of CUDA graphs: there is no %s",
                     gpu->cupti.get_graph_node_id ? "cuGraphGetEdges" : "cuptiGetGraphNodeId");
}

void graphs_make_room(struct graphs *graphs, struct gpu *gpu)
{
    if (!gpu->core.wanted.paths || origins_open(&graphs->origins))
        return;
    gpu->core.wanted.paths = false;
    mp_log_warn("no memory to note in which NVTX ranges the nodes of CUDA graphs are made");
}

/* ---- Nodes as they are made ---- */

/* Whether NVTX is recorded only in capture ranges. */
static bool is_lazy(const struct gpu *gpu)
{
    return gpu->core.wanted.paths && gpu->core.wanted.lazy;
}

static void graph_is_built(struct graphs *graphs, struct gpu *gpu, CUgraph graph)
{
    if (is_lazy(gpu) && origins_built(&graphs->origins, (uintptr_t)graph))
        mp_nvtx_building(false);
}

void graphs_created(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data)
{
    const struct call_log *log = is_lazy(gpu) ? call_log_mine(&gpu->core.logs) : NULL;

    if (log && !log->begins_capture && !log->making &&
        origins_building(&graphs->origins, (uintptr_t)data->graph))
        mp_nvtx_building(true);
}

void graphs_forgotten(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data)
{
    graph_is_built(graphs, gpu, data->graph);
    origins_forget(&graphs->origins, (uintptr_t)data->graph);
}

void graphs_node_created(struct graphs *graphs, struct gpu *gpu, struct stacks *stacks,
                         const CUpti_GraphData *data)
{
    const struct call_log *log = call_log_mine(&gpu->core.logs);
    uint32_t number = 0;

    /* While a graph is instantiated only clones are made. */
    if (!log || log->making)
        return;
    if (mp_nvtx_is_recording())
        number = origins_create(&graphs->origins, (uintptr_t)data->graph, (uintptr_t)data->node);
    else
        origins_skip(&graphs->origins, (uintptr_t)data->node);
    if (number && gpu->core.wanted.stacks)
        stacks_node(stacks, &gpu->core, number);
    if (number && !mp_nvtx_note_origin(number))
        origins_skip(&graphs->origins, (uintptr_t)data->node);
}

void graphs_capture_began(struct gpu *gpu)
{
    if (is_lazy(gpu) && call_log_mine(&gpu->core.logs))
        mp_nvtx_building(true);
}

void graphs_capture_ended(struct gpu *gpu)
{
    if (is_lazy(gpu))
        mp_nvtx_building(false);
}

/* ---- What becomes what ---- */

static void forget(struct call_log *log)
{
    if (!log->making)
        return;
    mp_map_free(&log->making->numbers);
    free(log->making->nodes);
    free(log->making);
    log->making = NULL;
}

void graphs_enter(struct graphs *graphs, struct gpu *gpu, const CUpti_CallbackData *data)
{
    const cuGraphInstantiateWithFlags_params *call = data->functionParams;
    struct call_log *log = gpu->core.wanted.edges ? call_log_mine(&gpu->core.logs) : NULL;

    if (!log || log->busy || !call)
        return;
    forget(log);
    log->making = calloc(1, sizeof(*log->making));
    if (log->making)
        log->making->original = call->hGraph;
    else
        edges_unread(&graphs->edges);
}

static void note_origin(struct graphs *graphs, struct graph_making *making, uint64_t id,
                        const CUpti_GraphData *data)
{
    uint32_t origin = origins_find(&graphs->origins, (uintptr_t)data->originalNode);

    if (!origin)
        return;
    if (mp_reserve((void **)&making->nodes, making->node_count, &making->node_capacity,
                   sizeof(*making->nodes)) != MP_OK) {
        making->nodes_lost++;
        return;
    }
    making->nodes[making->node_count++] = (struct cloned_node){data->node, id, origin};
}

/* A clone made in cuGraphClone, or when a graph becomes a child of another. */
static void note_clone(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data)
{
    if (!gpu->core.wanted.paths)
        return;
    graph_is_built(graphs, gpu, data->originalGraph);
    origins_clone(&graphs->origins, (uintptr_t)data->graph, (uintptr_t)data->node,
                  (uintptr_t)data->originalNode);
}

void graphs_cloned(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data)
{
    struct call_log *log = call_log_mine(&gpu->core.logs);
    struct graph_making *making = log ? log->making : NULL;
    uint64_t id;

    if (!making) {
        note_clone(graphs, gpu, data);
        return;
    }
    making->conditional |= (int)data->nodeType == NODE_CONDITIONAL;
    if (gpu->cupti.get_graph_node_id(data->node, &id) != CUPTI_SUCCESS)
        return;
    if (gpu->core.wanted.paths)
        note_origin(graphs, making, id, data);
    if (data->originalGraph != making->original)
        return; /* of a child graph */
    making->clone = (uint32_t)(id >> 32);
    mp_map_put(&making->numbers, (uintptr_t)data->originalNode, (uint32_t)id);
}

/* Drops the node that stood for a child graph, once that graph's nodes are among the others. */
void graphs_node_destroyed(struct gpu *gpu, const CUpti_GraphData *data)
{
    const struct call_log *log = call_log_mine(&gpu->core.logs);
    struct graph_making *making = log ? log->making : NULL;

    for (size_t i = 0; making && i < making->node_count; i++)
        if (making->nodes[i].node == data->node)
            making->nodes[i].origin = 0;
}

/* ---- Reading ---- */

static CUresult get_edges(const struct driver_api *driver, CUgraph graph, CUgraphNode *nodes,
                          size_t room, size_t *count)
{
    CUgraphNode *to = nodes ? nodes + room : NULL;

    /* A call without room for the edge data fails if the graph has some. */
    *count = room;
    if (driver->get_edges_v2)
        return driver->get_edges_v2(graph, nodes, to, nodes ? nodes + 2 * room : NULL, count);
    return driver->get_edges(graph, nodes, to, count);
}

_Static_assert(sizeof(CUgraphNode) == EDGE_DATA_BYTES, "get_edges: three arrays in one");

/* The id of a node's clone; 0 if it is unknown. */
static uint64_t clone_id(struct graph_reading *reading, CUgraphNode node)
{
    uint32_t number = mp_map_get(&reading->making->numbers, (uintptr_t)node);
    uint64_t id;

    if (number != MP_MAP_ABSENT) {
        reading->reported++;
    } else {
        if (reading->cupti->get_graph_node_id(node, &id) != CUPTI_SUCCESS)
            return 0;
        number = (uint32_t)id;
        reading->alike++;
    }
    return (uint64_t)reading->graph << 32 | number;
}

/* Whether this CUgraphEdgeData, which is all zeroes for usual edges, lets its nodes overlap. */
static bool is_programmatic(const void *data)
{
    return ((const unsigned char *)data)[EDGE_DATA_TYPE] == EDGE_PROGRAMMATIC;
}

/* Turns handles into ids and answers how many edges have both. */
static uint32_t name_nodes(struct graph_reading *reading, struct graph_edges *edges,
                           const CUgraphNode *nodes, size_t room, size_t count)
{
    uint32_t named = 0;

    for (size_t i = 0; i < count && i < room; i++) {
        struct edge edge = {clone_id(reading, nodes[i]), clone_id(reading, nodes[room + i]),
                            is_programmatic(&nodes[2 * room + i])};

        if (edge.from && edge.to)
            edges->edges[named++] = edge;
    }
    return named;
}

/* Fills in the edges that there is room for, and counts the others as lost. */
static void graphs_fill(struct gpu *gpu, struct graph_reading *reading, CUgraph original,
                        struct graph_edges *edges)
{
    size_t room = edges->count;
    CUgraphNode *nodes = room ? calloc(3 * room, sizeof(CUgraphNode)) : NULL;
    uint32_t named = 0;
    size_t count;

    if (nodes && get_edges(&gpu->driver, original, nodes, room, &count) == CUDA_SUCCESS)
        named = name_nodes(reading, edges, nodes, room, count);
    edges->lost += edges->count - named;
    edges->count = named;
    free(nodes);
}

/* Asks again for the ids of child graphs' nodes. They are cloned into a graph with a separate id
 * and get other ids when that graph is merged into the executable graph (seen with CUPTI 13.0). */
static void ask_again(const struct graph_reading *reading)
{
    struct graph_making *making = reading->making;
    uint64_t id;

    for (size_t i = 0; i < making->node_count; i++) {
        struct cloned_node *node = &making->nodes[i];

        if (node->origin && node->id >> 32 != reading->graph &&
            reading->cupti->get_graph_node_id(node->node, &id) == CUPTI_SUCCESS)
            node->id = id;
    }
}

static uint32_t count_nodes(const struct graph_making *making, uint32_t graph)
{
    uint32_t count = 0;

    for (size_t i = 0; i < making->node_count; i++)
        count += making->nodes[i].origin && making->nodes[i].id >> 32 == graph;
    return count;
}

/* Moves those nodes of the clone, or of a part of it, whose originals have numbers. */
static void add_nodes(struct graph_making *making, struct graph_edges *edges)
{
    uint32_t count = count_nodes(making, edges->graph);

    edges->nodes = count ? calloc(count, sizeof(*edges->nodes)) : NULL;
    if (!edges->nodes)
        edges->nodes_lost += count;
    for (size_t i = 0; i < making->node_count; i++) {
        struct cloned_node *node = &making->nodes[i];

        if (!node->origin || node->id >> 32 != edges->graph)
            continue;
        if (edges->nodes)
            edges->nodes[edges->node_count++] =
                (struct graph_node){.number = (uint32_t)node->id, .origin = node->origin};
        node->origin = 0;
    }
}

/* Adds the parts of the graph: nodes inside other nodes, such as the bodies of conditional ones,
 * may belong to a graph with a separate id. */
static void add_parts(struct graphs *graphs, struct graph_reading *reading)
{
    struct graph_making *making = reading->making;

    for (size_t i = 0; i < making->node_count; i++) {
        if (!making->nodes[i].origin)
            continue;
        struct graph_edges *part =
            edges_new(&graphs->edges, (uint32_t)(making->nodes[i].id >> 32), 0);
        if (!part) {
            atomic_fetch_add(&graphs->edges.nodes_lost, making->node_count - i); /* at most */
            return;
        }
        part->since = reading->since;
        part->part = true;
        add_nodes(making, part);
        edges_put(&graphs->edges, part);
    }
}

/* Hands over the edges of the graph that a clone was made of, and what is known of its nodes. */
static void read_edges(struct graphs *graphs, struct gpu *gpu, struct graph_reading *reading,
                       CUgraph original)
{
    size_t count = 0;
    CUresult result = get_edges(&gpu->driver, original, NULL, 0, &count);
    bool has_edges = result == CUDA_SUCCESS;

    if (!has_edges)
        mp_log_debug("graph %u: no edges (%d)", reading->graph, (int)result);
    /* A graph without edges gets one row of zeros, so that readers can tell it from a graph that
     * was not read. */
    struct graph_edges *edges = edges_new(&graphs->edges, reading->graph,
                                          !has_edges ? 0
                                          : count    ? count
                                                     : 1);
    if (!edges) {
        atomic_fetch_add(&graphs->edges.nodes_lost, reading->making->node_count);
        return;
    }
    edges->since = reading->since;
    if (has_edges && count)
        graphs_fill(gpu, reading, original, edges);
    else if (has_edges)
        edges->edges[0] = (struct edge){0, 0, false};
    edges->nodes_lost = reading->making->nodes_lost;
    ask_again(reading);
    add_nodes(reading->making, edges);
    if (has_edges)
        mp_log_debug("graph %u: %u edges, %u lost; ids of nodes: %u told by CUPTI, %u "
                     "assumed; %u nodes were seen as they were made",
                     reading->graph, edges->count, edges->lost, reading->reported, reading->alike,
                     edges->node_count);
    edges_put(&graphs->edges, edges);
    add_parts(graphs, reading);
}

static void read_graph(struct graphs *graphs, struct gpu *gpu, struct graph_making *making,
                       const cuGraphInstantiateWithFlags_params *call, uint32_t correlation)
{
    struct graph_reading reading = {
        .cupti = &gpu->cupti,
        .making = making,
        .since = correlation,
        .graph = making->clone,
    };
    uint32_t id;

    if (gpu->cupti.get_graph_exec_id &&
        gpu->cupti.get_graph_exec_id(*call->phGraphExec, &id) == CUPTI_SUCCESS)
        reading.graph = id;
    if (reading.graph)
        read_edges(graphs, gpu, &reading, call->hGraph);
    else
        mp_log_debug("no edges of a graph: CUPTI does not tell its id");
}

/* The flags of the call; 0 for functions without flags. */
static uint64_t flags_of(const char *name, const CUpti_CallbackData *data)
{
    struct {
        const void *exec, *graph;
        const uint64_t *flags;
    } with_params;
    const cuGraphInstantiateWithFlags_params *with_flags = data->functionParams;

    if (!strncmp(name, "cuGraphInstantiateWithFlags", strlen("cuGraphInstantiateWithFlags")))
        return with_flags->flags;
    if (strncmp(name, "cuGraphInstantiateWithParams", strlen("cuGraphInstantiateWithParams")) != 0)
        return 0;
    memcpy(&with_params, data->functionParams, sizeof(with_params));
    return with_params.flags ? *with_params.flags : 0; /* the first member */
}

/* Graphs whose kernels CUPTI may not record: what the device launches, or repeats, by itself. */
static void count_device_graphs(struct gpu *gpu, CUpti_CallbackId cbid,
                                const CUpti_CallbackData *data, const struct graph_making *making)
{
    const char *name = cbid < API_CBIDS ? gpu->api.names[MP_api_driver][cbid] : NULL;

    if (name && flags_of(name, data) & FOR_DEVICE)
        atomic_fetch_add(&gpu->cuda.device_graphs, 1);
    if (making && making->conditional)
        atomic_fetch_add(&gpu->cuda.conditional_graphs, 1);
}

void graphs_leave(struct graphs *graphs, struct gpu *gpu, CUpti_CallbackId cbid,
                  const CUpti_CallbackData *data)
{
    const cuGraphInstantiateWithFlags_params *call = data->functionParams;
    struct call_log *log = call_log_mine(&gpu->core.logs);

    if (!log || log->busy)
        return;
    if (call && cupti_call_result(data) == CUDA_SUCCESS) {
        count_device_graphs(gpu, cbid, data, log->making);
        graph_is_built(graphs, gpu, call->hGraph);
    }
    if (log->making && call && call->phGraphExec && cupti_call_result(data) == CUDA_SUCCESS) {
        /* CUPTI reports and records calls made in a callback like any other (CUPTI 13.0). */
        own_calls_note(&gpu->core.logs.own, data->correlationId);
        log->busy = true;
        read_graph(graphs, gpu, log->making, call, data->correlationId);
        log->busy = false;
    }
    forget(log);
}

void graphs_destroyed(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data)
{
    uint32_t id;

    if (gpu->cupti.get_graph_exec_id &&
        gpu->cupti.get_graph_exec_id(data->graphExec, &id) == CUPTI_SUCCESS)
        edges_put_gone(&graphs->edges, id);
}

/* The first two parameters of all functions that instantiate. */
_Static_assert(offsetof(cuGraphInstantiateWithFlags_params, hGraph) ==
                   offsetof(cuGraphInstantiate_v2_params, hGraph),
               "graphs_enter");
