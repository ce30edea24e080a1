/* Graph edges (D7): what the nodes of a graph launch wait for.
 *
 * The edges of a graph are read once and become a plan: its nodes, ordered so that each comes after
 * those it depends on. Each launch walks its plan. A node stands for its activity. If it has none
 * (empty, event and host nodes), it stands for what it depends on.
 *
 *     plan     a   b   (empty)   c            edges a->empty, b->empty, empty->c
 *     stands   17  18  18        19           b ended last: c waits for 18
 *
 * The body of a conditional node may run several times in a launch. Such a launch is walked in the
 * order of begins, and a node stands for the last activity that it had so far.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"
#include "reports/deps/nodes.h"

#include "base/poison.h"

void deps_nodes_free(struct deps_nodes *nodes)
{
    if (!nodes)
        return;
    free(nodes->nodes);
    free(nodes->plans);
    free(nodes->preds);
    free(nodes->order);
    free(nodes->stack);
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
    nodes->nodes[*node] =
        (struct node){.activity = DEPS_NONE, .stands = DEPS_NONE, .end = DEPS_NONE};
    MP_TRY(reach_plan(nodes, graph, &nodes->nodes[*node].plan));
    return mp_map_put(&nodes->by_id, key, *node);
}

/* An edge by the numbers of its nodes. */
struct edge {
    uint32_t from;
    uint32_t to;
};

/* Edges between a node and the end of what is inside of it are noted there. Whether it is one that
 * leads back, because a body may run again: then it is no part of the plan. */
static bool note_inner(struct deps_nodes *nodes, const struct deps_edge *edge,
                       const struct edge *numbered)
{
    bool back = edge->from != edge->to && edge->from == (edge->to | MP_EDGE_END);

    if (!nodes->nodes || !nodes->plans)
        return back; /* never: both nodes are there */
    if (edge->from != edge->to && edge->to == (edge->from | MP_EDGE_END)) {
        nodes->nodes[numbered->from].end = numbered->to;
        nodes->plans[nodes->nodes[numbered->from].plan].inner = true;
    }
    if (back)
        nodes->nodes[numbered->to].repeats = true;
    return back;
}

