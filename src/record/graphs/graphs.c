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

/* The clone of a node. */
struct cloned_node {
    CUgraphNode node;
    CUgraph graph;      /* that it was cloned into */
    uint64_t id;        /* with which it runs */
    uint32_t origin;    /* number of the original (origins.h); 0: it has none */
    bool inner;         /* it has a graph inside: it leaves no record itself */
    bool joined;        /* an edge leads over that graph */
    bool before, after; /* a node of its graph awaits it; it awaits one */
};

/* The clone of a graph: of the whole one, or of one inside of a node, which is a child graph or a
 * body. Its nodes, and those further inside, stand from `first` on, up to that node. */
struct cloned_graph {
    CUgraph clone, original; /* NULL: it has no nodes */
    uint32_t first, owner;   /* in nodes; NO_OWNER: none, or none yet */
    bool child; /* that node has gone: it was of a child graph, and runs nothing again */
};

#define NO_OWNER  UINT32_MAX
#define MAX_DEPTH 32u /* graphs inside of graphs; further ones have no edges */

/* What the callbacks tell while a graph is being instantiated. */
struct graph_making {
    CUgraph original;
    uint32_t clone;             /* CUPTI's id of the executable graph, 0 if no callback came */
    bool conditional;           /* it has conditional nodes */
    struct mp_map clones;       /* node of an original -> its clone, in nodes */
    struct cloned_node *nodes;  /* in the order in which they are cloned; owned */
    struct cloned_graph *inner; /* owned */
    size_t node_count, node_capacity, inner_count, inner_capacity;
    uint32_t open[MAX_DEPTH]; /* in inner: those that are not complete, the outermost first */
    uint32_t depth;
    uint32_t nodes_lost;
};

