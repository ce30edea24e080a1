/* The table of nodes and their numbers. Two hash tables of chains lead to an item: by the node's
 * handle, and by its graph's, so that a destroyed graph frees its nodes.
 */
#include "record/graphs/origins.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/data/hash.h"
#include "base/preload.h"
#include "record/cupti/gpu.h"
#include "record/graphs/graphs.h"

#include "base/poison.h"

#define NODE_CHAINS  ORIGINS_MAX
#define GRAPH_CHAINS ((uint32_t)1 << 12)

struct origin_item {
    uintptr_t node;
    uintptr_t graph;
    uint32_t number;
    uint32_t next_node; /* in the chain; item + 1 */
    uint32_t next_graph;
    uint32_t previous_graph; /* 0: the chain begins here */
};

bool origins_open(struct origins *origins)
{
    const size_t items = ORIGINS_MAX * sizeof(struct origin_item);
    const size_t bytes = items + (NODE_CHAINS + GRAPH_CHAINS) * sizeof(uint32_t);

    memset(origins, 0, sizeof(*origins));
    pthread_mutex_init(&origins->lock, NULL);
    unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
    origins->items = (struct origin_item *)(void *)memory;
    origins->by_node = (uint32_t *)(void *)(memory + items);
    origins->by_graph = origins->by_node + NODE_CHAINS;
    return true;
}

static uint32_t *node_chain(struct origins *origins, uintptr_t node)
{
    return &origins->by_node[mp_mix64(node) % NODE_CHAINS];
}

static uint32_t *graph_chain(struct origins *origins, uintptr_t graph)
{
    return &origins->by_graph[mp_mix64(graph) % GRAPH_CHAINS];
}

static struct origin_item *item_at(struct origins *origins, uint32_t link)
{
    return &origins->items[link - 1];
}

static struct origin_item *find(struct origins *origins, uintptr_t node)
{
    uint32_t link = *node_chain(origins, node);

    while (link && item_at(origins, link)->node != node)
        link = item_at(origins, link)->next_node;
    return link ? item_at(origins, link) : NULL;
}

static void leave_node_chain(struct origins *origins, const struct origin_item *item)
{
    uint32_t *at = node_chain(origins, item->node);

    while (item_at(origins, *at) != item)
        at = &item_at(origins, *at)->next_node;
    *at = item->next_node;
}

static void leave_graph_chain(struct origins *origins, const struct origin_item *item)
{
    uint32_t *before = item->previous_graph ? &item_at(origins, item->previous_graph)->next_graph
                                            : graph_chain(origins, item->graph);

    *before = item->next_graph;
    if (item->next_graph)
        item_at(origins, item->next_graph)->previous_graph = item->previous_graph;
}

/* Frees an item. `link`: its position + 1; it must be in no chain any more. */
static void give_back(struct origins *origins, uint32_t link)
{
    item_at(origins, link)->next_node = origins->free;
    origins->free = link;
    origins->held--;
}

static uint32_t link_of(const struct origins *origins, const struct origin_item *item)
{
    return (uint32_t)(item - origins->items) + 1;
}

static void drop(struct origins *origins, struct origin_item *item)
{
    leave_node_chain(origins, item);
    leave_graph_chain(origins, item);
    give_back(origins, link_of(origins, item));
}

/* Drops the next item in turn, which is among the oldest ones. */
static void evict(struct origins *origins)
{
    origins->hand = origins->hand % ORIGINS_MAX + 1;
    drop(origins, item_at(origins, origins->hand));
    atomic_fetch_add(&origins->lost, 1);
}

static uint32_t origins_take(struct origins *origins)
{
    uint32_t link = origins->free;

    if (!link && origins->fresh < ORIGINS_MAX) {
        origins->held++;
        return ++origins->fresh;
    }
    if (!link)
        evict(origins);
    link = origins->free;
    origins->free = item_at(origins, link)->next_node;
    origins->held++;
    return link;
}

