/* See edges.h. */
#include "record/edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#include "base/poison.h"

void edges_open(struct edge_store *store)
{
    memset(store, 0, sizeof(*store));
    pthread_mutex_init(&store->lock, NULL);
}

/* ---- Any thread ---- */

static void say_loss(struct edge_store *store)
{
    if (!atomic_exchange(&store->loss_was_said, true))
        mp_log_warn("there is no room for the edges of all CUDA graphs (%u are held)", EDGES_MOST);
}

struct graph_edges *edges_new(struct edge_store *store, uint32_t graph, uint64_t count)
{
    struct graph_edges *edges = NULL;
    uint64_t kept = count <= EDGES_MOST ? count : 0;

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

void edges_put(struct edge_store *store, struct graph_edges *edges)
{
    uint32_t count = edges->count;
    bool room;

    pthread_mutex_lock(&store->lock);
    room = store->waiting + count <= EDGES_MOST;
    if (room) {
        if (store->first)
            store->last->next = edges;
        else
            store->first = edges;
        store->last = edges;
        store->waiting += count;
        atomic_fetch_add_explicit(&store->put, 1, memory_order_release);
    }
    pthread_mutex_unlock(&store->lock);
    if (room)
        return;
    atomic_fetch_add(&store->lost, count);
    say_loss(store);
    free(edges);
}

void edges_put_gone(struct edge_store *store, uint32_t graph)
{
    struct graph_edges *news = calloc(1, sizeof(*news));

    if (!news)
        return; /* then it is kept for longer */
    news->graph = graph;
    news->gone = true;
    edges_put(store, news);
}

void edges_note_read(struct edge_store *store, uint32_t correlation)
{
    pthread_mutex_lock(&store->lock);
    store->reads[store->read_count++ % EDGES_READS] = correlation;
    pthread_mutex_unlock(&store->lock);
}

bool edges_is_read(struct edge_store *store, uint32_t correlation)
{
    bool found = false;
    uint32_t i;

    pthread_mutex_lock(&store->lock);
    for (i = 0; i < EDGES_READS && i < store->read_count && !found; i++)
        found = store->reads[i] == correlation;
    pthread_mutex_unlock(&store->lock);
    return found;
}

/* ---- The writer ---- */

static void drop(struct edge_store *store, uint32_t position)
{
    struct graph_edges *edges = store->graphs[position];

    mp_map_remove(&store->index, edges->graph);
    store->held -= edges->count;
    free(edges);
    store->graphs[position] = store->graphs[--store->count];
    if (position < store->count)
        mp_map_put(&store->index, store->graphs[position]->graph, position); /* a key it has */
}

static void drop_gone(struct edge_store *store)
{
    uint32_t i;

    for (i = store->count; i-- > 0;)
        if (store->graphs[i]->gone)
            drop(store, i);
}

static bool grow(struct edge_store *store)
{
    uint32_t capacity = store->capacity ? store->capacity * 2 : 64;
    void *graphs;

    if (store->count < store->capacity)
        return true;
    graphs = realloc(store->graphs, capacity * sizeof(struct graph_edges *));
    if (!graphs)
        return false;
    store->graphs = graphs;
    store->capacity = capacity;
    return true;
}

/* Keeps the edges; without room, of destroyed graphs or at all, only how many there are. */
static void hold(struct edge_store *store, struct graph_edges *edges)
{
    if (store->held + edges->count > EDGES_MOST || store->count == EDGES_MOST_GRAPHS)
        drop_gone(store);
    if (store->held + edges->count > EDGES_MOST) {
        struct graph_edges *smaller = realloc(edges, sizeof(*edges));

        edges = smaller ? smaller : edges;
        edges->lost += edges->count;
        edges->count = 0;
        say_loss(store);
    }
    if (store->count == EDGES_MOST_GRAPHS || !grow(store) ||
        mp_map_put(&store->index, edges->graph, store->count) != MP_OK) {
        atomic_fetch_add(&store->lost, edges->count + edges->lost);
        say_loss(store);
        free(edges);
        return;
    }
    store->graphs[store->count++] = edges;
    store->held += edges->count;
}

static void use(struct edge_store *store, struct graph_edges *edges)
{
    uint32_t position = mp_map_get(&store->index, edges->graph);

    if (edges->gone) {
        if (position != MP_MAP_ABSENT)
            store->graphs[position]->gone = true;
        free(edges);
        return;
    }
    if (position != MP_MAP_ABSENT)
        drop(store, position); /* CUPTI has used its id again */
    if (edges->count || edges->lost)
        hold(store, edges);
    else
        free(edges);
}

void edges_take(struct edge_store *store)
{
    struct graph_edges *edges, *next;

    if (atomic_load_explicit(&store->put, memory_order_acquire) == store->taken)
        return;
    pthread_mutex_lock(&store->lock);
    edges = store->first;
    store->first = NULL;
    store->last = NULL;
    store->waiting = 0;
    pthread_mutex_unlock(&store->lock);
    store->last_graph = 0;
    for (; edges; edges = next) {
        next = edges->next;
        store->taken++;
        use(store, edges);
    }
}

void edges_append(struct edge_store *store, struct mp_writer *writer, uint32_t graph)
{
    struct graph_edges *edges;
    uint32_t position, i;

    edges_take(store);
    if (graph == store->last_graph)
        return;
    store->last_graph = graph;
    position = mp_map_get(&store->index, graph);
    edges = position == MP_MAP_ABSENT ? NULL : store->graphs[position];
    if (!edges || edges->written)
        return;
    edges->written = true;
    store->lost_of_run += edges->lost;
    for (i = 0; i < edges->count; i++)
        mp_append_edge(writer, &(struct mp_row_edge){.graph = graph,
                                                     .from = edges->edges[i].from,
                                                     .to = edges->edges[i].to});
}

void edges_restart(struct edge_store *store)
{
    uint32_t i;

    for (i = 0; i < store->count; i++)
        store->graphs[i]->written = false;
    store->last_graph = 0;
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
    store->graphs = NULL;
    store->capacity = 0;
}
