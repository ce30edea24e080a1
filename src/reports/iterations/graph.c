/* Launches of one CUDA graph as iterations. Candidates are the graphs that take most time on the
 * device.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/activity.h"
#include "profile/reading.h"
#include "reports/deps/lookup.h"
#include "reports/iterations/build.h"
#include "trace/schema.h"

#include "base/poison.h"

#define CANDIDATES   8
#define GRAPHS_SHOWN 6

struct graph {
    uint64_t id;
    uint64_t time; /* ns of its nodes, or of launches as a whole */
    size_t launches;
    uint64_t kernels; /* nodes, or launches as a whole */
};

/* Notes that the call with this id launched a graph. */
struct seen {
    uint64_t correlation;
    uint32_t graph; /* of graphs */
};

struct launch {
    uint64_t begin; /* of the call, else of the work */
    uint64_t end;   /* of the work */
    uint64_t correlation;
    uint32_t graph;  /* of graphs */
    uint32_t thread; /* lane; DEPS_NONE */
    uint32_t work;   /* one of its activities; DEPS_NONE: none seen yet */
};

struct pass {
    struct iterations_finder *finder;
    struct graph *graphs;
    size_t graph_count, graph_capacity;
    struct mp_map by_id; /* id -> graphs */
    struct seen *seen;
    size_t seen_count, seen_capacity;
    struct launch *launches; /* of the candidates; first by correlation */
    size_t launch_count;
};

/* ---- Which graphs were launched ---- */

static enum mp_status reach_graph(struct pass *pass, uint64_t id, uint32_t *index)
{
    *index = mp_map_get(&pass->by_id, id);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(pass->graphs, pass->graph_count, pass->graph_capacity));
    *index = (uint32_t)pass->graph_count;
    pass->graphs[pass->graph_count++] = (struct graph){.id = id};
    return mp_map_put(&pass->by_id, id, *index);
}

/* Notes an activity of a launch. Rows of one launch mostly follow each other. */
static enum mp_status see(struct pass *pass, uint64_t id, uint64_t start, uint64_t duration,
                          uint64_t correlation, bool is_kernel)
{
    const struct capture_range *only = pass->finder->only;
    const struct seen *last = pass->seen_count ? &pass->seen[pass->seen_count - 1] : NULL;
    uint32_t graph;

    if (!correlation || !start || start > INT64_MAX || duration > INT64_MAX - start ||
        (only && !range_has_work(only, correlation, start)))
        return MP_OK;
    MP_TRY(reach_graph(pass, id, &graph));
    pass->graphs[graph].time += duration;
    pass->graphs[graph].kernels += is_kernel;
    if (last && last->correlation == correlation && last->graph == graph)
        return MP_OK;
    MP_TRY(MP_RESERVE(pass->seen, pass->seen_count, pass->seen_capacity));
    pass->seen[pass->seen_count++] = (struct seen){correlation, graph};
    return MP_OK;
}

static enum mp_status take_rows(void *context, const struct mp_batch *batch)
{
    const struct activity_table *table = activity_of(batch->table->id);
    const uint64_t *nodes = activity_column(batch->columns, table->node);
    const uint64_t *start = activity_column(batch->columns, table->start);
    const uint64_t *duration = activity_column(batch->columns, table->duration);
    const uint64_t *correlation = activity_column(batch->columns, table->correlation);
    bool is_graph = batch->table->id == MP_TABLE_graph;
    bool is_kernel = batch->table->id == MP_TABLE_kernel || is_graph;
    struct pass *pass = context;
    const struct dense *defined = &pass->finder->deps->profile->definitions.nodes;

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t id = is_graph ? activity_value(batch->columns, table->id, row) : nodes[row];

        if (!is_graph) {
            const struct definition_node *node = id ? dense_at(defined, id) : NULL;

            if (!node || !node->defined)
                continue;
            id = node->graph;
        }
        MP_TRY(see(pass, id, start[row], duration[row], correlation[row], is_kernel));
    }
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, start, duration, correlation, node), .take = take_rows},
    {MP_TABLE_copy, MP_MASK(copy, start, duration, correlation, node), .take = take_rows},
    {MP_TABLE_set, MP_MASK(set, start, duration, correlation, node), .take = take_rows},
    {MP_TABLE_graph, MP_MASK(graph, start, duration, correlation, graph), .take = take_rows},
};

