/* Graph edges (D7): what the nodes of a graph launch wait for.
 *
 * The edges of a graph are read once and become a plan: its nodes, ordered so that each comes after
 * those it depends on. Each launch walks its plan. A node stands for its activity. If it has none
 * (empty, event and host nodes), it stands for what it depends on.
 *
 *     plan     a   b   (empty)   c            edges a->empty, b->empty, empty->c
 *     stands   17  18  18        19           b ended last: c waits for 18
 */
#include <stdlib.h>

#include "base/data/hash.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

struct node {
    uint32_t plan;
    uint32_t first_pred; /* in deps_nodes.preds */
    uint32_t pred_count;
    uint32_t waits;    /* predecessors that are not in the order yet */
    uint32_t epoch;    /* of the launch that the two below are of */
    uint32_t activity; /* DEPS_NONE: it leaves none */
    uint32_t stands;   /* what later nodes wait for: a reference */
    bool has_successor;
};

struct plan {
    uint32_t first; /* in deps_nodes.order */
    uint32_t count;
    uint32_t epoch;    /* the launch that walked it last, */
    struct plan *next; /* and that launch's next one */
};

struct deps_nodes {
    struct node *nodes;
    size_t node_count, node_capacity;
    struct mp_map by_id; /* graph and node id -> node */
    struct plan *plans;
    size_t plan_count, plan_capacity;
    struct mp_map by_graph; /* -> plan */
    uint32_t *preds;
    uint32_t *order;
    uint32_t epoch;
};

void deps_nodes_free(struct deps_nodes *nodes)
{
    if (!nodes)
        return;
    free(nodes->nodes);
    free(nodes->plans);
    free(nodes->preds);
    free(nodes->order);
    mp_map_free(&nodes->by_id);
    mp_map_free(&nodes->by_graph);
    free(nodes);
}

static uint64_t node_key(uint64_t graph, uint64_t id)
{
    return mp_mix64(graph) ^ id;
}

static enum mp_status reach_plan(struct deps_nodes *nodes, uint64_t graph, uint32_t *plan)
{
    *plan = mp_map_get(&nodes->by_graph, graph);
    if (*plan != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(nodes->plans, nodes->plan_count, nodes->plan_capacity));
    *plan = (uint32_t)nodes->plan_count++;
    nodes->plans[*plan] = (struct plan){0};
    return mp_map_put(&nodes->by_graph, graph, *plan);
}

static enum mp_status reach_node(struct deps_nodes *nodes, uint64_t graph, uint64_t id,
                                 uint32_t *node)
{
    uint64_t key = node_key(graph, id);

    *node = mp_map_get(&nodes->by_id, key);
    if (*node != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(nodes->nodes, nodes->node_count, nodes->node_capacity));
    *node = (uint32_t)nodes->node_count++;
    nodes->nodes[*node] = (struct node){.activity = DEPS_NONE, .stands = DEPS_NONE};
    MP_TRY(reach_plan(nodes, graph, &nodes->nodes[*node].plan));
    return mp_map_put(&nodes->by_id, key, *node);
}

/* An edge by the numbers of its nodes. */
struct edge {
    uint32_t from;
    uint32_t to;
};

static enum mp_status number_edges(struct deps_nodes *nodes, const struct deps_builder *builder,
                                   struct edge *edges)
{
    for (size_t i = 0; i < builder->edge_count; i++) {
        const struct deps_edge *edge = &builder->edges[i];

        MP_TRY(reach_node(nodes, edge->graph, edge->from, &edges[i].from));
        MP_TRY(reach_node(nodes, edge->graph, edge->to, &edges[i].to));
    }
    return MP_OK;
}

static void count_edges(struct deps_nodes *nodes, const struct edge *edges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nodes->nodes[edges[i].from].has_successor = true;
        nodes->nodes[edges[i].to].pred_count++;
    }
}

static void list_predecessors(struct deps_nodes *nodes, const struct edge *edges, size_t count)
{
    uint32_t first = 0;

    for (size_t i = 0; i < nodes->node_count; i++) {
        nodes->nodes[i].first_pred = first;
        nodes->nodes[i].waits = nodes->nodes[i].pred_count;
        first += nodes->nodes[i].pred_count;
        nodes->nodes[i].pred_count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct node *node = &nodes->nodes[edges[i].to];
        nodes->preds[node->first_pred + node->pred_count++] = edges[i].from;
    }
}

