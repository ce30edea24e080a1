/*
 * graph.c: graphs, their executable clones, and their launch.
 *
 * Nodes are kept in the order of their creation, which is a topological one because a node can
 * only depend on nodes that exist. A launch walks them once: a node starts when its dependencies
 * have ended, roots when the launch stream is free; kernels of independent branches overlap.
 * All nodes report the stream of the launch, but for those of bodies, which have a stream of their
 * own and no correlation id. A child graph's nodes are numbered anew among those of the executable
 * graph; an empty node behind them stands for the child, and is destroyed as far as CUPTI can tell.
 * Ids follow CUPTI: one counter for graphs and executable graphs, and a node's id has its graph's
 * in the upper half.
 */
#include "simgpu.h"

#include <stdlib.h>
#include <string.h>

static uint32_t last_graph_id;

CUresult sg_nodesAdd(struct sg_nodes *nodes, CUgraphNode node)
{
    if (nodes->count == nodes->capacity) {
        size_t capacity = nodes->capacity ? nodes->capacity * 2 : 8;
        CUgraphNode *grown = realloc(nodes->items, capacity * sizeof(CUgraphNode));

        if (!grown)
            return CUDA_ERROR_OUT_OF_MEMORY;
        nodes->items = grown;
        nodes->capacity = capacity;
    }
    nodes->items[nodes->count++] = node;
    return CUDA_SUCCESS;
}

CUresult sg_nodesMerge(struct sg_nodes *into, const struct sg_nodes *from)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < from->count && !result; i++) {
        bool present = false;

        for (size_t j = 0; j < into->count && !present; j++)
            present = into->items[j] == from->items[i];
        if (!present)
            result = sg_nodesAdd(into, from->items[i]);
    }
    return result;
}

void sg_graphNotify(uint32_t cbid, CUpti_GraphData data)
{
    sg_resource(cbid, sg_context(), NULL, &data);
}

static uint32_t free_ids[16]; /* of executable graphs that were destroyed, the last one last */
static unsigned free_id_count;

uint32_t sg_graphNextId(void)
{
    return free_id_count ? free_ids[--free_id_count] : ++last_graph_id;
}

CUgraph sg_graphAlloc(void)
{
    CUgraph graph = calloc(1, sizeof(*graph));

    if (graph)
        graph->id = sg_graphNextId();
    return graph;
}

static void give_id_back(uint32_t id)
{
    if (env_number("SIMGPU_GRAPH_ID_REUSE", 0) &&
        free_id_count < sizeof(free_ids) / sizeof(*free_ids))
        free_ids[free_id_count++] = id;
}

CUgraph sg_graphNew(void)
{
    CUgraph graph = sg_graphAlloc();

    if (graph)
        sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPH_CREATED, (CUpti_GraphData){.graph = graph});
    return graph;
}

void sg_graphFree(CUgraph graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        CUgraphNode node = graph->nodes.items[i];

        if (node->child)
            sg_graphFree(node->child);
        sg_opFree(&node->op);
        free(node->deps);
        free(node->leads);
        free(node);
    }
    free(graph->nodes.items);
    free(graph);
}

