/* Carries the edges of CUDA graphs from the thread that instantiated a graph to the writer. They
 * are written when the graph's first node runs.
 */
#include "record/graphs/edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/log.h"

#include "base/poison.h"

#define USED_AGAIN ((uint64_t)1 << 32) /* added to a graph's number */

void edges_open(struct edge_store *store)
{
    memset(store, 0, sizeof(*store));
    pthread_mutex_init(&store->lock, NULL);
}

/* ---- Any thread ---- */

static void say_loss(struct edge_store *store)
{
    if (!atomic_exchange(&store->loss_was_said, true))
        mp_log_warn("there is no room for the edges of all CUDA graphs (%u are held)", EDGES_MAX);
}

struct graph_edges *edges_new(struct edge_store *store, uint32_t graph, uint64_t count)
{
    struct graph_edges *edges = NULL;
    uint64_t kept = count <= EDGES_MAX ? count : 0;

    if (kept)
        edges = malloc(sizeof(*edges) + kept * sizeof(edges->edges[0]));
    if (!edges) {
        kept = 0;
        edges = malloc(sizeof(*edges));
    }
    if (!edges) {
        atomic_fetch_add(&store->lost, count);
        say_loss(store);
        return NULL;
    }
    *edges = (struct graph_edges){
        .graph = graph,
        .count = (uint32_t)kept,
        .lost = count - kept < UINT32_MAX ? (uint32_t)(count - kept) : UINT32_MAX,
    };
    return edges;
}

void edges_unread(struct edge_store *store)
{
    atomic_fetch_add(&store->lost, 1);
    say_loss(store);
}

static uint32_t size_of(const struct graph_edges *edges)
{
    return edges->count + edges->node_count;
}

static void discard(struct graph_edges *edges)
{
    free(edges->nodes);
    free(edges);
}

/* Drops the graph, and counts all its edges and nodes as lost. */
static void lose(struct edge_store *store, struct graph_edges *edges)
{
    atomic_fetch_add(&store->lost, edges->count + edges->lost);
    atomic_fetch_add(&store->nodes_lost, edges->node_count + edges->nodes_lost);
    say_loss(store);
    discard(edges);
}

void edges_put(struct edge_store *store, struct graph_edges *edges)
{
    pthread_mutex_lock(&store->lock);
    bool room = store->waiting + size_of(edges) <= EDGES_MAX;
    if (room) {
        if (store->first)
            store->last->next = edges;
        else
            store->first = edges;
        store->last = edges;
        store->waiting += size_of(edges);
        atomic_fetch_add_explicit(&store->put, 1, memory_order_release);
    }
    pthread_mutex_unlock(&store->lock);
    if (room)
        return;
    lose(store, edges);
}

void edges_put_gone(struct edge_store *store, uint32_t graph)
{
    struct graph_edges *news = calloc(1, sizeof(*news));

    if (!news)
        return; /* without memory the graph is kept for longer */
    news->graph = graph;
    news->gone = true;
    edges_put(store, news);
}

/* ---- The writer ---- */

static void drop(struct edge_store *store, uint32_t position)
{
    struct graph_edges *edges = store->graphs[position];

    mp_map_remove(&store->index, edges->number);
    store->held -= size_of(edges);
    store->unsettled -= edges->state != GRAPH_SETTLED;
    store->unsettled -= edges->due;
    discard(edges);
    store->graphs[position] = store->graphs[--store->count];
    if (position < store->count)
        mp_map_put(&store->index, store->graphs[position]->number,
                   position); /* cannot fail: the map has the key */
}

static void drop_gone(struct edge_store *store)
{
    for (uint32_t i = store->count; i-- > 0;)
        if (store->graphs[i]->gone)
            drop(store, i);
}

/* Drops the graph's edges and nodes and counts them; the graph itself stays. */
static struct graph_edges *shrink(struct graph_edges *edges)
{
    free(edges->nodes);
    edges->nodes = NULL;
    struct graph_edges *smaller = realloc(edges, sizeof(*edges));
    edges = smaller ? smaller : edges;
    edges->lost += edges->count;
    edges->nodes_lost += edges->node_count;
    edges->count = 0;
    edges->node_count = 0;
    return edges;
}

/* Keeps the graph. If room is short, destroyed graphs go first; if that is not enough, only the
 * number of edges is kept. */
static void hold(struct edge_store *store, struct graph_edges *edges)
{
    if (store->held + size_of(edges) > EDGES_MAX || store->count == EDGES_MAX_GRAPHS)
        drop_gone(store);
    if (store->held + size_of(edges) > EDGES_MAX) {
        edges = shrink(edges);
        say_loss(store);
    }
    if (store->count == EDGES_MAX_GRAPHS ||
        (store->count == store->capacity &&
         !mp_double(&store->graphs, &store->capacity, sizeof(struct graph_edges *))) ||
        mp_map_put(&store->index, edges->number, store->count) != MP_OK) {
        lose(store, edges);
        return;
    }
    edges->gone = edges->part; /* when room is needed, parts go first */
    edges->state = edges->node_count ? GRAPH_NEW : GRAPH_SETTLED;
    store->unsettled += edges->state != GRAPH_SETTLED;
    store->graphs[store->count++] = edges;
    store->held += size_of(edges);
}