MP_COMPARE(compare_seen, struct seen,
           MP_ORDER(a->graph, b->graph) ?: MP_ORDER(a->correlation, b->correlation));

/* Every launch once, graph by graph. */
static void count_launches(struct pass *pass)
{
    size_t kept = 0;

    if (pass->seen_count)
        qsort(pass->seen, pass->seen_count, sizeof *pass->seen, compare_seen);
    for (size_t i = 0; i < pass->seen_count; i++) {
        if (kept && !compare_seen(&pass->seen[kept - 1], &pass->seen[i]))
            continue;
        pass->seen[kept++] = pass->seen[i];
        pass->graphs[pass->seen[i].graph].launches++;
    }
    pass->seen_count = kept;
}

/* ---- Which of them are candidates ---- */

static bool is_asked(const struct pass *pass, const struct graph *graph)
{
    const struct iterations_options *options = pass->finder->options;
    char id[24];

    if (options->way != ITERATIONS_GRAPH || !options->name)
        return true;
    snprintf(id, sizeof id, "%" PRIu64, graph->id);
    return !strcmp(id, options->name);
}

/* Marks the graphs with most time among those with enough launches; returns how many. */
static size_t graph_choose(const struct pass *pass, bool *chosen)
{
    size_t count = 0;

    while (count < CANDIDATES) {
        const struct graph *best = NULL;

        for (size_t i = 0; i < pass->graph_count; i++) {
            const struct graph *graph = &pass->graphs[i];

            if (!chosen[i] && graph->launches >= pass->finder->min && is_asked(pass, graph) &&
                (!best || graph->time > best->time))
                best = graph;
        }
        if (!best)
            break;
        chosen[best - pass->graphs] = true;
        count++;
    }
    return count;
}

/* ---- Their launches ---- */

MP_COMPARE(compare_correlations, struct launch, MP_ORDER(a->correlation, b->correlation));

static enum mp_status list_launches(struct pass *pass, const bool *chosen)
{
    size_t count = 0;

    for (size_t i = 0; i < pass->seen_count; i++)
        count += chosen[pass->seen[i].graph];
    pass->launches = calloc(count + 1, sizeof *pass->launches);
    if (!pass->launches)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->seen_count; i++) {
        if (chosen[pass->seen[i].graph])
            pass->launches[pass->launch_count++] =
                (struct launch){.correlation = pass->seen[i].correlation,
                                .graph = pass->seen[i].graph,
                                .work = DEPS_NONE};
    }
    qsort(pass->launches, pass->launch_count, sizeof *pass->launches, compare_correlations);
    return MP_OK;
}

/* The first with this correlation, or where it would be. */
static size_t find_launches(const struct pass *pass, uint64_t correlation)
{
    return MP_SEARCH(0, pass->launch_count, i, pass->launches[i].correlation < correlation);
}

static void add_work(const struct deps *deps, struct launch *launch, uint32_t index)
{
    const struct deps_activity *work = &deps->activities[index];
    uint64_t begin = deps_launched_at(deps, work);

    if (launch->work == DEPS_NONE || begin < launch->begin) {
        launch->begin = begin;
        launch->thread = iterations_thread(deps, work);
        launch->work = index;
    }
    launch->end = mp_max(launch->end, work->end);
}

static void graph_take_work(struct pass *pass)
{
    const struct deps *deps = pass->finder->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->kind != DEPS_GRAPH && !(work->flags & DEPS_NODE))
            continue;
        for (size_t at = find_launches(pass, work->correlation);
             at < pass->launch_count && pass->launches[at].correlation == work->correlation; at++)
            add_work(deps, &pass->launches[at], i);
    }
}

MP_COMPARE(compare_launches, struct launch,
           MP_ORDER(a->graph, b->graph) ?: MP_ORDER(a->thread, b->thread) ?:
           MP_ORDER(a->begin, b->begin));

/* Each iteration lasts from its begin to the begin of the next one in its thread; the last one
 * until its work has ended and was waited for. */