CUgraphNodeType sg_nodeType(const struct CUgraphNode_st *node)
{
    static const CUgraphNodeType types[] = {
        [SG_OP_EMPTY] = CU_GRAPH_NODE_TYPE_EMPTY,
        [SG_OP_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
        [SG_OP_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
        [SG_OP_SET] = CU_GRAPH_NODE_TYPE_MEMSET,
        [SG_OP_RECORD] = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        [SG_OP_WAIT] = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
        [SG_OP_HOST] = CU_GRAPH_NODE_TYPE_HOST,
        [SG_OP_VALUE] = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
    };

    if (node->op.type == SG_OP_EMPTY && env_number("SIMGPU_CONDITIONAL_NODES", 0))
        return (CUgraphNodeType)13; /* CU_GRAPH_NODE_TYPE_CONDITIONAL, of CUDA 12.3 */
    return node->child ? CU_GRAPH_NODE_TYPE_GRAPH : types[node->op.type];
}

uint64_t sg_nodeId(CUgraphNode node)
{
    if (node->early_id)
        return node->early_id;
    return (uint64_t)node->graph->id << 32 | (node->index + 1);
}

CUgraphNode sg_nodeNew(CUgraph graph, const struct sg_op *op, size_t dep_count)
{
    CUgraphNode node = calloc(1, sizeof(*node));

    if (!node)
        return NULL;
    node->deps = calloc(dep_count + 1, sizeof(CUgraphNode));
    node->leads = calloc(dep_count + 1, sizeof(*node->leads));
    node->graph = graph;
    node->index = (uint32_t)graph->nodes.count;
    node->dep_count = dep_count;
    node->op = *op;
    if (!node->deps || !node->leads || sg_nodesAdd(&graph->nodes, node)) {
        free(node->deps);
        free(node->leads);
        free(node);
        return NULL;
    }
    return node;
}

CUresult sg_graphAdd(CUgraph graph, const struct sg_nodes *deps, const uint64_t *leads,
                     struct sg_op *op, CUgraphNode *out)
{
    CUgraphNode node = sg_nodeNew(graph, op, deps->count);

    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (deps->count)
        memcpy(node->deps, deps->items, deps->count * sizeof(CUgraphNode));
    if (leads && deps->count)
        memcpy(node->leads, leads, deps->count * sizeof(*leads));
    *out = node;
    sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                   (CUpti_GraphData){.graph = graph, .node = node, .nodeType = sg_nodeType(node)});
    for (size_t i = 0; i < node->dep_count; i++)
        sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED,
                       (CUpti_GraphData){.graph = graph,
                                         .node = node,
                                         .nodeType = sg_nodeType(node),
                                         .dependency = node->deps[i]});
    return CUDA_SUCCESS;
}

#define FOR_DEVICE 4u /* CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, of CUDA 12.0 */

static CUresult instantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    CUgraphExec exec;

    if (!out || !graph)
        return CUDA_ERROR_INVALID_VALUE;
    exec = calloc(1, sizeof(*exec));
    if (!exec || !(exec->graph = sg_graphClone(graph, true))) {
        free(exec);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->for_device = flags & FOR_DEVICE;
    *out = exec;
    /* Only now, when all nodes are cloned: so it was seen with CUPTI 13.0. */
    sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING,
                   (CUpti_GraphData){.graph = graph, .graphExec = exec});
    sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
                   (CUpti_GraphData){.graph = graph, .graphExec = exec});
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuGraphInstantiateWithFlags,
            (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags), phGraphExec,
            hGraph, flags)
{
    return instantiate(phGraphExec, hGraph, flags);
}

#ifndef SIMGPU_LACKS_cuGraphInstantiateWithParams
SG_FUNCTION(cuGraphInstantiateWithParams,
            (CUgraphExec * phGraphExec, CUgraph hGraph,
             CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
            phGraphExec, hGraph, instantiateParams)
{
    if (instantiateParams)
        instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return instantiate(phGraphExec, hGraph, instantiateParams ? instantiateParams->flags : 0);
}
#endif

SG_FUNCTION(cuGraphInstantiate_v2,
            (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
             size_t bufferSize),
            phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize)
{
    (void)phErrorNode;
    (void)logBuffer;
    (void)bufferSize;
    return instantiate(phGraphExec, hGraph, 0);
}

/* What a node waits for, in the launch being scheduled. */
struct awaited {
    uint64_t after;      /* the end of what it cannot overlap */
    uint64_t overlapped; /* when it may begin beside the others, */
    uint64_t end;        /* and the last of their ends */
};

static struct awaited find_awaited(const struct CUgraphNode_st *node, uint64_t base)
{
    struct awaited found = {.after = base};

    for (size_t i = 0; i < node->dep_count; i++) {
        struct sg_span before = node->deps[i]->span;
        uint64_t beside = sg_overlapStart(before, node->leads[i]);

        if (!node->leads[i] && before.end > found.after)
            found.after = before.end;
        if (node->leads[i] && beside > found.overlapped)
            found.overlapped = beside;
        if (node->leads[i] && before.end > found.end)
            found.end = before.end;
    }
    return found;
}

static struct sg_span schedule_work(CUgraphExec exec, CUgraphNode node, CUstream stream,
                                    struct awaited awaited)
{
    uint64_t counter = (uint64_t)exec->graph->id << 40 | exec->launches << 16 | node->index;
    const struct sg_device *device = stream->context->device;
    uint64_t start = sg_nodeStart(awaited.after, awaited.overlapped);
    uint64_t duration =
        sg_opDuration(&node->op, counter, start) + sg_migrationTime(&node->op, device);
    struct sg_span span;

    if (start + duration < awaited.end)
        duration = awaited.end - start;
    span = sg_schedule(stream, sg_opEngine(&node->op), start, duration);
    sg_migrateIn(&node->op, device, span.start);
    return span;
}

static struct sg_span run_node(CUgraphExec exec, CUgraphNode node, CUstream stream, uint64_t base)
{
    struct awaited awaited = find_awaited(node, base);
    uint64_t after = awaited.after > awaited.end ? awaited.after : awaited.end;

    if (node->op.type == SG_OP_HOST)
        return sg_hostRun(&node->op.host, sg_gridRound(sg_nodeStart(after, 0)));
    sg_opRun(&node->op);
    if (node->op.type == SG_OP_RECORD)
        return sg_eventRecordAt(node->op.event, after);
    if (node->op.type == SG_OP_WAIT && node->op.event->recorded && node->op.event->time > after)
        after = node->op.event->time;
    if (node->op.type == SG_OP_VALUE)
        sg_valueWriteAt(&node->op.value, sg_gridRound(after));
    if (node->op.type == SG_OP_EMPTY || node->op.type == SG_OP_WAIT || node->op.type == SG_OP_VALUE)
        return (struct sg_span){after, after};
    return schedule_work(exec, node, stream, awaited);
}

static void emit_trace(CUgraphExec exec, CUstream stream, struct sg_span whole)
{
    struct simgpu_activity activity = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                       .device = (uint32_t)stream->context->device->ordinal,
                                       .context = stream->context->id,
                                       .stream = stream->id,
                                       .correlation = sg_currentCall()->correlation,
                                       .graph = exec->graph->id,
                                       .start = whole.start,
                                       .end = whole.end};

    sg_emit(&activity);
}

