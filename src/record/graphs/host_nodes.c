/* Follows the nodes of host functions from the call that made them into executable graphs.
 */
#include "record/graphs/host_nodes.h"

#include <stdlib.h>

#include "base/preload.h"
#include "record/cupti/gpu.h"
#include "record/graphs/graphs.h"

#include "base/poison.h"

void host_nodes_open(struct host_nodes *nodes)
{
    pthread_mutex_init(&nodes->lock, NULL);
}

/* ---- Under the lock ---- */

static uint32_t held(const struct host_nodes *nodes)
{
    return nodes->count < HOST_NODES_MAX ? nodes->count : HOST_NODES_MAX;
}

static struct host_node *find(const struct host_nodes *nodes, uintptr_t handle)
{
    uint32_t at = mp_map_get(&nodes->places, handle);

    return at == MP_MAP_ABSENT ? NULL : &nodes->nodes[at];
}

/* A new node has this handle: what had it before is gone. */
static void forget(struct host_nodes *nodes, uintptr_t handle)
{
    struct host_node *node = find(nodes, handle);

    if (!node)
        return;
    node->handle = 0;
    mp_map_remove(&nodes->places, handle);
}

/* The handle is in use by no other node here. */
static void put(struct host_nodes *nodes, const struct host_node *node)
{
    uint32_t at = nodes->count % HOST_NODES_MAX;

    if (!nodes->nodes)
        nodes->nodes = calloc(HOST_NODES_MAX, sizeof(*nodes->nodes));
    if (!nodes->nodes)
        return;
    if (nodes->nodes[at].handle)
        forget(nodes, nodes->nodes[at].handle);
    if (mp_map_put(&nodes->places, node->handle, at) != MP_OK)
        return;
    nodes->nodes[at] = *node;
    nodes->count++;
    atomic_fetch_add(&nodes->changes, 1);
}

/* ---- Callbacks ---- */

/* CUPTI 13.0 says 0, which is a kernel, for the type of every node (H200). So the type is not
 * asked: a host node is made inside a call that the preloaded library intercepts, and cloned from
 * one. */
static bool may_be_host_node(const struct gpu *gpu)
{
    return gpu->host_functions.preload && gpu->core.wanted.edges;
}

/* Only what the preloaded library passes to the driver is of interest. */
void host_nodes_created(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data)
{
    struct host_node node = {.handle = (uintptr_t)data->node};

    if (!may_be_host_node(gpu))
        return;
    if (atomic_load(&graphs->host_nodes.any)) {
        pthread_mutex_lock(&graphs->host_nodes.lock);
        forget(&graphs->host_nodes, node.handle);
        pthread_mutex_unlock(&graphs->host_nodes.lock);
    }
    struct mp_preload_host_function *function = gpu->host_functions.preload->launching();
    if (!function || gpu->cupti.get_graph_node_id(data->node, &node.id) != CUPTI_SUCCESS)
        return;
    function->node = node.root = node.id;
    function->handle = node.handle;
    pthread_mutex_lock(&graphs->host_nodes.lock);
    put(&graphs->host_nodes, &node);
    pthread_mutex_unlock(&graphs->host_nodes.lock);
    atomic_store(&graphs->host_nodes.any, true);
}

void host_nodes_cloned(struct graphs *graphs, struct gpu *gpu, const CUpti_GraphData *data)
{
    const struct call_log *log = call_log_mine(&gpu->core.logs);
    struct host_nodes *nodes = &graphs->host_nodes;
    struct host_node node = {.handle = (uintptr_t)data->node};

    if (!log || !may_be_host_node(gpu) || !atomic_load(&nodes->any) ||
        gpu->cupti.get_graph_node_id(data->node, &node.id) != CUPTI_SUCCESS)
        return;
    node.executable = log->making != NULL;
    node.maker = node.executable ? log->tid : 0;
    pthread_mutex_lock(&nodes->lock);
    const struct host_node *original = find(nodes, (uintptr_t)data->originalNode);
    node.root = original ? original->root : 0;
    forget(nodes, node.handle);
    if (original)
        put(nodes, &node);
    pthread_mutex_unlock(&nodes->lock);
}

/* The next node of a graph that this thread instantiates, from `*at` on. */
static uintptr_t next_made(struct host_nodes *nodes, uint32_t tid, uint32_t *at)
{
    uintptr_t handle = 0;

    pthread_mutex_lock(&nodes->lock);
    for (; *at < held(nodes) && !handle; ++*at)
        if (nodes->nodes[*at].maker == tid)
            handle = nodes->nodes[*at].handle;
    pthread_mutex_unlock(&nodes->lock);
    return handle;
}

static void settle(struct host_nodes *nodes, uint32_t tid, uintptr_t handle, uint64_t id)
{
    pthread_mutex_lock(&nodes->lock);
    struct host_node *node = find(nodes, handle);
    if (node && node->maker == tid) {
        node->id = id ? id : node->id;
        node->maker = 0;
        atomic_fetch_add(&nodes->changes, 1);
    }
    pthread_mutex_unlock(&nodes->lock);
}

/* The nodes of child graphs have other ids now (graphs.c). */
void host_nodes_instantiated(struct graphs *graphs, struct gpu *gpu)
{
    const struct call_log *log =
        atomic_load(&graphs->host_nodes.any) ? call_log_mine(&gpu->core.logs) : NULL;
    uintptr_t handle;
    uint32_t at = 0;
    uint64_t id;

    if (!log)
        return;
    while ((handle = next_made(&graphs->host_nodes, log->tid, &at)) != 0) {
        if (gpu->cupti.get_graph_node_id((CUgraphNode)handle, &id) != CUPTI_SUCCESS)
            id = 0;
        settle(&graphs->host_nodes, log->tid, handle, id);
    }
}

/* ---- The writer ---- */

uint32_t host_nodes_changes(const struct host_nodes *nodes)
{
    return atomic_load(&nodes->changes) + 1;
}

void host_nodes_find(struct host_nodes *nodes, struct host_clones *clones)
{
    uint32_t now = host_nodes_changes(nodes);

    if (clones->at == now)
        return;
    clones->count = 0;
    pthread_mutex_lock(&nodes->lock);
    for (uint32_t i = 0; i < held(nodes) && clones->count < HOST_NODES_CLONES; i++) {
        const struct host_node *node = &nodes->nodes[(nodes->count - 1 - i) % HOST_NODES_MAX];

        if (node->executable && node->root == clones->root)
            clones->ids[clones->count++] = node->id;
    }
    pthread_mutex_unlock(&nodes->lock);
    clones->at = now;
}

uint32_t host_nodes_of(struct host_nodes *nodes, uint32_t graph)
{
    uint32_t count = 0;

    pthread_mutex_lock(&nodes->lock);
    for (uint32_t i = 0; i < held(nodes); i++)
        count += nodes->nodes[i].executable && nodes->nodes[i].id >> 32 == graph;
    pthread_mutex_unlock(&nodes->lock);
    return count;
}

uint64_t host_nodes_next(struct host_nodes *nodes, uint32_t graph, uint32_t *at)
{
    uint64_t id = 0;

    pthread_mutex_lock(&nodes->lock);
    for (; *at < held(nodes) && !id; ++*at)
        if (nodes->nodes[*at].executable && nodes->nodes[*at].id >> 32 == graph)
            id = nodes->nodes[*at].id;
    pthread_mutex_unlock(&nodes->lock);
    return id;
}
