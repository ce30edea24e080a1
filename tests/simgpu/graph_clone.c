/*
 * graph_clone.c: clones of graphs, for cuGraphClone, for child graphs and for executable graphs.
 *
 * Those of executable graphs are flat: the nodes of child graphs and bodies are theirs. The client
 * is told what CUPTI 13.0 tells (H100). A graph inside of a node is made and cloned before the
 * node, with ids of its own. Then it is destroyed, and its nodes have the ids with which they run;
 * so is the node, if it stood for a child graph. At last, copies and sets are destroyed and made
 * again, while their records keep the id.
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

/* The nodes of the body await nothing outside of it: the node runs them. */
static bool clone_body(CUgraph clone, CUgraphNode original)
{
    const struct sg_nodes none = {.count = 0};

    return clone_nodes(clone, original->child, &none, true);
}

/* Nodes from the n-th on, but for those of bodies inside, are of this one's body. */
static void put_inside(CUgraph clone, size_t first, CUgraphNode conditional)
{
    for (size_t i = first; i < clone->nodes.count; i++)
        if (clone->nodes.items[i] != conditional && !clone->nodes.items[i]->inside)
            clone->nodes.items[i]->inside = conditional;
}

/* Under `deps`, what it awaits in the clone. */
static bool clone_node(CUgraph clone, CUgraphNode original, struct sg_nodes *deps, bool flat)
{
    size_t first = clone->nodes.count;
    bool inner = original->child && flat;
    struct sg_op op;
    CUgraphNode node;

    if ((inner && !(original->conditional ? clone_body(clone, original)
                                          : clone_child(clone, original, deps))) ||
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
    node->conditional = original->conditional;
    node->passes = original->passes;
    original->twin = node;
    if (inner && node->conditional)
        put_inside(clone, first, node);
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

static void tell_node(uint32_t cbid, CUgraph graph, CUgraphNode node)
{
    sg_graphNotify(cbid, (CUpti_GraphData){.graph = graph,
                                           .originalGraph = node->model->graph,
                                           .node = node,
                                           .originalNode = node->model,
                                           .nodeType = sg_nodeType(node)});
}

/* `told` is what the client takes for the clone. */
static void tell_nodes(CUgraph told, CUgraph original, bool flat)
{
    for (size_t i = 0; i < original->nodes.count; i++) {
        CUgraphNode node = original->nodes.items[i];

        if (node->child && flat && (node->child->inner = sg_graphNew()))
            tell_nodes(node->child->inner, node->child, flat);
        if (told != node->twin->graph)
            node->twin->early_id = (uint64_t)told->id << 32 | (node->index + 1);
        tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, told, node->twin);
    }
}

/* A graph inside of a node becomes part of the clone. */
static void merge(CUgraph clone, CUgraphNode node)
{
    CUgraph child = node->child;

    for (size_t i = 0; i < child->nodes.count; i++)
        child->nodes.items[i]->twin->early_id = 0;
    if (!node->conditional) {
        node->twin->gone = true;
        tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, clone, node->twin);
    }
    sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
                   (CUpti_GraphData){.graph = child->inner});
    sg_graphFree(child->inner);
    child->inner = NULL;
}

static void merge_all(CUgraph clone, CUgraph original)
{
    for (size_t i = 0; i < original->nodes.count; i++) {
        CUgraphNode node = original->nodes.items[i];

        if (!node->child || !node->child->inner)
            continue;
        merge(clone, node);
        merge_all(clone, node->child);
    }
}

static void make_again(CUgraph clone)
{
    for (size_t i = 0; i < clone->nodes.count; i++) {
        CUgraphNode node = clone->nodes.items[i];

        if (node->op.type != SG_OP_COPY && node->op.type != SG_OP_SET)
            continue;
        tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, clone, node);
        node->remade = true;
    }
}

static void tell_clones(CUgraph clone, CUgraph original, bool flat)
{
    if (flat)
        sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPH_CREATED, (CUpti_GraphData){.graph = clone});
    sg_graphNotify(CUPTI_CBID_RESOURCE_GRAPH_CLONED,
                   (CUpti_GraphData){.graph = clone, .originalGraph = original});
    if (!env_number("SIMGPU_GRAPHNODE_CLONED", 1))
        return;
    tell_nodes(clone, original, flat);
    if (!flat)
        return;
    merge_all(clone, original);
    make_again(clone);
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
    tell_clones(clone, original, flat);
    return clone;
}