/* Successors, for the sort: preds the other way round. */
static void list_successors(const struct deps_nodes *nodes, const struct edge *edges, size_t count,
                            uint32_t *first, uint32_t *successors)
{
    for (size_t i = 0; i < count; i++)
        first[edges[i].from + 1]++;
    for (size_t i = 0; i < nodes->node_count; i++)
        first[i + 1] += first[i];
    for (size_t i = count; i-- > 0;)
        successors[first[edges[i].from]++] = edges[i].to;
    for (size_t i = nodes->node_count; i-- > 0;)
        first[i + 1] = first[i];
    first[0] = 0;
}

/* Sorts all nodes of all graphs, each after those it depends on. Nodes in a circle, which only a
 * damaged trace has, are left out. */
static size_t sort_nodes(struct deps_nodes *nodes, const uint32_t *first,
                         const uint32_t *successors, uint32_t *sorted)
{
    size_t count = 0;

    for (uint32_t i = 0; i < nodes->node_count; i++) {
        if (!nodes->nodes[i].waits)
            sorted[count++] = i;
    }
    for (size_t at = 0; at < count; at++) {
        for (uint32_t i = first[sorted[at]]; i < first[sorted[at] + 1]; i++) {
            if (!--nodes->nodes[successors[i]].waits)
                sorted[count++] = successors[i];
        }
    }
    return count;
}

/* Distributes the sorted nodes to their plans. */
static void fill_plans(struct deps_nodes *nodes, const uint32_t *sorted, size_t count)
{
    uint32_t first = 0;

    for (size_t i = 0; i < count; i++)
        nodes->plans[nodes->nodes[sorted[i]].plan].count++;
    for (size_t i = 0; i < nodes->plan_count; i++) {
        nodes->plans[i].first = first;
        first += nodes->plans[i].count;
        nodes->plans[i].count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct plan *plan = &nodes->plans[nodes->nodes[sorted[i]].plan];
        nodes->order[plan->first + plan->count++] = sorted[i];
    }
}

static enum mp_status make_plans(struct deps_nodes *nodes, const struct deps_builder *builder)
{
    size_t edges = builder->edge_count;
    struct edge *numbered = calloc(edges, sizeof *numbered);
    uint32_t *first = calloc(2 * edges + 2, sizeof *first);
    uint32_t *successors = calloc(edges, sizeof *successors);
    uint32_t *sorted = calloc(2 * edges, sizeof *sorted);
    enum mp_status status = MP_ERR_MEMORY;

    nodes->preds = calloc(edges, sizeof *nodes->preds);
    nodes->order = calloc(2 * edges, sizeof *nodes->order);
    if (numbered && first && successors && sorted && nodes->preds && nodes->order)
        status = number_edges(nodes, builder, numbered);
    if (status == MP_OK && nodes->nodes) {
        count_edges(nodes, numbered, edges);
        list_predecessors(nodes, numbered, edges);
        list_successors(nodes, numbered, edges, first, successors);
        fill_plans(nodes, sorted, sort_nodes(nodes, first, successors, sorted));
    }
    free(numbered);
    free(first);
    free(successors);
    free(sorted);
    return status;
}

enum mp_status deps_nodes_new(struct deps_builder *builder, struct deps_nodes **nodes)
{
    *nodes = calloc(1, sizeof **nodes);
    if (!*nodes)
        return MP_ERR_MEMORY;
    return builder->edge_count ? make_plans(*nodes, builder) : MP_OK;
}

/* ---- A launch ---- */

/* Adds a graph edge to a node; `reference` is what one of its predecessors stands for. */
static enum mp_status add_edge(struct deps *deps, uint32_t index, uint32_t reference)
{
    struct deps_activity *activity = &deps->activities[index];
    uint32_t best = deps_best(deps, reference);
    uint32_t *slot;

    if (best == DEPS_NONE)
        return MP_OK;
    enum deps_order_kind order = deps_order_after(deps, index, best);
    if (order == DEPS_ORDER_REFUSED)
        return MP_OK;
    activity->flags |= DEPS_NOT_ROOT;
    if (order == DEPS_ORDER_OVERLAPS)
        return MP_OK;
    slot =
        deps->activities[best].lane == activity->lane ? &activity->own_lane : &activity->other_lane;
    if (*slot == DEPS_NONE || deps_ends_later(deps, best, *slot))
        *slot = best;
    activity->reason = DEPS_GRAPH_EDGE;
    return deps->fronts ? deps_join(deps, &activity->front, reference) : MP_OK;
}

