/* Launches of one CUDA graph as iterations: of the graph that takes most time on the device. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/iterations/build.h"
#include "base/data/reserve.h"
#include "model/trace/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct graph {
    uint64_t id;
    uint64_t time; /* ns of its nodes, or of launches as a whole */
    size_t launches;
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
    struct launch *launches; /* of the graph that was chosen, by correlation */
    size_t launch_count;
};

/* ---- Which graphs were launched ---- */

static enum mp_status reach_graph(struct pass *pass, uint64_t id, uint32_t *index)
{
    *index = mp_map_get(&pass->by_id, id);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&pass->graphs, pass->graph_count, &pass->graph_capacity,
                      sizeof *pass->graphs));
    *index = (uint32_t)pass->graph_count;
    pass->graphs[pass->graph_count++] = (struct graph){.id = id};
    return mp_map_put(&pass->by_id, id, *index);
}

/* Notes an activity of a launch. Rows of one launch mostly follow each other. */
static enum mp_status see(struct pass *pass, uint64_t id, uint64_t start, uint64_t duration,
                          uint64_t correlation)
{
    const struct capture_range *only = pass->finder->only;
    const struct seen *last = pass->seen_count ? &pass->seen[pass->seen_count - 1] : NULL;
    uint32_t graph;

    if (!correlation || !start || start > INT64_MAX || duration > INT64_MAX - start ||
        (only && !range_has_work(only, correlation, start)))
        return MP_OK;
    MP_TRY(reach_graph(pass, id, &graph));
    pass->graphs[graph].time += duration;
    if (last && last->correlation == correlation && last->graph == graph)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&pass->seen, pass->seen_count, &pass->seen_capacity,
                      sizeof *pass->seen));
    pass->seen[pass->seen_count++] = (struct seen){correlation, graph};
    return MP_OK;
}

#define COLUMNS(table)                                                                             \
    MP_COLUMN_MASK(table, start) | MP_COLUMN_MASK(table, duration) |                               \
        MP_COLUMN_MASK(table, correlation)
#define COLUMN(table, column) MP_COLUMN_##table##_##column
#define NODE_TABLE(table)                                                                          \
    {                                                                                              \
        MP_TABLE_##table, COLUMNS(table) | MP_COLUMN_MASK(table, node), COLUMN(table, start),      \
            COLUMN(table, duration), COLUMN(table, correlation), COLUMN(table, node), true         \
    }
static const struct {
    enum mp_table_id table;
    uint32_t columns;
    unsigned start, duration, correlation;
    unsigned of; /* the node, or the graph itself */
    bool has_nodes;
} sources[] = {
    NODE_TABLE(kernel),
    NODE_TABLE(copy),
    NODE_TABLE(set),
    {MP_TABLE_graph, COLUMNS(graph) | MP_COLUMN_MASK(graph, graph), COLUMN(graph, start),
     COLUMN(graph, duration), COLUMN(graph, correlation), COLUMN(graph, graph), false},
};
#undef NODE_TABLE
#undef COLUMN
#undef COLUMNS

#define SOURCE_COUNT (sizeof sources / sizeof *sources)

static void graph_select_columns(struct mp_cursor *cursor, void *context)
{
    (void)context;
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        mp_cursor_select(cursor, mp_table_by_id(sources[i].table), sources[i].columns);
}

static enum mp_status take_rows(struct pass *pass, const struct mp_batch *batch, size_t source)
{
    const struct deps *deps = pass->finder->deps;
    const uint64_t *of = batch->columns[sources[source].of];
    const uint64_t *start = batch->columns[sources[source].start];
    const uint64_t *duration = batch->columns[sources[source].duration];
    const uint64_t *correlation = batch->columns[sources[source].correlation];

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t id = of[row];

        if (sources[source].has_nodes) {
            const struct definition_node *node = id ? dense_at(&deps->definitions.nodes, id) : NULL;

            if (!node || !node->defined)
                continue;
            id = node->graph;
        }
        MP_TRY(see(pass, id, start[row], duration[row], correlation[row]));
    }
    return MP_OK;
}

static enum mp_status graph_take_batch(void *context, const struct mp_batch *batch)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (sources[i].table == batch->table->id)
            return take_rows(context, batch, i);
    }
    return MP_OK;
}