/* Graphs that launch themselves as they end: told as a whole only, and with no correlation id. */
static void emit_device_launches(CUgraphExec exec, CUstream stream, struct sg_span whole)
{
    long count = exec->for_device ? env_number("SIMGPU_DEVICE_LAUNCHES", 0) : 0;

    for (long i = 1; i <= count; i++) {
        struct simgpu_activity activity = {.kind = SIMGPU_KIND_DEVICE_GRAPH_TRACE,
                                           .device = (uint32_t)stream->context->device->ordinal,
                                           .context = stream->context->id,
                                           .stream = stream->id,
                                           .graph = exec->graph->id,
                                           .start = whole.end + 1024 * (uint64_t)i,
                                           .end = whole.end + 1024 * (uint64_t)i + 512};

        sg_emit(&activity);
        stream->ready = activity.end;
    }
}

/* Bodies run in streams of the driver's. */
#define BODY_STREAMS 900

/* Runs the nodes of a body, or those of the graph that are in none; answers from when to when. */
static struct sg_span run_inside(CUgraphExec exec, CUgraphNode conditional, struct sg_origin origin,
                                 uint64_t base);

/* The body, so often. A kernel would decide that; the software GPU counts. */
static struct sg_span run_body(CUgraphExec exec, CUgraphNode node, struct sg_origin origin,
                               uint64_t base)
{
    struct awaited awaited = find_awaited(node, base);
    uint64_t begin = awaited.after > awaited.end ? awaited.after : awaited.end;
    struct CUstream_st inner = *origin.stream;
    struct sg_span span = {begin, begin};

    inner.id += BODY_STREAMS;
    origin.stream = &inner;
    origin.correlation = 0;
    for (unsigned pass = 0; pass < node->passes; pass++)
        span.end = run_inside(exec, node, origin, span.end).end;
    return span;
}

static struct sg_span run_inside(CUgraphExec exec, CUgraphNode conditional, struct sg_origin origin,
                                 uint64_t base)
{
    struct sg_span whole = {UINT64_MAX, base};

    for (size_t i = 0; i < exec->graph->nodes.count; i++) {
        CUgraphNode node = exec->graph->nodes.items[i];

        if (node->inside != conditional)
            continue;
        node->span = node->conditional ? run_body(exec, node, origin, base)
                                       : run_node(exec, node, origin.stream, base);
        if (node->span.start < whole.start)
            whole.start = node->span.start;
        if (node->span.end > whole.end)
            whole.end = node->span.end;
        origin.graph_node = sg_nodeId(node);
        if (!node->conditional)
            sg_opEmit(&node->op, &origin, node->span);
    }
    return whole;
}