static enum mp_status add_launches(struct pass *pass, size_t first, size_t end)
{
    struct iterations_finder *finder = pass->finder;
    const struct deps *deps = finder->deps;
    const struct launch *before = NULL;

    for (size_t i = first; i < end; i++) {
        const struct launch *launch = &pass->launches[i];
        bool follows = before && before->thread == launch->thread;
        uint64_t until = launch->end;

        if (launch->work == DEPS_NONE)
            continue;
        const struct deps_activity *work = &deps->activities[launch->work];
        uint64_t begin = iterations_begin(finder, work, follows ? before->begin + 1 : 0);
        if (follows)
            iterations_last_until(finder, begin);
        if (work->launch != DEPS_NONE)
            until = mp_max(until, iterations_awaited(finder, begin, work->launch, UINT64_MAX));
        MP_TRY(iterations_add(finder, begin, launch->begin, until, launch->thread));
        before = launch;
    }
    return MP_OK;
}

static enum mp_status offer_graphs(struct pass *pass)
{
    size_t end;

    qsort(pass->launches, pass->launch_count, sizeof *pass->launches, compare_launches);
    for (size_t first = 0; first < pass->launch_count; first = end) {
        uint32_t graph = pass->launches[first].graph;
        const struct iterations_candidate candidate = {.way = ITERATIONS_GRAPH,
                                                       .graph = pass->graphs[graph].id};

        for (end = first; end < pass->launch_count && pass->launches[end].graph == graph; end++)
            ;
        MP_TRY(add_launches(pass, first, end));
        pass->finder->result->kernels = pass->graphs[graph].kernels;
        MP_TRY(iterations_offer(pass->finder, &candidate));
    }
    return MP_OK;
}

static void say_none(const struct pass *pass)
{
    struct iterations_finder *finder = pass->finder;

    if (!pass->graph_count || !finder->options->name) {
        snprintf(finder->none, sizeof finder->none,
                 pass->graph_count                          ? "no CUDA graph launched twice"
                 : finder->options->way == ITERATIONS_GRAPH ? "no CUDA graph launches"
                                                            : "no graphs");
        return;
    }
    size_t used = (size_t)snprintf(finder->none, sizeof finder->none,
                                   "there is no CUDA graph '%.24s'", finder->options->name);
    for (size_t i = 0; i < pass->graph_count && i < GRAPHS_SHOWN; i++)
        used += (size_t)snprintf(finder->none + used, sizeof finder->none - used, "%s%" PRIu64,
                                 i ? ", " : "; there are: ", pass->graphs[i].id);
    snprintf(finder->none + used, sizeof finder->none - used, "%s",
             pass->graph_count > GRAPHS_SHOWN ? ", ..." : "");
}

static enum mp_status offer_chosen(struct pass *pass)
{
    bool *chosen = calloc(pass->graph_count + 1, sizeof *chosen);
    enum mp_status status = chosen ? MP_OK : MP_ERR_MEMORY;

    if (!status && !graph_choose(pass, chosen))
        say_none(pass);
    else if (!status)
        status = list_launches(pass, chosen);
    free(chosen);
    MP_TRY(status);
    if (!pass->launch_count)
        return MP_OK;
    graph_take_work(pass);
    return offer_graphs(pass);
}

/* Without one the rows need not be read. */
static bool has_graphs(const struct deps *deps)
{
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (deps->activities[i].kind == DEPS_GRAPH || (deps->activities[i].flags & DEPS_NODE))
            return true;
    }
    return false;
}

static enum mp_status find(struct pass *pass)
{
    const struct reading reading = {
        .trace = pass->finder->trace,
        .what = "the graph launches",
        .context = pass,
        READING_TABLES(tables),
    };

    if (has_graphs(pass->finder->deps))
        MP_TRY(reading_run(&reading, pass->finder->error));
    count_launches(pass);
    return offer_chosen(pass);
}

enum mp_status iterations_by_graph(struct iterations_finder *finder)
{
    struct pass pass = {.finder = finder};
    enum mp_status status = find(&pass);

    free(pass.graphs);
    free(pass.seen);
    free(pass.launches);
    mp_map_free(&pass.by_id);
    return status;
}