/* Under the lock: from now on the handle stands for this node. */
static void origins_put(struct origins *origins, uintptr_t graph, uintptr_t node, uint32_t number)
{
    struct origin_item *item = find(origins, node);

    if (item)
        drop(origins, item);
    uint32_t link = origins_take(origins);
    *item_at(origins, link) = (struct origin_item){
        .node = node,
        .graph = graph,
        .number = number,
        .next_node = *node_chain(origins, node),
        .next_graph = *graph_chain(origins, graph),
    };
    item = item_at(origins, link);
    if (item->next_graph)
        item_at(origins, item->next_graph)->previous_graph = link;
    *node_chain(origins, node) = link;
    *graph_chain(origins, graph) = link;
}

uint32_t origins_create(struct origins *origins, uintptr_t graph, uintptr_t node)
{
    uint32_t number = 0;

    if (!origins->items)
        return 0;
    pthread_mutex_lock(&origins->lock);
    if (origins->last < UINT32_MAX) {
        number = ++origins->last;
        origins_put(origins, graph, node, number);
    }
    pthread_mutex_unlock(&origins->lock);
    return number;
}

void origins_clone(struct origins *origins, uintptr_t graph, uintptr_t node, uintptr_t original)
{
    if (!origins->items)
        return;
    pthread_mutex_lock(&origins->lock);
    const struct origin_item *from = find(origins, original);
    struct origin_item *old = find(origins, node);
    if (from)
        origins_put(origins, graph, node, from->number); /* which may make it go */
    else if (old)
        drop(origins, old);
    pthread_mutex_unlock(&origins->lock);
}

uint32_t origins_find(struct origins *origins, uintptr_t node)
{
    if (!origins->items)
        return 0;
    pthread_mutex_lock(&origins->lock);
    const struct origin_item *item = find(origins, node);
    uint32_t number = item ? item->number : 0;
    pthread_mutex_unlock(&origins->lock);
    return number;
}

void origins_skip(struct origins *origins, uintptr_t node)
{
    if (!origins->items)
        return;
    pthread_mutex_lock(&origins->lock);
    struct origin_item *item = origins->held ? find(origins, node) : NULL;
    if (item)
        drop(origins, item);
    pthread_mutex_unlock(&origins->lock);
}

void origins_forget(struct origins *origins, uintptr_t graph)
{
    uint32_t link, next;

    if (!origins->items)
        return;
    pthread_mutex_lock(&origins->lock);
    for (link = *graph_chain(origins, graph); link; link = next) {
        next = item_at(origins, link)->next_graph;
        if (item_at(origins, link)->graph == graph)
            drop(origins, item_at(origins, link));
    }
    pthread_mutex_unlock(&origins->lock);
}

/* ---- Graphs that are being built ---- */

static uint32_t position(const struct origins *origins, uintptr_t graph)
{
    uint32_t i = 0;

    while (i < origins->building_count && origins->building[i] != graph)
        i++;
    return i;
}

bool origins_building(struct origins *origins, uintptr_t graph)
{
    pthread_mutex_lock(&origins->lock);
    bool added = position(origins, graph) == origins->building_count &&
                 origins->building_count < ORIGINS_MAX_BUILDING;
    if (added)
        origins->building[origins->building_count++] = graph;
    pthread_mutex_unlock(&origins->lock);
    return added;
}

bool origins_built(struct origins *origins, uintptr_t graph)
{
    pthread_mutex_lock(&origins->lock);
    uint32_t i = position(origins, graph);
    bool found = i < origins->building_count;
    if (found)
        origins->building[i] = origins->building[--origins->building_count];
    pthread_mutex_unlock(&origins->lock);
    return found;
}

/* ---- Nodes of host functions ---- */

void host_nodes_open(struct host_nodes *nodes)
{
    pthread_mutex_init(&nodes->lock, NULL);
}

/* ---- Under the lock ---- */

static uint32_t held(const struct host_nodes *nodes)
{
    return nodes->count < HOST_NODES_MAX ? nodes->count : HOST_NODES_MAX;
}

static struct host_node *find_node(const struct host_nodes *nodes, uintptr_t handle)
{
    uint32_t at = mp_map_get(&nodes->places, handle);

    return at == MP_MAP_ABSENT ? NULL : &nodes->nodes[at];
}

/* A new node has this handle: what had it before is gone. */
static void forget(struct host_nodes *nodes, uintptr_t handle)
{
    struct host_node *node = find_node(nodes, handle);

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
    const struct host_node *original = find_node(nodes, (uintptr_t)data->originalNode);
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
    struct host_node *node = find_node(nodes, handle);
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