static enum mp_status walk_node(struct deps_nodes *nodes, struct deps *deps, struct node *node)
{
    if (node->epoch != nodes->epoch) {
        node->epoch = nodes->epoch;
        node->activity = DEPS_NONE;
    }
    node->stands = node->activity;
    for (uint32_t i = 0; i < node->pred_count; i++) {
        uint32_t before = nodes->nodes[nodes->preds[node->first_pred + i]].stands;

        if (node->activity != DEPS_NONE)
            MP_TRY(add_edge(deps, node->activity, before));
        else
            MP_TRY(deps_join(deps, &node->stands, before));
    }
    return MP_OK;
}

/* Links the nodes of one graph, and joins what its last nodes stand for into *end. */
static enum mp_status walk_plan(struct deps_nodes *nodes, struct deps *deps,
                                const struct plan *plan, uint32_t *end)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        struct node *node = &nodes->nodes[nodes->order[plan->first + i]];

        MP_TRY(walk_node(nodes, deps, node));
        if (!node->has_successor)
            MP_TRY(deps_join(deps, end, node->stands));
    }
    return MP_OK;
}

/* Without edges: the order in the lane. */
static void link_by_lane(struct deps *deps, uint32_t index)
{
    struct deps_activity *activity = &deps->activities[index];

    if (index == deps->lanes[activity->lane].first ||
        activity[-1].correlation != activity->correlation)
        return;
    enum deps_order_kind order = deps_order_after(deps, index, index - 1);
    if (order == DEPS_ORDER_REFUSED)
        return;
    if (order == DEPS_ORDER_ENDED)
        activity->own_lane = index - 1;
    activity->reason = DEPS_GRAPH_EDGE;
    activity->flags |= DEPS_NOT_ROOT;
}

/* Tells the node which activity is its own in this launch. False: no plan has the node, because it
 * has no edges or its edges run in a circle. */
static bool enter_node(struct deps_nodes *nodes, const struct deps *deps, uint32_t index)
{
    const struct definition_node *defined =
        dense_at(&deps->profile->definitions.nodes, deps->activities[index].node);
    uint32_t found = MP_MAP_ABSENT;

    if (defined && defined->defined)
        found = mp_map_get(&nodes->by_id, node_key(defined->graph, defined->graph_node));
    if (found == MP_MAP_ABSENT || nodes->nodes[found].waits)
        return false;
    struct node *node = &nodes->nodes[found];
    node->epoch = nodes->epoch;
    node->activity = index;
    return true;
}

/* The plan of the graph to whose nodes an activity belongs; NULL if the graph has no edges. */
static struct plan *plan_of(const struct deps_nodes *nodes, const struct deps *deps, uint32_t index)
{
    const struct definition_node *defined =
        dense_at(&deps->profile->definitions.nodes, deps->activities[index].node);
    uint32_t plan = defined ? mp_map_get(&nodes->by_graph, defined->graph) : MP_MAP_ABSENT;

    return plan == MP_MAP_ABSENT ? NULL : &nodes->plans[plan];
}

enum mp_status deps_nodes_link(struct deps_nodes *nodes, struct deps *deps,
                               const struct deps_launch *launch, uint32_t *end)
{
    bool without_edges = false;
    struct plan *plans = NULL;

    nodes->epoch++;
    for (size_t i = 0; i < launch->count; i++) {
        uint32_t index = launch->items[i];
        struct plan *plan = plan_of(nodes, deps, index);

        if (!enter_node(nodes, deps, index))
            MP_TRY(deps_join(deps, end, index));
        if (!plan) {
            without_edges = true;
            link_by_lane(deps, index);
        } else if (plan->epoch != nodes->epoch) {
            plan->epoch = nodes->epoch;
            plan->next = plans;
            plans = plan;
        }
    }
    for (; plans; plans = plans->next)
        MP_TRY(walk_plan(nodes, deps, plans, end));
    /* If no node ends the launch, its edges run in a circle. */
    if (*end == DEPS_NONE)
        *end = launch->items[launch->count - 1];
    deps->counts.unknown_graphs += without_edges && launch->count > 1;
    return MP_OK;
}