/* A graph that is being read. */
struct graph_reading {
    const struct gpu *gpu;
    struct graph_making *making;
    uint32_t since; /* correlation id of the call */
    uint32_t graph; /* CUPTI's id of the executable graph */
    struct edge *edges;
    size_t count, capacity;
    bool inside;       /* of a graph inside of a node, which may stay a separate graph */
    size_t lost;       /* edges of the others without memory, or with an unknown node */
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
    mp_map_free(&log->making->clones);
    free(log->making->nodes);
    free(log->making->inner);
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

/* The graph that is being cloned, or one inside of its nodes, and has this clone. */
static struct cloned_graph *find_open(struct graph_making *making, CUgraph clone)
{
    for (uint32_t i = making->depth; i-- > 0;)
        if (making->inner[making->open[i]].clone == clone)
            return &making->inner[making->open[i]];
    return NULL;
}

static enum mp_status open_graph(struct graph_making *making, CUgraph clone)
{
    if (making->depth == MAX_DEPTH)
        return MP_ERR_LIMIT;
    MP_TRY(MP_RESERVE(making->inner, making->inner_count, making->inner_capacity));
    making->open[making->depth++] = (uint32_t)making->inner_count;
    making->inner[making->inner_count++] = (struct cloned_graph){
        .clone = clone, .first = (uint32_t)making->node_count, .owner = NO_OWNER};
    return MP_OK;
}

/* A node is cloned after all graphs inside of it. */
static void close_inner(struct graph_making *making, struct cloned_node *node)
{
    while (making->depth && making->inner[making->open[making->depth - 1]].clone != node->graph) {
        making->inner[making->open[--making->depth]].owner = (uint32_t)making->node_count;
        node->inner = true;
        node->origin = 0;
    }
}

static enum mp_status add_clone(struct graph_making *making, const CUpti_GraphData *data,
                                uint64_t id, uint32_t origin)
{
    if (!find_open(making, data->graph))
        MP_TRY(open_graph(making, data->graph));
    MP_TRY(MP_RESERVE(making->nodes, making->node_count, making->node_capacity));
    struct cloned_node *node = &making->nodes[making->node_count];
    *node =
        (struct cloned_node){.node = data->node, .graph = data->graph, .id = id, .origin = origin};
    close_inner(making, node);
    find_open(making, data->graph)->original = data->originalGraph;
    if (data->originalGraph == making->original)
        making->clone = (uint32_t)(id >> 32);
    MP_TRY(
        mp_map_put(&making->clones, (uintptr_t)data->originalNode, (uint32_t)making->node_count));
    making->node_count++;
    return MP_OK;
}

void graphs_created(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data)
{
    const struct call_log *log = call_log_mine(&gpu->core.logs);

    if (log && log->making)
        open_graph(log->making, data->graph);
    else if (log && is_lazy(gpu) && !log->begins_capture &&
             origins_building(&graphs->origins, (uintptr_t)data->graph))
        mp_nvtx_building(true);
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
    uint32_t origin =
        gpu->core.wanted.paths ? origins_find(&graphs->origins, (uintptr_t)data->originalNode) : 0;
    if (add_clone(making, data, id, origin) != MP_OK)
        making->nodes_lost += origin != 0;
}

/* The clone of a graph inside of a node goes as its nodes become those of the executable graph. Now
 * their ids are those of their records. Later some of them are made anew, with other ids. */
static void ask_for_ids(const struct gpu *gpu, struct graph_making *making, CUgraph clone)
{
    for (size_t i = 0; i < making->inner_count; i++) {
        const struct cloned_graph *inner = &making->inner[i];

        if (inner->clone != clone)
            continue;
        for (size_t k = inner->first; k < making->node_count && k < inner->owner; k++)
            if (making->nodes[k].graph == clone)
                gpu->cupti.get_graph_node_id(making->nodes[k].node, &making->nodes[k].id);
    }
}

void graphs_forgotten(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data)
{
    const struct call_log *log = call_log_mine(&gpu->core.logs);

    if (log && log->making)
        ask_for_ids(gpu, log->making, data->graph);
    graph_is_built(graphs, gpu, data->graph);
    origins_forget(&graphs->origins, (uintptr_t)data->graph);
}

void graphs_node_destroyed(struct gpu *gpu, const CUpti_GraphData *data)
{
    const struct call_log *log = call_log_mine(&gpu->core.logs);
    struct graph_making *making = log ? log->making : NULL;

    for (size_t i = 0; making && i < making->inner_count; i++) {
        struct cloned_graph *inner = &making->inner[i];

        if (inner->owner != NO_OWNER && making->nodes[inner->owner].node == data->node)
            inner->child = true;
    }
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

/* Whether this CUgraphEdgeData, which is all zeroes for usual edges, lets its nodes overlap. */
static bool is_programmatic(const void *data)
{
    return ((const unsigned char *)data)[EDGE_DATA_TYPE] == EDGE_PROGRAMMATIC;
}

static struct cloned_node *clone_of(const struct graph_making *making, CUgraphNode original)
{
    uint32_t at = mp_map_get(&making->clones, (uintptr_t)original);

    return at == MP_MAP_ABSENT ? NULL : &making->nodes[at];
}

/* The id of a node's clone in the executable graph; 0 if it is unknown. */
static uint64_t clone_id(struct graph_reading *reading, const struct cloned_node *clone,
                         CUgraphNode original)
{
    uint64_t id = 0;

    if (clone) {
        reading->reported++;
        return clone->id >> 32 == reading->graph ? clone->id : 0;
    }
    if (reading->gpu->cupti.get_graph_node_id(original, &id) != CUPTI_SUCCESS)
        return 0;
    reading->alike++;
    return (uint64_t)reading->graph << 32 | (uint32_t)id;
}

/* Where what awaits the node has to wait: after what is inside of it. */
static uint64_t end_id(const struct cloned_node *clone, uint64_t id)
{
    return clone && clone->inner && id ? id | MP_EDGE_END : id;
}

static void add_edge(struct graph_reading *reading, uint64_t from, uint64_t to, bool programmatic)
{
    if (from && to && MP_RESERVE(reading->edges, reading->count, reading->capacity) == MP_OK)
        reading->edges[reading->count++] = (struct edge){from, to, programmatic};
    else
        reading->lost += !reading->inside;
}

static void name_edge(struct graph_reading *reading, CUgraphNode from, CUgraphNode to,
                      bool programmatic)
{
    struct cloned_node *before = clone_of(reading->making, from);
    struct cloned_node *after = clone_of(reading->making, to);
    uint64_t id = clone_id(reading, before, from);

    add_edge(reading, end_id(before, id), clone_id(reading, after, to), programmatic);
    if (before)
        before->before = true;
    if (after)
        after->after = true;
}

/* Adds the edges that a graph was made with. False: the driver does not tell them. */
static bool read_graph(struct graph_reading *reading, CUgraph original)
{
    const struct driver_api *driver = &reading->gpu->driver;
    size_t room = 0;
    CUresult result = get_edges(driver, original, NULL, 0, &room);

    if (result != CUDA_SUCCESS)
        mp_log_debug("graph %u: no edges (%d)", reading->graph, (int)result);
    if (result != CUDA_SUCCESS || !room)
        return result == CUDA_SUCCESS;
    CUgraphNode *nodes = calloc(3 * room, sizeof(CUgraphNode));
    size_t count = 0;
    if (!nodes || get_edges(driver, original, nodes, room, &count) != CUDA_SUCCESS)
        count = 0;
    if (!reading->inside)
        reading->lost += room - (count < room ? count : room);
    for (size_t i = 0; i < count && i < room; i++)
        name_edge(reading, nodes[i], nodes[room + i], is_programmatic(&nodes[2 * room + i]));
    free(nodes);
    return true;
}

/* Ties a graph inside of a node to what is around the node: its first nodes await the node, and the
 * node's end awaits its last ones. Where a body may run again, an edge leads back. */
static void tie(struct graph_reading *reading, const struct cloned_graph *inner)
{
    struct cloned_node *nodes = reading->making->nodes;
    struct cloned_node *owner = &nodes[inner->owner];
    uint64_t id = clone_id(reading, owner, NULL);

    if (!owner->joined)
        add_edge(reading, id, end_id(owner, id), false);
    if (!owner->joined && !inner->child)
        add_edge(reading, end_id(owner, id), id, false);
    owner->joined = true;
    for (uint32_t i = inner->first; i < inner->owner; i++) {
        const struct cloned_node *node = &nodes[i];
        uint64_t own = clone_id(reading, node, NULL);

        if (node->graph != inner->clone)
            continue;
        if (!node->after)
            add_edge(reading, id, own, false);
        if (!node->before)
            add_edge(reading, end_id(node, own), end_id(owner, id), false);
    }
}

/* Asks again for the ids of nodes of graphs whose end CUPTI has not reported. */
static void ask_again(const struct graph_reading *reading)
{
    struct graph_making *making = reading->making;
    uint64_t id;

    for (size_t i = 0; i < making->node_count; i++) {
        struct cloned_node *node = &making->nodes[i];

        if (node->id >> 32 != reading->graph &&
            reading->gpu->cupti.get_graph_node_id(node->node, &id) == CUPTI_SUCCESS)
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

/* Of the graph that a clone was made of, and of all inside of its nodes. False: not known. */
static bool read_graphs(struct graph_reading *reading, CUgraph original)
{
    bool known = read_graph(reading, original);

    reading->inside = true;
    for (size_t i = 0; i < reading->making->inner_count; i++) {
        const struct cloned_graph *inner = &reading->making->inner[i];

        if (inner->owner != NO_OWNER && inner->original && read_graph(reading, inner->original))
            tie(reading, inner);
    }
    return known;
}

/* What was read, on its way to the writer. A graph without edges gets one row of zeros, so that
 * readers can tell it from a graph that was not read. */
static struct graph_edges *pack(struct graphs *graphs, const struct graph_reading *reading,
                                bool known)
{
    static const struct edge none = {0, 0, false};
    bool empty = known && !reading->count && !reading->lost;
    struct graph_edges *edges =
        edges_new(&graphs->edges, reading->graph, empty ? 1 : reading->count);

    if (!edges) {
        atomic_fetch_add(&graphs->edges.nodes_lost, reading->making->node_count);
        return NULL;
    }
    const struct edge *from = empty ? &none : reading->edges;
    if (edges->count && from)
        memcpy(edges->edges, from, edges->count * sizeof(struct edge));
    edges->since = reading->since;
    edges->lost += (uint32_t)reading->lost;
    edges->nodes_lost = reading->making->nodes_lost;
    return edges;
}

/* Hands over the edges, and what is known of the nodes. */
static void read_edges(struct graphs *graphs, struct graph_reading *reading, CUgraph original)
{
    ask_again(reading);
    bool known = read_graphs(reading, original);
    struct graph_edges *edges = pack(graphs, reading, known);

    free(reading->edges);
    if (!edges)
        return;
    add_nodes(reading->making, edges);
    if (known)
        mp_log_debug("graph %u: %u edges, %u lost; ids of nodes: %u told by CUPTI, %u "
                     "assumed; %u nodes were seen as they were made",
                     reading->graph, edges->count, edges->lost, reading->reported, reading->alike,
                     edges->node_count);
    edges_put(&graphs->edges, edges);
    add_parts(graphs, reading);
}

static void read_made(struct graphs *graphs, const struct gpu *gpu, struct graph_making *making,
                      const cuGraphInstantiateWithFlags_params *call, uint32_t correlation)
{
    struct graph_reading reading = {
        .gpu = gpu,
        .making = making,
        .since = correlation,
        .graph = making->clone,
    };
    uint32_t id;

    if (gpu->cupti.get_graph_exec_id &&
        gpu->cupti.get_graph_exec_id(*call->phGraphExec, &id) == CUPTI_SUCCESS)
        reading.graph = id;
    if (reading.graph)
        read_edges(graphs, &reading, call->hGraph);
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
        read_made(graphs, gpu, log->making, call, data->correlationId);
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
