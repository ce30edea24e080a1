/* Adds up what belongs to each stack: calls from the event graph, work from the rows of the trace,
 * since only these name the nodes of graphs.
 */
#include <stdlib.h>

#include "base/data/hash.h"
#include "profile/reading.h"
#include "reports/stacks/build.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

/* ---- Calls ---- */

static bool is_in_range(const struct stacks_making *making, const struct deps_activity *call)
{
    return !making->range || range_has_call(making->range, call->begin);
}

/* Which calls launched work. NULL without memory. */
static bool *find_launches(const struct deps *deps)
{
    bool *launched = calloc((size_t)deps->count + 1, sizeof *launched);

    for (uint32_t i = deps->host_count; launched && i < deps->count; i++)
        if (deps->activities[i].launch != DEPS_NONE)
            launched[deps->activities[i].launch] = true;
    return launched;
}

/* A call around other calls is in pieces, which have one correlation id. */
static void weigh_call(struct stacks_making *making, uint32_t index, bool launched)
{
    const struct deps_activity *call = &making->deps->activities[index];
    struct stacks_weights *to =
        stacks_weights_of(making, call_stacks_of_call(&making->result->stacks, call->correlation));
    bool first = !(call->flags & DEPS_CONTINUED);

    to->calls += first;
    to->launches += first && launched;
    to->waiting += deps_waiting(making->deps, call);
    to->critical += making->critical[index];
}

static enum mp_status weigh_calls(struct stacks_making *making)
{
    const struct deps *deps = making->deps;
    bool *launched = find_launches(deps);

    if (!launched)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < deps->host_count; i++)
        if (deps->activities[i].kind == DEPS_CALL && is_in_range(making, &deps->activities[i]))
            weigh_call(making, i, launched[i]);
    free(launched);
    return MP_OK;
}

/* ---- The critical path ---- */

static enum mp_status find_path(struct stacks_making *making, struct mp_error *error)
{
    struct deps_windows windows;
    struct deps_result result;
    enum mp_status status;

    making->critical = calloc((size_t)making->deps->count + 1, sizeof *making->critical);
    if (!making->critical)
        return MP_ERR_MEMORY;
    MP_TRY(deps_windows_ranges(making->deps, making->options->range, &windows, error));
    status = deps_result_init(making->deps, &result);
    if (!status) {
        for (size_t i = 0; !status && i < windows.count; i++) {
            deps_path(making->deps, &windows.items[i], &result, making->critical);
            status = stacks_weigh_host(making, &windows.items[i]);
        }
        deps_result_free(&result);
    }
    deps_windows_free(&windows);
    return status;
}

/* Where an activity is found again by its row. */
static uint64_t place_of(uint64_t begin, uint64_t end, uint64_t correlation)
{
    return mp_mix64(begin ^ mp_mix64(end ^ mp_mix64(correlation)));
}

/* Work outside of graphs has its launch's stack. The rest waits for its rows. */
static enum mp_status weigh_path_of_work(struct stacks_making *making)
{
    const struct deps *deps = making->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (!making->critical[i])
            continue;
        if (work->flags & DEPS_NODE)
            MP_TRY(mp_map_put(&making->of_nodes,
                              place_of(work->begin, work->end, work->correlation), i));
        else
            stacks_weights_of(making,
                              call_stacks_of_call(&making->result->stacks, work->correlation))
                ->critical += making->critical[i];
    }
    return MP_OK;
}

/* ---- Work ---- */

/* Takes the time of a node on the path; nodes that are alike in all share it. */
static uint64_t path_of_node(struct stacks_making *making, uint64_t begin, uint64_t end,
                             uint64_t correlation)
{
    uint32_t activity = mp_map_get(&making->of_nodes, place_of(begin, end, correlation));
    uint64_t time = 0;

    if (activity != MP_MAP_ABSENT) {
        time = making->critical[activity];
        making->critical[activity] = 0;
    }
    return time;
}

struct work_columns {
    const uint64_t *start, *duration, *correlation, *node; /* node: NULL without */
};

static void weigh_work(struct stacks_making *making, const struct work_columns *of, uint32_t rows)
{
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t node = of->node ? of->node[row] : 0;
        uint64_t end = of->start[row] + of->duration[row];
        struct stacks_weights *to;

        if (!of->start[row] || of->duration[row] > INT64_MAX ||
            (making->range && !range_has_work(making->range, of->correlation[row], of->start[row])))
            continue;
        to = stacks_weights_of(
            making, call_stacks_of_work(&making->result->stacks, of->correlation[row], node));
        to->device += of->duration[row];
        if (node)
            to->critical += path_of_node(making, of->start[row], end, of->correlation[row]);
    }
}

/* Takes a batch of a table of work; a graph as a whole has no `node`. */
#define TAKE_WORK(table, node_)                                                                    \
    static enum mp_status take_##table(void *context, const struct mp_batch *batch)                \
    {                                                                                              \
        const struct mp_##table##_columns of = mp_##table##_columns(batch->columns);               \
                                                                                                   \
        weigh_work(context, &(struct work_columns){of.start, of.duration, of.correlation, node_},  \
                   batch->rows);                                                                   \
        return MP_OK;                                                                              \
    }
TAKE_WORK(kernel, of.node)
TAKE_WORK(copy, of.node)
TAKE_WORK(set, of.node)
TAKE_WORK(graph, NULL)
#undef TAKE_WORK

static const struct reading_table tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, start, duration, correlation, node), .take = take_kernel},
    {MP_TABLE_copy, MP_MASK(copy, start, duration, correlation, node), .take = take_copy},
    {MP_TABLE_set, MP_MASK(set, start, duration, correlation, node), .take = take_set},
    {MP_TABLE_graph, MP_MASK(graph, start, duration, correlation), .take = take_graph},
};

enum mp_status stacks_weigh(struct stacks_making *making, struct mp_trace *trace,
                            struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the work",
        .context = making,
        READING_TABLES(tables),
        .quality = &making->result->quality,
        .definitions = &making->result->definitions,
    };

    if (making->deps) {
        MP_TRY(find_path(making, error));
        MP_TRY(weigh_calls(making));
        MP_TRY(weigh_path_of_work(making));
    }
    return reading_run(&reading, error);
}
