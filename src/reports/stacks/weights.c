/* Adds up what belongs to each stack: calls from the event graph, work from the rows of the trace,
 * since only these name the nodes of graphs.
 */
#include <stdlib.h>

#include "base/data/hash.h"
#include "profile/activity.h"
#include "profile/reading.h"
#include "reports/stacks/build.h"
#include "reports/stacks/stacks.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Nodes of graphs ----
 *
 * Only rows of the trace name the nodes of graphs, so activities are found again by their times.
 */

struct maker_pass {
    const struct call_stacks *stacks;
    struct stacks_makers *makers;
};

/* Nodes that begin at once in one launch share their maker. */
static uint64_t node_place(uint64_t begin, uint64_t correlation)
{
    return mp_mix64(begin ^ mp_mix64(correlation));
}

static enum mp_status take_node(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct activity_table *table = activity_of(batch->table->id);
    const struct maker_pass *pass = context;
    uint64_t node = activity_value(batch->columns, table->node, row);
    uint32_t stack = node ? call_stacks_of_work(pass->stacks, 0, node) : 0;

    if (!stack)
        return MP_OK;
    return mp_map_put(&pass->makers->of_places,
                      node_place(activity_value(batch->columns, table->start, row),
                                 activity_value(batch->columns, table->correlation, row)),
                      stack);
}

static const struct reading_table node_tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, node, start, correlation), .take_row = take_node},
    {MP_TABLE_copy, MP_MASK(copy, node, start, correlation), .take_row = take_node},
    {MP_TABLE_set, MP_MASK(set, node, start, correlation), .take_row = take_node},
};

enum mp_status stacks_makers_load(struct stacks_makers *makers, struct mp_trace *trace,
                                  const struct call_stacks *stacks, struct mp_error *error)
{
    struct maker_pass pass = {stacks, makers};
    const struct reading reading = {
        .trace = trace, .what = "the nodes", .context = &pass, READING_TABLES(node_tables)};

    *makers = (struct stacks_makers){.of_places = {.count = 0}};
    return stacks->nodes.count ? reading_run(&reading, error) : MP_OK;
}

uint32_t stacks_maker(const struct stacks_makers *makers, const struct deps *deps, uint32_t index)
{
    const struct deps_activity *work = &deps->activities[index];
    uint32_t stack =
        index >= deps->host_count && work->flags & DEPS_NODE
            ? mp_map_get(&makers->of_places, node_place(work->begin, work->correlation))
            : MP_MAP_ABSENT;

    return stack == MP_MAP_ABSENT ? 0 : stack;
}

void stacks_makers_free(struct stacks_makers *makers)
{
    mp_map_free(&makers->of_places);
}

/* ---- Weights ---- */

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

    making->critical = calloc((size_t)making->deps->count + 1, sizeof *making->critical);
    if (!making->critical)
        return MP_ERR_MEMORY;
    MP_TRY(deps_windows_ranges(making->deps, making->options->range, &windows, error));
    enum mp_status status = deps_result_init(making->deps, &result);
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

static enum mp_status take_work(void *context, const struct mp_batch *batch)
{
    const struct activity_table *table = activity_of(batch->table->id);
    const uint64_t *starts = activity_column(batch->columns, table->start);
    const uint64_t *durations = activity_column(batch->columns, table->duration);
    const uint64_t *correlations = activity_column(batch->columns, table->correlation);
    const uint64_t *nodes = activity_column(batch->columns, table->node); /* NULL: of graphs */
    struct stacks_making *making = context;

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t node = nodes ? nodes[row] : 0;

        if (!starts[row] || durations[row] > INT64_MAX ||
            (making->range && !range_has_work(making->range, correlations[row], starts[row])))
            continue;
        struct stacks_weights *to = stacks_weights_of(
            making, call_stacks_of_work(&making->result->stacks, correlations[row], node));
        to->device += durations[row];
        if (node)
            to->critical +=
                path_of_node(making, starts[row], starts[row] + durations[row], correlations[row]);
    }
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, start, duration, correlation, node), .take = take_work},
    {MP_TABLE_copy, MP_MASK(copy, start, duration, correlation, node), .take = take_work},
    {MP_TABLE_set, MP_MASK(set, start, duration, correlation, node), .take = take_work},
    {MP_TABLE_graph, MP_MASK(graph, start, duration, correlation), .take = take_work},
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