static struct graph_edges *find(const struct edge_store *store, uint64_t number)
{
    uint32_t position = mp_map_get(&store->index, number);

    return position == MP_MAP_ABSENT ? NULL : store->graphs[position];
}

static uint32_t times_reused(const struct edge_store *store, uint32_t graph)
{
    uint32_t times = store->reused.count ? mp_map_get(&store->reused, graph) : MP_MAP_ABSENT;

    return times == MP_MAP_ABSENT ? 0 : times;
}

static uint64_t number_of(uint32_t graph, uint32_t times)
{
    return USED_AGAIN * times + graph;
}

/* The number of a new graph. If another graph has its id, that one was destroyed, even if its end
 * was not seen. Without memory the old graph is forgotten. */
static uint64_t next_number(struct edge_store *store, uint32_t graph)
{
    uint32_t times = times_reused(store, graph);
    struct graph_edges *before = find(store, number_of(graph, times));

    if (!before)
        return number_of(graph, times);
    before->gone = true;
    if (store->reused.count < EDGES_MAX_GRAPHS &&
        mp_map_put(&store->reused, graph, times + 1) == MP_OK)
        return number_of(graph, times + 1);
    drop(store, mp_map_get(&store->index, before->number));
    return number_of(graph, times);
}

/* Extends a correlation id to 64 bits: the value nearest to the largest one met. */
static uint64_t extend(const struct edge_store *store, uint32_t correlation)
{
    uint64_t max = store->max ? *store->max : 0;
    int32_t step = (int32_t)(correlation - (uint32_t)max);

    if (!max || (step < 0 && (uint64_t) - (int64_t)step > max))
        return correlation;
    return max + (uint64_t)(int64_t)step;
}

static void use(struct edge_store *store, struct graph_edges *edges)
{
    struct graph_edges *known;

    if (edges->gone) {
        known = find(store, number_of(edges->graph, times_reused(store, edges->graph)));
        if (known)
            known->gone = true;
        discard(edges);
        return;
    }
    edges->number = next_number(store, edges->graph);
    edges->since_all = extend(store, edges->since);
    if (edges->count || edges->lost || edges->node_count || edges->nodes_lost)
        hold(store, edges);
    else
        discard(edges);
}

void edges_take(struct edge_store *store)
{
    struct graph_edges *next;

    if (atomic_load_explicit(&store->put, memory_order_acquire) == store->taken)
        return;
    pthread_mutex_lock(&store->lock);
    struct graph_edges *edges = store->first;
    store->first = NULL;
    store->last = NULL;
    store->waiting = 0;
    pthread_mutex_unlock(&store->lock);
    store->last_number = 0;
    for (; edges; edges = next) {
        next = edges->next;
        store->taken++;
        use(store, edges);
    }
}

uint64_t edges_number(struct edge_store *store, uint32_t graph, uint64_t correlation)
{
    edges_take(store);
    uint32_t times = times_reused(store, graph);
    if (!correlation)
        return number_of(graph, times);
    for (; times; times--) {
        const struct graph_edges *known = find(store, number_of(graph, times));

        if (!known || known->since_all < correlation)
            break;
    }
    return number_of(graph, times);
}

void edges_append(struct edge_store *store, struct mp_writer *writer, uint64_t number)
{
    edges_take(store);
    if (number == store->last_number)
        return;
    store->last_number = number;
    struct graph_edges *edges = find(store, number);
    if (!edges || edges->written)
        return;
    edges->written = true;
    edges->due = edges->node_count || edges->nodes_lost;
    store->unsettled += edges->due;
    store->lost_of_run += edges->lost;
    for (uint32_t i = 0; i < edges->count; i++)
        mp_append_edge(writer, &(struct mp_row_edge){.graph = number,
                                                     .from = edges->edges[i].from,
                                                     .to = edges->edges[i].to,
                                                     .programmatic = edges->edges[i].programmatic});
}

void edges_ripen(struct edge_store *store)
{
    if (!store->unsettled)
        return;
    for (uint32_t i = 0; i < store->count; i++)
        if (store->graphs[i]->state == GRAPH_NEW)
            store->graphs[i]->state = GRAPH_RIPE;
}

void edges_restart(struct edge_store *store)
{
    for (uint32_t i = 0; i < store->count; i++) {
        store->graphs[i]->written = false;
        store->unsettled -= store->graphs[i]->due;
        store->graphs[i]->due = false;
    }
    store->last_number = 0;
}

uint64_t edges_lost(const struct edge_store *store)
{
    return store->lost_of_run + atomic_load(&store->lost);
}

void edges_close(struct edge_store *store)
{
    edges_take(store);
    while (store->count)
        drop(store, store->count - 1);
    free(store->graphs);
    mp_map_free(&store->index);
    mp_map_free(&store->reused);
    store->graphs = NULL;
    store->capacity = 0;
}
