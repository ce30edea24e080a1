/*
 * graph_clone.c: clones of graphs, for cuGraphClone, for child graphs and for executable graphs.
 *
 * Those of executable graphs are flat: the nodes of their child graphs are theirs. As with CUPTI
 * 13.0, such nodes have ids of a graph of their own while the clones are told, and other ids after.
 */
#include "simgpu.h"

#include <stdlib.h>
#include <string.h>

static bool clone_nodes(CUgraph clone, CUgraph original, const struct sg_nodes *roots, bool flat);

/* The child's nodes, and one that stands for it. */
static bool clone_child(CUgraph clone, CUgraphNode original, struct sg_nodes *deps)
{
    CUgraph child = original->child;

    if (!clone_nodes(clone, child, deps, true))
        return false;
    for (size_t i = 0; i < child->nodes.count; i++)
        if (sg_nodesAdd(deps, child->nodes.items[i]->twin))
            return false;
    return true;
}

/* Under `deps`, what it awaits in the clone. */
static bool clone_node(CUgraph clone, CUgraphNode original, struct sg_nodes *deps, bool flat)
{
    struct sg_op op;
    CUgraphNode node;

    if ((original->child && flat && !clone_child(clone, original, deps)) ||
        sg_opClone(&op, &original->op))
        return false;
    node = sg_nodeNew(clone, &op, deps->count);
    if (!node) {
        sg_opFree(&op);
        return false;
    }
    if (deps->count)
        memcpy(node->deps, deps->items, deps->count * sizeof(CUgraphNode));
    /* What stands for a child waits for its nodes too, behind these. */
    if (original->dep_count)
        memcpy(node->leads, original->leads, original->dep_count * sizeof(*node->leads));
    node->model = original;
    original->twin = node;
    if (original->child && !flat)
        node->child = sg_graphClone(original->child, false);
    return true;
}

/* `roots`: what those await that await nothing in the original. */
static bool clone_nodes(CUgraph clone, CUgraph original, const struct sg_nodes *roots, bool flat)
{
    bool cloned = true;

    for (size_t i = 0; cloned && i < original->nodes.count; i++) {
        CUgraphNode node = original->nodes.items[i];
        struct sg_nodes deps = {.count = 0};

        for (size_t d = 0; cloned && d < node->dep_count; d++)
            cloned = !sg_nodesAdd(&deps, node->deps[d]->twin);
        if (!node->dep_count)
            cloned = !sg_nodesMerge(&deps, roots);
        cloned = cloned && clone_node(clone, node, &deps, flat);
        free(deps.items);
    }
    return cloned;
}

/* Nodes that come from child graphs have other ids for now. */
static void begin_merging(CUgraph clone, CUgraph original)
{
    for (size_t i = 0; i < clone->nodes.count; i++) {
        CUgraphNode node = clone->nodes.items[i];
        CUgraph child = node->model->graph;

        if (child == original)
            continue;
        if (!child->inner_id)
            child->inner_id = sg_graphNextId();
        node->early_id = (uint64_t)child->inner_id << 32 | (node->model->index + 1);
    }
}

static void end_merging(CUgraph clone)
{
    for (size_t i = 0; i < clone->nodes.count; i++) {
        CUgraphNode node = clone->nodes.items[i];

        node->model->graph->inner_id = 0;
        node->early_id = 0;
        if (!node->model->child || node->child)
            continue;
        node->gone = true;
        sg_graphNotify(
            CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING,
            (CUpti_GraphData){.graph = clone, .node = node, .nodeType = sg_nodeType(node)});
    }
}

static void tell_clones(CUgraph clone, CUgraph original)
{
    sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPH_CLONED,
                   (CUpti_GraphData){.graph = clone, .originalGraph = original});
    if (!env_number("SIMGPU_GRAPHNODE_CLONED", 1))
        return;
    for (size_t i = 0; i < clone->nodes.count; i++)
        sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                       (CUpti_GraphData){.graph = clone,
                                         .originalGraph = clone->nodes.items[i]->model->graph,
                                         .node = clone->nodes.items[i],
                                         .originalNode = clone->nodes.items[i]->model,
                                         .nodeType = sg_nodeType(clone->nodes.items[i])});
}

CUgraph sg_graphClone(CUgraph original, bool flat)
{
    const struct sg_nodes none = {.count = 0};
    CUgraph clone = sg_graphAlloc();

    if (!clone)
        return NULL;
    if (!clone_nodes(clone, original, &none, flat)) {
        sg_graphFree(clone);
        return NULL;
    }
    begin_merging(clone, original);
    tell_clones(clone, original);
    end_merging(clone);
    return clone;
}
