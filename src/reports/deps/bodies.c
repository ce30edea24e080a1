/* CUPTI gives no correlation id to what the body of a conditional node runs. An executable graph
 * never runs twice at a time, so its launches come one after the other:
 *
 *     launch 17   k  body body body  m       launch 18   k  body  m
 *
 * A body belongs to the launch that ran last before it, if its node depends on one that has a
 * correlation id, and else to the one that runs next, if that was called by then.
 */
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"
#include "reports/deps/nodes.h"

#include "base/poison.h"

/* An activity of a graph. */
struct graph_run {
    uint64_t begin;
    uint32_t plan, index;
};

MP_COMPARE(compare_runs, struct graph_run,
           MP_ORDER(a->plan, b->plan) ?: MP_ORDER(a->begin, b->begin) ?:
           MP_ORDER(a->index, b->index));

/* When a launch was called. */
struct called {
    uint64_t correlation, begin; /* 0: not known */
};

MP_COMPARE(compare_calls, struct called, MP_ORDER(a->correlation, b->correlation));

struct adoption {
    struct deps_nodes *nodes;
    struct deps *deps;
    struct graph_run *runs; /* graph by graph, in order of time; owned */
    size_t count;
    struct called *calls; /* by correlation id; owned */
    size_t call_count;
};

static bool is_of_body(const struct deps_activity *work)
{
    return (work->flags & DEPS_NODE) && !work->correlation;
}

static bool has_bodies(const struct deps *deps)
{
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        if (is_of_body(&deps->activities[i]))
            return true;
    return false;
}

static void list_runs(struct adoption *adoption)
{
    const struct deps *deps = adoption->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        struct node *node =
            deps->activities[i].flags & DEPS_NODE ? deps_node_of(adoption->nodes, deps, i) : NULL;

        if (!node)
            continue;
        node->launched |= !is_of_body(&deps->activities[i]);
        adoption->runs[adoption->count++] =
            (struct graph_run){deps->activities[i].begin, node->plan, i};
    }
    if (adoption->count)
        qsort(adoption->runs, adoption->count, sizeof *adoption->runs, compare_runs);
}

/* Looks the calls of the launches up. */
static void list_calls(struct adoption *adoption)
{
    const struct deps *deps = adoption->deps;
    struct called *calls = adoption->calls;
    size_t count = 0;

    for (size_t i = 0; i < adoption->count; i++) {
        uint64_t correlation = deps->activities[adoption->runs[i].index].correlation;

        if (correlation && (!count || calls[count - 1].correlation != correlation))
            calls[count++] = (struct called){correlation, 0};
    }
    if (count)
        qsort(calls, count, sizeof *calls, compare_calls);
    adoption->call_count = count;
    for (uint32_t i = 0; i < deps->host_count; i++) {
        uint64_t correlation = deps->activities[i].correlation;
        size_t at = MP_SEARCH(0, count, k, calls[k].correlation < correlation);

        for (; at < count && calls[at].correlation == correlation && !calls[at].begin; at++)
            calls[at].begin = deps->activities[i].begin;
    }
}

static bool was_called(const struct adoption *adoption, uint64_t correlation, uint64_t by)
{
    const struct called *calls = adoption->calls;
    size_t at = MP_SEARCH(0, adoption->call_count, i, calls[i].correlation < correlation);

    return at < adoption->call_count && calls[at].begin <= by + DEPS_TOLERANCE_NS;
}

static void find_followers(struct deps_nodes *nodes)
{
    for (size_t i = 0; i < nodes->plan_count; i++) {
        for (uint32_t k = 0; k < nodes->plans[i].count; k++) {
            struct node *node = &nodes->nodes[nodes->order[nodes->plans[i].first + k]];

            for (uint32_t p = 0; p < node->pred_count && !node->follows; p++) {
                const struct node *before = &nodes->nodes[nodes->preds[node->first_pred + p]];

                node->follows = before->launched || before->follows;
            }
        }
    }
}

/* The correlation id of the graph's first launch from run `at` on; 0: there is none. */
static uint64_t next_launch(const struct adoption *adoption, size_t at)
{
    const struct graph_run *runs = adoption->runs;

    for (size_t i = at; i < adoption->count && runs[i].plan == runs[at].plan; i++)
        if (adoption->deps->activities[runs[i].index].correlation)
            return adoption->deps->activities[runs[i].index].correlation;
    return 0;
}

static void give_launches(struct adoption *adoption)
{
    const struct graph_run *runs = adoption->runs;
    uint64_t before = 0, next = 0;

    for (size_t i = 0; i < adoption->count; i++) {
        struct deps_activity *work = &adoption->deps->activities[runs[i].index];
        bool first = !i || runs[i].plan != runs[i - 1].plan;

        if (first)
            before = 0;
        if (!is_of_body(work)) {
            before = work->correlation;
            next = 0;
            continue;
        }
        if (first || !next)
            next = next_launch(adoption, i);
        bool follows =
            deps_node_of(adoption->nodes, adoption->deps, runs[i].index)->follows && before;
        work->correlation =
            !follows && next && was_called(adoption, next, work->begin) ? next : before;
    }
}

enum mp_status deps_nodes_adopt(struct deps_nodes *nodes, struct deps *deps)
{
    struct adoption adoption = {.nodes = nodes, .deps = deps};
    size_t work = deps->count - deps->host_count;

    if (!nodes->node_count || !has_bodies(deps))
        return MP_OK;
    adoption.runs = calloc(work + 1, sizeof *adoption.runs);
    adoption.calls = calloc(work + 1, sizeof *adoption.calls);
    bool enough = adoption.runs && adoption.calls;
    if (enough) {
        list_runs(&adoption);
        list_calls(&adoption);
        find_followers(nodes);
        give_launches(&adoption);
    }
    free(adoption.runs);
    free(adoption.calls);
    return enough ? MP_OK : MP_ERR_MEMORY;
}