static int compare_seen(const void *left, const void *right)
{
    const struct seen *a = left;
    const struct seen *b = right;

    if (a->graph != b->graph)
        return a->graph < b->graph ? -1 : 1;
    return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

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

/* ---- The launches of one graph ---- */

/* Of the graphs with enough launches, the one with most time; NULL: none. */
static const struct graph *graph_choose(const struct pass *pass, size_t least)
{
    const struct graph *best = NULL;

    for (size_t i = 0; i < pass->graph_count; i++) {
        const struct graph *graph = &pass->graphs[i];

        if (graph->launches >= least && (!best || graph->time > best->time))
            best = graph;
    }
    return best;
}

static enum mp_status list_launches(struct pass *pass, const struct graph *graph)
{
    pass->launches = calloc(graph->launches + 1, sizeof *pass->launches);
    if (!pass->launches)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->seen_count; i++) {
        if (&pass->graphs[pass->seen[i].graph] == graph)
            pass->launches[pass->launch_count++] =
                (struct launch){.correlation = pass->seen[i].correlation, .work = DEPS_NONE};
    }
    return MP_OK;
}

static struct launch *find_launch(struct pass *pass, uint64_t correlation)
{
    size_t low = 0;
    size_t high = pass->launch_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pass->launches[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pass->launch_count && pass->launches[low].correlation == correlation
               ? &pass->launches[low]
               : NULL;
}

static void graph_take_work(struct pass *pass)
{
    const struct deps *deps = pass->finder->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        struct launch *launch;
        uint64_t begin;

        if (work->kind != DEPS_GRAPH && !(work->flags & DEPS_NODE))
            continue;
        launch = find_launch(pass, work->correlation);
        if (!launch)
            continue;
        begin = deps_launched_at(deps, work);
        if (launch->work == DEPS_NONE || begin < launch->begin) {
            launch->begin = begin;
            launch->thread = iterations_thread(deps, work);
            launch->work = i;
        }
        if (work->end > launch->end)
            launch->end = work->end;
    }
}

static int compare_launches(const void *left, const void *right)
{
    const struct launch *a = left;
    const struct launch *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Each iteration lasts from its begin to the begin of the next one in its thread; the last one
 * until its work ends. */
static enum mp_status add_launches(struct pass *pass)
{
    struct iterations_finder *finder = pass->finder;
    const struct deps *deps = finder->deps;
    const struct launch *before = NULL;

    qsort(pass->launches, pass->launch_count, sizeof *pass->launches, compare_launches);
    for (size_t i = 0; i < pass->launch_count; i++) {
        const struct launch *launch = &pass->launches[i];
        bool follows = before && before->thread == launch->thread;
        const struct deps_activity *work;
        uint64_t begin;
        uint64_t end = launch->end;

        if (launch->work == DEPS_NONE)
            continue;
        work = &deps->activities[launch->work];
        begin = iterations_begin(finder, work, follows ? before->begin + 1 : 0);
        if (follows)
            finder->result->items[finder->result->count - 1].host_end = begin;
        if (work->launch != DEPS_NONE && iterations_call_end(deps, work->launch) > end)
            end = iterations_call_end(deps, work->launch);
        MP_TRY(iterations_add(finder, begin, end, launch->thread));
        before = launch;
    }
    return MP_OK;
}

static enum mp_status find(struct pass *pass, size_t least)
{
    struct iterations_finder *finder = pass->finder;
    const struct reading reading = {
        .trace = finder->trace,
        .what = "the graph launches",
        .context = pass,
        .select = graph_select_columns,
        .take = graph_take_batch,
    };
    const struct graph *graph;

    MP_TRY(reading_run(&reading, finder->error));
    count_launches(pass);
    graph = graph_choose(pass, least);
    if (!graph) {
        snprintf(finder->none, sizeof finder->none,
                 pass->graph_count ? "no CUDA graph launched twice" : "no CUDA graph launches");
        return MP_OK;
    }
    finder->result->graph = graph->id;
    MP_TRY(list_launches(pass, graph));
    graph_take_work(pass);
    return add_launches(pass);
}

enum mp_status iterations_by_graph(struct iterations_finder *finder, size_t least)
{
    struct pass pass = {.finder = finder};
    enum mp_status status = find(&pass, least);

    free(pass.graphs);
    free(pass.seen);
    free(pass.launches);
    mp_map_free(&pass.by_id);
    return status;
}
