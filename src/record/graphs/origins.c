/* The table of nodes and their numbers. Two hash tables of chains lead to an item: by the node's
 * handle, and by its graph's, so that a destroyed graph frees its nodes.
 */
#include "record/graphs/origins.h"

#include <string.h>
#include <sys/mman.h>

#include "base/data/hash.h"

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