static enum mp_status number_edges(struct deps_nodes *nodes, const struct deps_builder *builder,
                                   struct edge *edges, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < builder->edge_count; i++) {
        const struct deps_edge *edge = &builder->edges[i];
        struct edge *numbered = &edges[*count];

        MP_TRY(reach_node(nodes, edge->graph, edge->from, &numbered->from));
        MP_TRY(reach_node(nodes, edge->graph, edge->to, &numbered->to));
        *count += !note_inner(nodes, edge, numbered);
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
    nodes->stack = calloc(2 * edges, sizeof *nodes->stack);
    if (numbered && first && successors && sorted && nodes->preds && nodes->order && nodes->stack)
        status = number_edges(nodes, builder, numbered, &edges);
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

/* Whether this edge only leads past what is inside of a node, to its end. It counts if nothing is
 * inside. */
static bool leads_past(const struct deps_nodes *nodes, const struct node *node, uint32_t pred)
{
    uint32_t from = nodes->preds[node->first_pred + pred];

    return node->pred_count > 1 && nodes->nodes[from].end == (uint32_t)(node - nodes->nodes);
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

        if (leads_past(nodes, node, i))
            continue;
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

struct node *deps_node_of(const struct deps_nodes *nodes, const struct deps *deps, uint32_t index)
{
    const struct definition_node *defined =
        dense_at(&deps->profile->definitions.nodes, deps->activities[index].node);
    uint32_t found = MP_MAP_ABSENT;

    if (defined && defined->defined)
        found = mp_map_get(&nodes->by_id, node_key(defined->graph, defined->graph_node));
    return found == MP_MAP_ABSENT || nodes->nodes[found].waits ? NULL : &nodes->nodes[found];
}

/* The plan of the graph to whose nodes an activity belongs; NULL if the graph has no edges. */
static struct plan *plan_of(const struct deps_nodes *nodes, const struct deps *deps, uint32_t index)
{
    const struct definition_node *defined =
        dense_at(&deps->profile->definitions.nodes, deps->activities[index].node);
    uint32_t plan = defined ? mp_map_get(&nodes->by_graph, defined->graph) : MP_MAP_ABSENT;

    return plan == MP_MAP_ABSENT ? NULL : &nodes->plans[plan];
}

/* ---- A launch of a graph that has graphs inside ---- */

static void enter(struct deps_nodes *nodes, struct node *node, uint32_t activity)
{
    bool first = node->epoch != nodes->epoch;

    node->epoch = nodes->epoch;
    node->runs = first ? 1 : node->runs + 1;
    node->before = first ? DEPS_NONE : node->activity;
    node->activity = activity;
}

#define AGAIN 0x80000000u /* in the stack: of the pass before */

static void search_node(struct deps_nodes *nodes, uint32_t node, uint32_t again, uint32_t *depth)
{
    if (nodes->nodes[node].search == nodes->search)
        return;
    nodes->nodes[node].search = nodes->search;
    nodes->stack[(*depth)++] = node | again;
}

/* What ran in the body before its pass number `pass` began. All nodes of a body run once a pass,
 * but for those of loops inside of it; these have ended by then. */
static uint32_t run_before(const struct deps *deps, const struct node *node, uint32_t pass,
                           uint64_t begin)
{
    uint32_t found = node->runs == pass ? node->before : node->activity;

    return found == DEPS_NONE || deps->activities[found].end > begin ? DEPS_NONE : found;
}

/* Finds what a node stands for so far, and lets run number `run` of another one, `index`, wait for
 * it. If `index` is DEPS_NONE, joins it into *end. When a body begins again, its first nodes wait
 * for its last ones. */
static enum mp_status await_node(struct deps_nodes *nodes, struct deps *deps, uint32_t node,
                                 uint32_t index, uint32_t run, uint32_t *end)
{
    uint32_t depth = 0;

    nodes->search++;
    search_node(nodes, node, 0, &depth);
    while (depth) {
        uint32_t again = nodes->stack[--depth] & AGAIN;
        const struct node *at = &nodes->nodes[nodes->stack[depth] & ~AGAIN];
        uint32_t found = at->epoch == nodes->epoch ? at->activity : DEPS_NONE;
        bool leads_on = found == DEPS_NONE;

        if (again && !leads_on)
            found = run_before(deps, at, run, deps->activities[index].begin);
        if (found != DEPS_NONE)
            MP_TRY(index == DEPS_NONE ? deps_join(deps, end, found) : add_edge(deps, index, found));
        for (uint32_t i = 0; i < at->pred_count && leads_on; i++)
            if (!leads_past(nodes, at, i))
                search_node(nodes, nodes->preds[at->first_pred + i], again, &depth);
        if (at->repeats && at->end != DEPS_NONE && index != DEPS_NONE)
            search_node(nodes, at->end, AGAIN, &depth);
    }
    return MP_OK;
}

static bool is_earlier(const void *context, uint32_t a, uint32_t b)
{
    const struct deps_activity *activities = context;

    return activities[a].begin < activities[b].begin;
}

static enum mp_status walk_in_time(struct deps_nodes *nodes, struct deps *deps,
                                   const struct deps_launch *launch)
{
    uint32_t *items = malloc(2 * launch->count * sizeof *items);
    enum mp_status status = items ? MP_OK : MP_ERR_MEMORY;

    nodes->epoch++;
    if (items) {
        memcpy(items, launch->items, launch->count * sizeof *items);
        mp_sort(items, launch->count, items + launch->count, is_earlier, deps->activities);
    }
    for (size_t i = 0; i < launch->count && !status; i++) {
        struct node *node = deps_node_of(nodes, deps, items[i]);

        if (!node)
            continue;
        uint32_t run = node->epoch == nodes->epoch ? node->runs + 1 : 1;
        for (uint32_t k = 0; k < node->pred_count && !status; k++)
            status =
                await_node(nodes, deps, nodes->preds[node->first_pred + k], items[i], run, NULL);
        enter(nodes, node, items[i]);
    }
    free(items);
    return status;
}

/* Joins what the last nodes of a graph stand for into *end. */
static enum mp_status join_ends(struct deps_nodes *nodes, struct deps *deps,
                                const struct plan *plan, uint32_t *end)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        uint32_t node = nodes->order[plan->first + i];

        if (!nodes->nodes[node].has_successor)
            MP_TRY(await_node(nodes, deps, node, DEPS_NONE, 0, end));
    }
    return MP_OK;
}

/* ---- Launches ---- */

/* Tells the nodes which activities are theirs in this launch. *again: a node has several. */
static enum mp_status enter_nodes(struct deps_nodes *nodes, struct deps *deps,
                                  const struct deps_launch *launch, uint32_t *end, bool *again)
{
    for (size_t i = 0; i < launch->count; i++) {
        struct node *node = deps_node_of(nodes, deps, launch->items[i]);

        if (!node) {
            MP_TRY(deps_join(deps, end, launch->items[i]));
            continue;
        }
        enter(nodes, node, launch->items[i]);
        *again |= node->runs > 1;
    }
    return MP_OK;
}

enum mp_status deps_nodes_link(struct deps_nodes *nodes, struct deps *deps,
                               const struct deps_launch *launch, uint32_t *end)
{
    uint32_t epoch = ++nodes->epoch;
    bool without_edges = false, in_time = false;
    struct plan *plans = NULL;

    MP_TRY(enter_nodes(nodes, deps, launch, end, &in_time));
    for (size_t i = 0; i < launch->count; i++) {
        uint32_t index = launch->items[i];
        struct plan *plan = plan_of(nodes, deps, index);

        if (!plan) {
            without_edges = true;
            link_by_lane(deps, index);
        } else if (plan->epoch != epoch) {
            plan->epoch = epoch;
            plan->next = plans;
            plans = plan;
            in_time |= plan->inner;
        }
    }
    if (in_time)
        MP_TRY(walk_in_time(nodes, deps, launch));
    for (; plans; plans = plans->next)
        MP_TRY(in_time ? join_ends(nodes, deps, plans, end) : walk_plan(nodes, deps, plans, end));
    /* If no node ends the launch, its edges run in a circle. */
    if (*end == DEPS_NONE)
        *end = launch->items[launch->count - 1];
    deps->counts.unknown_graphs += without_edges && launch->count > 1;
    return MP_OK;
}