static void launch_nodes(CUgraphExec exec, CUstream stream)
{
    uint32_t passes = sg_profiledPasses(stream->context);
    struct sg_origin origin = {.stream = stream,
                               .correlation = sg_currentCall()->correlation,
                               .graph = exec->graph->id,
                               .submitted = sg_now()};
    uint64_t ready = sg_streamReady(stream);
    struct sg_span whole =
        run_inside(exec, NULL, origin, ready > exec->ready ? ready : exec->ready);

    if (whole.start == UINT64_MAX)
        whole.end = 0; /* it has no nodes */
    if (exec->ready < whole.end)
        exec->ready = whole.end;
    if (stream->ready < whole.end)
        stream->ready = whole.end;
    stream->kernel = (struct sg_span){0, 0};
    exec->launches++;
    if (whole.end) {
        emit_trace(exec, stream, whole);
        emit_device_launches(exec, stream, whole);
    }
    if (whole.end && passes)
        sg_profileWait(stream, whole, passes);
}

static CUresult launch(CUgraphExec exec, CUstream stream)
{
    if (!exec)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture)
        return CUDA_ERROR_NOT_SUPPORTED; /* no child graphs in this model */
    if (stream->held)
        return CUDA_ERROR_NOT_SUPPORTED;
    sg_advance(exec->graph->nodes.count * sg_recordingCost(SG_COST_NODE));
    launch_nodes(exec, stream);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuGraphLaunch, (CUgraphExec hGraphExec, CUstream hStream), hGraphExec, hStream)
{
    return launch(hGraphExec, sg_stream(sg_context(), hStream));
}

/* The default streams are the same here. */
SG_FUNCTION(cuGraphLaunch_ptsz, (CUgraphExec hGraphExec, CUstream hStream), hGraphExec, hStream)
{
    return launch(hGraphExec, sg_stream(sg_context(), hStream));
}

SG_FUNCTION(cuGraphUpload, (CUgraphExec hGraphExec, CUstream hStream), hGraphExec, hStream)
{
    (void)hStream;
    return hGraphExec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SG_FUNCTION(cuGraphUpload_ptsz, (CUgraphExec hGraphExec, CUstream hStream), hGraphExec, hStream)
{
    (void)hStream;
    return hGraphExec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SG_FUNCTION(cuGraphClone, (CUgraph * phGraphClone, CUgraph originalGraph), phGraphClone,
            originalGraph)
{
    if (!phGraphClone || !originalGraph)
        return CUDA_ERROR_INVALID_VALUE;
    *phGraphClone = sg_graphClone(originalGraph, false);
    return *phGraphClone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

#ifndef SIMGPU_LACKS_cuGraphExecUpdate_v2
/* Nodes are what they were, and do what those of the other graph do. */
static bool update_node(CUgraphNode node, CUgraphNode from)
{
    struct sg_op op;

    if (node->op.type != from->op.type || sg_opClone(&op, &from->op))
        return false;
    sg_opFree(&node->op);
    node->op = op;
    return true;
}

SG_FUNCTION(cuGraphExecUpdate_v2,
            (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo),
            hGraphExec, hGraph, resultInfo)
{
    struct sg_nodes *nodes;

    if (!hGraphExec || !hGraph || !resultInfo)
        return CUDA_ERROR_INVALID_VALUE;
    nodes = &hGraphExec->graph->nodes;
    resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (nodes->count != hGraph->nodes.count)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    for (size_t i = 0; i < nodes->count; i++)
        if (!update_node(nodes->items[i], hGraph->nodes.items[i]))
            return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    resultInfo->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    return CUDA_SUCCESS;
}
#endif

SG_FUNCTION(cuGraphExecDestroy, (CUgraphExec hGraphExec), hGraphExec)
{
    if (!hGraphExec)
        return CUDA_ERROR_INVALID_HANDLE;
    sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
                   (CUpti_GraphData){.graph = hGraphExec->graph, .graphExec = hGraphExec});
    give_id_back(hGraphExec->graph->id);
    sg_graphFree(hGraphExec->graph);
    free(hGraphExec);
    return CUDA_SUCCESS;
}
